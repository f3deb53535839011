#include "src/checkpoint/outlook.hpp"

#include "src/checkpoint/paths.hpp"
#include "src/value/times.hpp"

namespace stategraph::checkpoint {
namespace {

// The word of a failure leaves it to the tasks' records, and a sleep has its time beside its word.
constexpr Statuses said_otherwise{Status::in_flight, Status::done, Status::failed, Status::sleeping};

}  // namespace

bool isNoted(Status status) noexcept { return Statuses::indexed().has(status) && !said_otherwise.has(status); }

std::optional<ThreadOutlook> outlookOfRun(const TaskFields& run) {
    const std::string_view word = run.node;
    if (word == run_failed && run.error) return ThreadOutlook{Status::failed, {}};
    if (const auto status = readStatus(word); status && isNoted(*status)) return ThreadOutlook{*status, {}};
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
