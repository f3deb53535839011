#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/detail/json_text.hpp>
#include <stategraph/snapshot.hpp>

#include "langgraph/body.hpp"
#include "langgraph/call.hpp"
#include "langgraph/live_runs.hpp"
#include "langgraph/state_json.hpp"
#include "langgraph/thread_view.hpp"

// The events of all runs of a thread, one run after the other, for a client that joins the thread and not a run
// (threads.joinStream).
namespace stategraph::langgraph {

namespace json = boost::json;

namespace {

// As for the streams of runs.
constexpr auto join_heartbeat = std::chrono::seconds(5);
constexpr auto join_patience = std::chrono::seconds(1);

/// Which events a client wants.
struct JoinModes {
    bool runs = false;       // all that the runs report, and that they are done
    bool lifecycle = false;  // only that they begin and are done
    bool states = false;     // the values of the thread after each run
};

JoinModes joinModesOf(const std::vector<std::string>& given) {
    JoinModes modes;
    for (const std::string& each : given) {
        checkWord("stream_mode", each, {"run_modes", "lifecycle", "state_update"});
        modes.runs |= each == "run_modes";
        modes.lifecycle |= each == "lifecycle";
        modes.states |= each == "state_update";
    }
    modes.runs |= given.empty();
    return modes;
}

/// One client, which reads the runs of a thread in the order in which they began. An event's id is the run's id, "/"
/// and the number of the event in it.
class ThreadReader {
public:
    ThreadReader(std::shared_ptr<Service> service, const ThreadRecord& thread, JoinModes modes)
        : service_(std::move(service)),
          thread_id_(thread.thread_id),
          owner_(thread.owner),
          created_at_(thread.created_at),
          modes_(modes) {}
    ThreadReader(const ThreadReader&) = delete;
    ThreadReader& operator=(const ThreadReader&) = delete;
    ~ThreadReader() {
        leaveRun();
        const auto service = service_.lock();
        if (service && listener_) service->runs->unlisten(*listener_);
    }

    /// Where the client begins: after the event that it has; without one, with the run that is under way.
    void beginAfter(std::string_view last) {
        const LiveRuns& runs = *service_.lock()->runs;
        if (last.empty()) {
            if (const auto newest = runs.lastBegun(thread_id_))
                order_ = newest->hasEnded() ? newest->order() : newest->order() - 1;
            return;
        }
        const std::size_t slash = std::min(last.find('/'), last.size());
        const auto run = runs.find(std::string(last.substr(0, slash)));
        // If the run is forgotten, or belongs to another process, the client gets all events that are kept.
        if (!run || run->asked().thread_id != thread_id_ || run->asked().owner != owner_ || run->order() == 0) return;
        std::uint64_t number = 0;
        const std::string_view digits = last.substr(std::min(slash + 1, last.size()));
        (void)std::from_chars(digits.data(), digits.data() + digits.size(), number);
        order_ = run->order();
        if (number >= run->feed().next() && run->feed().hasEnded()) return;  // it has read the run
        // If what follows was forgotten, it gets what is kept.
        const std::uint64_t from = run->feed().placeOf(number + 1);
        enterRun(run, from < run->feed().first() ? 0 : from);
    }

    void listen(std::function<void()> announce) {
        const auto service = service_.lock();
        if (!service) return;
        announce_ = std::move(announce);
        listener_ = service->runs->listen(thread_id_, announce_);
        if (run_) run_listener_ = run_->feed().listen(announce_);
    }

    /// Returns the next events, an empty text if there are none yet, or none if the thread is deleted.
    std::optional<std::string> next() {
        const auto service = service_.lock();
        if (!service) return {};
        for (;;) {
            if (!run_) {
                const auto stored = service->records.thread(thread_id_);
                // There may be a new thread of this id, perhaps another user's.
                if (!stored || stored->created_at != created_at_ || stored->owner != owner_) return {};
                const auto run = service->runs->begunAfter(thread_id_, order_);
                if (!run) return std::string();
                order_ = run->order();
                if (run->asked().owner != owner_) continue;
                enterRun(run, 0);
            }
            RunFeed::Read read = run_->feed().readAs(
                from_, [this](std::uint64_t number, const RunFeed::Event& event, std::string& text) {
                    if (modes_.runs || (modes_.lifecycle && event.name == "metadata"))
                        write(event.name, event.data, number, text);
                });
            const bool has_moved = read.next != from_;
            from_ = read.next;
            if (!read.text.empty()) return std::move(read.text);
            if (read.is_lost) throw std::runtime_error("the response breaks off");
            if (read.is_end) {
                std::string text = endOf(*service);
                leaveRun();
                if (!text.empty()) return text;
            } else if (!has_moved) {
                return std::string();
            }
        }
    }

private:
    void enterRun(std::shared_ptr<LiveRun> run, std::uint64_t from) {
        run_ = std::move(run);
        from_ = from;
        if (announce_) run_listener_ = run_->feed().listen(announce_);
    }
    void leaveRun() {
        if (run_ && run_listener_) run_->feed().unlisten(*run_listener_);
        run_listener_.reset();
        run_.reset();
    }
    void write(std::string_view name, std::string_view data, std::uint64_t number, std::string& text) const {
        text.append("event: ").append(name).append("\ndata: ").append(data).append("\nid: ");
        text.append(run_->asked().run_id).append("/").append(std::to_string(number)).append("\n\n");
    }
    /// The values of the newest checkpoint that the run has made; if it has made none, those of the thread.
    json::value valuesAfter(const Service& service, const ThreadRecord& thread) const {
        const ServedGraph& graph = run_->graph();
        const HistoryOptions options{.limit = 1, .filter = Metadata{{"run_id", Value(run_->asked().run_id)}}};
        std::optional<json::value> values;
        graph.graph->history({.thread_id = ThreadId(thread_id_)}, options, [&](const SnapshotData& at) {
            values = valuesJson(at.values_as_cbor, graph.channels);
            return false;
        });
        return values ? *std::move(values) : threadValues(service, thread);
    }
    std::string endOf(const Service& service) const {
        std::string text;
        const std::uint64_t number = run_->feed().next();
        if (modes_.states) {
            const auto thread = service.records.thread(thread_id_);
            if (thread && thread->created_at == created_at_ && thread->owner == owner_) {
                const json::object data{{"thread_id", thread_id_}, {"values", valuesAfter(service, *thread)}};
                write("state_update", stategraph::detail::jsonText(data), number, text);
            }
        }
        if (modes_.runs || modes_.lifecycle) {
            const json::object data{{"run_id", run_->asked().run_id}, {"status", "run_done"}};
            write("metadata", stategraph::detail::jsonText(data), number, text);
        }
        return text;
    }

    const std::weak_ptr<Service> service_;
    const std::string thread_id_;
    const std::string owner_;       // of the thread
    const std::string created_at_;  // the time at which the thread was made
    const JoinModes modes_;
    std::function<void()> announce_;
    std::optional<std::uint64_t> listener_;
    std::shared_ptr<LiveRun> run_;  // that is being read
    std::optional<std::uint64_t> run_listener_;
    std::uint64_t from_ = 0;   // the number of its next event
    std::uint64_t order_ = 0;  // of it, or of the run that was read last
};

serve::HandlerAnswer joinThread(const Call& call) {
    const ThreadRecord thread = call.thread();
    const JoinModes modes = joinModesOf(call.parameters("stream_mode"));
    const auto reader = std::make_shared<ThreadReader>(call.service().shared_from_this(), thread, modes);
    std::string last(call.request().request.header("Last-Event-ID"));
    if (last.empty()) last = call.parameter("last_event_id");
    reader->beginAfter(last);
    serve::HandlerAnswer answer{.content_type = "text/event-stream"};
    serve::HandlerEvents events;
    events.every = join_patience;
    events.begin = [reader](std::function<void()> announce) { reader->listen(std::move(announce)); };
    events.is_whole = true;
    events.heartbeat = join_heartbeat;
    events.idle_text = ": heartbeat\n\n";
    events.next = [reader] { return reader->next(); };
    answer.events = std::move(events);
    return answer;
}

}  // namespace

std::span<const Row> joinThreadRows() {
    static constexpr Row rows[] = {{"GET", "/threads/:id/stream", &joinThread}};
    return rows;
}

}  // namespace stategraph::langgraph
