#include <stategraph/workflow/async.hpp>

#include <algorithm>
#include <type_traits>

#include "workflow/drive.hpp"

namespace stategraph::workflow {

/// The part of a Flow that the tasks use.
struct AsyncFlow {
    static const std::shared_ptr<const Flow::Impl>& of(const Flow& flow) noexcept { return flow.impl_; }
};

namespace {

using FlowPointer = std::shared_ptr<const Flow::Impl>;

// A sleeping run notices a cancel after at most this time.
constexpr std::chrono::nanoseconds nap = std::chrono::milliseconds(100);

Task<Result<State>> startLeg(Drive& drive) {
    const CompiledGraph<State>& graph = drive.graph();
    return drive.leg([&graph]<class Input>(Input input, const RunConfig& config) {
        if constexpr (std::is_same_v<Input, Resumption>) {
            return graph.asyncInvoke(input.command, config);
        } else {
            return graph.asyncInvoke(std::move(input), config);
        }
    });
}

// Returns what the leg threw, or null.
Task<std::exception_ptr> runLeg(Drive& drive) {
    std::exception_ptr failure;
    try {
        Task<Result<State>> leg = startLeg(drive);
        Result<State> result = co_await std::move(leg);
        drive.ended(std::move(result));
    } catch (...) {
        failure = std::current_exception();
    }
    co_return failure;
}

Task<RunView> toItsEnd(std::unique_ptr<Drive> drive) {
    std::exception_ptr thrown;
    try {
        for (DriveNeed need = drive->advance(); need != DriveNeed::done; need = drive->advance()) {
            if (need == DriveNeed::sleep) {
                const std::chrono::nanoseconds left = drive->wakesAt() - std::chrono::system_clock::now();
                co_await sleepFor(std::clamp(left, left.zero(), nap));
                continue;
            }
            const std::exception_ptr failure = co_await runLeg(*drive);
            if (failure) drive->failed(failure);
        }
        RunView view = drive->end();
        co_return view;
    } catch (...) {
        thrown = std::current_exception();
    }
    try {
        std::rethrow_exception(thrown);
    } catch (...) {
        drive->rethrow();
    }
}

Task<RunView> started(FlowPointer flow, std::string run_id, Value input, RunOptions options) {
    RunInput given = flow->startInput(run_id, std::move(input), options);
    const Claim claim = options.only_new ? Claim::start : Claim::run;
    auto drive = std::make_unique<Drive>(flow, run_id, std::move(given), options, claim);
    RunView view = co_await toItsEnd(std::move(drive));
    co_return view;
}

Task<RunView> resumed(FlowPointer flow, std::string run_id, ResumeTarget target, Value data, RunOptions options) {
    RunInput given = flow->resumeInput(run_id, target, std::move(data), options);
    auto drive = std::make_unique<Drive>(flow, run_id, std::move(given), options, Claim::resume);
    RunView view = co_await toItsEnd(std::move(drive));
    co_return view;
}

Task<RunView> restarted(FlowPointer flow, std::string run_id, RunOptions options) {
    auto given = flow->restartInput(run_id, options);
    if (auto* const ended = std::get_if<RunView>(&given)) co_return std::move(*ended);
    auto drive = std::make_unique<Drive>(flow, run_id, std::get<RunInput>(std::move(given)), options, Claim::resume);
    RunView view = co_await toItsEnd(std::move(drive));
    co_return view;
}

Task<RunView> travelled(FlowPointer flow, std::string run_id, std::string step, std::optional<Value> input,
                        std::optional<Value> data, RunOptions options) {
    const Continuation to = flow->travelTo(run_id, step, std::move(input), std::move(data), options);
    auto drive = std::make_unique<Drive>(flow, run_id, to, options, Claim::run);
    RunView view = co_await toItsEnd(std::move(drive));
    co_return view;
}

}  // namespace

Task<RunView> asyncStart(const Flow& flow, std::string run_id, Value input, RunOptions options) {
    return started(AsyncFlow::of(flow), std::move(run_id), std::move(input), std::move(options));
}
Task<RunView> asyncResume(const Flow& flow, std::string run_id, ResumeTarget target, Value data, RunOptions options) {
    return resumed(AsyncFlow::of(flow), std::move(run_id), std::move(target), std::move(data), std::move(options));
}
Task<RunView> asyncRestart(const Flow& flow, std::string run_id, RunOptions options) {
    return restarted(AsyncFlow::of(flow), std::move(run_id), std::move(options));
}
Task<RunView> asyncTimeTravel(const Flow& flow, std::string run_id, std::string step, std::optional<Value> input,
                              std::optional<Value> data, RunOptions options) {
    return travelled(AsyncFlow::of(flow), std::move(run_id), std::move(step), std::move(input), std::move(data),
                     std::move(options));
}

}  // namespace stategraph::workflow
