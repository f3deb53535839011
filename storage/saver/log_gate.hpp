#pragma once
#include <algorithm>
#include <array>
#include <condition_variable>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/saver.hpp>

#include "src/value/bytes.hpp"
#include "storage/saver/index_place.hpp"

namespace stategraph::checkpoint {

/// Keeps the current writers of logs, and the known heads. It turns a plain atomic write into a compare-and-swap.
///
/// A writer claims its log, compares the head, writes without holding a lock and releases the claim. A rival waits for
/// that and then sees the new head; after a failure, it reads the head again. Only pending writes may overlap. Heads
/// are kept for at most about `capacity` logs, the most recently used ones. Thread-safe. Cost: two short locks for each
/// claim, each of which 1/64 of all threads share.
class LogGate {
    struct Shard;

public:
    explicit LogGate(std::size_t capacity) : generation_max_(std::max<std::size_t>(1, capacity / (2 * shard_count))) {}

    /// The right to write to a log, or to a whole thread. The names must outlive it.
    class Claim {
    public:
        Claim(const Claim&) = delete;
        Claim& operator=(const Claim&) = delete;
        ~Claim() { gate_.release(*this); }

        /// Returns the head if it is known. It does not change while the claim exists.
        const std::optional<CheckpointId>& head() const noexcept { return head_; }
        /// Returns its thread's place in the index, if that is known. A place that is not in the index means unknown.
        const IndexPlace& place() const noexcept { return place_; }
        /// Sets the new head and place. Without this call they are unknown afterwards.
        void settle(CheckpointId head, const IndexPlace& place = {}) noexcept {
            settled_ = head;
            settled_place_ = place;
        }

    private:
        friend class LogGate;
        enum class Kind : unsigned char { pending_writes, commits, thread };
        Claim(LogGate& gate, const LogName& log, Kind kind);

        LogGate& gate_;
        Shard& shard_;
        LogName log_;
        Kind kind_;
        std::optional<CheckpointId> head_;
        std::optional<CheckpointId> settled_;
        IndexPlace place_;
        IndexPlace settled_place_;
    };

    /// Waits until no rival writes to the log.
    Claim claimLog(const LogName& log, bool moves_head) {
        return {*this, log, moves_head ? Claim::Kind::commits : Claim::Kind::pending_writes};
    }
    /// Waits until the thread has no writer. Its heads are unknown afterwards.
    Claim claimThread(std::string_view thread_id) { return {*this, {.thread_id = thread_id}, Claim::Kind::thread}; }

    std::size_t size();

private:
    static constexpr std::size_t shard_count = 64;

    struct LogKey {
        std::string thread_id;
        std::string checkpoint_ns;
    };
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(const LogName& log) const noexcept {
            const std::hash<std::string_view> hash;
            return hash(log.thread_id) * 31 + (log.checkpoint_ns.empty() ? 0 : hash(log.checkpoint_ns));
        }
        std::size_t operator()(const LogKey& key) const noexcept {
            return (*this)(LogName{key.thread_id, key.checkpoint_ns});
        }
    };
    struct Equal {
        using is_transparent = void;
        static LogName view(const LogName& log) noexcept { return log; }
        static LogName view(const LogKey& key) noexcept { return {key.thread_id, key.checkpoint_ns}; }
        template <typename A, typename B>
        bool operator()(const A& a, const B& b) const noexcept {
            return view(a).thread_id == view(b).thread_id && view(a).checkpoint_ns == view(b).checkpoint_ns;
        }
    };
    struct Known {
        CheckpointId head;
        IndexPlace place;
    };
    using Heads = std::unordered_map<LogKey, Known, Hash, Equal>;

    // A thread's logs share a shard, so that a whole thread can be claimed under one lock.
    struct alignas(64) Shard {
        detail::Mutex mutex;
        std::condition_variable released;
        std::size_t waiting SG_GUARDED_BY(mutex) = 0;
        std::vector<const Claim*> claims SG_GUARDED_BY(mutex);
        // There are two generations. What is used moves to the young one; when that is full, the old one is dropped.
        Heads young SG_GUARDED_BY(mutex);
        Heads old SG_GUARDED_BY(mutex);
    };

    Shard& shardOf(std::string_view thread_id) noexcept {
        return shards_[detail::spread(std::hash<std::string_view>()(thread_id)) >> 58U];
    }
    static bool areRivals(const Claim& a, const Claim& b) noexcept;
    std::optional<Known> find(Shard& shard, const LogName& log) SG_REQUIRES(shard.mutex);
    void remember(Shard& shard, const LogName& log, const Known& known) SG_REQUIRES(shard.mutex);
    static void forget(Shard& shard, const LogName& log) SG_REQUIRES(shard.mutex);
    static void forgetThread(Shard& shard, std::string_view thread_id) SG_REQUIRES(shard.mutex);
    void makeRoom(Shard& shard) SG_REQUIRES(shard.mutex);
    void release(const Claim& claim) noexcept;

    std::size_t generation_max_;
    std::array<Shard, shard_count> shards_;
};

inline LogGate::Claim::Claim(LogGate& gate, const LogName& log, Kind kind)
    : gate_(gate), shard_(gate.shardOf(log.thread_id)), log_(log), kind_(kind) {
    detail::UniqueLock lock(shard_.mutex);
    const auto isFree = [this]() SG_REQUIRES(shard_.mutex) {
        return std::none_of(shard_.claims.begin(), shard_.claims.end(),
                            [this](const Claim* other) { return areRivals(*this, *other); });
    };
    if (!isFree()) {
        ++shard_.waiting;
        shard_.released.wait(lock.native(), isFree);
        --shard_.waiting;
    }
    if (kind != Kind::thread) {
        if (const auto known = gate.find(shard_, log)) {
            head_ = known->head;
            place_ = known->place;
        }
    }
    shard_.claims.push_back(this);  // last, so that an exception leaves no claim
}

inline bool LogGate::areRivals(const Claim& a, const Claim& b) noexcept {
    if (a.log_.thread_id != b.log_.thread_id) return false;
    if (a.kind_ == Claim::Kind::thread || b.kind_ == Claim::Kind::thread) return true;
    return a.log_.checkpoint_ns == b.log_.checkpoint_ns &&
           (a.kind_ == Claim::Kind::commits || b.kind_ == Claim::Kind::commits);
}

inline void LogGate::release(const Claim& claim) noexcept {
    Shard& shard = claim.shard_;
    bool wake = false;
    {
        const detail::LockGuard lock(shard.mutex);
        const auto at = std::find(shard.claims.begin(), shard.claims.end(), &claim);
        *at = shard.claims.back();
        shard.claims.pop_back();
        if (claim.kind_ == Claim::Kind::thread) {
            forgetThread(shard, claim.log_.thread_id);
        } else if (!claim.settled_) {
            forget(shard, claim.log_);
        } else if (claim.settled_ != claim.head_ || claim.settled_place_ != claim.place_) {
            try {
                remember(shard, claim.log_, {*claim.settled_, claim.settled_place_});
            } catch (...) {  // there is no memory; an unknown head is read again
                forget(shard, claim.log_);
            }
        }
        wake = shard.waiting > 0;
    }
    if (wake) shard.released.notify_all();
}

inline std::optional<LogGate::Known> LogGate::find(Shard& shard, const LogName& log) {
    if (const auto at = shard.young.find(log); at != shard.young.end()) return at->second;
    const auto at = shard.old.find(log);
    if (at == shard.old.end()) return std::nullopt;
    const Known known = at->second;
    auto node = shard.old.extract(at);
    makeRoom(shard);
    shard.young.insert(std::move(node));
    return known;
}

inline void LogGate::remember(Shard& shard, const LogName& log, const Known& known) {
    if (const auto at = shard.young.find(log); at != shard.young.end()) {
        at->second = known;
        return;
    }
    makeRoom(shard);
    forget(shard, log);
    shard.young.try_emplace(LogKey{std::string(log.thread_id), std::string(log.checkpoint_ns)}, known);
}

inline void LogGate::makeRoom(Shard& shard) {
    if (shard.young.size() < generation_max_) return;
    shard.old.clear();
    shard.old.swap(shard.young);
}

inline void LogGate::forget(Shard& shard, const LogName& log) {
    for (Heads* heads : {&shard.young, &shard.old}) {
        if (const auto at = heads->find(log); at != heads->end()) heads->erase(at);
    }
}

inline void LogGate::forgetThread(Shard& shard, std::string_view thread_id) {
    for (Heads* heads : {&shard.young, &shard.old}) {
        std::erase_if(*heads, [&](const auto& entry) { return entry.first.thread_id == thread_id; });
    }
}

inline std::size_t LogGate::size() {
    std::size_t total = 0;
    for (Shard& shard : shards_) {
        const detail::LockGuard lock(shard.mutex);
        total += shard.young.size() + shard.old.size();
    }
    return total;
}

}  // namespace stategraph::checkpoint
