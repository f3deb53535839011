#include "src/task/apart_task_context.hpp"

#include "src/task/attempt.hpp"
#include "src/task/run_task_context.hpp"

namespace stategraph::engine {

ApartTaskContext::ApartTaskContext(Attempt& attempt, const RunTaskContext& begun) noexcept
    : TaskContext(begun), attempt_(attempt), env_(begun.env()), task_(begun.task()) {}

std::string_view ApartTaskContext::node() const noexcept { return attempt_.info().node; }
std::int64_t ApartTaskContext::step() const noexcept { return attempt_.info().step; }
int ApartTaskContext::remainingSteps() const noexcept { return attempt_.info().remaining_steps; }
TaskId ApartTaskContext::taskId() const { return attempt_.info().task_id; }
std::string_view ApartTaskContext::threadId() const noexcept { return attempt_.info().thread_id; }
CheckpointId ApartTaskContext::checkpointId() const noexcept { return attempt_.info().checkpoint_id; }
std::string_view ApartTaskContext::checkpointNs() const noexcept { return attempt_.info().checkpoint_ns; }
const RunContext& ApartTaskContext::runContext() const noexcept { return attempt_.info().context; }
bool ApartTaskContext::stopRequested() const { return attempt_.isStopping(); }
std::stop_token ApartTaskContext::stopToken() const { return attempt_.token(); }
void ApartTaskContext::heartbeat() { attempt_.heartbeat(); }
void ApartTaskContext::sleepUntil(std::chrono::steady_clock::time_point until) { attempt_.sleepUntil(until); }

bool ApartTaskContext::drainRequested() const {
    const auto held = attempt_.enter();
    return env_.requestedEnd().has_value();
}

void ApartTaskContext::write(const Value& data) {
    const auto held = attempt_.enter();
    env_.teller.custom(task_, data);
}

void ApartTaskContext::emitMessage(const Value& part) {
    const auto held = attempt_.enter();
    env_.teller.messagePart(task_, attempt, part);
}

bool ApartTaskContext::wants(StreamMode mode) const {
    const auto held = attempt_.enter();
    return env_.teller.wants(mode);
}

BaseStore* ApartTaskContext::store() const {
    const auto held = attempt_.enter();
    return attempt_.info().store.get();
}

const void* ApartTaskContext::state(const void* type) const {
    const auto held = attempt_.enter();
    if (type != core().schema().state().type) refuseState("which is of another type than the one it asks for");
    return attempt_.info().state.get();
}

const detail::Core& ApartTaskContext::core() const noexcept { return attempt_.core(); }
HeldRun ApartTaskContext::hold() const { return {.env = &env_, .task = &task_, .lock = attempt_.enter()}; }
std::shared_ptr<RunStop> ApartTaskContext::beginGraph() { return attempt_.beginCall(); }
void ApartTaskContext::endGraph() { attempt_.endCall(); }
void ApartTaskContext::graphTimedOut() { attempt_.callTimedOut(); }
std::shared_ptr<void> ApartTaskContext::keepNode() { return attempt_.keepNode(); }

}  // namespace stategraph::engine
