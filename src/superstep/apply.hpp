#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/detail/schema.hpp>

// Folds the writes of a superstep into channels: in task order, never in completion order.
namespace stategraph::engine {

/// The values of a state: the user's object and which channels are set.
class State {
public:
    /// A state as before any write. `place` is an object of the state's type in that condition, which its owner keeps;
    /// null: an object is created.
    explicit State(const detail::Schema& schema, void* place = nullptr);
    State(const State& other);
    State(State&& other) noexcept;
    State& operator=(const State&) = delete;
    ~State();

    const detail::Schema& schema() const noexcept { return *schema_; }
    void* object() noexcept { return object_; }
    const void* object() const noexcept { return object_; }
    void* value(const detail::ChannelSpec& channel) noexcept { return schema_->value(object_, channel); }
    const void* value(const detail::ChannelSpec& channel) const noexcept { return schema_->value(object_, channel); }
    bool has(std::size_t channel) const noexcept { return present_.test(channel); }
    void setPresent(std::size_t channel, bool present) noexcept { present_.set(channel, present); }
    const detail::ChannelSet& present() const noexcept { return present_; }

    /// Shares the object with others, who may read it until `separate`; only for a state that owns its object.
    const std::shared_ptr<void>& share();
    /// Leaves the object to those with whom it was shared, and continues with a copy.
    void separate();

    /// As before any write.
    void reset();
    void assign(const State& other);
    /// Afterwards the other one can only be destroyed.
    void take(State& other);

private:
    const detail::Schema* schema_;
    void* object_;
    bool owns_;
    std::shared_ptr<void> shared_;  // then it owns the object
    detail::ChannelSet present_;
};

/// The writes of one superstep, by channel. Reused from superstep to superstep, it keeps its memory.
class WriteSet {
public:
    /// Forgets everything.
    void clear();
    /// Adds a task's writes, after those of tasks before it. `writer` names the task in errors; both must outlive this.
    void add(const detail::Schema& schema, detail::Writes& writes, std::string_view writer);
    /// Sorts what was added, and refuses it if a channel cannot take it: InvalidUpdateError naming the channel and who
    /// wrote.
    void close(const detail::Schema& schema);

    struct Group {
        detail::ChannelIndex channel;
        std::uint32_t first;
        std::uint32_t count;
    };
    /// After `close`: by channel, in encoded order.
    std::span<const Group> groups() const noexcept { return groups_; }
    std::span<detail::Op* const> ops(const Group& group) const noexcept {
        return {ops_.data() + group.first, group.count};
    }
    bool writes(detail::ChannelIndex channel) const noexcept;
    /// For how many writes it has room.
    std::size_t room() const noexcept { return items_.capacity(); }
    /// The size of the memory that it keeps for the next superstep.
    std::size_t roomBytes() const noexcept {
        return items_.capacity() * sizeof(Item) + ops_.capacity() * sizeof(detail::Op*) +
               groups_.capacity() * sizeof(Group) + writers_.capacity() * sizeof(std::string_view);
    }

private:
    struct Item {
        detail::ChannelIndex rank;  // the channel's place in encoded order
        detail::ChannelIndex channel;
        std::uint16_t writer;
        detail::Op* op;
    };
    void sortByRank();
    void refuseConflicts(const detail::Schema& schema, const Group& group, std::size_t first_item) const;

    std::vector<Item> items_;
    std::vector<detail::Op*> ops_;
    std::vector<Group> groups_;
    std::vector<std::string_view> writers_;
};

/// The entries of a commit's operations as they come: CBOR pairs and their number.
struct OperationLog {
    std::string entries;
    std::size_t count = 0;
    /// What is known of the items that are to be logged; null: nothing.
    const detail::EncodedItems* items = nullptr;
    /// How many bytes each added, to keep track of the state's size.
    struct Size {
        detail::ChannelIndex channel;
        checkpoint::LogOp op;
        std::uint32_t bytes;
    };
    std::vector<Size> sizes;

    void clear() {
        entries.clear();
        count = 0;
        items = nullptr;
        sizes.clear();
    }
    /// Notes the entry that begins at `start`. Errors: InvalidUpdateError if its value is nested too deep to be stored.
    void close(const detail::ChannelSpec& channel, std::size_t start, std::size_t shallow_bytes = 0);
};

/// The channels whose value a superstep with these writes ends, because they live for one and were not written again;
/// in encoded order.
void findEnding(const State& state, const WriteSet& writes, std::vector<detail::ChannelIndex>& ending);
/// Unsets them.
void endChannels(State& state, std::span<const detail::ChannelIndex> ending);

/// Folds a closed set into a state. Logs what came of it, if asked, and the end of `ending` (which `endChannels`
/// carries out). Errors: a reducer's exception as InvalidUpdateError naming the channel, with the original nested;
/// InvalidUpdateError for a value that is nested too deep to be logged. The state is then as before.
void applyWrites(State& state, const WriteSet& writes, std::span<const detail::ChannelIndex> ending, OperationLog* log);

/// Undoes an `applyWrites`, as long as nothing ended: `before` is what was set before it.
void undoWrites(State& state, const WriteSet& writes, const detail::ChannelSet& before);

/// Every set channel as a set operation, in encoded order.
void logEverything(const State& state, OperationLog& log);

}  // namespace stategraph::engine
