#pragma once
#include <cstdint>

namespace stategraph::detail {

/// How long a channel's value exists and how many values a superstep may give it. The functions below say in what the
/// kinds differ; other code asks them.
enum class ChannelKind : std::uint8_t {
    last_value,  // one value a superstep; stays until replaced
    any_value,   // several equal values a superstep; gone after a superstep that wrote none
    ephemeral,   // one value, which exists for one superstep
    untracked,   // one value; never stored
    reduced,     // any number, folded by a reducer; has a value from the start
    topic,       // a list of one superstep's values
};

/// Returns whether a superstep may write any number of values, which are folded: they are added and not set.
constexpr bool folds(ChannelKind kind) noexcept { return kind == ChannelKind::reduced || kind == ChannelKind::topic; }
/// Returns whether several tasks may set the value in one superstep; the last one counts.
constexpr bool takesSeveral(ChannelKind kind) noexcept { return kind == ChannelKind::any_value; }
/// Returns whether the channel has a value before any write, and after it was cleared.
constexpr bool beginsSet(ChannelKind kind) noexcept { return kind == ChannelKind::reduced; }
/// Returns whether a superstep that does not write the channel ends its value.
constexpr bool isTransient(ChannelKind kind) noexcept {
    return kind == ChannelKind::any_value || kind == ChannelKind::ephemeral || kind == ChannelKind::topic;
}
/// Returns whether the log has the value.
constexpr bool isStored(ChannelKind kind) noexcept { return kind != ChannelKind::untracked; }

/// Returns the name in descriptions of graphs (DescribedChannel::kind), which are stored.
constexpr const char* kindName(ChannelKind kind) noexcept {
    switch (kind) {
        case ChannelKind::last_value:
            return "last_value";
        case ChannelKind::any_value:
            return "any_value";
        case ChannelKind::ephemeral:
            return "ephemeral";
        case ChannelKind::untracked:
            return "untracked";
        case ChannelKind::reduced:
            return "reduced";
        case ChannelKind::topic:
            return "topic";
    }
    return "?";
}

}  // namespace stategraph::detail
