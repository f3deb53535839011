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

/// The values of a state: the user's object, and which of its channels are set.
class State {
public:
    /// Constructs a state without any write. `place` is an object of the state's type in that condition, which its
    /// owner keeps; null means that an object is created.
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

    /// Shares the object with readers, who may read it until `separate`. Call it only for a state that owns its object.
    const std::shared_ptr<void>& share();
    /// Leaves the object to those with whom it was shared, and continues with a copy.
    void separate();

    /// Returns to the condition without any write.
    void reset();
    void assign(const State& other);
    /// Takes the values of another state, which can only be destroyed afterwards.
    void take(State& other);

private:
    const detail::Schema* schema_;
    void* object_;
    bool owns_;
    std::shared_ptr<void> shared_;  // if set, it owns the object
    detail::ChannelSet present_;
};

/// The writes of one superstep, sorted by channel. It is reused from superstep to superstep, and keeps its memory.
class WriteSet {
public:
    /// Forgets everything.
    void clear();
    /// Adds a task's writes, after those of tasks before it. `writer` names the task in errors. Both must outlive this
    /// object.
    void add(const detail::Schema& schema, detail::Writes& writes, std::string_view writer);
    /// Sorts what was added, and refuses writes that a channel cannot take. Errors: InvalidUpdateError naming the
    /// channel and the writer.
    void close(const detail::Schema& schema);
    /// Does all three for the writes of a superstep's only task.
    void assign(const detail::Schema& schema, detail::Writes& writes, std::string_view writer);

    struct Group {
        detail::ChannelIndex channel;
        std::uint32_t first;
        std::uint32_t count;
    };
    /// After `close`: the writes by channel, in encoded order.
    std::span<const Group> groups() const noexcept { return groups_; }
    std::span<detail::Op* const> ops(const Group& group) const noexcept {
        return {ops_.data() + group.first, group.count};
    }
    bool writes(detail::ChannelIndex channel) const noexcept;
    /// Returns the number of writes for which there is room.
    std::size_t room() const noexcept { return items_.capacity(); }
    /// Returns the size of the memory that it keeps for the next superstep.
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
    void closeSeveral(const detail::Schema& schema);
    void sortByRank();
    void refuseConflicts(const detail::Schema& schema, const Group& group, std::size_t first_item) const;

    std::vector<Item> items_;
    std::vector<detail::Op*> ops_;
    std::vector<Group> groups_;
    std::vector<std::string_view> writers_;
};

/// The entries of a commit's operations in the order in which they are added: CBOR pairs and their number.
struct OperationLog {
    std::string entries;
    std::size_t count = 0;
    /// Known positions of the items that are to be logged; null if nothing is known.
    const detail::EncodedItems* items = nullptr;
    /// The number of bytes that each channel's operation added, to keep track of the state's size.
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
    /// Ends the entry that begins at `start`. Errors: InvalidUpdateError if its value is nested too deep to be stored.
    void close(const detail::ChannelSpec& channel, std::size_t start, std::size_t shallow_bytes = 0);
};

/// Finds the channels whose value ends with a superstep with these writes, because they live for one superstep and were
/// not written again. They are in encoded order.
void findEnding(const State& state, const WriteSet& writes, std::vector<detail::ChannelIndex>& ending);
/// Clears those channels.
void endChannels(State& state, std::span<const detail::ChannelIndex> ending);

/// Folds a closed set into a state. If asked, it logs the results, and the end of the channels in `ending` (which
/// `endChannels` carries out). Errors: a reducer's exception as InvalidUpdateError naming the channel, with the
/// original nested; InvalidUpdateError for a value that is nested too deep to be logged. After an error the state is as
/// before.
void applyWrites(State& state, const WriteSet& writes, std::span<const detail::ChannelIndex> ending, OperationLog* log);

/// Undoes an `applyWrites`, if no channel has ended since. `before` says which channels were set before it.
void undoWrites(State& state, const WriteSet& writes, const detail::ChannelSet& before);

/// Logs every channel that is set as a set operation, in encoded order.
void logEverything(const State& state, OperationLog& log);

}  // namespace stategraph::engine
