#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <stategraph/detail/owned.hpp>
#include <stategraph/retention.hpp>
#include <stategraph/saver.hpp>

namespace stategraph {

/// What a memory saver does with a `put` that exceeds its limit.
enum class WhenFull : std::uint8_t {
    /// It throws SaverError; nothing of it is stored, and the thread stays as it was.
    refuse,
    /// Drops whole threads until a tenth of the limit is free, beginning with those that had no commit for the longest
    /// time. It drops only threads in which nothing is due and no question is open, and never the thread that is
    /// written; if that is not enough, it throws as `refuse` does. A run that begins on a finished thread gets
    /// ConcurrentUpdateError at its first commit if the thread was dropped meanwhile.
    evict,
};

/// The options of a MemorySaver.
struct MemorySaverOptions {
    /// The saver holds at most this many bytes of rows, names and bookkeeping (an estimate, see storedBytes); at least
    /// 1. A `put` needs room for all of its rows, for a moment also where they replace others.
    std::optional<std::size_t> bytes_max = {};
    /// What happens to a `put` that exceeds the limit.
    WhenFull when_full = WhenFull::refuse;
    /// Prune in the background.
    std::optional<RetentionOptions> retention = {};
};

/// Keeps threads in memory, as the same bytes that the durable savers store.
///
/// Cost: `put` copies the bytes once, except for a commit of 64 KiB or more whose string it may take over; about 100
/// bytes of bookkeeping a commit. One that evicts looks at every thread's newest commit. Errors of the constructor:
/// InvalidArgumentError for options that make no sense.
class MemorySaver final : public BaseCheckpointSaver {
public:
    explicit MemorySaver(const MemorySaverOptions& options = {});
    ~MemorySaver() override;

    void put(const PutRequest& request) override;
    std::optional<CheckpointTuple> getTuple(const TupleQuery& query) override;
    std::vector<ListedCheckpoint> list(const ListQuery& query) override;
    void deleteThread(std::string_view thread_id) override;
    void copyThread(std::string_view from, std::string_view to) override;
    std::size_t prune(const PruneRequest& request) override;
    /// Keeps at most 256 descriptions, 16 MiB together; more are not kept.
    void putGraph(const GraphFingerprint& fingerprint, std::string_view bytes) override;
    std::optional<std::string> getGraph(const GraphFingerprint& fingerprint) override;
    std::optional<std::vector<IndexedThread>> openThreads(const OpenThreadsQuery& query) override;
    std::optional<std::vector<IndexedThread>> newestThreads(const NewestThreadsQuery& query) override;
    std::optional<std::vector<DueThread>> dueThreads(const DueThreadsQuery& query) override;
    std::optional<ThreadCounts> countThreads(std::size_t most) override;
    /// The bytes that count towards the limit: rows and names exactly, and an estimate of what finding them takes.
    /// Reserved space of vectors and chunks is not included.
    std::optional<std::uint64_t> storedBytes() override;
    bool putIsSlow() const noexcept override { return false; }

    /// What the prunes in the background did; all zero without `retention`.
    RetentionReport retentionReport() const;
    /// Threads dropped by WhenFull::evict so far.
    std::uint64_t evictedThreads() const noexcept;

private:
    struct Impl;
    detail::Owned<Impl> impl_;
};

}  // namespace stategraph
