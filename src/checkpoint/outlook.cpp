#include "src/checkpoint/outlook.hpp"

#include "src/checkpoint/paths.hpp"
#include "src/value/times.hpp"

namespace stategraph::checkpoint {
namespace {

// The statuses whose word a run's record has. The word of a failure leaves it to the tasks' records.
constexpr Statuses noted{Status::interrupted, Status::breakpoint, Status::limit,
                         Status::cancelled,   Status::timed_out,  Status::edited};

}  // namespace

std::optional<ThreadOutlook> outlookOfRun(const TaskFields& run) {
    const std::string_view word = run.node;
    if (word == run_failed && run.error) return ThreadOutlook{Status::failed, {}};
    if (const auto status = readStatus(word); status && noted.has(*status)) return ThreadOutlook{*status, {}};
    if (word == thread_cancelled) return ThreadOutlook{Status::done, {}};
    if (const auto unix_ms = sleepsUntil(word)) return ThreadOutlook{Status::sleeping, times::ofUnixMs(*unix_ms)};
    return {};
}

Status OpenTasks::status(std::string_view run_word) const noexcept {
    if (any_failed && run_word == run_failed) return Status::failed;  // the others were not started after the failure
    if (any_waits) return Status::in_flight;
    if (any_failed) return Status::failed;
    return any_asks ? Status::interrupted : Status::in_flight;
}

}  // namespace stategraph::checkpoint
