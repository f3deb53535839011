#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rocksdb/write_batch.h>

#include <stategraph/rocksdb_saver.hpp>
#include <stategraph/saver_rules.hpp>

#include "storage/rocksdb/rocksdb_database.hpp"
#include "storage/rocksdb/rocksdb_first_due.hpp"
#include "storage/rocksdb/rocksdb_keys.hpp"
#include "storage/rocksdb/rocksdb_open_threads.hpp"
#include "storage/rocksdb/rocksdb_row_locks.hpp"
#include "storage/saver/index_place.hpp"
#include "storage/saver/log_gate.hpp"
#include "storage/saver/prune_rules.hpp"
#include "storage/saver/retention.hpp"

// What the RocksDB saver's files share. rocksdb_keys.cpp defines the rows. A call stores or removes rows in one
// WriteBatch (a prune in one for each thread), and reads them through one iterator or one snapshot, so that they are
// from one moment.
namespace stategraph::checkpoint {

inline CheckpointId idAt(const Cursor& rows, std::size_t prefix_size) {
    const std::string_view key = rows.key();
    return key.size() - prefix_size == 16 ? CheckpointId::fromBytes(key.data() + prefix_size) : rows.parsed().id;
}

}  // namespace stategraph::checkpoint

namespace stategraph {

struct RocksDBSaver::Impl {
    struct Dropped {
        std::size_t rows = 0;
        std::size_t bytes = 0;
        std::size_t commits = 0;
    };

    Impl(const std::string& folder, const RocksDBSaverOptions& options)
        : database(folder, {.create_if_missing = options.create_if_missing,
                            .read_only = options.read_only,
                            .follow_every = options.follow ? std::optional(options.follow_every) : std::nullopt,
                            .drop_damaged_log = options.drop_damaged_log,
                            .owner_only = options.owner_only,
                            .rocksdb_options = options.rocksdb_options}) {}

    void check(const rocksdb::Status& status, const char* work) const { database.errors().check(status, work); }
    CheckpointId readHead(const LogName& log);
    bool has(const LogName& log, CheckpointId id);
    bool hasRows(std::string_view thread_id);
    std::size_t countRows(std::string_view thread_id, std::size_t most);
    void listLog(checkpoint::Cursor& rows, checkpoint::Cursor* writes, const LogName& log, const ListQuery& query,
                 std::vector<ListedCheckpoint>& out);
    void pruneThread(std::string_view thread_id, const PruneRequest& request, Dropped& total);
    static checkpoint::LogLinks readLog(checkpoint::Cursor& rows, checkpoint::Cursor& write_rows, const LogName& log);
    void pruneLog(checkpoint::Cursor& write_rows, const checkpoint::LogLinks& links, const checkpoint::LogPlan& plan,
                  rocksdb::WriteBatch& batch, Dropped& total);
    bool isUnused(std::string_view thread_id, std::chrono::system_clock::time_point since);
    void drop(const std::string& key, std::size_t bytes, rocksdb::WriteBatch& batch, Dropped& total);
    void dropRanges(std::string_view thread_id, rocksdb::WriteBatch& batch);
    void dropThread(std::string_view thread_id, rocksdb::WriteBatch& batch, Dropped& total);
    void checkExpected(const PutRequest& request);

    // The index of threads, in rocksdb_index.cpp. `place` is the current place, if that is known. Returns the new
    // place.
    checkpoint::IndexPlace noteInIndex(const PutRequest& request, CheckpointId head,
                                       const checkpoint::IndexPlace& place, rocksdb::WriteBatch& batch);
    checkpoint::IndexPlace placeOf(std::string_view thread_id, CheckpointId head);
    void addToIndex(std::string_view thread_id, const checkpoint::IndexPlace& place, std::string_view summary,
                    rocksdb::WriteBatch& batch);
    void noteSummary(std::string_view thread_id, const checkpoint::IndexPlace& place, std::string_view summary,
                     rocksdb::WriteBatch& batch);
    void readSummaries(std::vector<IndexedThread>& threads);
    void dropFromIndex(std::string_view thread_id, const checkpoint::IndexPlace& place, rocksdb::WriteBatch& batch);
    void dropFromIndex(std::string_view thread_id, rocksdb::WriteBatch& batch);
    /// Writes a batch that moves a thread from one place to the other.
    void writeWithIndex(rocksdb::WriteBatch& batch, bool sync, std::string_view thread_id,
                        const checkpoint::IndexPlace& before, const checkpoint::IndexPlace& after);
    void readOpen(std::string_view thread_id) noexcept;
    /// For each of the statuses that is not known: a cursor over its open rows. All see the same moment.
    void openCursors(Statuses statuses, Statuses known,
                     std::array<std::optional<checkpoint::Cursor>, indexed_statuses.size()>& cursors);
    void loadIndex();
    void compactIfWorthIt(const PruneRequest& request, const Dropped& dropped);
    void compact(const std::optional<std::string>& thread_id);

    checkpoint::Database database;
    checkpoint::LogGate gate{100'000};          // with the heads that are known
    checkpoint::RocksDBRowLocks row_locks;      // taken after the gate
    std::atomic<std::size_t> dropped_bytes{0};  // since the last full compaction
    std::atomic<bool> is_closing{false};
    checkpoint::OpenThreads open_threads;
    checkpoint::FirstDue first_due;
    std::unique_ptr<checkpoint::Retention> retention;
};

}  // namespace stategraph
