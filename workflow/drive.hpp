#pragma once
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>

#include "workflow/flow_impl.hpp"

namespace stategraph::workflow {

/// What another caller may do at the same time, of whom one is refused. `run`: nothing, but the run must not be under
/// way. `start`: begin the same new run. `resume`: answer or restart the run.
enum class Claim : std::uint8_t { run, start, resume };

/// What a driver does before it calls `Drive::advance` again.
enum class DriveNeed : std::uint8_t {
    leg,    // has the graph run a leg, and calls `ended` or `failed`
    sleep,  // waits until `wakesAt`, or less
    done,   // calls `Drive::end` instead
};

/// One call of start, resume or restart while it drives its run. The order of the legs that a call makes is written
/// here once, and drivers differ only in how they do what it needs: they block (Drive::run), or await
/// (workflow/async_flow.cpp). The run is registered as long as it is under way, so that it can be cancelled. Used by
/// one thread at a time.
class Drive {
public:
    Drive(std::shared_ptr<const Flow::Impl> flow, std::string run_id, RunInput input, const RunOptions& options,
          Claim claim);
    ~Drive();
    Drive(const Drive&) = delete;
    Drive& operator=(const Drive&) = delete;

    /// Runs until the run ends or stops. Errors: RefusedError; errors of the engine.
    RunView run();

    const CompiledGraph<State>& graph() const noexcept { return flow_->graph; }
    /// Returns what the driver is to do: a run that sleeps is resumed as long as this call waits for it.
    DriveNeed advance();
    std::chrono::system_clock::time_point wakesAt() const noexcept { return *result_.wake_at; }
    /// Calls `invoke` with what the leg gives to the graph (a Beginning's update, an update, a Resumption, or RESUME)
    /// and its config, and returns what that returns.
    template <class Invoke>
    auto leg(Invoke invoke) {
        if (next_) return invoke(RESUME, *next_);
        if (auto* const beginning = std::get_if<Beginning>(&input_))
            return invoke(std::move(beginning->update), config_);
        if (auto* const update = std::get_if<Update<State>>(&input_)) return invoke(std::move(*update), config_);
        if (auto* const resumption = std::get_if<Resumption>(&input_)) return invoke(std::move(*resumption), config_);
        return invoke(RESUME, config_);
    }
    /// Call it with what the leg has ended with.
    void ended(Result<State> result);
    /// Call it if the leg threw. Throws `why` unless the order of the run has an answer to it.
    void failed(const std::exception_ptr& why);
    /// Returns what the caller gets.
    RunView end();
    /// Throws the current exception in the form that the caller gets.
    [[noreturn]] void rethrow() const;

private:
    /// Where the run stands for this call.
    enum class Phase : std::uint8_t {
        begun,   // the first leg is due
        asleep,  // it is to be resumed at a time
        woken,   // the leg after that is due
        ended,
    };
    RunConfig configAt(CheckpointId only_at) const;
    std::optional<RunConfig> configAgain(const ConcurrentUpdateError& error) const;
    Result<State> invoke(Resumption&& input) const;
    bool isStopped() const noexcept { return session_->stop.stop_requested(); }
    // Returns whether the run was cancelled, by whatever process.
    bool isCanceled() const { return isStopped() || flow_->isCanceled(run_id_); }
    void close() noexcept;

    std::shared_ptr<const Flow::Impl> flow_;
    std::string run_id_;
    RunInput input_;
    std::string first_log_;
    bool waits_;
    Claim claim_;
    std::shared_ptr<Session> session_;
    RunConfig config_;
    std::optional<RunConfig> next_ = {};  // of a leg that resumes the run
    Phase phase_ = Phase::begun;
    Result<State> result_ = {};  // of the last leg that has ended
    std::optional<Live::iterator> live_ SG_GUARDED_BY(flow_->mutex) = {};
    std::optional<std::stop_callback<std::function<void()>>> linked_;
};

}  // namespace stategraph::workflow
