#include "checkpoint/outlook.hpp"

#include <array>
#include <utility>

#include "checkpoint/paths.hpp"
#include "src/value/times.hpp"

namespace stategraph::checkpoint {
namespace {

constexpr std::array reasons{
    std::pair{Unfinished::interrupted, ThreadStatus::interrupted},
    std::pair{Unfinished::failed, ThreadStatus::failed},
    std::pair{Unfinished::breakpoint, ThreadStatus::breakpoint},
    std::pair{Unfinished::limit, ThreadStatus::limit},
    std::pair{Unfinished::cancelled, ThreadStatus::cancelled},
    std::pair{Unfinished::timed_out, ThreadStatus::timed_out},
    std::pair{Unfinished::sleeping, ThreadStatus::sleeping},
    std::pair{Unfinished::edited, ThreadStatus::edited},
};

}  // namespace

std::optional<ThreadOutlook> outlookOfRun(std::string_view word) {
    if (word == run_at_breakpoint) return ThreadOutlook{ThreadStatus::breakpoint, {}};
    if (word == run_at_limit) return ThreadOutlook{ThreadStatus::limit, {}};
    if (word == run_cancelled) return ThreadOutlook{ThreadStatus::cancelled, {}};
    if (word == run_timed_out) return ThreadOutlook{ThreadStatus::timed_out, {}};
    if (word == run_edited) return ThreadOutlook{ThreadStatus::edited, {}};
    if (word == thread_cancelled) return ThreadOutlook{ThreadStatus::finished, {}};
    if (const auto unix_ms = sleepsUntil(word)) return ThreadOutlook{ThreadStatus::sleeping, times::ofUnixMs(*unix_ms)};
    return {};
}

ThreadStatus statusOf(Unfinished reason) noexcept {
    for (const auto& [of, status] : reasons) {
        if (of == reason) return status;
    }
    return ThreadStatus::unknown;
}

std::optional<Unfinished> reasonOf(ThreadStatus status) noexcept {
    for (const auto& [reason, of] : reasons) {
        if (of == status) return reason;
    }
    return {};
}

}  // namespace stategraph::checkpoint
