#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <stategraph/cache.hpp>

#include "src/task/task_env.hpp"

// If equal cached tasks begin at the same time in this process, one runs, and the others wait for its outcome.
//
// Why no task waits forever:
// - Who is waited for waits for nobody: a task that is inside another that leads (its subgraph, or a run that its node
//   began, on whatever thread of the library's) may lead and does not wait. So there is no circle, whatever threads
//   there are.
// - Who leads is under way on a thread of its own, and needs no thread of who waits: where it needs one of the
//   executor's, so would the others, which are calls of the same node for the same input. Coroutines, which need a
//   thread to continue, neither lead nor wait.
// - What is particular to the leader's run is who reads its events, who may hold it up while waiting for a run that
//   waits here. So tasks of other runs wait only where nobody reads.
// - A run that is to stop stops waiting.
namespace stategraph::engine {

struct Flight;

/// Whether what the calling thread does is part of a task that others may wait for.
bool isInsideFlight() noexcept;

/// Sets it for the thread as long as this object exists.
class FlightMark {
public:
    FlightMark() noexcept;
    ~FlightMark();
    FlightMark(const FlightMark&) = delete;
    FlightMark& operator=(const FlightMark&) = delete;
};

/// A task's place among its equals. Of one thread, that of the attempt.
class FlightSeat {
public:
    enum class Answer : std::uint8_t {
        leads,  // others wait from here on, until it is destroyed, or `give` or `dismiss` are called
        alone,  // it runs, and no task waits for it
        given,  // `result` has what the other one came to
        again,  // another one has ended: the cache may have it now
    };

    FlightSeat() = default;
    ~FlightSeat() { end({}); }
    FlightSeat(const FlightSeat&) = delete;
    FlightSeat& operator=(const FlightSeat&) = delete;

    /// How many flights have ended. What one came to is in the cache before it counts.
    static std::uint64_t ended() noexcept;
    /// `seen`: the value of `ended` before the cache was asked without success. Waits if there is a task to wait for.
    /// Errors: StopSignal.
    Answer join(TaskEnv& env, Task& task, const BaseCache& cache, std::string_view ns, std::string_view key,
                std::uint64_t seen);
    const std::string& result() const noexcept;

    /// Passes the result to the waiting tasks; without a result, one of them becomes the leader.
    void give(std::string value) noexcept;
    /// There is nothing to give, nor would there be from others: all of them run.
    void dismiss() noexcept;

private:
    void end(std::optional<std::string> value, bool is_dismissed = false) noexcept;

    std::shared_ptr<Flight> flight_;
    Task* leader_ = nullptr;
    std::optional<FlightMark> mark_;
};

/// A node's action that counts as inside a flight, on any thread on which it is called. Refers to `action`.
struct ActionInFlight {
    ActionInFlight(const detail::NodeAction& action, std::shared_ptr<const void> input);
    ActionInFlight(const ActionInFlight&) = delete;
    ActionInFlight& operator=(const ActionInFlight&) = delete;

    const detail::NodeAction& inner;
    std::shared_ptr<const void> input;
    detail::NodeAction outer;
};

}  // namespace stategraph::engine
