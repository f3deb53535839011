#include <utility>

#include <stategraph/detail/async.hpp>

#include "src/async/closable_place.hpp"
#include "src/async/drive.hpp"
#include "src/async/stored.hpp"
#include "src/run/stream_driver.hpp"
#include "src/threads/waiting.hpp"

// Gives a run as events that coroutines await.
namespace stategraph::detail {
namespace {

// Awaits an event, or the end of the tasks under way.
class Change final : public engine::StreamQueue::Suspended {
public:
    explicit Change(engine::StreamQueue& queue) noexcept : queue_(queue) {}
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;
    ~Change() { queue_.forget(*this); }
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> coroutine) {
        wakeup_.prepare(homeOf(coroutine), coroutine);
        return queue_.suspend(*this);
    }
    void await_resume() const noexcept {}

private:
    void wake() noexcept override { wakeup_.wake(); }

    engine::StreamQueue& queue_;
    Wakeup wakeup_;
};

}  // namespace

struct AsyncStreamRun::Impl {
    engine::StreamDriver driver;
    const std::shared_ptr<engine::ClosablePlace> place;  // set if tasks run at the same time as the reader
    // The tasks that run at the same time as the reader; destroyed before the members to which they refer.
    Task<> running;

    Impl(std::shared_ptr<const Core> graph, RunInput&& given, const RunConfig& config, const StreamOptions& options,
         Home beside)
        : driver(std::move(graph), std::move(given), config, options, engine::StreamQueue::WhenFull::refuse),
          place(driver.isLive() ? std::make_shared<engine::ClosablePlace>(
                                      beside.ops != nullptr ? beside : homeOf(driver.core->executor()))
                                : nullptr) {
        driver.run().awaitPuts();
    }

    // Tasks that run at the same time as the reader are destroyed where they wait.
    ~Impl() {
        driver.queue.close();
        if (place) place->close();
        running.reset();
        driver.leave();
    }

    // Starts the tasks on another thread than the reader's, which may have ended when the next event is read.
    void startTasks() {
        running = engine::executeAllAsync(driver.run(), engine::Spread::elsewhere);
        driver.beginTasks();
        running.handle().promise().startWith(
            running.handle(), [](void* told) { static_cast<engine::StreamQueue*>(told)->endTasks(); }, &driver.queue,
            place->home());
    }

    Task<std::optional<StreamEvent>> next() {
        const Home home = co_await OwnHome(homeOf(driver.core->executor()));
        // If a thread of an executor waits for the reader, that thread runs the tasks too, because all other threads
        // may wait in the same way.
        const bool beside = driver.isLive() && (!home.ops->may_block || !engine::servesExecutor());
        std::optional<StreamEvent> event;
        while (!driver.take(event)) {
            try {
                if (driver.isRunning()) {
                    if (driver.mayGetEvents()) {
                        co_await Change(driver.queue);
                        continue;
                    }
                    running.reset();
                    driver.endTasks();
                    continue;
                }
                switch (driver.need()) {
                    case engine::Need::turn:
                        co_await engine::awaitTurn(driver.run().shared());
                        break;
                    case engine::Need::read:
                        co_await engine::readFirst(driver.run());
                        break;
                    case engine::Need::puts:
                        co_await engine::Stored(driver.run().env().log, driver.machine().until());
                        driver.machine().settle();
                        break;
                    case engine::Need::tasks:
                        driver.run().takeUpLeft();  // a reader that was destroyed may have left some of them
                        if (beside && !driver.run().todo().empty()) {
                            startTasks();
                            continue;
                        }
                        if (engine::isAllInline(driver.run())) {
                            driver.run().executeAll();
                        } else {
                            co_await engine::executeAllAsync(driver.run(), engine::Spread::usual);
                        }
                        driver.endTasks();
                        continue;
                    case engine::Need::events:
                    case engine::Need::done:
                        break;
                }
            } catch (...) {
                driver.machine().fail(std::current_exception());
            }
            driver.advance();
        }
        co_return event;
    }
};

AsyncStreamRun::AsyncStreamRun(std::shared_ptr<const Core> core, RunInput&& input, const RunConfig& config,
                               const StreamOptions& options, Home beside)
    : impl_(new Impl(std::move(core), std::move(input), config, options, beside)) {}

AsyncStreamRun::~AsyncStreamRun() = default;

Task<std::optional<StreamEvent>> AsyncStreamRun::next() { return impl_->next(); }
RunOutcome AsyncStreamRun::takeOutcome(void* values) { return impl_->driver.takeOutcome(values); }

}  // namespace stategraph::detail
