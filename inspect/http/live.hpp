#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/codec_std.hpp>
#include <stategraph/stream_hub.hpp>

namespace stategraph::inspect {

/// Consecutive parts of one message that a task emits.
struct LivePart {
    std::string task_id;
    std::string node;
    /// The enclosing tasks, as "name:task id"; empty at the root.
    std::vector<std::string> ns;
    std::int64_t attempt = 1;
    std::string message_id;
    /// "text", "reasoning" or "call": what the model writes.
    std::string kind;
    /// Empty if it is hidden.
    std::string text;
    /// Of the parts, also if their text is hidden or was cut.
    std::uint64_t bytes = 0;
    static constexpr auto fields() {
        return stategraph::fields(field("task_id", &LivePart::task_id), field("node", &LivePart::node),
                                  field("ns", &LivePart::ns), field("attempt", &LivePart::attempt),
                                  field("message_id", &LivePart::message_id), field("kind", &LivePart::kind),
                                  field("text", &LivePart::text), field("bytes", &LivePart::bytes));
    }
};

/// The newest event that the tasks of a node wrote (Runtime::write).
struct LiveCustom {
    std::string node;
    std::vector<std::string> ns;
    /// As JSON, which is cut if it is long; empty if it is hidden.
    std::string json;
    std::uint64_t bytes = 0;
    static constexpr auto fields() {
        return stategraph::fields(field("node", &LiveCustom::node), field("ns", &LiveCustom::ns),
                                  field("json", &LiveCustom::json), field("bytes", &LiveCustom::bytes));
    }
};

/// What running tasks of a thread report that no checkpoint has yet.
struct LiveView {
    /// A run began or ended: what was received before no longer holds.
    bool fresh = false;
    /// The server hides values, and texts with them.
    bool hidden = false;
    std::vector<LivePart> parts;
    std::vector<LiveCustom> custom;
    /// Events that found no room since the client began to follow, because it is slow.
    std::uint64_t dropped = 0;
    static constexpr auto fields() {
        return stategraph::fields(field("fresh", &LiveView::fresh), field("hidden", &LiveView::hidden),
                                  field("parts", &LiveView::parts), field("custom", &LiveView::custom),
                                  field("dropped", &LiveView::dropped));
    }
};

/// Collects the events of one thread for one client. Memory: the buffer of its subscription (4,096 events with 1 MB at
/// most) for each hub. It never makes a run wait. One thread at a time may use it.
class LiveReader {
public:
    /// `hidden`: neither texts nor values are passed on, only their sizes. Errors: those of StreamHub::subscribe.
    LiveReader(const std::vector<std::shared_ptr<StreamHub>>& hubs, const ThreadId& thread, bool hidden);

    /// Returns what happened since the last call, up to about 64 kB of text; none if nothing did. Does not wait.
    /// Errors: SaverError and CorruptCheckpointError, after which it can be called again.
    std::optional<LiveView> next();

private:
    void take(LiveView& view, const StreamEvent& event);
    void addPart(LiveView& view, const StreamEvent& event);
    void addCustom(LiveView& view, const StreamEvent& event) const;

    std::vector<Subscription> subscriptions_;
    const bool hidden_;
    bool is_first_ = true;
    std::uint64_t dropped_ = 0;
    std::size_t text_bytes_ = 0;  // in the view that is being made
};

}  // namespace stategraph::inspect
