#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <stategraph/store.hpp>

namespace rocksdb {
struct Options;
}

namespace stategraph {

/// The options of a RocksDBStore.
struct RocksDBStoreOptions {
    /// Create the database if it does not exist. Off: a missing database is an error.
    bool create_if_missing = true;
    /// Open for reading only; puts and sweep() then throw StoreError, and reads do not refresh times to live. Several
    /// processes may do so at the same time, also while a writer has it open. Such a store shows what was stored when
    /// it was opened; make a new one to see what a writer has added.
    bool read_only = false;
    /// Whether a put returns only when it is on disk (fsync). Off: it survives the death of the process, but not of the
    /// machine.
    bool sync = false;
    /// If not null, these options are used as they are instead of the store's own, during construction only. Set
    /// `info_log`: see RocksDBSaverOptions.
    const rocksdb::Options* rocksdb_options = nullptr;
    /// Is the same option as RocksDBSaverOptions::drop_damaged_log. Off: damage is a CorruptStoreError.
    bool drop_damaged_log = false;
    /// Is the same option as RocksDBSaverOptions::owner_only.
    bool owner_only = true;
};

/// Keeps items in a RocksDB database, a folder of its own (not that of a saver). One batch of puts is one atomic write.
///
/// One process at a time may write, through one object: a second one gets a StoreError that says so, however the path
/// is spelt. Errors while opening (missing, locked, not a store, read-only, damaged, of a newer format) are StoreError
/// or CorruptStoreError with the path.
///
/// A write that fails (disk full, I/O error) throws StoreError; reading continues to work, and the next write succeeds
/// once the cause is removed. If the folder is deleted meanwhile, a put with `sync` throws, others do after at most 100
/// ms. Link `stategraph::rocksdb`.
class RocksDBStore final : public BaseStore {
public:
    explicit RocksDBStore(const std::string& path, const StoreOptions& options = {},
                          const RocksDBStoreOptions& database = {});
    ~RocksDBStore() override;

    std::size_t sweep() override;
    /// What opening dropped from the end of the log, as RocksDBSaver::droppedAtOpening.
    std::string droppedAtOpening() const;

protected:
    std::vector<StoreResult> apply(std::span<const StoreOp> ops) override;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace stategraph
