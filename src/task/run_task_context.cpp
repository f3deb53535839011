#include "src/task/run_task_context.hpp"

#include <thread>

namespace stategraph::engine {

std::string_view RunTaskContext::node() const noexcept { return env_.nodeOf(task_).name; }
std::int64_t RunTaskContext::step() const noexcept { return env_.place.step; }
int RunTaskContext::remainingSteps() const noexcept { return env_.limits.remaining(); }
TaskId RunTaskContext::taskId() const { return env_.idOf(task_); }
std::string_view RunTaskContext::threadId() const noexcept { return env_.shared.config->thread_id.view(); }
CheckpointId RunTaskContext::checkpointId() const noexcept { return env_.place.checkpoint; }
std::string_view RunTaskContext::checkpointNs() const noexcept { return env_.place.ns; }
const RunContext& RunTaskContext::runContext() const noexcept { return env_.shared.config->context; }
bool RunTaskContext::stopRequested() const { return env_.stopStatus().has_value(); }
bool RunTaskContext::drainRequested() const { return env_.requestedEnd().has_value(); }
std::stop_token RunTaskContext::stopToken() const { return env_.stop ? env_.stop->token() : std::stop_token(); }
void RunTaskContext::sleepUntil(std::chrono::steady_clock::time_point until) { std::this_thread::sleep_until(until); }
void RunTaskContext::write(const Value& data) { env_.teller.custom(task_, data); }
void RunTaskContext::emitMessage(const Value& part) { env_.teller.messagePart(task_, attempt, part); }
bool RunTaskContext::wants(StreamMode mode) const { return env_.teller.wants(mode); }
BaseStore* RunTaskContext::store() const { return env_.store().get(); }

const void* RunTaskContext::state(const void* type) const {
    if (type != core().schema().state().type) refuseState("which is of another type than the one it asks for");
    return env_.state.values.object();
}

const detail::Core& RunTaskContext::core() const noexcept { return env_.core(); }
HeldRun RunTaskContext::hold() const { return {.env = &env_, .task = &task_}; }
std::shared_ptr<RunStop> RunTaskContext::beginGraph() { return env_.stop; }

}  // namespace stategraph::engine
