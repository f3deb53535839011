#include "src/history/stepped_values.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "src/commit/restore.hpp"
#include "src/value/value_bytes.hpp"

namespace stategraph::engine {
namespace {

using checkpoint::LogOp;
using checkpoint::LogPiece;

bool isSame(std::span<const LogPiece> a, std::span<const LogPiece> b) noexcept {
    return a.data() == b.data() && a.size() == b.size();
}

void encodeEntry(const detail::ChannelSpec& channel, const State& state, Encoder& out) {
    out.text(channel.name);
    channel.behaviour->encode(channel, state.value(channel), out);
}

// Checks what a user's codec wrote, as `Value::fromCbor` would check it inside a map.
void check(std::string_view item) {
    Decoder in(item);
    in.skip();
    if (!in.atEnd() || detail::isTooDeep(item)) (void)Value::fromCbor("\x81" + std::string(item));
}

}  // namespace

void SteppedValues::give(const detail::Schema& schema, std::span<const checkpoint::ChannelPieces> channels,
                         std::uint64_t lineage, CheckpointId id, SnapshotData& snapshot, const detail::ValuesOut& out) {
    const bool is_typed = out.type == schema.state().type;
    const bool has_values = !std::exchange(is_empty_, true);  // an error leaves it set
    std::string cbor;
    if (has_values) {
        if (is_typed) schema.state().move(state_->object(), out.object);
        cbor = detail::ValueBytes::take(snapshot.values_as_cbor);
    } else {
        state_.emplace(schema);
    }
    const bool is_plain = find(schema, channels);
    if (has_values && is_plain && lineage == lineage_) {
        step(id, cbor);
    } else {
        makeAll(channels, id, cbor);
    }
    snapshot.values_as_cbor = detail::ValueBytes::give(std::move(cbor));
    if (out.present != nullptr) *out.present = state_->present();
    if (is_typed) schema.state().move(out.object, state_->object());
    lineage_ = lineage;
    is_empty_ = !is_plain;
}

void SteppedValues::leave(const detail::Schema& schema, const detail::ValuesOut& out) {
    if (std::exchange(is_empty_, true) || out.type != schema.state().type) return;
    State fresh(schema);
    schema.state().move(out.object, fresh.object());
}

// Returns false if several stored channels belong to one channel.
bool SteppedValues::find(const detail::Schema& schema, std::span<const checkpoint::ChannelPieces> channels) {
    wanted_.assign(schema.size(), {});
    bool is_plain = true;
    forEachStored(channels, schema, [&](const detail::ChannelSpec& channel, const checkpoint::ChannelPieces& stored) {
        Pieces& wanted = wanted_[channel.index];
        is_plain = is_plain && wanted.empty();
        wanted = stored.pieces;
    });
    return is_plain;
}

void SteppedValues::makeAll(std::span<const checkpoint::ChannelPieces> channels, CheckpointId id, std::string& cbor) {
    restoreState(channels, id, *state_);
    const detail::Schema& schema = state_->schema();
    std::size_t bytes = 0;
    for (const auto& channel : channels) {
        for (const LogPiece& piece : channel.pieces) bytes += piece.value.size();
    }
    std::size_t count = 0;
    for (const auto& channel : schema.channels()) count += state_->has(channel.index);
    cbor.clear();
    cbor.reserve(bytes);
    Encoder out(cbor);
    out.map(count);
    head_ = cbor.size();
    held_.assign(schema.size(), {});
    for (const auto index : schema.encodedOrder()) {
        const std::size_t begin = cbor.size();
        if (state_->has(index)) encodeEntry(schema.channel(index), *state_, out);
        held_[index] = {wanted_[index], cbor.size() - begin};
    }
    cbor = detail::ValueBytes::take(Value::fromCbor(std::move(cbor)));  // throws if it is nested too deep
}

void SteppedValues::step(CheckpointId id, std::string& cbor) {
    const detail::Schema& schema = state_->schema();
    fresh_.clear();
    segments_.assign(1, {});
    std::size_t count = 0;
    std::size_t at = head_;
    for (const auto index : schema.encodedOrder()) {
        Held& held = held_[index];
        const std::size_t begin = std::exchange(at, at + held.bytes);
        Segment segment{fresh_.size(), 0, begin, 0};
        if (isSame(wanted_[index], held.pieces)) {
            segment.kept = held.bytes;
        } else {
            const detail::ChannelSpec& channel = schema.channel(index);
            if (!shorten(channel, id, cbor, segment)) renew(channel, id);
            segment.fresh = fresh_.size() - segment.fresh_from;
            held = {wanted_[index], segment.fresh + segment.kept};
        }
        count += held.bytes > 0;
        if (held.bytes > 0) segments_.push_back(segment);
    }
    const std::size_t head_from = fresh_.size();
    Encoder(fresh_).map(count);
    head_ = fresh_.size() - head_from;
    segments_.front() = {head_from, head_, 0, 0};
    splice(cbor);
}

// Shortens a list to which elements were only appended since, by removing its last elements. Returns false and changes
// nothing if the channel is not such a list, or if the encoded bytes are not what its codec writes.
bool SteppedValues::shorten(const detail::ChannelSpec& channel, CheckpointId id, const std::string& cbor,
                            Segment& segment) {
    const Held& held = held_[channel.index];
    const Pieces wanted = wanted_[channel.index];
    const detail::Behaviour& behaviour = *channel.behaviour;
    if (behaviour.length == nullptr || behaviour.encodeTail == nullptr) return false;
    if (wanted.data() != held.pieces.data() || wanted.size() > held.pieces.size()) return false;
    std::size_t dropped = 0;
    for (const LogPiece& piece : held.pieces.subspan(wanted.size())) {
        if (piece.op != LogOp::append) return false;
        dropped += Decoder(piece.value).array();
    }
    const std::size_t length = behaviour.length(state_->value(channel));
    if (dropped == 0 || dropped > length) return false;

    // The entry consists of the channel's name and the list's head, the elements that stay, and those that are removed.
    const std::string_view entry = std::string_view(cbor).substr(segment.kept_from, held.bytes);
    tail_.clear();
    Encoder out(tail_);
    out.text(channel.name);
    out.array(length);
    const std::size_t head = tail_.size();
    if (!entry.starts_with(tail_)) return false;
    out.array(dropped);
    const std::size_t tail_head = tail_.size() - head;
    tail_.clear();
    behaviour.encodeTail(channel, state_->value(channel), length - dropped, out);
    if (tail_.size() < tail_head || !entry.substr(head).ends_with(std::string_view(tail_).substr(tail_head)))
        return false;

    edits_.clear();
    Encoder edits(edits_);
    edits.array(dropped);
    for (std::size_t i = length; i > length - dropped; --i) {
        edits.array(1);
        edits.unsignedInteger(i - 1);
    }
    const LogPiece edit{LogOp::edit, edits_};
    loadChannel(channel, {&edit, 1}, id, *state_);
    segment.kept_from += head;
    segment.kept = entry.size() - head - (tail_.size() - tail_head);
    Encoder fresh(fresh_);
    fresh.text(channel.name);
    fresh.array(length - dropped);
    return true;
}

void SteppedValues::renew(const detail::ChannelSpec& channel, CheckpointId id) {
    channel.behaviour->reset(channel, state_->value(channel));
    state_->setPresent(channel.index, state_->schema().present().test(channel.index));
    if (!wanted_[channel.index].empty()) loadChannel(channel, wanted_[channel.index], id, *state_);
    if (!state_->has(channel.index)) return;
    Encoder out(fresh_);
    out.text(channel.name);
    const std::size_t begin = fresh_.size();
    channel.behaviour->encode(channel, state_->value(channel), out);
    check(std::string_view(fresh_).substr(begin));
}

// Joins the segments in place: first they are moved back as far as necessary, so that no byte is overwritten before it
// is read.
void SteppedValues::splice(std::string& cbor) const {
    std::size_t size = 0;
    std::size_t shift = 0;
    for (const Segment& segment : segments_) {
        size += segment.fresh;
        if (segment.kept > 0 && size > segment.kept_from) shift = std::max(shift, size - segment.kept_from);
        size += segment.kept;
    }
    const std::size_t old_size = cbor.size();
    cbor.resize(std::max(size, old_size + shift));
    if (shift > 0) std::memmove(cbor.data() + shift, cbor.data(), old_size);
    char* to = cbor.data();
    for (const Segment& segment : segments_) {
        if (segment.fresh > 0) std::memcpy(to, fresh_.data() + segment.fresh_from, segment.fresh);
        to += segment.fresh;
        const char* from = cbor.data() + shift + segment.kept_from;
        if (segment.kept > 0 && from != to) std::memmove(to, from, segment.kept);
        to += segment.kept;
    }
    cbor.resize(size);
}

}  // namespace stategraph::engine
