#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "workflow/flow_impl.hpp"

namespace stategraph::workflow {

/// What another caller may do at the same time, of whom one is refused. `run`: nothing, but the run must not be under
/// way. `start`: begin the same new run. `resume`: answer or restart the run.
enum class Claim : std::uint8_t { run, start, resume };

/// One call of start, resume or restart while it drives its run, blocking or awaited. The run is registered as long as
/// it is under way, so that it can be cancelled.
class Drive {
public:
    Drive(std::shared_ptr<const Flow::Impl> flow, std::string run_id, RunInput input, const RunOptions& options,
          Claim claim);
    ~Drive();
    Drive(const Drive&) = delete;
    Drive& operator=(const Drive&) = delete;

    /// Runs until the run ends or stops. Errors: RefusedError; errors of the engine.
    RunView run();

    // The same in steps, for coroutines: the input is taken, and then the run is resumed as long as this call waits for
    // it.
    const CompiledGraph<State>& graph() const noexcept { return flow_->graph; }
    const RunConfig& config() const noexcept { return config_; }
    /// Returns the config that continues the run from where it sleeps.
    RunConfig configAfter(const Result<State>& result) const { return configAt(result.config.checkpoint_id); }
    /// Returns the config with which the run is to be resumed after another call was first inside a workflow of it, or
    /// none if the run is left to the other call.
    std::optional<RunConfig> configAgain(const ConcurrentUpdateError& error) const;
    RunInput takeInput() noexcept { return std::move(input_); }
    /// Returns until when the run sleeps, if this call waits for it.
    std::optional<std::chrono::system_clock::time_point> waitsUntil(const Result<State>& result) const;
    bool isStopped() const noexcept { return session_->stop.stop_requested(); }
    /// Returns whether the run was cancelled, by whatever process.
    bool isCanceled() const { return isStopped() || flow_->isCanceled(run_id_); }
    RunView end(const Result<State>& result);
    /// Throws the current exception in the form that the caller gets.
    [[noreturn]] void rethrow() const;

private:
    RunConfig configAt(CheckpointId only_at) const;
    template <class Invoke>
    Result<State> toAStop(Invoke invoke) const;
    Result<State> begin(Beginning&& input) const;
    Result<State> begin(Continuation&& input) const;
    template <class Input>
    Result<State> begin(Input&& input) const;
    Result<State> begin(Resumption&& input) const;
    bool goOn(Result<State>& result) const;
    void close() noexcept;

    std::shared_ptr<const Flow::Impl> flow_;
    std::string run_id_;
    RunInput input_;
    std::string first_log_;
    bool waits_;
    Claim claim_;
    std::shared_ptr<Session> session_;
    RunConfig config_;
    std::optional<Live::iterator> live_ SG_GUARDED_BY(flow_->mutex) = {};
    std::optional<std::stop_callback<std::function<void()>>> linked_;
};

}  // namespace stategraph::workflow
