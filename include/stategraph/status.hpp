#pragma once
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include <stategraph/detail/chrono.hpp>
#include <stategraph/detail/print_enum.hpp>

namespace stategraph {

/// How a thread, a run or an attempt at a task stands. A word means the same for each of them; docs/semantics.md
/// says which words each can have, and which may follow which.
enum class Status : std::uint8_t {
    in_flight,    // a run is under way, or its process died: `recover()` resumes it; or the writer does not know
    done,         // nothing is due, or the thread was cancelled for good
    interrupted,  // questions wait for answers (stategraph/interrupt.hpp)
    failed,       // a node failed, and no run has resumed the thread since; or a workflow has ended with a failure
    breakpoint,   // it stopped at a breakpoint
    limit,        // it reached its recursion limit
    cancelled,    // its RunControl ended it, or another run replaced it (OnBusy::replace)
    timed_out,    // RunConfig::timeout passed
    sleeping,     // every task that is due waits for its time (Runtime::sleepUntil)
    edited,       // an edit left tasks due, and no run has resumed the thread (RecoverOptions::edited)
    damaged,      // its newest checkpoint cannot be read; `recover()` skips it
    sealed,       // its newest checkpoint is encrypted, and was read without an EncryptedSaver
    set_aside,    // workers gave it up, and take it again after `PostgresQueue::retry`; only the queue knows this
    drained,      // its RunControl or one of its nodes ended it after a whole superstep
    left,         // the reader of its stream has left it
    retried,      // an attempt that failed and is followed by another
    handled,      // an attempt that failed for good; the node's error handler made the result of its task
};
/// The name of `Status` in lists of threads that are not done.
using Unfinished = Status;
/// The name of `Status` in the events of observers.
using Ending = Status;
namespace detail {
// The words, in the order of the enumerators.
inline constexpr std::array status_words{"in_flight", "done",      "interrupted", "failed",  "breakpoint", "limit",
                                         "cancelled", "timed_out", "sleeping",    "edited",  "damaged",    "sealed",
                                         "set_aside", "drained",   "left",        "retried", "handled"};
static_assert(status_words.size() == static_cast<std::size_t>(Status::handled) + 1);
}  // namespace detail
/// The word of a status, which all who show it use, such as "in_flight".
const char* toString(Status status) noexcept;
/// Returns the status of a word; none for another word.
std::optional<Status> readStatus(std::string_view word) noexcept;

/// What an index of threads knows, for iterating over all of it. Indexes store these as numbers: the order stays.
inline constexpr std::array indexed_statuses{Status::in_flight,  Status::done,  Status::interrupted, Status::failed,
                                             Status::breakpoint, Status::limit, Status::cancelled,   Status::timed_out,
                                             Status::sleeping,   Status::edited};

/// A set of statuses.
class Statuses {
public:
    constexpr Statuses() noexcept = default;
    constexpr Statuses(Status one) noexcept : bits_(bitOf(one)) {}
    constexpr Statuses(std::initializer_list<Status> some) noexcept {
        for (const Status each : some) bits_ |= bitOf(each);
    }

    /// Those of threads that an index knows.
    static constexpr Statuses indexed() noexcept {
        Statuses set;
        for (const Status each : indexed_statuses) set.bits_ |= bitOf(each);
        return set;
    }
    /// The indexed ones but `done`: the threads with one of these are open.
    static constexpr Statuses open() noexcept {
        Statuses set = indexed();
        set.bits_ &= ~bitOf(Status::done);
        return set;
    }
    /// Those of threads of which nothing more can be said.
    static constexpr Statuses unreadable() noexcept { return {Status::damaged, Status::sealed}; }
    /// Those with which a run and its last superstep end. With `failed` it throws, and with `left` nobody is told but
    /// observers; the others are in its outcome, and RESUME continues the thread unless it is done.
    static constexpr Statuses ofRuns() noexcept {
        return {Status::done,    Status::interrupted, Status::failed, Status::breakpoint, Status::cancelled,
                Status::drained, Status::timed_out,   Status::left,   Status::sleeping};
    }

    constexpr bool has(Status status) const noexcept { return (bits_ & bitOf(status)) != 0; }
    friend constexpr Statuses operator|(Statuses a, Statuses b) noexcept {
        a.bits_ |= b.bits_;
        return a;
    }
    friend constexpr bool operator==(const Statuses&, const Statuses&) noexcept = default;

private:
    static constexpr std::uint32_t bitOf(Status status) noexcept {
        return std::uint32_t{1} << static_cast<unsigned>(status);
    }
    std::uint32_t bits_ = 0;
};

/// What a writer reports about a thread, and an index returns: one of `Statuses::indexed()`.
struct ThreadOutlook {
    Status status = Status::in_flight;
    /// When a sleeping thread is to wake; only for `sleeping`. An index keeps it in milliseconds, rounded up.
    std::optional<std::chrono::system_clock::time_point> due = {};
    friend bool operator==(const ThreadOutlook&, const ThreadOutlook&) = default;
};

}  // namespace stategraph
