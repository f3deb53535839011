#pragma once
#include <atomic>
#include <cstdint>

#include <rocksdb/listener.h>

namespace stategraph::checkpoint {

/// Notes the failures that stop a database, and turns those of the disk into failures that DB::Resume() can end.
/// Thread-safe.
class Health final : public rocksdb::EventListener {
public:
    const char* Name() const override { return "stategraph"; }
    void OnBackgroundError(rocksdb::BackgroundErrorReason reason, rocksdb::Status* error) override;
    void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason reason, rocksdb::Status error,
                              bool* auto_recovery) override;

    bool isStopped() const noexcept {
        return failures_.load(std::memory_order_acquire) != healed_.load(std::memory_order_relaxed);
    }
    std::uint64_t failures() const noexcept { return failures_.load(std::memory_order_acquire); }
    /// Returns true if the log file has a torn record, so that RocksDB must not append to it again.
    bool logFailed() const noexcept { return log_failed_.load(std::memory_order_acquire); }
    /// Call it when the failures counted so far have been dealt with.
    void setHealed(std::uint64_t failures) noexcept;

private:
    std::atomic<std::uint64_t> failures_ = 0;
    std::atomic<std::uint64_t> healed_ = 0;
    std::atomic<bool> log_failed_ = false;
};

}  // namespace stategraph::checkpoint
