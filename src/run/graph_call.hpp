#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <stategraph/detail/call_failure.hpp>
#include <stategraph/runtime.hpp>

#include "src/run/run.hpp"
#include "src/task/effects.hpp"

namespace stategraph::engine {

/// A graph that a node calls (Runtime::invoke): a run inside the node's task, like the visit of a subgraph. Its key
/// distinguishes it from other calls of the same task. The thread that creates it drives the run. Used on the node's
/// threads, one at a time.
class GraphCall {
public:
    /// Errors: InvalidArgumentError for an invalid key or graph; InvalidUpdateError if an edit of the state calls a
    /// router; CancelledError.
    GraphCall(Runtime& runtime, std::shared_ptr<const detail::Core> core, std::string_view key);
    /// The run has ended or was abandoned before.
    ~GraphCall();
    GraphCall(const GraphCall&) = delete;
    GraphCall& operator=(const GraphCall&) = delete;

    /// Returns whether the call has ended before. If so, `values`, a new object of the state's type, gets what it
    /// returned. Errors: WrongTypeError if that is now of another type.
    bool restore(void* values);
    /// Returns the run, which the caller drives. Errors: InvalidUpdateError if a call with this key is under way;
    /// CancelledError.
    Run& begin();
    /// Stores the outcome of `drive()` (RunOutcome&) and writes it to `values`. Throws what the run threw; if the run
    /// paused, throws the pause through the node.
    template <class F>
    void end(void* values, F drive) {
        checkEnd(drive);
        try {
            detail::markingFailures([&] {
                env_->storeEffect(path_, result());
                giveResult(values);
            });
        } catch (...) {
            noteRefusal();
            throw;
        }
    }
    /// The same for a coroutine, in two parts: the first one returns what is to be awaited before the second one, or
    /// null.
    template <class F>
    std::shared_ptr<EffectPut> endLater(F drive) {
        checkEnd(drive);
        return detail::markingFailures([&] { return env_->storeEffectLater(path_, result()); });
    }
    void giveResult(void* values);
    /// Call it if the call has thrown: a task that was refused must not count, whatever it makes of that.
    void noteRefusal() noexcept {
        if (env_->shared.refusal.isNoted()) env_->shared.refusal.noteCall(env_->place.idOf(*task_));
    }

private:
    void check() const;
    [[noreturn]] void pause(const RunOutcome& outcome);
    // Returns what is stored of a call that has ended.
    Effects::Entry result();
    // Throws if the run threw or paused.
    template <class F>
    void checkEnd(F& drive) {
        try {
            const RunOutcome& outcome = detail::markingFailures(drive);
            if (outcome.status != Status::done) pause(outcome);
            env_->teller.noteInside(env_->place.idOf(*task_), *core_, child_->state());
        } catch (ParentCommandSignal& signal) {
            adoptCommand(signal, env_->core().schema(), env_->nodeOf(*task_));
            throw;
        } catch (...) {
            noteRefusal();
            throw;
        }
    }
    NodeCall* find() noexcept SG_REQUIRES(env_->shared.answers_mutex);

    Runtime& runtime_;
    detail::TaskContext& context_;
    // The place in the outer run, which exists while the attempt is held, or while a call is registered with it.
    TaskEnv* env_ = nullptr;
    Task* task_ = nullptr;
    std::shared_ptr<const detail::Core> core_;
    std::string key_;
    CalledGraph called_;
    std::string path_;
    std::optional<ParentLink> link_;
    std::optional<Run> child_;
    bool is_listed_ = false;
    bool is_inside_attempt_ = false;
};

}  // namespace stategraph::engine
