#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/detail/channel_kind.hpp>
#include <stategraph/detail/log.hpp>
#include <stategraph/detail/table.hpp>
#include <stategraph/detail/writes.hpp>
#include <stategraph/ids.hpp>

namespace stategraph::detail {

struct ChannelSpec;

/// What the engine can do with the value of a channel. `value` points at it inside a state.
struct Behaviour {
    /// Folds `ops` (those of one superstep, in order; conflicts were refused before) into the value, and appends the
    /// result to `log`, if given, as one entry of a commit's operations. Afterwards the ops hold what `undo` needs.
    void (*apply)(const ChannelSpec& channel, void* value, std::span<Op* const> ops, Encoder* log);
    /// Undoes an `apply` with the same ops.
    void (*undo)(const ChannelSpec& channel, void* value, std::span<Op* const> ops);
    /// Resets the value to its state before any write.
    void (*reset)(const ChannelSpec& channel, void* value);
    void (*encode)(const ChannelSpec& channel, const void* value, Encoder& out);
    /// Rebuilds the value from operations of the log; the first is a set, or the value has just been reset.
    void (*load)(const ChannelSpec& channel, void* value, std::span<const checkpoint::LogPiece> pieces);
    void (*copy)(void* to, const void* from);
    /// Adds a write of the whole value, through the reducer.
    void (*write)(const ChannelSpec& channel, const void* value, Writes& writes);
    void (*decodeWrite)(const ChannelSpec& channel, checkpoint::WriteKind kind, Decoder& in, Writes& writes);
    /// For lists: the number of elements, and the encoding, as an array, of the elements from `from` on. Null for
    /// others.
    std::size_t (*length)(const void* value) = nullptr;
    void (*encodeTail)(const ChannelSpec& channel, const void* value, std::size_t from, Encoder& out) = nullptr;
    /// Completes a task's write with what depends on the task (ids of messages). Null if nothing does.
    void (*prepare)(const ChannelSpec& channel, Op& op, const TaskId& task, std::size_t index) = nullptr;
    /// Replaces the value by one item. Used for states that are structs.
    void (*decode)(Decoder& in, void* value) = nullptr;
    /// What the type is stored as (DescribedChannel::holds); empty if its codec may decide that for each value.
    const char* holds = "";
};

struct ChannelSpec {
    std::string name;
    std::vector<std::string> former_names;
    ChannelKind kind = ChannelKind::last_value;
    std::string reducer;  // its stable name; empty without one
    TypeKey type = nullptr;
    ChannelIndex index = 0;
    std::uint32_t offset = 0;
    const Behaviour* behaviour = nullptr;
    std::shared_ptr<const void> context;  // data of the reducer
    bool required =
        false;  // for strict reading of a state: it is not optional, and neither a reducer nor a note gives it a value
    const void* initial = nullptr;  // the value before any write; owned by the schema
};

/// A channel as the table of a state lists it, before the schema is made.
struct ChannelRow {
    std::string_view name;
    const std::string_view* former = nullptr;
    std::size_t former_size = 0;
    ChannelKind kind = ChannelKind::last_value;
    std::string_view reducer;
    TypeKey type = nullptr;
    std::uint32_t offset = 0;
    const Behaviour* behaviour = nullptr;
    std::shared_ptr<const void> context;
    bool required = false;
};

/// An array of them, whose code is compiled once and not in every user's file.
class ChannelRows {
public:
    explicit ChannelRows(std::size_t size);
    ChannelRows(const ChannelRows&) = delete;
    ChannelRows& operator=(const ChannelRows&) = delete;
    ~ChannelRows();
    ChannelRow& operator[](std::size_t i) noexcept { return rows_[i]; }
    std::size_t size() const noexcept { return size_; }

private:
    ChannelRow* rows_;
    std::size_t size_;
};

/// Encodes one write for pending writes, inputs and task results. Returns where its value begins in the buffer. Errors:
/// `failTooDeep`.
std::size_t encodeWrite(const ChannelSpec& channel, const Op& op, Encoder& out);
/// Throws InvalidUpdateError: what the channel would hold, or is written to it, is nested too deep to be stored.
[[noreturn]] void failTooDeep(const ChannelSpec& channel);
/// Encodes only its value; an item is encoded as a list of one.
void encodeWriteValue(const Op& op, Encoder& out);

/// A set of channels. With up to 64 channels, which most states have, it allocates nothing.
class ChannelSet {
public:
    ChannelSet() = default;
    explicit ChannelSet(std::size_t size) : more_(size > 64 ? (size - 1) / 64 : 0) {}
    bool test(std::size_t i) const noexcept { return (word(i) >> (i & 63U) & 1U) != 0; }
    void set(std::size_t i, bool on = true) noexcept {
        const std::uint64_t bit = std::uint64_t{1} << (i & 63U);
        std::uint64_t& of = i < 64 ? first_ : more_[(i >> 6U) - 1];
        of = on ? of | bit : of & ~bit;
    }
    void reset() noexcept {
        first_ = 0;
        for (auto& word : more_) word = 0;
    }
    friend bool operator==(const ChannelSet&, const ChannelSet&) = default;

private:
    std::uint64_t word(std::size_t i) const noexcept { return i < 64 ? first_ : more_[(i >> 6U) - 1]; }

    std::uint64_t first_ = 0;
    std::vector<std::uint64_t> more_;
};

/// How the state's object itself is handled.
struct StateType {
    TypeKey type = nullptr;
    void* (*create)(const void* context) = nullptr;  // in its initial state
    void (*destroy)(void* state) noexcept = nullptr;
    void (*copy)(void* to, const void* from) = nullptr;
    void (*move)(void* to, void* from) = nullptr;
    // The address to which channel offsets are relative; null: that of the state itself.
    void* (*base)(void* state) noexcept = nullptr;
    const void* context = nullptr;
    bool allows_unknown = false;  // for strict reading
};

/// Everything that the engine knows about a state type: its channels, and how to handle its object. It is built once
/// and never changes.
class Schema {
public:
    Schema(StateType state, std::vector<ChannelSpec> channels);
    Schema(const StateType& state, ChannelRows& rows);
    ~Schema();
    Schema(const Schema&) = delete;
    Schema& operator=(const Schema&) = delete;

    const StateType& state() const noexcept { return state_; }
    std::span<const ChannelSpec> channels() const noexcept { return {channels_.data(), channels_.size()}; }
    const ChannelSpec& channel(std::size_t index) const noexcept { return channels_[index]; }
    std::size_t size() const noexcept { return channels_.size(); }
    /// Finds a channel by its present or a former name; null if there is none.
    const ChannelSpec* find(std::string_view name) const noexcept;
    /// The channels in the order of their encoded names, as maps list them.
    std::span<const ChannelIndex> encodedOrder() const noexcept {
        return {encoded_order_.data(), encoded_order_.size()};
    }
    /// The position of a channel in that order.
    ChannelIndex rank(ChannelIndex channel) const noexcept { return ranks_[channel]; }
    /// All names, in the form of a struct's table.
    std::span<const TableName> tableNames() const noexcept { return {table_names_.data(), table_names_.size()}; }
    /// The channels that a superstep changes even if it does not write to them.
    std::span<const ChannelIndex> transient() const noexcept { return {transient_.data(), transient_.size()}; }
    /// The channels that have a value before any write.
    const ChannelSet& present() const noexcept { return present_; }
    /// The fingerprint of names, kinds and reducers.
    std::uint64_t fingerprint() const noexcept { return fingerprint_; }

    void* value(void* state, const ChannelSpec& channel) const noexcept {
        return static_cast<char*>(state_.base ? state_.base(state) : state) + channel.offset;
    }
    const void* value(const void* state, const ChannelSpec& channel) const noexcept {
        return value(const_cast<void*>(state), channel);
    }
    /// Replaces channel names in writes by the channels' indexes, and refuses writes that a channel cannot take.
    /// Errors: InvalidUpdateError naming the channel.
    void check(Writes& writes) const;

private:
    StateType state_;
    std::vector<ChannelSpec> channels_;
    std::vector<std::pair<std::string_view, ChannelIndex>> by_name_;  // sorted by name
    std::vector<ChannelIndex> encoded_order_;
    std::vector<ChannelIndex> ranks_;
    std::vector<TableName> table_names_;
    std::vector<ChannelIndex> transient_;
    ChannelSet present_;
    std::uint64_t fingerprint_ = 0;
    std::shared_ptr<void> initial_;
};

}  // namespace stategraph::detail
