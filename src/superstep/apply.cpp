#include "src/superstep/apply.hpp"

#include <algorithm>

#include <stategraph/detail/table.hpp>
#include <stategraph/error.hpp>

namespace stategraph::engine {

using checkpoint::LogOp;
using checkpoint::WriteKind;
using detail::ChannelIndex;
using detail::ChannelSpec;
using detail::Op;
using detail::Schema;

State::State(const Schema& schema, void* place)
    : schema_(&schema),
      object_(place != nullptr ? place : schema.state().create(schema.state().context)),
      owns_(place == nullptr),
      present_(schema.present()) {}

State::State(const State& other) : State(*other.schema_) { assign(other); }

State::State(State&& other) noexcept
    : schema_(other.schema_),
      object_(std::exchange(other.object_, nullptr)),
      owns_(other.owns_),
      shared_(std::move(other.shared_)),
      present_(std::move(other.present_)) {}

State::~State() {
    if (owns_ && object_ != nullptr) schema_->state().destroy(object_);
}

const std::shared_ptr<void>& State::share() {
    if (shared_ == nullptr) {
        // The copy is created from an owner that is released only once there is memory. With a bare pointer, a failure
        // would destroy the object.
        std::unique_ptr<void, void (*)(void*) noexcept> object(object_, schema_->state().destroy);
        try {
            shared_ = std::move(object);
        } catch (...) {
            (void)object.release();
            throw;
        }
        owns_ = false;
    }
    return shared_;
}

void State::separate() {
    if (shared_ == nullptr) return;
    void* copy = schema_->state().create(schema_->state().context);
    try {
        schema_->state().copy(copy, object_);
    } catch (...) {
        schema_->state().destroy(copy);
        throw;
    }
    object_ = copy;
    owns_ = true;
    shared_.reset();
}

void State::reset() {
    for (const ChannelSpec& channel : schema_->channels()) channel.behaviour->reset(channel, value(channel));
    present_ = schema_->present();
}

void State::assign(const State& other) {
    schema_->state().copy(object_, other.object_);
    present_ = other.present_;
}

void State::take(State& other) {
    schema_->state().move(object_, other.object_);
    present_ = other.present_;
}

void WriteSet::clear() {
    items_.clear();
    ops_.clear();
    groups_.clear();
    writers_.clear();
}

void WriteSet::add(const Schema& schema, detail::Writes& writes, std::string_view writer) {
    const auto index = static_cast<std::uint16_t>(std::min<std::size_t>(writers_.size(), 0xFFFF));
    writers_.push_back(writer);
    for (Op& op : writes) items_.push_back({schema.rank(op.channel), op.channel, index, &op});
}

// Writes with equal ranks keep their order.
void WriteSet::sortByRank() {
    constexpr std::size_t few = 16;
    const auto by_rank = [](const Item& a, const Item& b) { return a.rank < b.rank; };
    if (items_.size() <= few) {  // sorted in place, because std::stable_sort allocates
        for (std::size_t i = 1; i < items_.size(); ++i) {
            for (std::size_t j = i; j > 0 && by_rank(items_[j], items_[j - 1]); --j)
                std::swap(items_[j], items_[j - 1]);
        }
    } else if (!std::is_sorted(items_.begin(), items_.end(), by_rank)) {
        std::stable_sort(items_.begin(), items_.end(), by_rank);
    }
}

void WriteSet::close(const Schema& schema) {
    ops_.clear();
    groups_.clear();
    if (items_.size() == 1) {  // the usual case
        ops_.push_back(items_.front().op);
        groups_.push_back({items_.front().channel, 0, 1});
    } else {
        closeSeveral(schema);
    }
}

// A single write conflicts with nothing, so neither its writer nor its rank is needed.
void WriteSet::assign(const Schema& schema, detail::Writes& writes, std::string_view writer) {
    clear();
    auto op = writes.begin();
    const auto end = writes.end();
    if (op != end) {
        Op& first = *op;
        if (!(++op != end)) {
            ops_.push_back(&first);
            groups_.push_back({first.channel, 0, 1});
            return;
        }
    }
    add(schema, writes, writer);
    close(schema);
}

void WriteSet::closeSeveral(const Schema& schema) {
    sortByRank();
    for (const Item& item : items_) {
        if (groups_.empty() || groups_.back().channel != item.channel) {
            groups_.push_back({item.channel, static_cast<std::uint32_t>(ops_.size()), 0});
        }
        ++groups_.back().count;
        ops_.push_back(item.op);
    }
    for (const Group& group : groups_) {
        if (group.count > 1) refuseConflicts(schema, group, group.first);
    }
}

bool WriteSet::writes(ChannelIndex channel) const noexcept {
    return std::any_of(groups_.begin(), groups_.end(),
                       [channel](const Group& group) { return group.channel == channel; });
}

void WriteSet::refuseConflicts(const Schema& schema, const Group& group, std::size_t first_item) const {
    const ChannelSpec& channel = schema.channel(group.channel);
    const bool is_folded = folds(channel.kind);
    std::size_t values = 0;
    std::string by;
    for (std::size_t i = first_item; i < first_item + group.count; ++i) {
        const WriteKind kind = items_[i].op->kind;
        if (is_folded && kind != WriteKind::overwrite && kind != WriteKind::clear) continue;
        ++values;
        const std::string_view writer = writers_[items_[i].writer];
        if (values < 6) by += (by.empty() ? "'" : ", '") + std::string(writer) + "'";
    }
    if (values < 2 || takesSeveral(channel.kind)) return;
    const std::string got = "channel '" + channel.name + "' got " + std::to_string(values);
    throw InvalidUpdateError(is_folded ? got + " overwrites in one superstep (by " + by + "), and can take one"
                                       : got + " values in one superstep (by " + by +
                                             "), and can take one: give it a reducer, or let one task write it",
                             {.channel = channel.name});
}

namespace {

[[noreturn]] void nestReducerError(const ChannelSpec& channel) {
    std::throw_with_nested(InvalidUpdateError(
        "the reducer of channel '" + channel.name + "' failed: " + detail::describe(std::current_exception()),
        {.channel = channel.name}));
}

bool leavesUnset(const ChannelSpec& channel, std::span<Op* const> ops) {
    if (beginsSet(channel.kind)) return false;
    for (const Op* op : ops) {  // mostly one: std::any_of is compiled for many, and into a function of its own
        if (op->kind == WriteKind::clear) return true;
    }
    return false;
}

// For one channel, and without a log: if it fails, there is nothing to undo.
void applyGroup(State& state, const WriteSet& writes, const WriteSet::Group& group) {
    const ChannelSpec& channel = state.schema().channel(group.channel);
    const auto ops = writes.ops(group);
    try {
        channel.behaviour->apply(channel, state.value(channel), ops, nullptr);
    } catch (...) {
        nestReducerError(channel);
    }
    state.setPresent(group.channel, !leavesUnset(channel, ops));
}

}  // namespace

void OperationLog::close(const ChannelSpec& channel, std::size_t start, std::size_t shallow_bytes) {
    // An entry consists of: text(name) array(1 or 2) text(op) …
    const std::size_t name = detail::headSize(channel.name.size()) + channel.name.size();
    const auto op = static_cast<LogOp>(entries[start + name + 2]);
    const std::string_view value = std::string_view(entries).substr(start + name + 3);
    // An edit is a list of pairs around the items.
    if (detail::isTooDeep(value, op == LogOp::edit ? 1 : 0, shallow_bytes)) detail::failTooDeep(channel);
    sizes.push_back({channel.index, op, static_cast<std::uint32_t>(entries.size() - start)});
    ++count;
}

void findEnding(const State& state, const WriteSet& writes, std::vector<ChannelIndex>& ending) {
    ending.clear();
    const Schema& schema = state.schema();
    if (schema.transient().empty()) return;
    for (const ChannelIndex index : schema.transient()) {
        if (state.has(index) && !writes.writes(index)) ending.push_back(index);
    }
    std::sort(ending.begin(), ending.end(),
              [&schema](ChannelIndex a, ChannelIndex b) { return schema.rank(a) < schema.rank(b); });
}

void endChannels(State& state, std::span<const ChannelIndex> ending) {
    for (const ChannelIndex index : ending) {
        const ChannelSpec& channel = state.schema().channel(index);
        channel.behaviour->reset(channel, state.value(channel));
        state.setPresent(index, false);
    }
}

namespace {

// For several channels, or with a log.
void applyGroups(State& state, const WriteSet& writes, std::span<const ChannelIndex> ended, OperationLog* log) {
    const Schema& schema = state.schema();
    auto next_ended = ended.begin();
    const auto logEnded = [&](ChannelIndex before_rank) {
        for (; log != nullptr && next_ended != ended.end() && schema.rank(*next_ended) < before_rank; ++next_ended) {
            const std::size_t start = log->entries.size();
            Encoder encoder(log->entries);
            writeLoggedOp(encoder, schema.channel(*next_ended).name, LogOp::clear);
            log->close(schema.channel(*next_ended), start);
        }
    };
    std::size_t done = 0;
    bool is_folded = false;
    const ChannelSpec* channel = nullptr;
    try {
        for (const WriteSet::Group& group : writes.groups()) {
            channel = &schema.channel(group.channel);
            logEnded(schema.rank(group.channel));
            const bool logs = log != nullptr && isStored(channel->kind);
            const auto ops = writes.ops(group);
            if (logs) {
                const std::size_t start = log->entries.size();
                Encoder encoder(log->entries);
                encoder.setEncodedItems(log->items);
                channel->behaviour->apply(*channel, state.value(*channel), ops, &encoder);
                is_folded = true;
                log->close(*channel, start, encoder.shallowBytes());
                is_folded = false;
            } else {
                channel->behaviour->apply(*channel, state.value(*channel), ops, nullptr);
            }
            ++done;
        }
    } catch (...) {
        if (is_folded) ++done;
        for (std::size_t i = done; i > 0; --i) {
            const WriteSet::Group& group = writes.groups()[i - 1];
            const ChannelSpec& written = schema.channel(group.channel);
            written.behaviour->undo(written, state.value(written), writes.ops(group));
        }
        if (is_folded) throw;  // not the reducer's fault: its result cannot be stored
        nestReducerError(*channel);
    }
    logEnded(detail::channel_by_name);
    for (const WriteSet::Group& group : writes.groups()) {
        state.setPresent(group.channel, !leavesUnset(schema.channel(group.channel), writes.ops(group)));
    }
}

}  // namespace

void applyWrites(State& state, const WriteSet& writes, std::span<const ChannelIndex> ended, OperationLog* log) {
    if (log == nullptr && writes.groups().size() == 1) {  // the usual case without a saver
        applyGroup(state, writes, writes.groups().front());
    } else {
        applyGroups(state, writes, ended, log);
    }
}

void undoWrites(State& state, const WriteSet& writes, const detail::ChannelSet& before) {
    const Schema& schema = state.schema();
    const auto groups = writes.groups();
    for (std::size_t i = groups.size(); i > 0; --i) {
        const ChannelSpec& channel = schema.channel(groups[i - 1].channel);
        channel.behaviour->undo(channel, state.value(channel), writes.ops(groups[i - 1]));
    }
    for (const WriteSet::Group& group : groups) state.setPresent(group.channel, before.test(group.channel));
}

void logEverything(const State& state, OperationLog& log) {
    const Schema& schema = state.schema();
    for (const ChannelIndex index : schema.encodedOrder()) {
        const ChannelSpec& channel = schema.channel(index);
        if (!state.has(index) || !isStored(channel.kind)) continue;
        const std::size_t start = log.entries.size();
        Encoder encoder(log.entries);
        writeLoggedOp(encoder, channel.name, LogOp::set);
        channel.behaviour->encode(channel, state.value(channel), encoder);
        log.close(channel, start, encoder.shallowBytes());
    }
}

}  // namespace stategraph::engine
