#pragma once
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include <stategraph/compiled_graph.hpp>
#include <stategraph/detail/mutex.hpp>
#include <stategraph/graph.hpp>
#include <stategraph/workflow/definition.hpp>
#include <stategraph/workflow/run.hpp>

#include "workflow/state.hpp"

namespace stategraph::workflow {

struct Plan;

/// A workflow inside another.
struct Nested {
    std::shared_ptr<const Plan> plan;
    CompiledGraph<State> graph;
};

/// A step, a map or a sleep, where it stands.
struct Place {
    std::size_t entry = 0;
    const Step* step = nullptr;  // null: a map or a sleep
    std::string path = {};
    std::unique_ptr<const Nested> nested = {};  // of a step that is a workflow
};

/// A checked definition, as the nodes of its graph see it.
struct Plan {
    Definition definition;
    std::string workflow;  // the outermost one's id
    std::string prefix;    // of its steps' paths: "outer."
    bool is_root = true;
    std::map<std::string, Place, std::less<>> places = {};               // by id
    std::vector<Targets> beginnings = {};                                // by entry: what is due where it begins
    std::shared_ptr<const std::map<std::string, Reduce>> reducers = {};  // the outermost workflow's
    bool sleeps = false;  // it, or a workflow inside it, has a sleep: its node may run again and resume inside

    std::shared_ptr<IdSource> ids = {};     // whose clock counts; null: the system's
    std::shared_ptr<BaseCache> cache = {};  // of steps' outputs; null: nothing is kept

    std::int64_t nowMs() const;
    /// Null: there is none.
    const Place* findPlace(std::string_view id) const noexcept;
    const Nested* findNested(std::string_view id) const noexcept;
    const Entry& entryOf(const Place& place) const noexcept { return definition.entries[place.entry]; }
    RetryPolicy retryOf(const Step& step) const;
};

/// The ids of an entry.
std::vector<std::string> idsOf(const Entry& entry);
bool isBlock(const Entry& entry) noexcept;
/// What a block returns.
Value combined(const Entry& block, const Values& outputs);

/// Nodes in addition to those of steps, maps and sleeps, which are named by their ids.
std::string joinOf(std::size_t entry);
std::string askOf(std::size_t entry);
std::string turnOf(std::size_t entry);
std::string itemNodeOf(std::string_view step);
std::string itemsEndOf(std::string_view step);
inline constexpr const char* wait_node = "[wait]";
inline constexpr const char* enter_node = "[enter]";

/// One call of start, resume and the like, as its nodes see it: RunConfig::context.
class Session {
public:
    std::function<void(const RunEvent&)> on_event;
    std::stop_source stop;  // the run is to end before its next step

    bool isWatched() const noexcept { return on_event != nullptr; }
    void tell(const RunEvent& event) const {
        if (!on_event) return;
        const stategraph::detail::LockGuard lock(mutex_);
        try {
            on_event(event);
        } catch (...) {
            // The run does not depend on its watchers.
        }
    }

    /// What `cancel` calls to store that the run is cancelled. True: it is stored, by this call or an earlier one.
    template <class Store>
    bool storeCancel(Store store) {
        const stategraph::detail::LockGuard lock(cancel_mutex_);
        is_cancel_stored_ = store() || is_cancel_stored_;
        return is_cancel_stored_;
    }
    /// Whether a caller was told that the run is cancelled. Waits for a caller that is about to be.
    bool isCancelStored() const {
        const stategraph::detail::LockGuard lock(cancel_mutex_);
        return is_cancel_stored_;
    }
    /// Keeps the exception being handled, which an attempt of a step threw: the stored record has only the text.
    void noteFailure(const std::string& path) const noexcept;
    /// What an attempt of this step threw with this text; null if it was in another process.
    std::exception_ptr failureOf(const std::string& path, const std::string& text) const;

private:
    mutable stategraph::detail::Mutex mutex_;
    mutable stategraph::detail::Mutex cancel_mutex_;
    bool is_cancel_stored_ SG_GUARDED_BY(cancel_mutex_) = false;
    mutable std::map<std::pair<std::string, std::string>, std::exception_ptr> failures_
        SG_GUARDED_BY(mutex_);  // by path and text
};
bool isWatched(Runtime& runtime);
bool isCanceled(Runtime& runtime);
void tell(Runtime& runtime, const RunEvent& event);
/// Tells watchers of a step, if there are any.
void tellStep(Runtime& runtime, RunEvent::Kind kind, const std::string& path, Word status = Word::none);

/// Where a run goes from an entry that has ended: writes of the entry's own are in `update`.
struct Outcome {
    Word status;       // success, failed, suspended or bailed
    Value value = {};  // what the next entry receives, or the text of a failure
};
Command<State> advance(const Plan& plan, const State& state, std::size_t entry, Outcome outcome, Update<State> update,
                       bool is_canceled);
/// What is due where a run continues.
Targets goingOn(const Plan& plan, const State& state);

/// Nodes; those that await are for steps that are coroutines.
Command<State> runStep(const Plan& plan, const Place& place, const State& state, Runtime& runtime);
Task<Command<State>> awaitStep(const Plan& plan, const Place& place, const State& state, Runtime& runtime);
Command<State> stepFailed(const Plan& plan, const Place& place, const State& state, const NodeFailure& failure,
                          Runtime& runtime);
Command<State> beginForeach(const Plan& plan, const Place& place, const State& state, Runtime& runtime);
Command<State> runItem(const Plan& plan, const Place& place, const Item& item, Runtime& runtime);
Task<Command<State>> awaitItem(const Plan& plan, const Place& place, const Item& item, Runtime& runtime);
Command<State> itemFailed(const Plan& plan, const Place& place, const Item& item, const NodeFailure& failure,
                          Runtime& runtime);
Command<State> endForeach(const Plan& plan, const Place& place, const State& state, Runtime& runtime);
Command<State> joinBlock(const Plan& plan, std::size_t entry, const State& state);
Command<State> askBranch(const Plan& plan, std::size_t entry, const State& state);
Command<State> turnLoop(const Plan& plan, std::size_t entry, const State& state);
Command<State> runMap(const Plan& plan, const Place& place, const State& state, Runtime& runtime);
Command<State> runSleep(const Plan& plan, const Place& place, const State& state, Runtime& runtime);
Command<State> waitForAnswers(const Plan& plan, const State& state, Runtime& runtime);
Command<State> enterNested(const Plan& plan, const State& state);

/// The update that sets a graph's state to this one, whatever it was before.
Update<State> updateOf(const State& state);
/// The same of a state in which nothing has been executed, for a graph without a state.
Update<State> beginningOf(State state);

/// Checks a definition and makes its graph. `outer`: of a definition inside another. Errors: InvalidGraphError.
std::shared_ptr<const Plan> makePlan(const Definition& definition, const CompileOptions& options,
                                     std::string prefix = {}, const Plan* outer = nullptr);
CompiledGraph<State> compile(std::shared_ptr<const Plan> plan, const CompileOptions& options);

}  // namespace stategraph::workflow
