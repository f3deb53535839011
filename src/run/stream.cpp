#include <stategraph/stream.hpp>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <ostream>

#include <stategraph/encoding.hpp>

#include "src/run/stream_end.hpp"
#include "src/task/attempt.hpp"

// A run as a range of events: it advances a superstep when its events have been taken.
namespace stategraph::detail {
namespace {

// Events wait here between the tasks' threads and whoever walks the range. When it is full, tasks wait.
class EventQueue final : public EventSink {
public:
    static constexpr std::size_t size_max = 1024;

    void take(StreamEvent&& event) override {
        std::unique_lock lock(mutex_);
        room_.wait(lock, [this] { return !is_bounded_ || events_.size() < size_max || closed_; });
        if (closed_) return;
        events_.push_back(std::move(event));
        filled_.notify_one();
    }

    /// While other threads run tasks: what the reader's own thread tells waits for no room.
    void setBounded(bool is_bounded) {
        const std::lock_guard lock(mutex_);
        is_bounded_ = is_bounded;
    }

    std::optional<StreamEvent> poll() {
        const std::lock_guard lock(mutex_);
        return pop();
    }

    /// Waits for an event, or for `done` to become true; whoever makes it so calls `wake`.
    template <class Done>
    std::optional<StreamEvent> wait(Done done) {
        std::unique_lock lock(mutex_);
        filled_.wait(lock, [&] { return !events_.empty() || done(); });
        return pop();
    }

    template <class F>
    void wake(F change) {
        const std::lock_guard lock(mutex_);
        change();
        filled_.notify_all();
    }

    /// Nobody takes events any more: what is still told is dropped.
    void close() {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        room_.notify_all();
    }

private:
    std::optional<StreamEvent> pop() {
        if (events_.empty()) return {};
        std::optional<StreamEvent> event = std::move(events_.front());
        events_.pop_front();
        room_.notify_one();
        return event;
    }

    bool is_bounded_ = false;
    std::mutex mutex_;
    std::condition_variable filled_;
    std::condition_variable room_;
    std::deque<StreamEvent> events_;
    bool closed_ = false;
};

}  // namespace

struct StreamRun::Impl {
    enum class Phase : std::uint8_t { begin, superstep, running };

    std::shared_ptr<const Core> core;
    RunInput input;
    RunConfig config;
    const bool live;  // tasks run on other threads than the reader's
    EventQueue queue;
    engine::Events events;
    engine::RunShared shared;
    engine::Run run;
    Phase phase = Phase::begin;
    bool superstep_done = false;
    engine::StreamEnd end;
    std::optional<StreamEvent> event;  // the one that is looked at

    Impl(std::shared_ptr<const Core> graph, RunInput&& given, const RunConfig& run_config, const StreamOptions& options)
        : core(std::move(graph)),
          input(std::move(given)),
          config(run_config),
          live(engine::isLive(options)),
          events(queue, options),
          shared(engine::shareRun(*core, config, events)),
          run(*core, shared) {}

    // Moves the run on by one step.
    void advance() {
        switch (phase) {
            case Phase::begin:
                run.begin(std::move(input));
                phase = Phase::superstep;
                return;
            case Phase::superstep:
                if (!run.next()) return end.finish(run);
                if (live && !run.todo().empty() && startTasks()) {
                    phase = Phase::running;
                    return;
                }
                run.executeAll();
                break;
            case Phase::running:
                queue.setBounded(false);
                phase = Phase::superstep;
                break;
        }
        run.endSuperstep();
        if (run.isPaused()) end.finish(run);
    }

    // On a thread of the executor or, if all of them are busy and may wait for this very reader, on a spare one. False:
    // there is none at all, and the reader runs the tasks.
    bool startTasks() {
        const auto run_all = [](void* self) {
            auto& impl = *static_cast<Impl*>(self);
            impl.run.executeAll();
            impl.queue.wake([&impl] { impl.superstep_done = true; });
        };
        superstep_done = false;
        queue.setBounded(true);
        try {
            if (shared.executor->trySubmit(run_all, this) || engine::attemptThreads().trySubmit(run_all, this))
                return true;
        } catch (...) {
            // No memory.
        }
        queue.setBounded(false);
        return false;
    }

    std::optional<StreamEvent> next() {
        for (;;) {
            std::optional<StreamEvent> event =
                phase == Phase::running ? queue.wait([this] { return superstep_done; }) : queue.poll();
            if (event) return event;
            if (end.isThere()) {
                end.tell();
                return {};
            }
            try {
                advance();
            } catch (...) {
                end.fail(run);
            }
        }
    }

    // Whoever leaves early waits for the superstep under way; the thread goes on behind it.
    ~Impl() {
        queue.close();
        if (phase == Phase::running) {
            while (queue.wait([this] { return superstep_done; })) {
            }
            try {
                run.endSuperstep();
            } catch (...) {
                // What failed is on its task's record, and nobody listens any more.
            }
        }
        if (!end.isThere()) run.leave();
    }
};

StreamRun::StreamRun(std::shared_ptr<const Core> core, RunInput input, const RunConfig& config,
                     const StreamOptions& options)
    : impl_(new Impl(std::move(core), std::move(input), config, options)) {}

StreamRun::~StreamRun() = default;

void StreamRun::advance() { impl_->event = impl_->next(); }
const StreamEvent* StreamRun::event() const noexcept { return impl_->event ? &*impl_->event : nullptr; }

RunOutcome StreamRun::takeOutcome(void* values) { return impl_->end.take(impl_->run, values); }

}  // namespace stategraph::detail

namespace stategraph {
namespace {

Ending endingNamed(std::string_view name) {
    for (unsigned i = 0; i <= static_cast<unsigned>(Ending::handled); ++i) {
        if (name == toString(static_cast<Ending>(i))) return static_cast<Ending>(i);
    }
    throw WrongTypeError("an event says that a run ended with '" + std::string(name.substr(0, 60)) +
                         "', which is no way to end");
}

}  // namespace

const char* toString(StreamMode mode) noexcept {
    switch (mode) {
        case StreamMode::values:
            return "values";
        case StreamMode::updates:
            return "updates";
        case StreamMode::tasks:
            return "tasks";
        case StreamMode::checkpoints:
            return "checkpoints";
        case StreamMode::debug:
            return "debug";
        case StreamMode::custom:
            return "custom";
        case StreamMode::messages:
            return "messages";
        case StreamMode::runs:
            return "runs";
        case StreamMode::calls:
            return "calls";
    }
    return "?";
}

bool isRunEnd(const StreamEvent& event) {
    if (event.mode != StreamMode::runs) return false;
    Decoder in(event.data.bytes());
    return in.peek() == Decoder::Type::map && in.map() > 1;  // a beginning says nothing else
}

std::optional<EndOfRun> endOf(const StreamEvent& event) {
    if (!isRunEnd(event)) return {};
    EndOfRun end;
    end.interrupts = event.interrupts;
    Decoder in(event.data.bytes());
    for (std::size_t left = in.map(); left > 0; --left) {
        const std::string_view key = in.text();
        const bool is_text = in.peek() == Decoder::Type::text;
        if (key == "status" && is_text) {
            end.ending = endingNamed(in.text());
        } else if (key == "error" && is_text) {
            end.error = in.text();
        } else if (key == "checkpoint_id" && is_text) {
            end.checkpoint_id = CheckpointId(in.text());
        } else if (key == "wake_unix_ms" &&
                   (in.peek() == Decoder::Type::unsigned_integer || in.peek() == Decoder::Type::negative_integer)) {
            end.wake_time = std::chrono::system_clock::time_point(std::chrono::milliseconds(in.integer()));
        } else {
            in.skip();
        }
    }
    return end;
}

std::string toJson(const StreamEvent& event) {
    std::string cbor;
    Encoder out(cbor);
    out.map(5);
    out.text("ns");
    out.array(event.ns.size());
    for (const auto& segment : event.ns) out.text(segment);
    out.text("data");
    out.raw(event.data.bytes());
    out.text("mode");
    out.text(toString(event.mode));
    out.text("node");
    out.text(event.node);
    out.text("step");
    out.integer(event.step);
    return cborToJson(cbor);
}

std::ostream& operator<<(std::ostream& out, const StreamEvent& event) {
    for (const auto& segment : event.ns) out << segment << '|';
    return out << toString(event.mode) << ": " << event.data;
}

}  // namespace stategraph
