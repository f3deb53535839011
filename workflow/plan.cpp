#include "workflow/plan.hpp"

#include <algorithm>
#include <chrono>

#include <stategraph/error.hpp>
#include <stategraph/id_source.hpp>

namespace stategraph::workflow {
namespace {

constexpr const char* not_in_ids = ".[]|:";
constexpr std::size_t levels_max = 100;

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

/// Collects all faults of a definition, including nested definitions.
class Faults {
public:
    explicit Faults(const Definition& definition) { check(definition); }
    void throwIfAny() const {
        if (!faults_.empty()) throw InvalidGraphError(faults_);
    }

private:
    void check(const Definition& definition) {
        const std::string where = "workflow " + quoted(definition.id) + ": ";
        if (definition.id.empty()) fault("a workflow needs an id");
        if (definition.id.find('/') != std::string::npos)
            fault(where + "its id has a '/' in it, which separates it from a run's id; choose another");
        for (const auto& [key, reduce] : definition.reducers) {
            if (!reduce) fault(where + "the reducer of " + quoted(key) + " is not a function");
        }
        if (definition.entries.empty()) fault(where + "it has no entries; add a step");
        std::vector<std::string> seen;
        for (const Entry& entry : definition.entries) {
            checkShape(where, entry);
            for (const std::string& id : idsOf(entry)) {
                checkId(where, id);
                if (std::ranges::find(seen, id) != seen.end()) {
                    fault(where + "the id " + quoted(id) +
                          " is used twice; give the second step another: clone(step, \"…\")");
                }
                seen.push_back(id);
            }
        }
    }

    void checkId(const std::string& where, const std::string& id) {
        if (id.empty()) return fault(where + "a step needs an id");
        if (id.find_first_of(not_in_ids) != std::string::npos) {
            fault(where + "the id " + quoted(id) +
                  " has one of . [ ] | : in it, which paths are made of; choose another");
        }
    }

    void checkShape(const std::string& where, const Entry& entry) {
        for (const Step& step : entry.steps) {
            const int bodies = (step.execute != nullptr) + (step.execute_async != nullptr) + (step.workflow != nullptr);
            if (bodies != 1) {
                fault(where + "step " + quoted(step.id) + " needs either a function, a coroutine or a workflow");
            }
            if (step.workflow) checkInner(where, step);
            if (step.workflow && step.cache)
                fault(where + "step " + quoted(step.id) + " is a workflow, which is not cached; cache its steps");
        }
        using Kind = Entry::Kind;
        const bool computes = entry.kind == Kind::map || entry.kind == Kind::sleep;
        if (computes && !entry.transform) fault(where + quoted(entry.id) + " needs a function");
        if (!computes && !isBlock(entry) && entry.steps.size() != 1) fault(where + "an entry needs exactly one step");
        const std::size_t conditions = entry.kind == Kind::branch                                   ? entry.steps.size()
                                       : entry.kind == Kind::dowhile || entry.kind == Kind::dountil ? 1
                                                                                                    : 0;
        if (entry.conditions.size() != conditions ||
            std::ranges::any_of(entry.conditions, [](const auto& each) { return !each; })) {
            fault(where + "an entry needs " + std::to_string(conditions) + " conditions");
        }
        if (entry.allows_failure && entry.kind != Kind::parallel)
            fault(where + "only the members of a parallel may fail (allows_failure)");
        if (entry.concurrency < 1) fault(where + "the concurrency of a foreach must be at least 1");
    }

    void checkInner(const std::string& where, const Step& step) {
        if (outer_.size() == levels_max || std::ranges::find(outer_, step.workflow.get()) != outer_.end()) {
            return fault(where + "step " + quoted(step.id) + " is a workflow inside itself, or inside " +
                         std::to_string(levels_max) + " others, whose results could not be stored");
        }
        outer_.push_back(step.workflow.get());
        check(*step.workflow);
        outer_.pop_back();
    }

    void fault(std::string text) { faults_.push_back(std::move(text)); }

    std::vector<std::string> faults_;
    std::vector<const Definition*> outer_;  // the workflows around the one that is checked, without the outermost
};

// Wraps a function of the definition so that it throws nothing but std::exceptions.
template <class R, class... A>
void guard(std::function<R(A...)>& function) {
    if (!function) return;
    function = [called = std::move(function)](A... arguments) -> R {
        try {
            return called(std::forward<A>(arguments)...);
        } catch (const std::exception&) {
            throw;
        } catch (...) {
            throw std::runtime_error("unknown exception");
        }
    };
}

// Wraps all functions except steps, whose exceptions the engine handles.
void guardAll(Definition& definition) {
    guard(definition.input);
    guard(definition.state);
    guard(definition.context);
    for (auto& [key, reduce] : definition.reducers) guard(reduce);
    for (Entry& entry : definition.entries) {
        for (Condition& condition : entry.conditions) guard(condition);
        guard(entry.transform);
        guard(entry.combine);
        for (Step& step : entry.steps) {
            guard(step.input);
            guard(step.resume);
            guard(step.suspend);
            guard(step.state);
            guard(step.context);
        }
    }
}

}  // namespace

std::vector<std::string> idsOf(const Entry& entry) {
    if (entry.kind == Entry::Kind::map || entry.kind == Entry::Kind::sleep) return {entry.id};
    std::vector<std::string> ids;
    for (const Step& step : entry.steps) ids.push_back(step.id);
    return ids;
}

bool isBlock(const Entry& entry) noexcept {
    return entry.kind == Entry::Kind::parallel || entry.kind == Entry::Kind::branch;
}

Value combined(const Entry& block, const Values& outputs) {
    return block.combine ? block.combine(outputs) : Value(outputs);
}

std::string joinOf(std::size_t entry) { return "[join " + std::to_string(entry) + "]"; }
std::string askOf(std::size_t entry) { return "[ask " + std::to_string(entry) + "]"; }
std::string turnOf(std::size_t entry) { return "[turn " + std::to_string(entry) + "]"; }
std::string itemNodeOf(std::string_view step) { return std::string(step) + "[item]"; }
std::string itemsEndOf(std::string_view step) { return std::string(step) + "[end]"; }

namespace {

// Returns what is due when an entry begins.
Targets beginningOf(const Entry& due, std::size_t entry) {
    if (due.kind == Entry::Kind::branch) return askOf(entry);
    Targets to;
    for (const std::string& id : idsOf(due)) to.add(id);
    if (to.empty()) to.add(joinOf(entry));
    return to;
}

}  // namespace

std::int64_t Plan::nowMs() const {
    const auto now = (ids ? *ids : IdSource::system()).now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

const Place* Plan::findPlace(std::string_view id) const noexcept {
    const auto found = places.find(id);
    return found == places.end() ? nullptr : &found->second;
}

const Nested* Plan::findNested(std::string_view id) const noexcept {
    const Place* const place = findPlace(id);
    return place == nullptr ? nullptr : place->nested.get();
}

RetryPolicy Plan::retryOf(const Step& step) const {
    RetryPolicy policy = step.retry.value_or(definition.retry);
    if (policy.retry_on == RetryOn()) policy.retry_on = RetryOn([](const std::exception_ptr&) { return true; });
    return policy;
}

std::shared_ptr<const Plan> makePlan(const Definition& definition, const CompileOptions& options, std::string prefix,
                                     const Plan* outer) {
    const bool is_root = outer == nullptr;
    if (is_root) Faults(definition).throwIfAny();
    auto plan = std::make_shared<Plan>();
    plan->definition = definition;
    guardAll(plan->definition);
    plan->workflow = is_root ? definition.id : outer->workflow;
    plan->reducers =
        is_root ? std::make_shared<const std::map<std::string, Reduce>>(definition.reducers) : outer->reducers;
    plan->prefix = std::move(prefix);
    plan->is_root = is_root;
    plan->ids = options.ids;
    plan->cache = options.cache;
    for (std::size_t entry = 0; entry < definition.entries.size(); ++entry) {
        plan->sleeps = plan->sleeps || definition.entries[entry].kind == Entry::Kind::sleep;
        for (const std::string& id : idsOf(definition.entries[entry]))
            plan->places.emplace(id, Place{.entry = entry, .path = plan->prefix + id});
        for (const Step& step : plan->definition.entries[entry].steps) {
            Place& place = plan->places.at(step.id);
            place.step = &step;
            if (!step.workflow) continue;
            const auto inner = makePlan(*step.workflow, options, place.path + ".", plan.get());
            plan->sleeps = plan->sleeps || inner->sleeps;
            place.nested = std::make_unique<const Nested>(Nested{inner, compile(inner, {})});
        }
        plan->beginnings.push_back(beginningOf(definition.entries[entry], entry));
    }
    return plan;
}

void tell(Runtime& runtime, const RunEvent& event) { runtime.context<Session>().tell(event); }
void tellStep(Runtime& runtime, RunEvent::Kind kind, const std::string& path, Word status) {
    const auto& session = runtime.context<Session>();
    if (session.isWatched()) session.tell({.kind = kind, .path = path, .status = toString(status)});
}
void Session::noteFailure(const std::string& path) const noexcept {
    try {
        std::string text = "unknown exception";
        try {
            throw;
        } catch (const std::exception& error) {
            text = error.what();
        } catch (...) {
        }
        const stategraph::detail::LockGuard lock(mutex_);
        failures_.insert_or_assign({path, std::move(text)}, std::current_exception());
    } catch (...) {
        // There is no memory, so only the text is known.
    }
}

std::exception_ptr Session::failureOf(const std::string& path, const std::string& text) const {
    const stategraph::detail::LockGuard lock(mutex_);
    const auto found = failures_.find({path, text});
    return found == failures_.end() ? nullptr : found->second;
}

bool isCanceled(Runtime& runtime) { return runtime.context<Session>().stop.stop_requested(); }
bool isWatched(Runtime& runtime) { return runtime.context<Session>().isWatched(); }

}  // namespace stategraph::workflow
