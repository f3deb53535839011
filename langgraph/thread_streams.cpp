#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/detail/json_text.hpp>

#include "langgraph/api_error.hpp"
#include "langgraph/call.hpp"
#include "langgraph/identifiers.hpp"
#include "langgraph/thread_commands.hpp"
#include "langgraph/thread_feed.hpp"
#include "langgraph/thread_runs.hpp"

// The second protocol: commands about a thread, and its events, over HTTP with server-sent events, or both over a
// WebSocket.
namespace stategraph::langgraph {

namespace json = boost::json;

namespace {

// As for the streams of runs.
constexpr auto thread_heartbeat = std::chrono::seconds(5);
constexpr auto thread_patience = std::chrono::seconds(1);
constexpr std::size_t subscriptions_max = 100;

/// Listens to the events of a thread as long as it exists.
class ThreadListening {
public:
    explicit ThreadListening(std::shared_ptr<ThreadFeed> feed) : feed_(std::move(feed)) {}
    ThreadListening(const ThreadListening&) = delete;
    ThreadListening& operator=(const ThreadListening&) = delete;
    ~ThreadListening() {
        if (listener_) feed_->unlisten(*listener_);
    }
    void begin(std::function<void()> announce) { listener_ = feed_->listen(std::move(announce)); }
    ThreadFeed& feed() const noexcept { return *feed_; }

private:
    std::shared_ptr<ThreadFeed> feed_;
    std::optional<std::uint64_t> listener_;
};

std::shared_ptr<ThreadFeed> feedOf(const Call& call) {
    (void)threadIfAny(call);
    return threadFeed(call.service(), call.owner(), call.id(0));
}

serve::HandlerAnswer command(const Call& call) {
    const ThreadCommand asked(call.body());
    const auto feed = [&] { return call.service().thread_feeds->find(call.owner(), call.id(0)); };
    std::exception_ptr failed;
    try {
        CommandResult done = doCommand(call, asked);
        return answerOf(successJson(asked, std::move(done), call, feed().get()));
    } catch (...) {
        failed = std::current_exception();
    }
    if (const auto refused = refusalJson(asked, failed, call, feed().get())) return answerOf(*refused);
    std::rethrow_exception(failed);
}

serve::HandlerAnswer streamEvents(const Call& call) {
    const Body body = call.body();
    const EventFilter filter(body);
    const std::optional<std::size_t> since = body.number("since", 0, SIZE_MAX / 2);
    const std::shared_ptr<ThreadFeed> feed = feedOf(call);
    const auto listening = std::make_shared<ThreadListening>(feed);
    serve::HandlerAnswer answer{.content_type = "text/event-stream"};
    serve::HandlerEvents events;
    events.every = thread_patience;
    events.begin = [listening](std::function<void()> announce) { listening->begin(std::move(announce)); };
    events.is_whole = true;
    events.heartbeat = thread_heartbeat;
    events.idle_text = ": heartbeat\n\n";
    events.next = [listening, from = feed->placeAfter(since.value_or(0)),
                   filter]() mutable -> std::optional<std::string> {
        RunFeed::Read read =
            listening->feed().read(from, true, [&](std::string_view name) { return filter.wants(name); });
        from = read.next;
        if (read.text.empty() && read.is_lost) throw std::runtime_error("the response breaks off");
        if (read.text.empty() && read.is_end) return std::nullopt;
        return std::move(read.text);
    };
    answer.events = std::move(events);
    return answer;
}

/// One client's conversation over a WebSocket. It reads the events of the thread once, in their order, for all of its
/// subscriptions; a new subscription first gets the earlier events that it wants.
class Conversation {
public:
    Conversation(std::shared_ptr<Service> service, std::vector<std::string> ids, std::shared_ptr<ThreadFeed> feed)
        : service_(std::move(service)),
          ids_(std::move(ids)),
          listening_(std::move(feed)),
          at_(listening_.feed().newest()) {}

    void begin(std::function<void()> announce) { listening_.begin(std::move(announce)); }
    void take(const serve::HandlerRequest& message);
    std::optional<std::string> next();

private:
    struct Missed {
        std::string subscription;
        std::uint64_t from = 0;
    };

    json::object answerTo(const Call& call, std::string_view text);
    json::object subscribe(const Body& params);
    bool unsubscribe(const Body& params);
    /// Reads events up to a place into the lines that are to be sent. Returns false if some were forgotten, or the
    /// thread is deleted.
    bool read(std::uint64_t& from, const ThreadFeed::Wants& wants, std::uint64_t until = UINT64_MAX);
    void say(const json::object& reply) { lines_.push_back(stategraph::detail::jsonText(reply)); }

    const std::shared_ptr<Service> service_;
    const std::vector<std::string> ids_;
    ThreadListening listening_;
    std::map<std::string, EventFilter> subscriptions_;
    std::deque<Missed> missed_;      // what new subscriptions have yet to get, up to `at_`
    std::uint64_t at_ = 0;           // what all others have
    std::deque<std::string> lines_;  // that are to be sent
};

void Conversation::take(const serve::HandlerRequest& message) {
    const Call call(*service_, message, ids_);
    try {
        say(answerTo(call, message.body));
    } catch (const ApiError& why) {
        const bool is_refused = why.status() == 401 || why.status() == 403 || why.status() == 404;
        say(errorJson(nullptr, is_refused ? "permission_denied" : "unknown_error", why.what(), call,
                      &listening_.feed()));
    }
}

json::object Conversation::answerTo(const Call& call, std::string_view text) {
    std::optional<ThreadCommand> command;
    const ThreadFeed* const feed = &listening_.feed();
    try {
        command.emplace(Body::parse(text));
    } catch (const ApiError&) {
        return errorJson(nullptr, "invalid_argument", "Protocol commands must be valid JSON.", call, nullptr);
    }
    std::exception_ptr failed;
    try {
        if (command->method == "subscription.subscribe")
            return successJson(*command, {subscribe(command->params)}, call, feed);
        if (command->method == "subscription.unsubscribe" && unsubscribe(command->params))
            return successJson(*command, {}, call, feed);
        return successJson(*command, doCommand(call, *command), call, feed);
    } catch (...) {
        failed = std::current_exception();
    }
    if (std::optional<json::object> refused = refusalJson(*command, failed, call, feed)) return *std::move(refused);
    try {
        std::rethrow_exception(failed);
    } catch (const ApiError& why) {
        const bool is_refused = why.status() == 401 || why.status() == 403 || why.status() == 404;
        return errorJson(command->id, is_refused ? "permission_denied" : "unknown_error", why.what(), call, feed);
    } catch (const std::exception& why) {
        const serve::ErrorText told = service_->errorTexts({}, call.id(0));
        return errorJson(command->id, "unknown_error", told ? told("Internal Server Error", why.what()) : why.what(),
                         call, feed);
    }
}

json::object Conversation::subscribe(const Body& params) {
    if (subscriptions_.size() >= subscriptions_max)
        throw CommandError("invalid_argument", "The connection has as many subscriptions as it may.");
    const EventFilter filter(params);
    const std::string id = newId();
    const auto place = subscriptions_.emplace(id, filter).first;
    std::uint64_t count = 0;
    std::uint64_t from = 0;
    while (from < at_) {
        const std::uint64_t before = from;
        from = listening_.feed()
                   .read(from, false,
                         [&](std::string_view name) {
                             count += place->second.wants(name) ? 1 : 0;
                             return false;
                         })
                   .next;
        if (from == before) break;
    }
    if (count > 0) missed_.push_back({id, 0});
    return {{"subscription_id", id}, {"replayed_events", count}};
}

bool Conversation::unsubscribe(const Body& params) {
    const std::string id = params.text("subscription_id", "");
    if (subscriptions_.erase(id) == 0) throw CommandError("no_such_subscription", "Unknown subscription: " + id);
    std::erase_if(missed_, [&](const Missed& each) { return each.subscription == id; });
    return true;
}

bool Conversation::read(std::uint64_t& from, const ThreadFeed::Wants& wants, std::uint64_t until) {
    const RunFeed::Read read = listening_.feed().read(from, false, wants, until);
    if ((read.is_lost || read.is_end) && read.text.empty()) return false;
    from = read.next;
    std::string_view left = read.text;
    while (!left.empty()) {
        const std::size_t end = left.find('\n');
        lines_.emplace_back(left.substr(0, end));
        left.remove_prefix(end + 1);
    }
    return true;
}

std::optional<std::string> Conversation::next() {
    if (lines_.empty() && !missed_.empty()) {
        Missed& first = missed_.front();
        const EventFilter& filter = subscriptions_.at(first.subscription);
        // Those that come after `at_` are for all.
        if (!read(
                first.from, [&](std::string_view name) { return filter.wants(name); }, at_))
            return {};
        if (first.from >= at_) missed_.pop_front();
    }
    if (lines_.empty() && missed_.empty()) {
        const auto wants = [&](std::string_view name) {
            return std::ranges::any_of(subscriptions_, [&](const auto& each) { return each.second.wants(name); });
        };
        if (!read(at_, wants)) return {};
    }
    if (lines_.empty()) return std::string();
    std::string line = std::move(lines_.front());
    lines_.pop_front();
    return line;
}

serve::HandlerAnswer converse(const Call& call) {
    const auto conversation = std::make_shared<Conversation>(call.service().shared_from_this(),
                                                             std::vector<std::string>{call.id(0)}, feedOf(call));
    serve::HandlerAnswer answer;
    answer.socket = serve::HandlerSocket{
        .take = [conversation](const serve::HandlerRequest& message) { conversation->take(message); },
        .next = [conversation] { return conversation->next(); },
        .begin = [conversation](std::function<void()> announce) { conversation->begin(std::move(announce)); }};
    return answer;
}

}  // namespace

std::span<const Row> threadStreamRows() {
    static constexpr Row rows[] = {
        {"POST", "/threads/:id/commands", &command},
        {"POST", "/threads/:id/stream/events", &streamEvents},
        {"GET", "/threads/:id/stream/events", &converse},
    };
    return rows;
}

}  // namespace stategraph::langgraph
