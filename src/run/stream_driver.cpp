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
      run_(*core, shared_),
      machine_(run_, input_) {}

bool StreamDriver::take(std::optional<StreamEvent>& event) {
    queue.poll(event, may_get_events_);
    if (event) return true;
    if (!end_.isThere()) return false;
    end_.tell();
    return true;
}

void StreamDriver::advance() noexcept {
    need_ = machine_.advance();
    if (need_ == Need::done) end_.come(run_, machine_);
}

void StreamDriver::beginTasks() {
    queue.beginTasks();
    is_running_ = true;
}

// The reader takes what the tasks have reported before their superstep is stored.
void StreamDriver::endTasks() noexcept {
    is_running_ = false;
    need_ = Need::events;
}

void StreamDriver::leave() noexcept {
    if (!end_.isThere()) machine_.leave(is_running_ ? !queue.hasTasks() : need_ != Need::tasks);
}

}  // namespace stategraph::engine
