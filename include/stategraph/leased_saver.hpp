#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/postgres_saver.hpp>
#include <stategraph/saver.hpp>

namespace stategraph {

/// A PostgresSaver that writes only to threads which this process has leased. Workers compile their graphs with it.
/// Each write carries the lease's epoch, and the database checks it in the statement that writes, so that a process
/// that was frozen for longer than its lease stores nothing when it wakes. A put is one round trip, as without.
///
/// A put to a thread without a lease here throws LeaseLostError and asks nobody: also one of an attempt that was
/// abandoned, or of a run that ended. Reading needs no lease. To answer, edit or delete from outside, use the
/// PostgresSaver itself. An EncryptedSaver can wrap it. Safe from any thread.
class LeasedSaver final : public BaseCheckpointSaver {
public:
    /// Writes through `saver`. Errors: InvalidArgumentError for null.
    explicit LeasedSaver(std::shared_ptr<PostgresSaver> saver);
    ~LeasedSaver() override;

    /// From now on puts to the thread are made under this lease, which replaces an earlier one of this object. The
    /// first put of commits to the thread's own log takes the input that `lease.takes` names.
    void hold(std::string_view thread_id, const PutLease& lease);
    /// Does the same for a thread that had no commit when it was claimed (Claim::head): reading its own log returns
    /// none, and sends no request, until this process has put to it.
    void holdNew(std::string_view thread_id, const PutLease& lease);
    /// Whether the input of `hold` was taken, or there was none.
    bool hasTaken(std::string_view thread_id) const;
    /// Refuses every later put to the thread, if its lease still has this epoch.
    void drop(std::string_view thread_id, std::int64_t epoch);
    /// How many threads have a lease in this object.
    std::size_t held() const;

    const std::shared_ptr<PostgresSaver>& saver() const noexcept;

    /// Puts under the lease of the thread. Errors: also LeaseLostError.
    void put(const PutRequest& request) override;
    std::optional<CheckpointTuple> getTuple(const TupleQuery& query) override;
    /// Is true, as with a PostgresSaver: workers await their runs, so that one that waits for the server has no thread.
    bool answersLater() const noexcept override;
    std::size_t commitsAhead() const noexcept override;
    void asyncPut(const PutRequest& request, PutCompletion& completion) noexcept override;
    void asyncGetTuple(const TupleQuery& query, TupleCompletion& completion) noexcept override;
    std::vector<ListedCheckpoint> list(const ListQuery& query) override;
    /// Requires the thread's lease, which ends with the thread.
    void deleteThread(std::string_view thread_id) override;
    void copyThread(std::string_view from, std::string_view to) override;
    /// Requires no lease, because a prune does not change the meaning of what it keeps.
    std::size_t prune(const PruneRequest& request) override;
    void putGraph(const GraphFingerprint& fingerprint, std::string_view bytes) override;
    std::optional<std::string> getGraph(const GraphFingerprint& fingerprint) override;
    std::optional<std::vector<IndexedThread>> openThreads(const OpenThreadsQuery& query) override;
    std::optional<std::vector<IndexedThread>> newestThreads(const NewestThreadsQuery& query) override;
    std::optional<std::vector<DueThread>> dueThreads(const DueThreadsQuery& query) override;
    std::optional<ThreadCounts> countThreads(std::size_t most) override;
    std::optional<std::uint64_t> storedBytes() override;
    /// False: a blocking run with `async` makes puts on its own thread.
    bool putIsSlow() const noexcept override;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace stategraph
