#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/saver.hpp>

namespace stategraph::checkpoint {

/// Locks of pending writes, for puts that compare a row and replace it while others of the same log are under way, so
/// that tasks that finish together wait for the disk together. Rows share 64 locks.
class RocksDBRowLocks {
public:
    class Held {
    public:
        Held(RocksDBRowLocks& locks, std::uint64_t which) : locks_(locks), which_(which) {
            // In ascending order, as all of them do it.
            for (std::uint64_t left = which; left != 0; left &= left - 1) locks_.locks_[first(left)].native().lock();
        }
        Held(const Held&) = delete;
        Held& operator=(const Held&) = delete;
        ~Held() {
            for (std::uint64_t left = which_; left != 0; left &= left - 1) locks_.locks_[first(left)].native().unlock();
        }

    private:
        static std::size_t first(std::uint64_t left) noexcept {
            return static_cast<std::size_t>(std::countr_zero(left));
        }

        RocksDBRowLocks& locks_;
        std::uint64_t which_;
    };

    /// Locks the rows that a request writes.
    Held lock(const PutRequest& request) {
        std::uint64_t which = 0;
        const std::hash<std::string_view> hash;
        for (const WriteRow& row : request.writes)
            which |= std::uint64_t{1} << ((hash(row.path) ^ hash(request.log.thread_id)) % locks_.size());
        return {*this, which};
    }

private:
    std::array<detail::Mutex, 64> locks_;
};

}  // namespace stategraph::checkpoint
