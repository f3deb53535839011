#pragma once
#include "src/superstep/task_context.hpp"

namespace stategraph::engine {

/// The context of a router that an edit of the state calls: there is no run, and the task did not run.
class EditTaskContext final : public detail::TaskContext {
public:
    /// `store` is null if there is none. The arguments must outlive this object.
    EditTaskContext(const detail::Core& core, std::string_view node, BaseStore* store) noexcept
        : core_(core), node_(node), store_(store) {}

    std::string_view node() const noexcept override { return node_; }
    std::int64_t step() const noexcept override { return 0; }
    int remainingSteps() const noexcept override { return 0; }
    TaskId taskId() const override { return {}; }
    std::string_view threadId() const noexcept override { return {}; }
    CheckpointId checkpointId() const noexcept override { return {}; }
    std::string_view checkpointNs() const noexcept override { return {}; }
    const RunContext& runContext() const noexcept override;
    bool stopRequested() const override { return false; }
    bool drainRequested() const override { return false; }
    std::stop_token stopToken() const override { return {}; }
    void heartbeat() override {}
    void sleepUntil(std::chrono::steady_clock::time_point until) override;
    void write(const Value&) override {}
    void emitMessage(const Value&) override {}
    bool wants(StreamMode) const override { return false; }
    BaseStore* store() const override { return store_; }
    [[noreturn]] const void* state(const void* type) const override;
    const detail::Core& core() const noexcept override { return core_; }
    HeldRun hold() const override { return {}; }
    std::shared_ptr<RunStop> beginGraph() override { return {}; }
    void endGraph() override {}
    void graphTimedOut() override {}
    std::shared_ptr<void> keepNode() override { return {}; }

private:
    const detail::Core& core_;
    const std::string_view node_;
    BaseStore* const store_;
};

}  // namespace stategraph::engine
