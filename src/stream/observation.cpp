#include "src/stream/observation.hpp"

#include <algorithm>

#include <stategraph/error.hpp>

#include "src/step/place.hpp"
#include "src/threads/run_stop.hpp"

// Reports a run to observers: its supersteps, its tasks, and what it stores.
namespace stategraph {

Observer::~Observer() = default;

}  // namespace stategraph

namespace stategraph::engine {

std::string describedOrEmpty(const std::exception_ptr& error) noexcept {
    try {
        return detail::describe(error);
    } catch (...) {
        return {};
    }
}

Interest Observation::interest() const noexcept {
    Interest interest = Interest::none;
    for (const Observer* const observer : observers_) {
        if (observer == nullptr) continue;
        interest = std::max(interest, observer->wantsContent() ? Interest::content : Interest::facts);
    }
    return interest;
}

void Observation::runStarts(const ObservedRun& run) noexcept {
    run_ = run;
    open_ = true;
    run_began_ = Clock::now();
    tell(&Observer::runStarts, RunStart{run_});
}

void Observation::runEnds(Status ending, int supersteps, std::string_view error) noexcept {
    if (!open_) return;
    if (in_superstep_) superstepEnds(ending);
    open_ = false;
    tell(&Observer::runEnds, RunEnd{run_, ending, Clock::now() - run_began_, supersteps, error});
}

void Observation::superstepStarts(std::int64_t step, std::size_t tasks, std::size_t restored) noexcept {
    in_superstep_ = true;
    step_ = step;
    superstep_began_ = Clock::now();
    tell(&Observer::superstepStarts, SuperstepStart{run_, step, tasks, restored});
}

void Observation::superstepEnds(Status ending) noexcept {
    if (!in_superstep_) return;
    in_superstep_ = false;
    tell(&Observer::superstepEnds, SuperstepEnd{run_, step_, ending, Clock::now() - superstep_began_});
}

void TaskWatch::start() noexcept {
    try {
        (void)place_.idOf(task_);
    } catch (...) {
        // There is no memory for its name, so it is reported without a name.
    }
    began_ = Clock::now();
    observation_.tell(&Observer::taskStarts,
                      TaskStart{observation_.run(), place_.step, place_.nodeOf(task_).name, task_.id, attempt_});
}

void TaskWatch::retries(const std::exception_ptr& error) noexcept {
    if (!watches_) return;
    retries_ = true;
    try {
        std::rethrow_exception(error);
    } catch (const NodeError& node_error) {
        error_ = node_error.reason();
    } catch (...) {
        error_ = describedOrEmpty(error);
    }
}

void TaskWatch::end() noexcept {
    const TaskStatus how = task_.progress.status();
    Status ending = Status::done;
    std::string_view error = error_;
    if (retries_) {
        ending = Status::retried;
    } else if (how == TaskStatus::finished && task_.record.failure) {
        ending = Status::handled;
        error = task_.record.failure->error;
    } else if (how == TaskStatus::failed) {
        ending = Status::failed;
        if (task_.record.error) error = *task_.record.error;
    } else if (how == TaskStatus::interrupted) {
        const Status silent = task_.extra().wake_at ? Status::sleeping : Status::breakpoint;
        ending = task_.extra().asked.empty() ? silent : Status::interrupted;
    } else if (how == TaskStatus::stopped) {
        ending = (stop_ != nullptr ? stop_->requested() : std::nullopt).value_or(Status::cancelled);
    } else if (!task_.progress.hasEnded()) {
        ending = Status::left;
    }
    observation_.tell(&Observer::taskEnds, TaskEnd{observation_.run(), place_.step, place_.nodeOf(task_).name, task_.id,
                                                   attempt_, ending, Clock::now() - began_, error});
}

}  // namespace stategraph::engine
