#include "langgraph/run_answers.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <stdexcept>
#include <utility>

#include <stategraph/detail/json_text.hpp>

#include "langgraph/live_runs.hpp"
#include "langgraph/thread_view.hpp"

namespace stategraph::langgraph {

namespace {

// Clients derive from the comments of a stream when a silent connection is dead.
constexpr auto heartbeat = std::chrono::seconds(5);
// After which time a client that has disconnected is noticed.
constexpr auto patience = std::chrono::seconds(1);
constexpr auto short_patience = std::chrono::milliseconds(100);

/// Listens to the events of a run as long as it exists.
class Listening {
public:
    explicit Listening(std::shared_ptr<LiveRun> run) : run_(std::move(run)) {}
    Listening(const Listening&) = delete;
    Listening& operator=(const Listening&) = delete;
    ~Listening() {
        if (listener_) run_->feed().unlisten(*listener_);
    }
    void begin(std::function<void()> announce) { listener_ = run_->feed().listen(std::move(announce)); }
    LiveRun& run() const noexcept { return *run_; }

private:
    std::shared_ptr<LiveRun> run_;
    std::optional<std::uint64_t> listener_;
};

[[noreturn]] void breakOff() { throw std::runtime_error("the response breaks off"); }

/// What both kinds of answers have in common.
serve::HandlerEvents eventsOf(Service& service, const std::shared_ptr<Listening>& listening, bool cancels) {
    serve::HandlerEvents events;
    events.every = cancels ? std::chrono::milliseconds(short_patience) : std::chrono::milliseconds(patience);
    events.begin = [listening](std::function<void()> announce) { listening->begin(std::move(announce)); };
    events.is_whole = true;
    events.heartbeat = heartbeat;
    if (cancels) {
        events.left = [owner = service.weak_from_this(), listening] {
            const auto kept = owner.lock();
            if (kept && !kept->server.isEnding()) kept->runs->cancel(listening->run());
        };
    }
    return events;
}

}  // namespace

serve::HandlerAnswer streamOf(Service& service, StreamOf stream) {
    const auto listening = std::make_shared<Listening>(stream.run);
    serve::HandlerAnswer answer{.content_type = "text/event-stream"};
    serve::HandlerEvents events = eventsOf(service, listening, stream.cancels);
    events.idle_text = ": heartbeat\n\n";
    events.next = [listening, from = stream.from,
                   modes = std::move(stream.modes)]() mutable -> std::optional<std::string> {
        RunFeed::Read read = listening->run().feed().read(from, modes);
        from = read.next;
        if (!read.text.empty()) return std::move(read.text);
        if (read.is_lost) breakOff();
        if (read.is_end) return std::nullopt;
        return std::string();
    };
    answer.events = std::move(events);
    return answer;
}

serve::HandlerAnswer resultOf(Service& service, const std::shared_ptr<LiveRun>& run, bool cancels) {
    const auto listening = std::make_shared<Listening>(run);
    serve::HandlerAnswer answer{.content_type = "application/json"};
    serve::HandlerEvents events = eventsOf(service, listening, cancels);
    events.idle_text = "\n";
    events.next = [owner = service.weak_from_this(), listening,
                   is_told = false]() mutable -> std::optional<std::string> {
        LiveRun& awaited = listening->run();
        if (is_told) return std::nullopt;
        if (!awaited.feed().hasEnded()) return std::string();
        const auto kept = owner.lock();
        if (!awaited.hasEnded() || !kept) breakOff();  // the server ends
        is_told = true;
        std::string result = awaited.result();
        if (!result.empty()) return result;
        const auto thread = kept->records.thread(awaited.asked().thread_id);
        return thread ? stategraph::detail::jsonText(threadValues(*kept, *thread)) : "null";
    };
    answer.events = std::move(events);
    return answer;
}

serve::HandlerAnswer followedOf(Service& service, const RunRecord& run, bool is_stream) {
    serve::HandlerAnswer answer{.content_type = is_stream ? "text/event-stream" : "application/json"};
    serve::HandlerEvents events;
    events.every = patience;
    events.is_whole = true;
    events.heartbeat = heartbeat;
    events.idle_text = is_stream ? ": heartbeat\n\n" : "\n";
    events.next = [owner = service.weak_from_this(), thread_id = run.thread_id, run_id = run.run_id, is_stream,
                   is_told = false]() mutable -> std::optional<std::string> {
        if (is_told) return std::nullopt;
        const auto kept = owner.lock();
        if (!kept) breakOff();
        const auto stored = kept->records.run(thread_id, run_id);
        if (stored && !stored->hasEnded()) {
            (void)kept->runs->isBusy(thread_id);  // continues it if the other server is gone
            return std::string();
        }
        is_told = true;
        const auto thread = kept->records.thread(thread_id);
        std::string values = thread ? stategraph::detail::jsonText(threadValues(*kept, *thread)) : "null";
        return is_stream ? "event: values\ndata: " + values + "\n\n" : values;
    };
    answer.events = std::move(events);
    return answer;
}

void addLocation(const LiveRun& run, bool is_stream, serve::HandlerAnswer& answer) {
    const RunRecord& asked = run.asked();
    std::string at = asked.is_temporary ? "" : "/threads/" + asked.thread_id;
    at += "/runs/" + asked.run_id;
    answer.headers.emplace_back("Content-Location", at);
    if (is_stream) answer.headers.emplace_back("Location", at + "/stream");
}

}  // namespace stategraph::langgraph
