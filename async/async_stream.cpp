#include <deque>
#include <mutex>
#include <utility>

#include <stategraph/detail/async.hpp>

#include "async/closable_place.hpp"
#include "async/drive.hpp"
#include "src/run/stream_end.hpp"
#include "src/threads/waiting.hpp"

// A run as events that coroutines await: it advances a superstep when its events have been taken.
namespace stategraph::detail {
namespace {

// Events between the tasks' threads and the coroutine that reads. A coroutine cannot be made to wait in the middle of
// Runtime::write, so a reader that falls too far behind is an error.
class AwaitedEvents final : public EventSink {
public:
    static constexpr std::size_t size_max = 65'536;

    /// Awaits an event or the end of the tasks under way.
    class Change {
    public:
        explicit Change(AwaitedEvents& events) noexcept : events_(events) {}
        Change(const Change&) = delete;
        Change& operator=(const Change&) = delete;
        ~Change() {
            const std::lock_guard lock(events_.mutex_);
            if (events_.waits_ == this) events_.waits_ = nullptr;
        }
        bool await_ready() const noexcept { return false; }
        template <class Promise>
        bool await_suspend(std::coroutine_handle<Promise> coroutine) {
            wakeup_.prepare(homeOf(coroutine), coroutine);
            const std::lock_guard lock(events_.mutex_);
            if (!events_.queue_.empty() || events_.is_done_) return false;
            events_.waits_ = this;
            return true;
        }
        void await_resume() const noexcept {}

    private:
        friend class AwaitedEvents;
        AwaitedEvents& events_;
        Wakeup wakeup_;
    };

    void take(StreamEvent&& event) override {
        const std::lock_guard lock(mutex_);
        if (is_closed_) return;
        if (is_beside_ && queue_.size() == size_max) {
            throw InvalidArgumentError(
                "the stream's reader is " + std::to_string(size_max) +
                " events behind the superstep under way; let the node wait in between, or write less");
        }
        queue_.push_back(std::move(event));
        wake();
    }
    std::optional<StreamEvent> poll() {
        const std::lock_guard lock(mutex_);
        if (queue_.empty()) return {};
        std::optional<StreamEvent> event = std::move(queue_.front());
        queue_.pop_front();
        return event;
    }
    void begin() noexcept {
        is_done_ = false;
        is_beside_ = true;
    }
    bool isDone() const {
        const std::lock_guard lock(mutex_);
        return is_done_;
    }
    void end() noexcept {
        const std::lock_guard lock(mutex_);
        is_done_ = true;
        is_beside_ = false;
        wake();
    }
    /// Nobody takes events any more.
    void close() {
        const std::lock_guard lock(mutex_);
        is_closed_ = true;
    }

private:
    // Under the lock: until then the one that waits is there.
    void wake() noexcept {
        if (waits_ != nullptr) std::exchange(waits_, nullptr)->wakeup_.wake();
    }

    mutable std::mutex mutex_;
    std::deque<StreamEvent> queue_;
    Change* waits_ = nullptr;
    bool is_done_ = false;
    bool is_beside_ = false;  // tasks run beside the reader, which is to keep up with them
    bool is_closed_ = false;
};

}  // namespace

struct AsyncStreamRun::Impl {
    enum class Phase : std::uint8_t {
        begin,
        plan,     // the next superstep
        due,      // its tasks are to be run; some may have been left by a reader that was destroyed
        running,  // they run beside the reader
    };

    std::shared_ptr<const Core> core;
    RunInput input;
    RunConfig config;
    const bool live;  // tasks run beside the reader
    AwaitedEvents queue;
    engine::Events events;
    engine::RunShared shared;
    engine::Run run;
    Phase phase = Phase::begin;
    engine::StreamEnd end;
    const std::shared_ptr<engine::ClosablePlace> place;  // where tasks run beside the reader
    Task<> running;  // the tasks of a superstep, beside the reader; destroyed before what it refers to

    Impl(std::shared_ptr<const Core> graph, RunInput&& given, const RunConfig& run_config, const StreamOptions& options,
         Home beside)
        : core(std::move(graph)),
          input(std::move(given)),
          config(run_config),
          live(engine::isLive(options)),
          events(queue, options),
          shared(engine::shareRun(*core, config, events)),
          run(*core, shared),
          place(live
                    ? std::make_shared<engine::ClosablePlace>(beside.ops != nullptr ? beside : homeOf(core->executor()))
                    : nullptr) {}

    // Tasks that run beside the reader are destroyed where they wait. A superstep whose tasks have all ended is
    // committed.
    ~Impl() {
        queue.close();
        if (live) place->close();
        const bool is_done = phase == Phase::running && queue.isDone();
        running.reset();
        try {
            if (is_done) run.endSuperstep();
        } catch (...) {
            // What failed is on its task's record, and nobody listens any more.
        }
        if (!end.isThere()) run.leave();
    }

    // Not where the reader is: that may be gone when it reads on.
    void start() {
        queue.begin();
        running = engine::executeAllAsync(run, engine::Spread::elsewhere);
        phase = Phase::running;
        running.handle().promise().startWith(
            running.handle(), [](void* told) { static_cast<AwaitedEvents*>(told)->end(); }, &queue, place->home());
    }

    // One step of the run without what is awaited. True: the tasks of a superstep are to be awaited. `beside`: they may
    // run beside the reader.
    bool advance(bool beside) {
        switch (phase) {
            case Phase::begin:
                run.begin(std::move(input));
                phase = Phase::plan;
                break;
            case Phase::plan:
                if (run.next()) {
                    phase = Phase::due;
                } else {
                    end.finish(run);
                }
                break;
            case Phase::due:
                run.takeUpLeft();
                if (live && beside && !run.todo().empty()) {
                    start();
                    break;
                }
                if (!engine::isAllInline(run)) return true;
                run.executeAll();
                endTasks();
                break;
            case Phase::running: {
                const Task<> ended = std::move(running);
                ended.handle().promise().take();
                endTasks();
                break;
            }
        }
        return false;
    }

    void endTasks() {
        phase = Phase::plan;
        run.endSuperstep();
        if (run.isPaused()) end.finish(run);
    }

    Task<std::optional<StreamEvent>> next() {
        const Home home = co_await OwnHome(homeOf(core->executor()));
        // A thread of an executor that waits for the reader runs the tasks too: the others may all wait in the same
        // way.
        const bool beside = !home.ops->may_block || !engine::servesExecutor();
        for (;;) {
            const bool is_running =
                phase == Phase::running && !queue.isDone();  // before the look at the events: those are all
            std::optional<StreamEvent> event = queue.poll();
            if (event) co_return event;
            if (is_running) {
                co_await AwaitedEvents::Change(queue);
                continue;
            }
            if (end.isThere()) {
                end.tell();
                co_return event;
            }
            try {
                if (phase == Phase::begin) co_await engine::awaitTurn(shared);
                if (advance(beside)) {
                    co_await engine::executeAllAsync(run, engine::Spread::usual);
                    endTasks();
                }
            } catch (...) {
                end.fail(run);
            }
        }
    }
};

AsyncStreamRun::AsyncStreamRun(std::shared_ptr<const Core> core, RunInput&& input, const RunConfig& config,
                               const StreamOptions& options, Home beside)
    : impl_(new Impl(std::move(core), std::move(input), config, options, beside)) {}

AsyncStreamRun::~AsyncStreamRun() = default;

Task<std::optional<StreamEvent>> AsyncStreamRun::next() { return impl_->next(); }
RunOutcome AsyncStreamRun::takeOutcome(void* values) { return impl_->end.take(impl_->run, values); }

}  // namespace stategraph::detail
