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

StreamDriver::Todo StreamDriver::advance() {
    switch (phase_) {
        case Phase::begin:
            run_.begin(std::move(input_));
            phase_ = Phase::plan;
            break;
        case Phase::plan:
            if (run_.next()) {
                phase_ = Phase::due;
            } else {
                end_.finish(run_);
            }
            break;
        case Phase::due:
            run_.takeUpLeft();
            return Todo::tasks;
        case Phase::running:
            return may_get_events_ ? Todo::wait : Todo::join;
    }
    return Todo::nothing;
}

void StreamDriver::beginTasks() {
    queue.beginTasks();
    phase_ = Phase::running;
}

void StreamDriver::endSuperstep() {
    phase_ = Phase::plan;
    run_.endSuperstep();
    if (run_.isPaused()) end_.finish(run_);
}

void StreamDriver::leave() noexcept {
    try {
        if (phase_ == Phase::running && !queue.hasTasks()) run_.endSuperstep();
    } catch (...) {
        // The failure is in the record of its task, and no reader is left.
    }
    if (!end_.isThere()) run_.leave();
}

}  // namespace stategraph::engine
