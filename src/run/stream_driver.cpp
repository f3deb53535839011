#include "src/run/stream_driver.hpp"

#include <utility>

namespace stategraph::engine {

StreamDriver::StreamDriver(std::shared_ptr<const detail::Core> graph, detail::RunInput&& input, const RunConfig& config,
                           const StreamOptions& options, StreamQueue::WhenFull when_full)
    : core(std::move(graph)),
      queue(when_full),
      input_(std::move(input)),
      config_(config),
      is_live_(overlap(options.modes, detail::modes_of_running_tasks) || options.subgraphs),
      events_(queue, options),
      shared_(shareRun(*core, config_, events_)),
      run_(*core, shared_) {}

bool StreamDriver::take(std::optional<StreamEvent>& event) {
    queue.poll(event, may_get_events_);
    if (event) return true;
    if (!end_.isThere()) return false;
    end_.tell();
    return true;
}

std::optional<PutQueue::Until> StreamDriver::mustAwait() noexcept {
    constexpr auto idle = PutQueue::Until::idle;
    switch (phase_) {
        case Phase::store:  // if it is not awaited, the put itself waits
            return run_.env().log.isAwaited() ? std::optional(PutQueue::Until::room) : std::nullopt;
        case Phase::begun:
        case Phase::ending:
        case Phase::ended:
        case Phase::failing:
        case Phase::failed:
            return idle;
        case Phase::stored:
            return run_.storesAtOnce() ? std::optional(idle) : std::nullopt;
        default:
            return {};
    }
}

void StreamDriver::settle() {
    try {
        LogWriter& log = run_.env().log;
        phase_ == Phase::store ? log.waitForRoom() : log.wait();
        if (phase_ == Phase::failing) run_.tellStored();
    } catch (...) {
        if (!fails()) throw;  // the first failure matters more
    }
}

StreamDriver::Todo StreamDriver::advance() {
    switch (phase_) {
        case Phase::begin:
            run_.enter(input_);
            phase_ = Phase::start;
            return Todo::read;
        case Phase::start:
            run_.start(std::move(input_));
            phase_ = Phase::begun;
            break;
        case Phase::begun:
            phase_ = Phase::plan;
            break;
        case Phase::plan:
            if (run_.next()) {
                phase_ = Phase::due;
            } else {
                storeEnd();
            }
            break;
        case Phase::due:
            run_.takeUpLeft();
            return Todo::tasks;
        case Phase::running:
            return may_get_events_ ? Todo::wait : Todo::join;
        case Phase::store:
            run_.storeSuperstep();
            phase_ = Phase::stored;
            break;
        case Phase::stored:
            run_.leaveSuperstep();
            phase_ = Phase::plan;
            if (run_.isPaused()) storeEnd();
            break;
        case Phase::ending:
        case Phase::failing:
            run_.tellIndex();
            phase_ = fails() ? Phase::failed : Phase::ended;
            break;
        case Phase::ended:
            end_.finish(run_);
            break;
        case Phase::failed:
            end_.fail(run_);
            break;
    }
    return Todo::nothing;
}

void StreamDriver::storeEnd() {
    run_.storeEnd();
    phase_ = Phase::ending;
}

void StreamDriver::fail() {
    end_.keepFailure(run_);
    run_.storeFailure();
    phase_ = Phase::failing;
}

void StreamDriver::beginTasks() {
    queue.beginTasks();
    phase_ = Phase::running;
}

void StreamDriver::leave() noexcept {
    try {
        if (phase_ == Phase::store || (phase_ == Phase::running && !queue.hasTasks())) {
            settle();
            run_.endSuperstep();
        }
    } catch (...) {
        // The failure is in the record of its task, and no reader is left.
    }
    if (!end_.isThere()) run_.leave();
}

}  // namespace stategraph::engine
