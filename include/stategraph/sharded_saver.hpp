#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/saver.hpp>

// One saver over several that know nothing of each other: each has the threads of some slots.
namespace stategraph {

/// How many slots threads are spread over. It never changes.
inline constexpr std::size_t shard_slots = 1024;

/// A thread's slot: the first ten bits of the SHA-256 of its id. It never changes.
std::size_t slotOf(std::string_view thread_id) noexcept;

/// The order in which savers list threads.
enum class ThreadOrder : std::uint8_t {
    bytes,            // PostgresSaver, SqliteSaver
    size_then_bytes,  // MemorySaver, RocksDBSaver
};

/// A saver, and what messages call it.
struct NamedShard {
    std::string name;
    std::shared_ptr<BaseCheckpointSaver> saver;
};

/// The options of a ShardedSaver.
struct ShardedSaverOptions {
    /// How all of the savers order threads. A list that meets a saver with another order fails with a SaverError.
    ThreadOrder order = ThreadOrder::bytes;
    /// By slot, the index of its shard; shard_slots entries. Empty: each shard has a range of slots of one size, in the
    /// order of the shards.
    std::vector<std::size_t> shard_of = {};
};

/// Spreads threads over several savers by `slotOf`. A call for one thread goes to the shard that has its slot, and
/// costs what it costs there.
///
/// Which shard has which slot does not change while the object exists, and every program must say the same: no shard
/// checks it, and threads do not move. A program that says something else finds no thread where another one stored it.
///
/// A list over many threads asks every shard for a page, one after the other, and merges the pages in the order of
/// listings. So do the functions of the index. A copy from one shard to another goes row by row. A prune of every
/// thread prunes shard by shard. It answers later if all of the shards do.
///
/// Errors: those of the shard, with its name. While a shard cannot be reached, calls for its threads and lists over
/// every thread fail; calls for threads of other shards do not notice. Safe from any thread.
class ShardedSaver final : public BaseCheckpointSaver {
public:
    /// Errors: InvalidArgumentError for none or more than shard_slots shards, a null saver, a name or a saver that two
    /// have, and a `shard_of` that does not name a shard for each slot.
    explicit ShardedSaver(std::vector<NamedShard> shards, const ShardedSaverOptions& options = {});
    ~ShardedSaver() override;

    /// The index of the shard that has the thread: for what a shard has besides its saver, such as a queue.
    std::size_t shardOf(std::string_view thread_id) const noexcept;

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
    /// The least of the shards'.
    std::size_t commitsAhead() const noexcept override;
    void asyncPut(const PutRequest& request, PutCompletion& completion) noexcept override;
    void asyncGetTuple(const TupleQuery& query, TupleCompletion& completion) noexcept override;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace stategraph
