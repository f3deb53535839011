#include <stategraph/channel.hpp>

#include <algorithm>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stategraph/detail/table.hpp>
#include <stategraph/error.hpp>

#include "src/superstep/encoded_items.hpp"

namespace stategraph::detail {
namespace {

using checkpoint::WriteKind;

std::uint64_t fingerprintOf(std::span<const ChannelSpec> channels) {
    std::string text;
    for (const auto& channel : channels) {
        text += channel.name + '\0' + channel.reducer + '\0' + static_cast<char>(channel.kind) + '\0';
    }
    return XXH3_64bits(text.data(), text.size());
}

[[noreturn]] void refuse(const ChannelSpec& channel, std::string message) {
    throw InvalidUpdateError(std::move(message), {.channel = channel.name});
}

[[noreturn]] void refuseSet(const ChannelSpec& channel) {
    refuse(channel, "channel '" + channel.name + "' has the reducer " + channel.reducer +
                        ": use add() to give it a value, or overwrite() to replace what it holds");
}
[[noreturn]] void refuseAdd(const ChannelSpec& channel) {
    refuse(channel, "channel '" + channel.name + "' has no reducer: use set()");
}

ChannelIndex indexOfNamed(const Schema& schema, const Op& op) {
    const std::string_view name = op.type->name(op.value());
    const ChannelSpec* channel = schema.find(name);
    if (channel != nullptr) return channel->index;
    std::string known;
    for (const auto& each : schema.channels()) known += (known.empty() ? "" : ", ") + each.name;
    throw InvalidUpdateError("there is no channel '" + std::string(name) + "'; the graph has " + known,
                             {.channel = std::string(name)});
}

std::vector<ChannelSpec> specsOf(ChannelRows& rows) {
    std::vector<ChannelSpec> specs(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        ChannelRow& row = rows[i];
        ChannelSpec& spec = specs[i];
        spec.name = row.name;
        for (std::size_t j = 0; j < row.former_size; ++j) spec.former_names.emplace_back(row.former[j]);
        spec.kind = row.kind;
        spec.reducer = row.reducer;
        spec.type = row.type;
        spec.offset = row.offset;
        spec.behaviour = row.behaviour;
        spec.context = std::move(row.context);
        spec.required = row.required && !folds(spec.kind);
    }
    return specs;
}

}  // namespace

ChannelRows::ChannelRows(std::size_t size) : rows_(new ChannelRow[size]), size_(size) {}
ChannelRows::~ChannelRows() { delete[] rows_; }

Schema::Schema(const StateType& state, ChannelRows& rows) : Schema(state, specsOf(rows)) {}
Schema::~Schema() = default;

Schema::Schema(StateType state, std::vector<ChannelSpec> channels)
    : state_(state),
      channels_(std::move(channels)),
      present_(channels_.size()),
      fingerprint_(fingerprintOf(channels_)) {
    initial_ =
        std::shared_ptr<void>(state_.create(state_.context), [destroy = state_.destroy](void* s) { destroy(s); });
    for (std::size_t i = 0; i < channels_.size(); ++i) {
        auto& channel = channels_[i];
        channel.index = static_cast<ChannelIndex>(i);
        channel.initial = value(initial_.get(), channel);
        by_name_.emplace_back(channel.name, channel.index);
        for (const auto& former : channel.former_names) by_name_.emplace_back(former, channel.index);
        encoded_order_.push_back(channel.index);
        if (beginsSet(channel.kind)) present_.set(i);
        if (isTransient(channel.kind)) transient_.push_back(channel.index);
    }
    std::sort(by_name_.begin(), by_name_.end());
    std::sort(encoded_order_.begin(), encoded_order_.end(), [this](ChannelIndex a, ChannelIndex b) {
        const std::string& x = channels_[a].name;
        const std::string& y = channels_[b].name;
        return detail::storedBefore(x, y);
    });
    for (const ChannelIndex index : encoded_order_) {
        table_names_.push_back({channels_[index].name, index, false, channels_[index].required});
    }
    for (const auto& channel : channels_) {
        for (const auto& former : channel.former_names) table_names_.push_back({former, channel.index, true});
    }
    ranks_.resize(channels_.size());
    for (std::size_t i = 0; i < encoded_order_.size(); ++i) ranks_[encoded_order_[i]] = static_cast<ChannelIndex>(i);
}

const ChannelSpec* Schema::find(std::string_view name) const noexcept {
    const auto found =
        std::lower_bound(by_name_.begin(), by_name_.end(), name,
                         [](const auto& entry, std::string_view wanted) { return entry.first < wanted; });
    return found != by_name_.end() && found->first == name ? &channels_[found->second] : nullptr;
}

void Schema::check(Writes& writes) const {
    for (Op& op : writes) {
        if (op.channel == channel_by_name) [[unlikely]]
            op.channel = indexOfNamed(*this, op);
        const ChannelSpec& channel = channels_[op.channel];
        if (op.kind == WriteKind::set && folds(channel.kind)) refuseSet(channel);
        if (op.kind == WriteKind::add && !folds(channel.kind)) refuseAdd(channel);
    }
}

void failLoad(const char* why) { throw WrongTypeError(why); }

Op* replacing(std::span<Op* const> ops) noexcept {
    for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
        if ((*op)->kind == WriteKind::overwrite || (*op)->kind == WriteKind::clear) return *op;
    }
    return nullptr;
}

void encodeState(const Schema& schema, Encoder& encoder, const void* state) {
    encoder.map(schema.size());
    for (std::size_t i = 0; i < schema.size(); ++i) {
        const ChannelSpec& channel = schema.channel(encoder.isForPeople() ? i : schema.encodedOrder()[i]);
        encoder.text(channel.name);
        channel.behaviour->encode(channel, schema.value(state, channel), encoder);
    }
}

void encodeWriteValue(const Op& op, Encoder& out) {
    if (op.is_item) out.array(1);
    op.type->encode(out, op.value());
}

std::size_t encodeWrite(const ChannelSpec& channel, const Op& op, Encoder& out) {
    checkpoint::writeLoggedWrite(out, channel.name, op.kind);
    const std::size_t start = out.out().size();
    if (op.kind == WriteKind::clear) return start;
    const std::uint32_t before = out.shallowBytes();
    try {
        encodeWriteValue(op, out);
    } catch (const WrongTypeError& error) {
        throw InvalidUpdateError("the value for channel '" + channel.name + "' cannot be stored: " + error.message(),
                                 {.channel = channel.name});
    }
    const std::uint32_t shallow = out.shallowBytes() > before ? out.shallowBytes() - before : 0;
    if (isTooDeep(std::string_view(out.out()).substr(start), 0, shallow)) failTooDeep(channel);
    return start;
}

bool appendEncoded(Encoder& log, std::span<Op* const> ops) {
    const std::size_t start = log.out().size();
    log.array(ops.size());
    for (const Op* op : ops) {
        const std::string_view item = log.encodedItems()->find(*op);
        if (item.empty()) {
            log.out().resize(start);
            return false;
        }
        log.raw(item);
    }
    return true;
}

void failTooDeep(const ChannelSpec& channel) {
    throw InvalidUpdateError("the value for channel '" + channel.name + "' is " + tooDeepText(),
                             {.channel = channel.name});
}

}  // namespace stategraph::detail
