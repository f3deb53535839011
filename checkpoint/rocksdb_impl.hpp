#pragma once
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <stategraph/error.hpp>
#include <stategraph/rocksdb_saver.hpp>
#include <stategraph/saver_rules.hpp>

#include "checkpoint/log_gate.hpp"
#include "checkpoint/retention.hpp"
#include "checkpoint/rocksdb_keys.hpp"
#include "checkpoint/rocksdb_open.hpp"

// What the RocksDB saver's two files share. Rows are those of rocksdb_keys.cpp. All that a call stores or removes goes through one
// WriteBatch (a prune: one a thread); what a call reads comes from one iterator or one snapshot, so it is of one moment.
namespace stategraph::checkpoint {

inline rocksdb::Slice slice(std::string_view text) noexcept { return {text.data(), text.size()}; }

// An iterator with bounds that it keeps alive, and with errors that throw.
class Cursor {
public:
    Cursor(rocksdb::DB& db, const std::string& path, std::string lower, std::string upper,
           const rocksdb::Snapshot* snapshot = nullptr)
        : path_(path), lower_(std::move(lower)), upper_(std::move(upper)), lower_slice_(lower_), upper_slice_(upper_) {
        rocksdb::ReadOptions options;
        options.iterate_lower_bound = &lower_slice_;
        options.iterate_upper_bound = &upper_slice_;
        options.snapshot = snapshot;
        rows_.reset(db.NewIterator(options));
    }
    Cursor(const Cursor&) = delete;
    Cursor& operator=(const Cursor&) = delete;

    bool seek(std::string_view key) { return rows_->Seek(slice(key)), valid(); }
    bool seekBack(std::string_view key) { return rows_->SeekForPrev(slice(key)), valid(); }
    bool seekToFirst() { return rows_->SeekToFirst(), valid(); }
    bool seekToLast() { return rows_->SeekToLast(), valid(); }
    bool next() { return rows_->Next(), valid(); }
    bool previous() { return rows_->Prev(), valid(); }

    bool valid() const {
        if (rows_->Valid()) return true;
        if (const rocksdb::Status status = rows_->status(); !status.ok())
            failStatus(status, "read it", path_);
        return false;
    }
    std::string_view key() const { return rows_->key().ToStringView(); }
    std::string_view value() const { return rows_->value().ToStringView(); }
    bool isIn(std::string_view prefix) const { return valid() && key().starts_with(prefix); }
    bool nextIn(std::string_view prefix) { return next() && key().starts_with(prefix); }

    ParsedKey parsed() const {
        if (const auto parsed = parseKey(key())) return *parsed;
        throw CorruptCheckpointError("the database '" + path_ + "' is damaged: it has a key that cannot be read, 0x" +
                                     rows_->key().ToString(true) + "; restore it from a copy");
    }

private:
    const std::string& path_;
    std::string lower_;
    std::string upper_;
    rocksdb::Slice lower_slice_;
    rocksdb::Slice upper_slice_;
    std::unique_ptr<rocksdb::Iterator> rows_;
};

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
        : path(folder), read_only(options.read_only), db(checkpoint::openDatabase(folder, options)) {}

    void write(rocksdb::WriteBatch& batch, bool sync, const char* work);
    void checkWritable() const;
    CheckpointId readHead(const LogName& log);
    bool has(const LogName& log, CheckpointId id);
    bool hasRows(std::string_view thread_id);
    std::size_t countRows(std::string_view thread_id, std::size_t most);
    void listLog(checkpoint::Cursor& rows, checkpoint::Cursor* writes, const LogName& log, const ListQuery& query,
                 std::vector<ListedCheckpoint>& out);
    void pruneThread(std::string_view thread_id, const PruneRequest& request, Dropped& total);
    void pruneLog(checkpoint::Cursor& rows, checkpoint::Cursor& write_rows, const LogName& log, checkpoint::ThreadPrune& prune,
                  rocksdb::WriteBatch& batch, Dropped& total);
    bool isUnused(std::string_view thread_id, std::int64_t since_unix_ms);
    void drop(const std::string& key, std::size_t bytes, rocksdb::WriteBatch& batch, Dropped& total);
    void dropRanges(std::string_view thread_id, rocksdb::WriteBatch& batch);
    void dropThread(std::string_view thread_id, rocksdb::WriteBatch& batch, Dropped& total);
    void checkExpected(const PutRequest& request);
    void compactIfWorthIt(const PruneRequest& request, const Dropped& dropped);
    void compact(const std::optional<std::string>& thread_id);

    std::string path;
    bool read_only;
    std::unique_ptr<rocksdb::DB> db;
    checkpoint::LogGate gate{100'000};  // heads that are known
    std::atomic<std::size_t> dropped_bytes{0};  // since the last compaction of everything
    std::atomic<bool> is_closing{false};
    std::unique_ptr<checkpoint::Retention> retention;
};

}  // namespace stategraph
