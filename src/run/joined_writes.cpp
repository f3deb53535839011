#include "src/run/joined_writes.hpp"

#include <algorithm>

#include <stategraph/detail/channel_kind.hpp>
#include <stategraph/encoding.hpp>

#include "src/checkpoint/record_parts.hpp"
#include "src/commit/task_record.hpp"

namespace stategraph::engine {

namespace {

bool isOverwrite(checkpoint::WriteKind kind) noexcept {
    return kind == checkpoint::WriteKind::overwrite || kind == checkpoint::WriteKind::clear;
}

}  // namespace

JoinedWrites::JoinedWrites(const detail::Schema& schema, detail::Writes& writes)
    : schema_(schema), own_(encodeWriteList(schema, writes)) {
    for (const detail::Op& op : writes) {
        const detail::ChannelSpec* const channel = &schema.channel(op.channel);
        if (detail::takesSeveral(channel->kind)) continue;
        Written* known = find(channel);
        if (known == nullptr) known = &written_.emplace_back(Written{channel});
        known->replaces = known->replaces || !detail::folds(channel->kind) || isOverwrite(op.kind);
    }
}

JoinedWrites::Written* JoinedWrites::find(const detail::ChannelSpec* channel) noexcept {
    const auto found = std::find_if(written_.begin(), written_.end(),
                                    [channel](const Written& each) { return each.channel == channel; });
    return found != written_.end() ? &*found : nullptr;
}

void JoinedWrites::takeEarlier(std::string_view list) {
    for (const checkpoint::LoggedWrite& write : checkpoint::readWrites(list)) {
        Written* const later = find(schema_.find(write.channel));
        if (later != nullptr && !later->replaces) later->continues = later->continues || isOverwrite(write.kind);
    }
    Decoder in(list);
    for (std::size_t left = in.array(); left > 0; --left) {
        const std::string_view item = in.raw();
        Decoder of_item(item);
        const Written* const later = find(schema_.find(checkpoint::readWrite(of_item, false).channel));
        if (later != nullptr && (later->replaces || later->continues)) continue;
        earlier_ += item;
        ++earlier_count_;
    }
}

std::string JoinedWrites::encode(const State& state) const {
    Decoder own(own_);
    const std::size_t own_count = own.array();
    const auto continued =
        std::count_if(written_.begin(), written_.end(), [](const auto& each) { return each.continues; });
    std::string list;
    Encoder out(list);
    out.array(earlier_count_ + own_count + static_cast<std::size_t>(continued));
    out.raw(earlier_);
    out.raw(own.rest());
    for (const Written& each : written_) {
        if (!each.continues) continue;
        checkpoint::writeLoggedWrite(out, each.channel->name, checkpoint::WriteKind::overwrite);
        each.channel->behaviour->encode(*each.channel, state.value(*each.channel), out);
    }
    return list;
}

}  // namespace stategraph::engine
