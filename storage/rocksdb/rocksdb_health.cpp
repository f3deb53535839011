#include "storage/rocksdb/rocksdb_health.hpp"

namespace stategraph::checkpoint {

// Called with RocksDB's lock released, before RocksDB notes the error.
void Health::OnBackgroundError(rocksdb::BackgroundErrorReason reason, rocksdb::Status* error) {
    using Severity = rocksdb::Status::Severity;
    if (!error->IsIOError() || error->IsIOFenced() || error->severity() == Severity::kUnrecoverableError) return;
    // RocksDB treats a full disk as an error that it can recover from, and any other failure of a write as fatal. Both
    // are repaired in the same way: what is in memory is written to a table, and a new log begins.
    if (error->severity() == Severity::kFatalError) *error = rocksdb::Status(*error, Severity::kHardError);
    if (error->severity() < Severity::kHardError) return;  // writes still succeed
    if (reason == rocksdb::BackgroundErrorReason::kWriteCallback) log_failed_.store(true, std::memory_order_release);
    failures_.fetch_add(1, std::memory_order_acq_rel);
}

// RocksDB's own recovery would wait for as much space as a whole buffer may need, and check only every five seconds.
void Health::OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason /*reason*/, rocksdb::Status /*error*/,
                                  bool* auto_recovery) {
    *auto_recovery = false;
}

void Health::setHealed(std::uint64_t failures) noexcept {
    healed_.store(failures, std::memory_order_release);
    if (failures_.load(std::memory_order_acquire) == failures) log_failed_.store(false, std::memory_order_release);
}

}  // namespace stategraph::checkpoint
