#include <stategraph/stream.hpp>

#include <chrono>
#include <ostream>

#include <stategraph/encoding.hpp>

#include "src/run/stream_driver.hpp"
#include "src/task/attempt.hpp"

// A run as a range of events, whose reader blocks.
namespace stategraph::detail {

struct StreamRun::Impl {
    engine::StreamDriver driver;
    std::optional<StreamEvent> event;  // the one that is looked at

    Impl(std::shared_ptr<const Core> graph, RunInput&& given, const RunConfig& config, const StreamOptions& options)
        : driver(std::move(graph), std::move(given), config, options, engine::StreamQueue::WhenFull::wait) {}

    void next() {
        while (!driver.take(event)) {
            try {
                advance();
            } catch (...) {
                driver.fail();
            }
        }
    }

    void advance() {
        switch (driver.advance()) {
            case engine::StreamDriver::Todo::nothing:
                return;
            case engine::StreamDriver::Todo::wait:
                driver.queue.wait();
                return;
            case engine::StreamDriver::Todo::tasks:
                if (driver.isLive() && !driver.run().todo().empty() && startTasks()) return;
                driver.run().executeAll();
                break;
            case engine::StreamDriver::Todo::join:
                break;
        }
        driver.endSuperstep();
    }

    // On a thread of the executor or, if all of them are busy and may wait for this very reader, on a spare one. False:
    // there is none at all, and the reader runs the tasks.
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
            // No memory.
        }
        driver.queue.endTasks();
        return false;
    }

    // A reader that leaves early waits for the superstep under way.
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
