#include "src/threads/fork.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <random>

#include "src/value/lasting.hpp"

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#include <unistd.h>

#include <stategraph/detail/mutex.hpp>
#define STATEGRAPH_FORKS 1
#endif

namespace stategraph::engine {

struct ForkList {
    detail::Mutex mutex;
    FoundByForks* first SG_GUARDED_BY(mutex) = nullptr;
    std::atomic<std::uint64_t> forks = 0;

    ForkList() {
#ifdef STATEGRAPH_FORKS
        (void)pthread_atfork(prepare, inParent,
                             inChild);  // if there is no memory for it, forks are not noticed
#endif
    }

    void add(FoundByForks& each) noexcept {
        const detail::LockGuard lock(mutex);
        FoundByForks** place = &first;
        while (*place != nullptr && (*place)->rank_ <= each.rank_) place = &(*place)->next_;
        each.next_ = *place;
        *place = &each;
    }
    void remove(FoundByForks& each) noexcept {
        const detail::LockGuard lock(mutex);
        FoundByForks** place = &first;
        while (*place != &each) place = &(*place)->next_;
        *place = each.next_;
    }

    static ForkList& common() noexcept {
        static Lasting<ForkList> list;
        return *list;
    }
    // Around a fork it is locked by one function, and unlocked by another.
    static void prepare() noexcept SG_NO_THREAD_SAFETY_ANALYSIS {
        ForkList& list = common();
        list.mutex.lock();
        for (FoundByForks* each = list.first; each != nullptr; each = each->next_) each->object_.lockForFork();
    }
    static void inParent() noexcept SG_NO_THREAD_SAFETY_ANALYSIS {
        ForkList& list = common();
        for (FoundByForks* each = list.first; each != nullptr; each = each->next_) each->object_.unlockAfterFork();
        list.mutex.unlock();
    }
    static void inChild() noexcept SG_NO_THREAD_SAFETY_ANALYSIS {
        ForkList& list = common();
        list.forks.fetch_add(1);
        for (FoundByForks* each = list.first; each != nullptr; each = each->next_) each->object_.restartInChild();
        list.mutex.unlock();
    }
};

FoundByForks::FoundByForks(ForkAware& object, Rank rank) noexcept : object_(object), rank_(rank) {
    ForkList::common().add(*this);
}
FoundByForks::~FoundByForks() { ForkList::common().remove(*this); }

std::uint64_t forkCount() noexcept { return ForkList::common().forks.load(std::memory_order_relaxed); }

namespace {

// Seeded by the system; it never repeats within its period.
std::mt19937_64 newGenerator() noexcept {
    static std::atomic<std::uint32_t> made = 0;
    std::uint32_t seeds[10] = {made.fetch_add(1)};
#ifdef STATEGRAPH_FORKS
    seeds[1] = static_cast<std::uint32_t>(getpid());
#endif
    try {
        std::random_device device;
        for (std::size_t i = 2; i < std::size(seeds); ++i) seeds[i] = device();
        std::seed_seq sequence(std::begin(seeds), std::end(seeds));
        return std::mt19937_64(sequence);
    } catch (...) {
        // The system gives no random bits, or there is no memory. The time and the position of this thread's stack
        // distinguish it from others too.
        const auto now = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
        const auto place = reinterpret_cast<std::uintptr_t>(&seeds);
        seeds[6] ^= static_cast<std::uint32_t>(now);
        seeds[7] ^= static_cast<std::uint32_t>(now >> 32U);
        seeds[8] ^= static_cast<std::uint32_t>(place);
        seeds[9] ^= static_cast<std::uint32_t>(std::uint64_t{place} >> 32U);
    }
    std::uint64_t seed = 0;
    for (const std::uint32_t each : seeds) {
        seed ^= each + 0x9E3779B97F4A7C15ULL + (seed << 12U) + (seed >> 4U);
        seed ^= seed >> 30U;
        seed *= 0xBF58476D1CE4E5B9ULL;
        seed ^= seed >> 27U;
    }
    return std::mt19937_64(seed);
}

}  // namespace

std::uint64_t randomBits() noexcept {
    struct Own {
        std::uint64_t forks = 0;
        std::mt19937_64 generator;
        bool is_seeded = false;
    };
    thread_local Own own;
    const std::uint64_t forks = forkCount();
    if (!own.is_seeded || own.forks != forks) {
        own.generator = newGenerator();
        own.forks = forks;
        own.is_seeded = true;
    }
    return own.generator();
}

}  // namespace stategraph::engine
