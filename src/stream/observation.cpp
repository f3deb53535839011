#include "src/stream/observation.hpp"

#include <stategraph/error.hpp>

#include "src/step/place.hpp"
#include "src/threads/run_stop.hpp"

// Reports a run to observers: its supersteps, its tasks, and what it stores.
namespace stategraph {

Observer::~Observer() = default;

const char* toString(Ending ending) noexcept {
    switch (ending) {
        case Ending::done:
            return "done";
        case Ending::interrupted:
            return "interrupted";
        case Ending::breakpoint:
            return "breakpoint";
        case Ending::cancelled:
            return "cancelled";
        case Ending::timed_out:
            return "timed_out";
        case Ending::drained:
            return "drained";
        case Ending::sleeping:
            return "sleeping";
        case Ending::failed:
            return "failed";
        case Ending::retried:
            return "retried";
        case Ending::left:
            return "left";
        case Ending::handled:
            return "handled";
    }
    return "?";
}

}  // namespace stategraph

namespace stategraph::engine {

std::string describedOrEmpty(const std::exception_ptr& error) noexcept {
    try {
        return detail::describe(error);
    } catch (...) {
        return {};
    }
}

Ending endingOf(Status status) noexcept {
    switch (status) {
        case Status::done:
            return Ending::done;
        case Status::interrupted:
            return Ending::interrupted;
        case Status::breakpoint:
            return Ending::breakpoint;
        case Status::cancelled:
            return Ending::cancelled;
        case Status::timed_out:
            return Ending::timed_out;
        case Status::drained:
            return Ending::drained;
        case Status::sleeping:
            return Ending::sleeping;
    }
    return Ending::failed;
}

void Observation::runStarts(const ObservedRun& run) noexcept {
    run_ = run;
    open_ = true;
    run_began_ = Clock::now();
    tell(&Observer::runStarts, RunStart{run_});
}

void Observation::runEnds(Ending ending, int supersteps, std::string_view error) noexcept {
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

void Observation::superstepEnds(Ending ending) noexcept {
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
    Ending ending = Ending::done;
    std::string_view error = error_;
    if (retries_) {
        ending = Ending::retried;
    } else if (how == TaskStatus::finished && task_.record.failure) {
        ending = Ending::handled;
        error = task_.record.failure->error;
    } else if (how == TaskStatus::failed) {
        ending = Ending::failed;
        if (task_.record.error) error = *task_.record.error;
    } else if (how == TaskStatus::interrupted) {
        const Ending silent = task_.extra().wake_at ? Ending::sleeping : Ending::breakpoint;
        ending = task_.extra().asked.empty() ? silent : Ending::interrupted;
    } else if (how == TaskStatus::stopped) {
        ending = endingOf((stop_ != nullptr ? stop_->requested() : std::nullopt).value_or(Status::cancelled));
    } else if (!task_.progress.hasEnded()) {
        ending = Ending::left;
    }
    observation_.tell(&Observer::taskEnds, TaskEnd{observation_.run(), place_.step, place_.nodeOf(task_).name, task_.id,
                                                   attempt_, ending, Clock::now() - began_, error});
}

}  // namespace stategraph::engine
