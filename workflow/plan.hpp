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

/// A workflow that is a step of another.
struct Nested {
    std::shared_ptr<const Plan> plan;
    CompiledGraph<State> graph;
};

/// A step, a map or a sleep, with its place in the definition.
struct Place {
    std::size_t entry = 0;
    const Step* step = nullptr;  // null for a map or a sleep
    std::string path = {};
    std::unique_ptr<const Nested> nested = {};  // set for a step that is a workflow
};

/// A checked definition, in the form that the nodes of its graph use.
struct Plan {
    Definition definition;
    std::string workflow;  // the outermost one's id
    std::string prefix;    // the prefix of its steps' paths, such as "outer."
    bool is_root = true;
    std::map<std::string, Place, std::less<>> places = {};               // by id
    std::vector<Targets> beginnings = {};                                // for each entry: what is due when it begins
    std::shared_ptr<const std::map<std::string, Reduce>> reducers = {};  // those of the outermost workflow
    bool sleeps = false;  // it, or a workflow inside it, has a sleep, so that its node may run again and resume inside

    std::shared_ptr<IdSource> ids = {};     // the clock that counts; null means the system's
    std::shared_ptr<BaseCache> cache = {};  // for the outputs of steps; null if nothing is cached

    std::int64_t nowMs() const;
    /// Returns null if there is no such place.
    const Place* findPlace(std::string_view id) const noexcept;
    const Nested* findNested(std::string_view id) const noexcept;
    const Entry& entryOf(const Place& place) const noexcept { return definition.entries[place.entry]; }
    RetryPolicy retryOf(const Step& step) const;
};

/// Returns the ids of an entry.
std::vector<std::string> idsOf(const Entry& entry);
bool isBlock(const Entry& entry) noexcept;
/// Returns what a block returns.
Value combined(const Entry& block, const Values& outputs);

/// The names of nodes in addition to those of steps, maps and sleeps, which have their ids as names.
std::string joinOf(std::size_t entry);
std::string askOf(std::size_t entry);
std::string turnOf(std::size_t entry);
std::string itemNodeOf(std::string_view step);
std::string itemsEndOf(std::string_view step);
inline constexpr const char* wait_node = "[wait]";
inline constexpr const char* enter_node = "[enter]";

/// One call of start, resume and the like, which its nodes get as RunConfig::context.
class Session {
public:
    std::function<void(const RunEvent&)> on_event;
    std::stop_source stop;  // requested if the run is to end before its next step

    bool isWatched() const noexcept { return on_event != nullptr; }
    void tell(const RunEvent& event) const {
        if (!on_event) return;
        const stategraph::detail::LockGuard lock(mutex_);
        try {
            on_event(event);
        } catch (...) {
            // An exception of a watcher is ignored, because the run does not depend on its watchers.
        }
    }

    /// `cancel` calls this to store that the run is cancelled. Returns true if that is stored, by this call or an
    /// earlier one.
    template <class Store>
    bool storeCancel(Store store) {
        const stategraph::detail::LockGuard lock(cancel_mutex_);
        is_cancel_stored_ = store() || is_cancel_stored_;
        return is_cancel_stored_;
    }
    /// Returns whether a caller was told that the run is cancelled. Waits for a caller that is about to be told.
    bool isCancelStored() const {
        const stategraph::detail::LockGuard lock(cancel_mutex_);
        return is_cancel_stored_;
    }
    /// Notes that workflows inside run in the superstep of this checkpoint of the run.
    void noteInside(CheckpointId checkpoint) const {
        const stategraph::detail::LockGuard lock(mutex_);
        inside_ = checkpoint;
    }
    /// Returns the last checkpoint that was noted, or an empty one.
    CheckpointId inside() const {
        const stategraph::detail::LockGuard lock(mutex_);
        return inside_;
    }
    /// Keeps the current exception, which an attempt of a step threw, because the stored record has only the text.
    void noteFailure(const std::string& path) const noexcept;
    /// Returns the exception with this text that an attempt of this step threw, or null if that was in another process.
    std::exception_ptr failureOf(const std::string& path, const std::string& text) const;

private:
    mutable stategraph::detail::Mutex mutex_;
    mutable stategraph::detail::Mutex cancel_mutex_;
    bool is_cancel_stored_ SG_GUARDED_BY(cancel_mutex_) = false;
    mutable CheckpointId inside_ SG_GUARDED_BY(mutex_) = {};
    mutable std::map<std::pair<std::string, std::string>, std::exception_ptr> failures_
        SG_GUARDED_BY(mutex_);  // by path and text
};
bool isWatched(Runtime& runtime);
bool isCanceled(Runtime& runtime);
void tell(Runtime& runtime, const RunEvent& event);
/// Notifies watchers of a step, if there are any.
void tellStep(Runtime& runtime, RunEvent::Kind kind, const std::string& path, Word status = Word::none);

/// Where a run continues after an entry that has ended. The entry's own writes are in `update`.
struct Outcome {
    Word status;       // success, failed, suspended or bailed
    Value value = {};  // what the next entry receives, or the text of a failure
};
Command<State> advance(const Plan& plan, const State& state, std::size_t entry, Outcome outcome, Update<State> update,
                       bool is_canceled);
/// Returns whether the failure of a run is permanent: another attempt would meet a permanent failure of the failed
/// entry again, also if the error is that of another member. A failure that was allowed is not the run's.
bool hasPermanentFailure(const Plan& plan, const State& state);
/// Returns what is due where a run continues.
Targets goingOn(const Plan& plan, const State& state);

/// The functions of nodes. Those that await are for steps that are coroutines.
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

/// Returns the update that sets a graph's state to this one, independent of its state before.
Update<State> updateOf(const State& state);
/// Does the same for a state in which nothing has been executed, for a graph without a state.
Update<State> beginningOf(State state);

/// Checks a definition and creates its graph. `outer` is the plan around it, if it is inside another. Errors:
/// InvalidGraphError.
std::shared_ptr<const Plan> makePlan(const Definition& definition, const CompileOptions& options,
                                     std::string prefix = {}, const Plan* outer = nullptr);
CompiledGraph<State> compile(std::shared_ptr<const Plan> plan, const CompileOptions& options);

}  // namespace stategraph::workflow
