#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/forwarding_saver.hpp>
#include <stategraph/postgres_saver.hpp>

namespace stategraph {

/// A PostgresSaver that writes only to threads which this process has leased. Workers compile their graphs with it.
/// Each write carries the lease's epoch, and the database checks it in the statement that writes, so that a process
/// that was frozen for longer than its lease stores nothing when it wakes. A put is one round trip, as without.
///
/// A put to a thread without a lease here throws LeaseLostError and asks nobody: also one of an attempt that was
/// abandoned, or of a run that ended. Reading and pruning need no lease. To answer, edit or delete from outside, use
/// the PostgresSaver itself. An EncryptedSaver can wrap it. Safe from any thread. Link `stategraph::queue`.
class LeasedSaver final : public ForwardingSaver {
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
    void asyncPut(const PutRequest& request, PutCompletion& completion) noexcept override;
    void asyncGetTuple(const TupleQuery& query, TupleCompletion& completion) noexcept override;
    /// Requires the thread's lease, which ends with the thread.
    void deleteThread(std::string_view thread_id) override;
    void copyThread(std::string_view from, std::string_view to) override;
    /// False: the lease keeps other processes from running the thread.
    bool holdsThreads() const noexcept override { return false; }
    std::unique_ptr<ThreadHold> tryHold(std::string_view thread_id) override;
    /// False: a blocking run with `async` makes puts on its own thread.
    bool putIsSlow() const noexcept override;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace stategraph
