#pragma once
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <stategraph/detail/chrono.hpp>
#include <stategraph/store.hpp>

namespace stategraph {

/// The options of a SqliteStore.
struct SqliteStoreOptions {
    /// Create the file, and the folders above it, or the store's tables in a file without them. Off: a missing part is
    /// an error.
    bool create_if_missing = true;
    /// Open for reading only; puts and sweep() then throw StoreError, and reads do not refresh times to live. Each call
    /// sees everything that other processes stored before it.
    bool read_only = false;
    /// Whether a put returns only when it is on disk (fsync). Off: it survives the death of the process, but not of the
    /// machine.
    bool sync = false;
    /// How long a write waits for the writes of other processes before it is a StoreError; at least 0.
    std::chrono::milliseconds busy_timeout = std::chrono::seconds(10);
    /// Is the same option as SqliteSaverOptions::readers_max.
    std::size_t readers_max = 4;
    /// Is the same option as SqliteSaverOptions::drop_damaged_log. Off: damage is a CorruptStoreError.
    bool drop_damaged_log = false;
    /// Is the same option as SqliteSaverOptions::owner_only.
    bool owner_only = true;
};

/// Keeps items in a SQLite file, which any number of processes of one computer read and write at once, through any
/// number of these objects. It may be the file of a SqliteSaver: each has tables of its own.
///
/// One batch of puts is one transaction, in which its items are read and written: two processes that put one item at
/// the same time do so one after the other. Puts of other threads of this object join it, up to 64 in one transaction;
/// those of other processes wait up to `busy_timeout`, also for a saver's writes if it has the same file. Reads wait
/// for nobody.
///
/// Errors, the files next to it, and what fork() forbids are those of SqliteSaver, as StoreError and CorruptStoreError.
/// Link `stategraph::sqlite`.
class SqliteStore final : public BaseStore {
public:
    explicit SqliteStore(const std::string& path, const StoreOptions& options = {},
                         const SqliteStoreOptions& database = {});
    ~SqliteStore() override;

    std::size_t sweep() override;
    /// What opening found at the end of the log, as SqliteSaver::droppedAtOpening.
    std::string droppedAtOpening() const;

protected:
    std::vector<StoreResult> apply(std::span<const StoreOp> ops) override;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace stategraph
