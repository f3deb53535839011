#pragma once
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

#include "checkpoint/index_place.hpp"
#include "checkpoint/log_gate.hpp"
#include "checkpoint/retention.hpp"
#include "storage/rocksdb/rocksdb_database.hpp"
#include "storage/rocksdb/rocksdb_first_due.hpp"
#include "storage/rocksdb/rocksdb_keys.hpp"
#include "storage/rocksdb/rocksdb_open_threads.hpp"

// What the RocksDB saver's two files share. Rows are those of rocksdb_keys.cpp. All that a call stores or removes goes
// through one WriteBatch (a prune: one a thread); what a call reads comes from one iterator or one snapshot, so it is
// of one moment.
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
                            .rocksdb_options = options.rocksdb_options}) {}

    void check(const rocksdb::Status& status, const char* work) const { database.errors().check(status, work); }
    CheckpointId readHead(const LogName& log);
    bool has(const LogName& log, CheckpointId id);
    bool hasRows(std::string_view thread_id);
    std::size_t countRows(std::string_view thread_id, std::size_t most);
    void listLog(checkpoint::Cursor& rows, checkpoint::Cursor* writes, const LogName& log, const ListQuery& query,
                 std::vector<ListedCheckpoint>& out);
    void pruneThread(std::string_view thread_id, const PruneRequest& request, Dropped& total);
    void pruneLog(checkpoint::Cursor& rows, checkpoint::Cursor& write_rows, const LogName& log,
                  checkpoint::ThreadPrune& prune, rocksdb::WriteBatch& batch, Dropped& total);
    bool isUnused(std::string_view thread_id, std::chrono::system_clock::time_point since);
    void drop(const std::string& key, std::size_t bytes, rocksdb::WriteBatch& batch, Dropped& total);
    void dropRanges(std::string_view thread_id, rocksdb::WriteBatch& batch);
    void dropThread(std::string_view thread_id, rocksdb::WriteBatch& batch, Dropped& total);
    void checkExpected(const PutRequest& request);

    // The index of threads: rocksdb_index.cpp. `place`: as it is, if that is known. Returns what it will be.
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
    /// Writes a batch that moves a thread from the one place to the other.
    void writeWithIndex(rocksdb::WriteBatch& batch, bool sync, std::string_view thread_id,
                        const checkpoint::IndexPlace& before, const checkpoint::IndexPlace& after);
    void makeIndex();
    void loadIndex();
    void compactIfWorthIt(const PruneRequest& request, const Dropped& dropped);
    void compact(const std::optional<std::string>& thread_id);

    checkpoint::Database database;
    checkpoint::LogGate gate{100'000};          // heads that are known
    std::atomic<std::size_t> dropped_bytes{0};  // since the last compaction of everything
    std::atomic<bool> is_closing{false};
    // False: the database is of a version without one, and open read-only.
    bool has_index = true;
    checkpoint::OpenThreads open_threads;
    checkpoint::FirstDue first_due;
    std::unique_ptr<checkpoint::Retention> retention;
};

}  // namespace stategraph
