#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/detail/chrono.hpp>
#include <stategraph/error.hpp>
#include <stategraph/saver.hpp>

// One saver over several: each has the threads of some slots. Those on PostgreSQL, whose slots can be moved while
// programs run, are in stategraph/postgres_shards.hpp.
namespace stategraph {

/// How many slots threads are spread over. It never changes.
inline constexpr std::size_t shard_slots = 1024;

/// A thread's slot: the first ten bits of the SHA-256 of its id. It never changes.
std::size_t slotOf(std::string_view thread_id) noexcept;

/// Which shard has which slot.
struct ShardMap {
    /// Ascends with each change.
    std::uint64_t version = 0;
    /// By slot, the number of its shard; shard_slots entries.
    std::vector<std::size_t> shard_of = {};

    /// Divides the slots into one equal range for each shard; there are at least 1 and at most shard_slots shards.
    static ShardMap evenly(std::size_t shards);
};

/// The shard does not have the thread's slot: it moved to another shard, or is moving. Nothing was done. A
/// ShardedSaver reads the map again and calls the shard that has it; a program that used one shard by itself gets this
/// error.
class ThreadMovedError : public SaverError {
public:
    explicit ThreadMovedError(std::string message, ErrorContext context = {})
        : SaverError(std::move(message), std::move(context)) {}

    /// Whether an earlier try of the same call, whose answer was lost, may have been stored before the slot moved.
    bool mayBeStored() const noexcept { return may_be_stored_; }
    void setMayBeStored() noexcept { may_be_stored_ = true; }

private:
    bool may_be_stored_ = false;
};

/// The order in which savers list threads.
enum class ThreadOrder : std::uint8_t {
    bytes,            // PostgresSaver, SqliteSaver
    size_then_bytes,  // MemorySaver, RocksDBSaver
};

/// The savers of a ShardedSaver, and where slots are. All functions are safe from any thread.
class Shards {
public:
    Shards() = default;
    Shards(const Shards&) = delete;
    Shards& operator=(const Shards&) = delete;
    virtual ~Shards() = default;

    /// How many there are. It does not change.
    virtual std::size_t count() const noexcept = 0;
    /// Returns the name of a shard, for messages.
    virtual std::string_view name(std::size_t shard) const = 0;
    /// Opens the shard if that was not done. The saver exists as long as this object. Errors: SaverError if it cannot
    /// be opened now; a later call tries again.
    virtual BaseCheckpointSaver& saver(std::size_t shard) = 0;
    /// The newest map that can be found out. Errors: SaverError.
    virtual ShardMap readMap() = 0;
    /// The saver if it is open; null: `saver` may have to wait for a storage until it is.
    virtual BaseCheckpointSaver* opened(std::size_t /*shard*/) noexcept { return nullptr; }
    /// Whether all of the savers answer later (BaseCheckpointSaver::answersLater), and the least commitsAhead of them.
    /// Neither changes.
    virtual bool answersLater() const noexcept { return false; }
    virtual std::size_t commitsAhead() const noexcept { return 1; }
    /// How all of the savers order threads. A list that meets a saver with another order fails with a SaverError.
    virtual ThreadOrder order() const noexcept { return ThreadOrder::bytes; }
};

/// A saver, and what messages call it.
struct NamedShard {
    std::string name;
    std::shared_ptr<BaseCheckpointSaver> saver;
};

/// Shards whose slots never move.
class FixedShards final : public Shards {
public:
    /// Without a map: ShardMap::evenly. Errors: InvalidArgumentError for no shards, a null saver, a name or a saver
    /// that two have, and a map that names no such shard.
    explicit FixedShards(std::vector<NamedShard> shards, ThreadOrder order, std::optional<ShardMap> map = {});

    std::size_t count() const noexcept override;
    std::string_view name(std::size_t shard) const override;
    BaseCheckpointSaver& saver(std::size_t shard) override;
    ShardMap readMap() override;
    BaseCheckpointSaver* opened(std::size_t shard) noexcept override;
    bool answersLater() const noexcept override;
    std::size_t commitsAhead() const noexcept override;
    ThreadOrder order() const noexcept override;

private:
    const std::vector<NamedShard> shards_;
    const ThreadOrder order_;
    const ShardMap map_;
};

/// The options of a ShardedSaver.
struct ShardedSaverOptions {
    /// How long a call waits for a slot that is moving, and how long a list begins anew while slots move, before it
    /// throws ThreadMovedError; at least 0.
    std::chrono::milliseconds move_wait = std::chrono::seconds(10);
};

/// Spreads threads over several savers by `slotOf`. A call for one thread goes to the shard that has its slot, and
/// costs what it costs there. If the shard says that the slot has moved, the map is read again, and the call goes to
/// the new owner.
///
/// A list over many threads asks every shard for a page, one after the other, merges the pages in the order of
/// listings, and reads the map, to begin anew if a slot moved meanwhile; if that happens again and again for
/// `move_wait`, it throws ThreadMovedError. So do the functions of the index. A copy from one shard to another goes row
/// by row. A prune of every thread prunes shard by shard.
///
/// It answers later if the shards do (Shards::answersLater). A thread of its own then waits only for a shard that is
/// not open yet, or for a slot that moves: at most 8 calls do so at the same time, and the others wait for them.
///
/// Errors: those of the shard, with its name. While a shard cannot be reached, calls for its threads and lists over
/// every thread fail; calls for threads of other shards do not notice. Safe from any thread.
class ShardedSaver final : public BaseCheckpointSaver {
public:
    /// Reads the map. Errors: InvalidArgumentError for null and for options that cannot be; those of Shards::readMap.
    explicit ShardedSaver(std::shared_ptr<Shards> shards, const ShardedSaverOptions& options = {});
    ~ShardedSaver() override;

    /// The map that it uses at present.
    ShardMap map() const;
    const std::shared_ptr<Shards>& shards() const noexcept;
    /// ShardedSaverOptions::move_wait.
    std::chrono::milliseconds moveWait() const noexcept;

    /// Reads the map again, unless another thread did so since `known` was the map.
    void refresh(const ShardMap& known);
    /// Calls `call(shard)` with the number of the shard that has the thread, and again with the next owner if it throws
    /// ThreadMovedError: for what a shard offers besides its saver.
    void onShardOf(std::string_view thread_id, const std::function<void(std::size_t shard)>& call);

    void put(const PutRequest& request) override;
    std::optional<CheckpointTuple> getTuple(const TupleQuery& query) override;
    std::vector<ListedCheckpoint> list(const ListQuery& query) override;
    void deleteThread(std::string_view thread_id) override;
    void copyThread(std::string_view from, std::string_view to) override;
    /// Shards that cannot be reached are left out, and then the error of the first one is thrown.
    std::size_t prune(const PruneRequest& request) override;
    /// Keeps it in every shard that can be reached. Errors: those of the shards, if none can.
    void putGraph(const GraphFingerprint& fingerprint, std::string_view bytes) override;
    std::optional<std::string> getGraph(const GraphFingerprint& fingerprint) override;
    std::optional<std::vector<IndexedThread>> openThreads(const OpenThreadsQuery& query) override;
    std::optional<std::vector<IndexedThread>> newestThreads(const NewestThreadsQuery& query) override;
    std::optional<std::vector<DueThread>> dueThreads(const DueThreadsQuery& query) override;
    std::optional<ThreadCounts> countThreads(std::size_t most) override;
    std::optional<std::uint64_t> storedBytes() override;
    bool holdsThreads() const noexcept override { return true; }
    std::unique_ptr<ThreadHold> tryHold(std::string_view thread_id) override;
    bool answersLater() const noexcept override;
    std::size_t commitsAhead() const noexcept override;
    void asyncPut(const PutRequest& request, PutCompletion& completion) noexcept override;
    void asyncGetTuple(const TupleQuery& query, TupleCompletion& completion) noexcept override;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace stategraph
