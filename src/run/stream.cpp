#include <stategraph/stream.hpp>

#include <memory>
#include <optional>
#include <utility>

#include "src/run/stream_driver.hpp"
#include "src/task/attempt.hpp"

// Gives a run as a range of events, whose reader blocks.
namespace stategraph::detail {

struct StreamRun::Impl {
    engine::StreamDriver driver;
    std::optional<StreamEvent> event;  // the current event

    Impl(std::shared_ptr<const Core> graph, RunInput&& given, const RunConfig& config, const StreamOptions& options)
        : driver(std::move(graph), std::move(given), config, options, engine::StreamQueue::WhenFull::wait) {}

    void next() {
        while (!driver.take(event)) {
            if (driver.isRunning()) {
                driver.mayGetEvents() ? driver.queue.wait() : driver.endTasks();
            } else if (driver.need() == engine::Need::tasks) {
                execute();
            } else {
                if (driver.need() == engine::Need::puts) driver.machine().settle();
                driver.advance();
            }
        }
    }

    void execute() {
        if (driver.isLive() && !driver.run().todo().empty() && startTasks()) return;
        driver.run().executeAll();
        driver.endTasks();
    }

    // Starts the tasks on a thread of the executor or, if all of them are busy and may wait for this very reader, on a
    // spare one. Returns false if there is no thread at all; then the reader runs the tasks.
    bool startTasks() {
        const auto run_all = [](void* self) {
            auto& driven = *static_cast<engine::StreamDriver*>(self);
            driven.run().executeAll();
            driven.queue.endTasks();
        };
        driver.beginTasks();
        try {
            if (driver.run().shared().executor->trySubmit(run_all, &driver) ||
                engine::attemptThreads().trySubmit(run_all, &driver))
                return true;
        } catch (...) {
            // There is no memory.
        }
        driver.queue.endTasks();
        return false;
    }

    // If the reader leaves early, this waits for the current superstep.
    ~Impl() {
        driver.queue.close();
        driver.queue.waitForTasks();
        driver.leave();
    }
};

StreamRun::StreamRun(std::shared_ptr<const Core> core, RunInput input, const RunConfig& config,
                     const StreamOptions& options)
    : impl_(new Impl(std::move(core), std::move(input), config, options)) {}

StreamRun::~StreamRun() = default;

void StreamRun::advance() { impl_->next(); }
const StreamEvent* StreamRun::event() const noexcept { return impl_->event ? &*impl_->event : nullptr; }

RunOutcome StreamRun::takeOutcome(void* values) { return impl_->driver.takeOutcome(values); }

}  // namespace stategraph::detail
