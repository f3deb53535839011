#pragma once
#include "src/superstep/task_context.hpp"

namespace stategraph::engine {

class Attempt;
class RunTaskContext;

/// The context of an attempt that may be abandoned, after which its run may be destroyed. What it reports about its
/// task was copied. Functions that need the run hold the attempt meanwhile, and throw CancelledError once it was
/// abandoned.
class ApartTaskContext final : public detail::TaskContext {
public:
    /// Continues `begun`, a context of the same attempt, which need not outlive its run.
    ApartTaskContext(Attempt& attempt, const RunTaskContext& begun) noexcept;
    ApartTaskContext(const ApartTaskContext&) = delete;

    /// Use it only while the attempt is held, or was not abandoned.
    TaskEnv& env() const noexcept { return env_; }

    std::string_view node() const noexcept override;
    std::int64_t step() const noexcept override;
    int remainingSteps() const noexcept override;
    TaskId taskId() const override;
    std::string_view threadId() const noexcept override;
    CheckpointId checkpointId() const noexcept override;
    std::string_view checkpointNs() const noexcept override;
    const RunContext& runContext() const noexcept override;
    bool stopRequested() const override;
    bool drainRequested() const override;
    std::stop_token stopToken() const override;
    void heartbeat() override;
    void sleepUntil(std::chrono::steady_clock::time_point until) override;
    void write(const Value& data) override;
    void emitMessage(const Value& part) override;
    bool wants(StreamMode mode) const override;
    BaseStore* store() const override;
    const void* state(const void* type) const override;
    const detail::Core& core() const noexcept override;
    HeldRun hold() const override;
    std::shared_ptr<RunStop> beginGraph() override;
    void endGraph() override;
    void graphTimedOut() override;
    std::shared_ptr<void> keepNode() override;

private:
    Attempt& attempt_;
    TaskEnv& env_;
    Task& task_;
};

}  // namespace stategraph::engine
