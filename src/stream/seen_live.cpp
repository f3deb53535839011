#include "src/stream/seen_live.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include <stategraph/encoding.hpp>

#include "src/commit/ids.hpp"

namespace stategraph::stream {
namespace {

constexpr std::string_view handler_prefix = "__error_handler__";

// A question, or a breakpoint: these are not of a commit.
bool isPause(const StreamEvent& event) {
    if (!event.interrupts.empty()) return true;
    Decoder in(event.data.bytes());
    return in.peek() == Decoder::Type::map && in.map() == 1 && in.text() == "__interrupt__";
}

TaskId nameOf(const StreamEvent& event, std::string_view kind, std::string_view path) {
    std::string ns;
    for (const std::string& segment : event.ns) ns += segment + '|';
    ns += kind;
    std::string_view node = event.node;
    if (node.starts_with(handler_prefix)) node.remove_prefix(handler_prefix.size());
    return engine::makeTaskId(
        {.checkpoint_id = {}, .checkpoint_ns = ns, .step = event.step, .node = node, .path = path});
}

// Tasks of one node in one superstep are not distinguished: as many of them come from the log as were not received.
TaskId nameOf(const StreamEvent& event) { return nameOf(event, {}, toString(event.mode)); }

// An event with all that it says.
TaskId contentOf(const StreamEvent& event) { return nameOf(event, toString(event.mode), event.data.bytes()); }

// Returns whether the event is the result of a task that an earlier run stored, or that a cache had. A run that is
// resumed emits it again, but the log has it once.
bool isRestored(const StreamEvent& event) {
    if (event.mode != StreamMode::updates) return false;
    Decoder in(event.data.bytes());
    for (std::size_t left = in.map(); left > 0; --left) {
        if (in.text() == "__metadata__") return true;
        in.skip();
    }
    return false;
}

}  // namespace

void SeenLive::note(const StreamEvent& event, std::int64_t superstep) {
    const bool is_durable =
        event.mode == StreamMode::updates || event.mode == StreamMode::values || event.mode == StreamMode::checkpoints;
    if (event.ns.empty() || !is_durable || noted_ == events_max || isPause(event)) return;
    const Key key{superstep, nameOf(event)};
    if (isRestored(event) && counts_.contains(key)) return;
    ++counts_[key];
    ++noted_;
    if (unmatched_.size() == unmatched_max) unmatched_.pop_front();
    unmatched_.push_back(contentOf(event));
}

bool SeenLive::takeUnmatched(const StreamEvent& event) {
    if (unmatched_.empty()) return false;
    const auto found = std::ranges::find(unmatched_, contentOf(event));
    if (found == unmatched_.end()) return false;
    unmatched_.erase(found);
    return true;
}

bool SeenLive::take(const StreamEvent& event, std::int64_t superstep) {
    const bool was_unmatched = takeUnmatched(event);
    if (counts_.empty()) return was_unmatched;
    const auto found = counts_.find({superstep, nameOf(event)});
    if (found == counts_.end()) return was_unmatched;
    --noted_;
    if (--found->second == 0) counts_.erase(found);
    return true;
}

void SeenLive::forgetBefore(std::int64_t sequence) noexcept {
    while (!counts_.empty() && counts_.begin()->first.first < sequence) {
        noted_ -= counts_.begin()->second;
        counts_.erase(counts_.begin());
    }
}

}  // namespace stategraph::stream
