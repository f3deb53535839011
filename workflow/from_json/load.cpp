#include <algorithm>
#include <chrono>
#include <cmath>
#include <initializer_list>
#include <memory>
#include <optional>

#include <stategraph/detail/json_reading.hpp>
#include <stategraph/error.hpp>
#include <stategraph/json.hpp>
#include <stategraph/schema.hpp>
#include <stategraph/workflow/from_json.hpp>

#include "workflow/from_json/instant.hpp"
#include "workflow/from_json/limits.hpp"
#include "workflow/from_json/predicate.hpp"
#include "workflow/from_json/template.hpp"

namespace stategraph::workflow {
namespace from_json {
namespace {

namespace json = boost::json;

/// Reads a workflow, and lists what is wrong with it instead of stopping at the first fault.
class Loader {
public:
    Loader(const Functions& functions, const json::value& json)
        : functions_(functions),
          value_bytes_max_(valueBytesMax(functions.limits, json)),
          loops_(functions.limits.iterations_max, value_bytes_max_) {}

    Definition load(const json::value& json) {
        Definition definition = workflowOf(json, "workflow");
        if (!faults_.empty()) throw InvalidGraphError(faults_);
        return definition;
    }

private:
    using Kind = Entry::Kind;

    void fault(const std::string& where, const std::string& what) { faults_.push_back(where + ": " + what); }

    // Returns the object. If the value is none, or has other members than these, adds a fault and returns null.
    const json::object* objectAt(const json::value& value, const std::string& where,
                                 std::initializer_list<std::string_view> names) {
        const json::object* const object = value.if_object();
        if (object == nullptr) {
            fault(where, "it must be an object");
            return nullptr;
        }
        for (const auto& member : *object) {
            if (std::ranges::find(names, std::string_view(member.key())) == names.end())
                fault(where, "it has an unknown member '" + std::string(member.key()) + "'");
        }
        return object;
    }
    std::string textAt(const json::value* value, const std::string& where) {
        if (value != nullptr && value->is_string()) return std::string(value->get_string());
        fault(where, "it must be a text");
        return {};
    }
    double numberAt(const json::value& value, const std::string& where, double least) {
        const double number = value.is_number() ? value.to_number<double>() : least - 1;
        if (!(number >= least))
            fault(where, "it must be a number that is not below " + std::to_string(static_cast<int>(least)));
        return std::max(number, least);
    }
    // Returns the result of `make` for a member, if the member exists.
    template <class F>
    auto madeOf(const json::object& object, std::string_view name, const std::string& where, F make)
        -> decltype(make(std::declval<const json::value&>())) {
        const json::value* const value = object.if_contains(name);
        if (value == nullptr) return {};
        try {
            return make(*value);
        } catch (const std::exception& error) {
            fault(where + "." + std::string(name), error.what());
            return {};
        }
    }
    Check checkAt(const json::object& object, std::string_view name, const std::string& where) {
        return madeOf(object, name, where, [](const json::value& schema) -> Check {
            return stategraph::schemaCheck(json::serialize(schema));
        });
    }
    template <class F>
    F functionNamed(const std::map<std::string, F>& functions, const std::string& name, const std::string& where) {
        const auto found = functions.find(name);
        if (found != functions.end()) return found->second;
        std::string known;
        for (const auto& [each, function] : functions) known += (known.empty() ? "'" : ", '") + each + "'";
        fault(where, "there is no function '" + name + "'; there are " + (known.empty() ? "none" : known));
        return {};
    }

    RetryPolicy retryAt(const json::value& value, const std::string& where) {
        RetryPolicy policy;
        const auto* const object = objectAt(
            value, where, {"max_attempts", "initial_interval_ms", "backoff_factor", "max_interval_ms", "jitter"});
        if (object == nullptr) return policy;
        const auto number = [&](std::string_view name, double least, auto use) {
            if (const json::value* const found = object->if_contains(name))
                use(numberAt(*found, where + "." + std::string(name), least));
        };
        using Ms = std::chrono::duration<double, std::milli>;
        number("max_attempts", 1, [&](double n) { policy.max_attempts = static_cast<int>(std::min(n, 1e9)); });
        number("initial_interval_ms", 0, [&](double n) { policy.initial_interval = Ms(n); });
        number("backoff_factor", 1, [&](double n) { policy.backoff_factor = n; });
        number("max_interval_ms", 0, [&](double n) { policy.max_interval = Ms(n); });
        if (const json::value* const jitter = object->if_contains("jitter")) {
            if (!jitter->is_bool()) fault(where + ".jitter", "it must be true or false");
            policy.jitter = jitter->is_bool() && jitter->get_bool();
        }
        return policy;
    }

    Step stepAt(const std::string& id, const json::value& value, const std::string& where) {
        Step step{.id = id};
        const auto* const object = objectAt(value, where,
                                            {"run", "workflow", "input", "output", "resume", "suspend", "state",
                                             "context", "retry", "timeout_ms", "description", "metadata"});
        if (object == nullptr) return step;
        if (const json::value* const nested = object->if_contains("workflow")) {
            const LoopLimits::Mark begin = loops_.mark();
            step.workflow = std::make_shared<const Definition>(workflowOf(*nested, where + ".workflow"));
            loops_.addWithin(step.workflow.get(), begin);
            if (object->contains("run")) fault(where, "it has a function (run) and a workflow; it can have one");
        } else {
            const json::value* const run = object->if_contains("run");
            step.execute =
                functionNamed(functions_.steps, run != nullptr ? textAt(run, where + ".run") : id, where + ".run");
        }
        step.input = checkAt(*object, "input", where);
        step.output = checkAt(*object, "output", where);
        step.resume = checkAt(*object, "resume", where);
        step.suspend = checkAt(*object, "suspend", where);
        step.state = checkAt(*object, "state", where);
        step.context = checkAt(*object, "context", where);
        if (const json::value* const retry = object->if_contains("retry"))
            step.retry = retryAt(*retry, where + ".retry");
        if (const json::value* const timeout = object->if_contains("timeout_ms")) {
            const double ms = numberAt(*timeout, where + ".timeout_ms", 1);
            step.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(std::min(ms, 1e12)));
        }
        if (const json::value* const text = object->if_contains("description"))
            step.description = textAt(text, where + ".description");
        if (const json::value* const metadata = object->if_contains("metadata")) step.metadata = Value(*metadata);
        return step;
    }

    using Steps = std::map<std::string, Step>;

    void addStep(Entry& entry, const Steps& steps, const json::value& id, const std::string& where) {
        const std::string name = textAt(&id, where);
        const auto found = steps.find(name);
        if (found != steps.end()) {
            entry.steps.push_back(found->second);
        } else if (id.is_string()) {
            fault(where, "there is no step '" + name + "' in \"steps\"");
        }
    }

    // Reads the name of a function, or a predicate.
    Condition conditionAt(const json::value* value, const std::string& where) {
        if (value == nullptr) {
            fault(where, "a condition is missing");
            return {};
        }
        if (const json::string* const name = value->if_string())
            return functionNamed(functions_.conditions, std::string(*name), where);
        try {
            return predicateOf(*value, value_bytes_max_);
        } catch (const std::exception& error) {
            fault(where, error.what());
            return {};
        }
    }

    /// Steps whose outputs are put together, as those that run in parallel, may make much of one value.
    void limitInputs(Entry& entry) const {
        constexpr std::size_t full_inputs = 8;
        const std::size_t whole = value_bytes_max_;
        const std::size_t most = std::min(whole, whole / std::max<std::size_t>(entry.steps.size(), 1) * full_inputs);
        for (Step& step : entry.steps) {
            step.input = [check = std::move(step.input), most](Value value) {
                if (value.bytes().size() > most) {
                    throw InvalidArgumentError("the step is given more than " + std::to_string(most) +
                                               " bytes; see workflow::JsonLimits::value_bytes_max");
                }
                return check ? check(std::move(value)) : value;
            };
        }
    }

    void addArms(Entry& entry, const Steps& steps, const json::value& value, const std::string& where) {
        const json::array* const arms = value.if_array();
        if (arms == nullptr) return fault(where, "it must be a list of {\"when\": …, \"step\": …}");
        for (std::size_t i = 0; i < arms->size(); ++i) {
            const std::string at = where + "[" + std::to_string(i) + "]";
            const auto* const arm = objectAt((*arms)[i], at, {"when", "step"});
            if (arm == nullptr) continue;
            const json::value* const step = arm->if_contains("step");
            addStep(entry, steps, step != nullptr ? *step : json::value(), at + ".step");
            entry.conditions.push_back(conditionAt(arm->if_contains("when"), at + ".when"));
        }
    }

    Transform templateAt(const json::value& value, const std::string& where) {
        try {
            return
                [filled = Template(value, value_bytes_max_)](const Scope& scope) { return Value(filled.fill(scope)); };
        } catch (const std::exception& error) {
            fault(where, error.what());
            return {};
        }
    }
    // Reads a number of milliseconds, or a template that gives one.
    Transform sleepAt(const json::value& value, const std::string& where) {
        if (value.is_object()) return templateAt(value, where);
        return [ms = numberAt(value, where, 0)](const Scope&) { return Value(ms); };
    }
    Transform sleepUntilAt(const json::value& value, const std::string& where) {
        if (!value.is_object() && !instantOf(value))
            fault(where, "it must be a time such as 2026-01-31T08:00:00Z or 2026-01-31T10:00:00.5+02:00");
        return [when = templateAt(value, where)](const Scope& scope) {
            const auto time = instantOf(toJsonValue(when(scope)));
            if (!time)
                throw InvalidArgumentError(
                    "sleepUntil needs a time such as 2026-01-31T08:00:00Z or 2026-01-31T10:00:00.5+02:00");
            return Value(static_cast<double>(detail::timeUntil(*time).count()));
        };
    }

    struct Form {
        std::string_view name;
        Kind kind;
    };

    Entry entryAt(const json::value& value, const Steps& steps, std::size_t index, const std::string& where) {
        static constexpr Form forms[] = {{"then", Kind::then},       {"parallel", Kind::parallel},
                                         {"branch", Kind::branch},   {"dowhile", Kind::dowhile},
                                         {"dountil", Kind::dountil}, {"foreach", Kind::foreach},
                                         {"map", Kind::map},         {"transform", Kind::map},
                                         {"sleep", Kind::sleep},     {"sleepUntil", Kind::sleep}};
        Entry entry;
        const json::object* const object = value.if_object();
        const auto form = std::ranges::find_if(
            forms, [&](const Form& each) { return object != nullptr && object->contains(each.name); });
        if (form == std::end(forms)) {
            fault(where,
                  "it must be an object with one of then, parallel, branch, dowhile, dountil, foreach, map, "
                  "transform, sleep and sleepUntil");
            return entry;
        }
        entry.kind = form->kind;
        const json::value& of = object->at(form->name);
        const std::string at = where + "." + std::string(form->name);
        const bool is_loop = entry.kind == Kind::dowhile || entry.kind == Kind::dountil;
        const bool computes = entry.kind == Kind::map || entry.kind == Kind::sleep;
        (void)objectAt(value, where,
                       {form->name, is_loop                        ? "when"
                                    : computes                     ? "id"
                                    : entry.kind == Kind::foreach  ? "concurrency"
                                    : entry.kind == Kind::parallel ? "allowFailure"
                                                                   : form->name});
        if (entry.kind == Kind::parallel && of.is_array()) {
            for (const json::value& each : of.get_array()) addStep(entry, steps, each, at);
        } else if (entry.kind == Kind::branch) {
            addArms(entry, steps, of, at);
        } else if (!computes) {
            addStep(entry, steps, of, at);
        }
        limitInputs(entry);
        if (is_loop || entry.kind == Kind::foreach) loops_.beginInside(entry);
        if (entry.kind == Kind::foreach) entry.outputs_bytes_max = value_bytes_max_;
        if (is_loop) {
            entry.conditions.push_back(
                loops_.limited(conditionAt(object->if_contains("when"), where + ".when"), entry.kind == Kind::dowhile));
        }
        if (const json::value* const most = object->if_contains("concurrency"))
            entry.concurrency = static_cast<int>(std::min(numberAt(*most, where + ".concurrency", 1), 1e6));
        if (const json::value* const allows = object->if_contains("allowFailure")) {
            if (!allows->is_bool()) fault(where + ".allowFailure", "it must be true or false");
            entry.allows_failure = allows->is_bool() && allows->get_bool() && entry.kind == Kind::parallel;
        }
        if (computes) {
            const json::value* const id = object->if_contains("id");
            entry.id =
                id != nullptr ? textAt(id, where + ".id") : std::string(form->name) + "_" + std::to_string(index);
            entry.transform = form->name == "map"          ? templateAt(of, at)
                              : form->name == "sleep"      ? sleepAt(of, at)
                              : form->name == "sleepUntil" ? sleepUntilAt(of, at)
                                                           : functionNamed(functions_.maps, textAt(&of, at), at);
        }
        return entry;
    }

    Definition workflowOf(const json::value& value, const std::string& where) {
        Definition definition;
        const auto* const object =
            objectAt(value, where, {"id", "input", "state", "context", "retry", "steps", "entries"});
        if (object == nullptr) return definition;
        definition.id = textAt(object->if_contains("id"), where + ".id");
        definition.input = checkAt(*object, "input", where);
        definition.state = checkAt(*object, "state", where);
        definition.context = checkAt(*object, "context", where);
        if (const json::value* const retry = object->if_contains("retry"))
            definition.retry = retryAt(*retry, where + ".retry");
        Steps steps;
        if (const json::value* const listed = object->if_contains("steps")) {
            if (!listed->is_object()) fault(where + ".steps", "it must be an object: ids and their steps");
            for (const auto& [id, step] : listed->is_object() ? listed->get_object() : json::object())
                steps.emplace(id, stepAt(id, step, where + ".steps." + std::string(id)));
        }
        const json::value* const entries = object->if_contains("entries");
        if (entries == nullptr || !entries->is_array()) {
            fault(where + ".entries", "it must be a list of entries");
            return definition;
        }
        for (std::size_t i = 0; i < entries->get_array().size(); ++i) {
            const std::string at = where + ".entries[" + std::to_string(i) + "]";
            definition.entries.push_back(entryAt(entries->get_array()[i], steps, i, at));
        }
        return definition;
    }

    const Functions& functions_;
    const std::size_t value_bytes_max_;
    std::vector<std::string> faults_;
    LoopLimits loops_;
};

json::value parsed(std::string_view text, const char* what) {
    auto read =
        stategraph::detail::readJson(text, value_depth_max);  // workflows inside each other soon have Boost's 32 levels
    if (read.error) throw InvalidArgumentError(std::string(what) + " is not JSON: " + read.error.message());
    if (read.hasRepeatedMember()) throw InvalidArgumentError(std::string(what) + " has an object with a member twice");
    return std::move(read.value);
}

}  // namespace
}  // namespace from_json

Definition fromJson(std::string_view text, const Functions& functions) {
    boost::json::value json;
    try {
        json = from_json::parsed(text, "the workflow");
    } catch (const InvalidArgumentError& error) {
        throw InvalidGraphError({error.message()});
    }
    return from_json::Loader(functions, json).load(json);
}

Check schemaCheck(std::string_view schema) { return stategraph::schemaCheck(schema); }

Transform fromTemplate(std::string_view json) {
    return [filled = from_json::Template(from_json::parsed(json, "the template"), JsonLimits().value_bytes_max)](
               const Scope& scope) { return Value(filled.fill(scope)); };
}

Condition fromPredicate(std::string_view json) {
    return from_json::predicateOf(from_json::parsed(json, "the condition"), JsonLimits().value_bytes_max);
}

}  // namespace stategraph::workflow
