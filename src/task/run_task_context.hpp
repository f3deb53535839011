#pragma once
#include "src/superstep/task_context.hpp"
#include "src/task/task_env.hpp"

namespace stategraph::engine {

/// The context of an attempt that its run waits for, so that the run exists as long as the attempt.
class RunTaskContext final : public detail::TaskContext {
public:
    RunTaskContext(TaskEnv& env, Task& task, int number) noexcept : env_(env), task_(task) {
        attempt = number;
        has_payload = task.planned.is_send;
    }

    TaskEnv& env() const noexcept { return env_; }
    Task& task() const noexcept { return task_; }

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
    void heartbeat() override {}
    void sleepUntil(std::chrono::steady_clock::time_point until) override;
    void write(const Value& data) override;
    void emitMessage(const Value& part) override;
    bool wants(StreamMode mode) const override;
    BaseStore* store() const override;
    const void* state(const void* type) const override;
    const detail::Core& core() const noexcept override;
    HeldRun hold() const override;
    std::shared_ptr<RunStop> beginGraph() override;
    void endGraph() override {}
    void graphTimedOut() override {}
    std::shared_ptr<void> keepNode() override { return {}; }

private:
    TaskEnv& env_;
    Task& task_;
};

}  // namespace stategraph::engine
