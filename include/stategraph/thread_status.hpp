#pragma once
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>

#include <stategraph/detail/chrono.hpp>
#include <stategraph/detail/print_enum.hpp>

namespace stategraph {

/// What a thread waits for, as an index of threads knows it. All but `unknown` and `finished` have the meaning of the
/// same words of `Unfinished` (stategraph/unfinished.hpp).
enum class ThreadStatus : std::uint8_t {
    unknown,   // not known: a run is under way, its process died, or the writer does not know
    finished,  // nothing is due, or the thread was cancelled for good
    interrupted,
    failed,
    breakpoint,
    limit,
    cancelled,
    timed_out,
    sleeping,
    edited,
};
/// The name of a status, such as "interrupted".
const char* toString(ThreadStatus status) noexcept;

/// Every status, for iterating over all of them.
inline constexpr std::array all_thread_statuses{
    ThreadStatus::unknown,    ThreadStatus::finished, ThreadStatus::interrupted, ThreadStatus::failed,
    ThreadStatus::breakpoint, ThreadStatus::limit,    ThreadStatus::cancelled,   ThreadStatus::timed_out,
    ThreadStatus::sleeping,   ThreadStatus::edited};

/// A set of statuses.
class ThreadStatuses {
public:
    constexpr ThreadStatuses() noexcept = default;
    constexpr ThreadStatuses(ThreadStatus one) noexcept : bits_(bitOf(one)) {}
    constexpr ThreadStatuses(std::initializer_list<ThreadStatus> some) noexcept {
        for (const ThreadStatus each : some) bits_ |= bitOf(each);
    }

    static constexpr ThreadStatuses all() noexcept {
        ThreadStatuses set;
        for (const ThreadStatus each : all_thread_statuses) set.bits_ |= bitOf(each);
        return set;
    }
    /// All but `finished`: the threads with one of these are open.
    static constexpr ThreadStatuses open() noexcept {
        ThreadStatuses set = all();
        set.bits_ &= ~bitOf(ThreadStatus::finished);
        return set;
    }

    constexpr bool has(ThreadStatus status) const noexcept { return (bits_ & bitOf(status)) != 0; }
    friend constexpr ThreadStatuses operator|(ThreadStatuses a, ThreadStatuses b) noexcept {
        a.bits_ |= b.bits_;
        return a;
    }
    friend constexpr bool operator==(const ThreadStatuses&, const ThreadStatuses&) noexcept = default;

private:
    static constexpr std::uint32_t bitOf(ThreadStatus status) noexcept {
        return std::uint32_t{1} << static_cast<unsigned>(status);
    }
    std::uint32_t bits_ = 0;
};

/// What a writer reports about a thread, and an index returns.
struct ThreadOutlook {
    ThreadStatus status = ThreadStatus::unknown;
    /// When a sleeping thread is to wake; only for `sleeping`. An index keeps it in milliseconds, rounded up.
    std::optional<std::chrono::system_clock::time_point> due = {};
    friend bool operator==(const ThreadOutlook&, const ThreadOutlook&) = default;
};

}  // namespace stategraph
