#include "inspect/http/live.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <stategraph/error.hpp>

#include "inspect/http/api_call.hpp"

// What running tasks report before a checkpoint has it: parts of messages, and custom events.
namespace stategraph::inspect {
namespace {

constexpr std::chrono::milliseconds live_every{100};
constexpr std::size_t waiting_events_max = 4096;
constexpr std::size_t waiting_bytes_max = std::size_t{1} << 20U;
// Of one event that is sent. What does not fit stays in the subscription, or is cut if it is one part.
constexpr std::size_t events_max = 4096;
constexpr std::size_t parts_max = 64;
constexpr std::size_t text_bytes_max = 64'000;
constexpr std::size_t json_bytes_max = 2000;

/// The data of an event of the mode `messages`.
struct MessageData {
    bool delta = false;
    std::int64_t attempt = 1;
    Value message;
    std::string task_id;
    static constexpr auto fields() {
        return stategraph::fields(field("delta", &MessageData::delta), field("attempt", &MessageData::attempt),
                                  field("message", &MessageData::message), field("task_id", &MessageData::task_id));
    }
};

/// The members of a message that are shown. They may have any shape, because a node may emit any value.
struct MessageShape {
    Value id;
    Value content;
    Value reasoning;
    Value calls;
    static constexpr auto fields() {
        return stategraph::fields(
            field("id", &MessageShape::id, defaulted), field("content", &MessageShape::content, defaulted),
            field("reasoning", &MessageShape::reasoning, defaulted), field("calls", &MessageShape::calls, defaulted));
    }
};
struct CallShape {
    Value name;
    Value arguments;
    static constexpr auto fields() {
        return stategraph::fields(field("name", &CallShape::name, defaulted),
                                  field("arguments", &CallShape::arguments, defaulted));
    }
};

/// Returns the text, or the JSON of another value; empty for null.
std::string textOf(const Value& value) {
    if (value.isNull()) return {};
    Decoder in(value.bytes());
    return in.peek() == Decoder::Type::text ? std::string(in.text()) : value.toJson();
}

Decoder::Type typeOf(const Value& value) { return Decoder(value.bytes()).peek(); }

std::string callsText(const Value& calls) {
    std::string text;
    for (const Value& call : calls.as<std::vector<Value>>()) {
        if (typeOf(call) != Decoder::Type::map) continue;
        const auto shape = call.as<CallShape>();
        const std::string name = textOf(shape.name);
        text += name + (name.empty() ? "" : " ") + textOf(shape.arguments);
    }
    return text;
}

/// Sets the part's id, kind and text.
void readMessage(const Value& message, LivePart& part) {
    part.kind = "text";
    if (typeOf(message) != Decoder::Type::map) {
        part.text = textOf(message);
        return;
    }
    const auto shape = message.as<MessageShape>();
    part.message_id = textOf(shape.id);
    part.text = textOf(shape.content);
    if (!part.text.empty()) return;
    part.text = textOf(shape.reasoning);
    if (!part.text.empty()) {
        part.kind = "reasoning";
    } else if (typeOf(shape.calls) == Decoder::Type::array) {
        part.text = callsText(shape.calls);
        if (!part.text.empty()) part.kind = "call";
    }
}

bool isContinuation(char c) noexcept { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

/// Keeps the end of a text, from a whole character on.
void keepEnd(std::string& text, std::size_t most) {
    if (text.size() <= most) return;
    std::size_t from = text.size() - most;
    while (from < text.size() && isContinuation(text[from])) ++from;
    text.erase(0, from);
}
void keepBegin(std::string& text, std::size_t most) {
    if (text.size() <= most) return;
    while (most > 0 && isContinuation(text[most])) --most;
    text.resize(most);
    text += "…";
}

bool isSame(const LivePart& a, const LivePart& b) {
    return a.task_id == b.task_id && a.attempt == b.attempt && a.message_id == b.message_id && a.kind == b.kind;
}

bool beginsOrEnds(const StreamEvent& event) { return event.mode == StreamMode::runs && event.ns.empty(); }

struct LiveAbout {
    /// The graphs whose runs in this process report what their tasks write.
    std::vector<std::string> graphs;
    bool hidden = false;
    static constexpr auto fields() {
        return stategraph::fields(field("graphs", &LiveAbout::graphs), field("hidden", &LiveAbout::hidden));
    }
};

}  // namespace

LiveReader::LiveReader(const std::vector<std::shared_ptr<StreamHub>>& hubs, const ThreadId& thread, bool hidden)
    : hidden_(hidden) {
    for (const auto& hub : hubs) {
        subscriptions_.push_back(
            hub->subscribe(thread, {.modes = {StreamMode::messages, StreamMode::custom, StreamMode::runs},
                                    .subgraphs = true,
                                    .capacity = waiting_events_max,
                                    .capacity_bytes = waiting_bytes_max,
                                    // The run never waits, and what a late page misses comes with the checkpoint.
                                    .on_full = OnFull::drop_ephemeral}));
    }
}

std::optional<LiveView> LiveReader::next() {
    LiveView view{.fresh = is_first_, .hidden = hidden_, .parts = {}, .custom = {}, .dropped = 0};
    text_bytes_ = 0;
    bool has_news = is_first_;
    for (Subscription& subscription : subscriptions_) {
        for (std::size_t i = 0; i < events_max && text_bytes_ < text_bytes_max && view.parts.size() < parts_max; ++i) {
            const auto event = subscription.next(std::chrono::milliseconds(0));
            if (!event) break;
            take(view, *event);
        }
        view.dropped += subscription.dropped();
    }
    has_news = has_news || view.fresh || !view.parts.empty() || !view.custom.empty() || view.dropped != dropped_;
    dropped_ = view.dropped;
    is_first_ = false;
    if (!has_news) return {};
    return view;
}

void LiveReader::take(LiveView& view, const StreamEvent& event) {
    if (beginsOrEnds(event)) {
        view.fresh = true;
        view.parts.clear();
        view.custom.clear();
    } else if (event.mode == StreamMode::messages) {
        addPart(view, event);
    } else if (event.mode == StreamMode::custom) {
        addCustom(view, event);
    }
}

void LiveReader::addPart(LiveView& view, const StreamEvent& event) {
    auto data = event.data.as<MessageData>();
    if (!data.delta) return;  // a whole message comes with its checkpoint
    LivePart part{.task_id = std::move(data.task_id),
                  .node = event.node,
                  .ns = event.ns,
                  .attempt = data.attempt,
                  .message_id = {},
                  .kind = {},
                  .text = {},
                  .bytes = 0};
    readMessage(data.message, part);
    if (part.text.empty()) return;
    part.bytes = part.text.size();
    // The channel in which the message will be stored is not known yet, so that any pattern may hide it.
    if (hidden_) {
        part.message_id.clear();
        part.text.clear();
    }
    keepEnd(part.text, text_bytes_max);
    text_bytes_ += part.text.size();
    // The last part of the same task: parts of tasks that run at the same time alternate.
    const auto last = std::find_if(view.parts.rbegin(), view.parts.rend(),
                                   [&](const LivePart& each) { return each.task_id == part.task_id; });
    if (last != view.parts.rend() && isSame(*last, part)) {
        last->text += part.text;
        last->bytes += part.bytes;
    } else {
        view.parts.push_back(std::move(part));
    }
}

void LiveReader::addCustom(LiveView& view, const StreamEvent& event) const {
    LiveCustom custom{.node = event.node, .ns = event.ns, .json = event.data.toJson(), .bytes = 0};
    custom.bytes = event.data.bytes().size();
    if (hidden_) custom.json.clear();
    keepBegin(custom.json, json_bytes_max);
    const auto same = std::ranges::find_if(
        view.custom, [&](const LiveCustom& each) { return each.node == custom.node && each.ns == custom.ns; });
    if (same != view.custom.end()) {
        *same = std::move(custom);
    } else if (view.custom.size() < parts_max) {
        view.custom.push_back(std::move(custom));
    }
}

serve::HandlerAnswer live(ApiCall& call) {
    std::vector<std::shared_ptr<StreamHub>> hubs;
    LiveAbout about{.graphs = {}, .hidden = !call.api.redaction().isEmpty()};
    for (const auto& [name, graph] : call.api.graphs()) {
        auto hub = graph->hub();
        if (!hub) continue;
        about.graphs.push_back(name);
        if (std::ranges::find(hubs, hub) == hubs.end()) hubs.push_back(std::move(hub));
    }
    if (call.request.request.header("Accept").find("text/event-stream") == std::string_view::npos) return json(about);
    auto counted = countedFollower(call.api);
    const auto reader = std::make_shared<LiveReader>(hubs, ThreadId(call.thread), about.hidden);
    return {.events =
                serve::HandlerEvents{.next = [reader, counted = std::move(counted)]() -> std::optional<std::string> {
                                         const auto view = reader->next();
                                         return view ? toJson(*view) : std::string();
                                     },
                                     .every = live_every}};
}

}  // namespace stategraph::inspect
