#include <stategraph/workflow/async.hpp>

#include "workflow/drive.hpp"

namespace stategraph::workflow {

/// The part of a Flow that the tasks use.
struct AsyncFlow {
    static const std::shared_ptr<const Flow::Impl>& of(const Flow& flow) noexcept { return flow.impl_; }
};

namespace {

using FlowPointer = std::shared_ptr<const Flow::Impl>;

// A sleeping run notices a cancel after at most this time.
constexpr std::chrono::milliseconds nap = std::chrono::milliseconds(100);

Task<Result<State>> invoke(Drive& drive) {
    RunInput input = drive.takeInput();
    if (auto* const beginning = std::get_if<Beginning>(&input))
        return drive.graph().asyncInvoke(std::move(beginning->update), drive.config());
    if (auto* const update = std::get_if<Update<State>>(&input))
        return drive.graph().asyncInvoke(std::move(*update), drive.config());
    if (auto* const resumption = std::get_if<Resumption>(&input))
        return drive.graph().asyncInvoke(resumption->command, drive.config());
    return drive.graph().asyncInvoke(RESUME, drive.config());
}

// As Drive::toAStop.
Task<Result<State>> toAStop(Drive& drive, Task<Result<State>> invoked) {
    for (;;) {
        std::optional<RunConfig> again;
        try {
            Result<State> result = co_await std::move(invoked);
            co_return result;
        } catch (const ConcurrentUpdateError& error) {
            again = drive.configAgain(error);
            if (!again) throw;
        }
        invoked = drive.graph().asyncInvoke(RESUME, *again);
    }
}

// Returns false if the run has been cancelled, or continued by another caller, in the meantime.
Task<bool> goOn(Drive& drive, Result<State>& result) {
    try {
        result = co_await toAStop(drive, drive.graph().asyncInvoke(RESUME, drive.configAfter(result)));
    } catch (const ThreadChangedError&) {
        co_return false;
    } catch (const ConcurrentUpdateError&) {
        if (!drive.isCanceled()) throw;
        co_return false;
    } catch (const InvalidArgumentError&) {
        if (!drive.isCanceled()) throw;
        co_return false;
    }
    co_return true;
}

Task<RunView> toItsEnd(std::unique_ptr<Drive> drive) {
    std::exception_ptr thrown;
    try {
        Result<State> result = co_await toAStop(*drive, invoke(*drive));
        while (const auto until = drive->waitsUntil(result)) {
            const auto left = *until - std::chrono::system_clock::now();
            if (left > left.zero()) {
                co_await sleepFor(std::min<std::chrono::nanoseconds>(left, nap));
            } else if (!co_await goOn(*drive, result)) {
                break;
            }
        }
        RunView view = drive->end(result);
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
