#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <stategraph/cache.hpp>

#include "src/task/task_env.hpp"

// If equal cached tasks begin at the same time in this process, one of them, the leader, runs, and the others wait for
// its outcome. Such a group is a flight.
//
// No task waits forever, for these reasons:
// - A leader never waits for another leader. A task inside a leading task (in its subgraph, or in a run that its node
//   began, on any thread of the library) may lead, but does not wait. So there is no cycle, with any number of threads.
// - A leader is under way on a thread of its own and needs no thread of a waiting task: if it needed one of the
//   executor's threads, so would the others, which are calls of the same node with the same input. Coroutines, which
//   need a thread to continue, neither lead nor wait.
// - Only the reader of the events of the leader's run can hold that run up, if it waits for a run that waits here. So
//   tasks of other runs wait only if nobody reads the leader's events.
// - A run that is to stop stops waiting.
namespace stategraph::engine {

struct Flight;

/// Returns whether the calling thread works on a part of a task for which others may wait.
bool isInsideFlight() noexcept;

/// Marks the thread so for as long as this object exists.
class FlightMark {
public:
    FlightMark() noexcept;
    ~FlightMark();
    FlightMark(const FlightMark&) = delete;
    FlightMark& operator=(const FlightMark&) = delete;
};

/// A task's membership in a flight. Used on one thread, that of the attempt.
class FlightSeat {
public:
    enum class Answer : std::uint8_t {
        leads,  // from here on others wait for it, until it is destroyed, or `give` or `dismiss` are called
        alone,  // the task runs, and no other task waits for it
        given,  // `result` has the leader's outcome
        again,  // another flight has ended, so the cache may have the result now
    };

    FlightSeat() = default;
    ~FlightSeat() {
        if (leader_ != nullptr) end({});
    }
    FlightSeat(const FlightSeat&) = delete;
    FlightSeat& operator=(const FlightSeat&) = delete;

    /// Returns how many flights have ended. The outcome of a flight is in the cache before it counts.
    static std::uint64_t ended() noexcept;
    /// `seen` is the value of `ended` before the cache was asked without success. Waits if there is a task to wait for.
    /// Errors: StopSignal.
    Answer join(TaskEnv& env, Task& task, const BaseCache& cache, std::string_view ns, std::string_view key,
                std::uint64_t seen);
    const std::string& result() const noexcept;

    /// Passes the result to the waiting tasks. If this is not called, one of them becomes the leader.
    void give(std::string value) noexcept;
    /// Call it if no equal task will have a result to give: all of the waiting tasks run.
    void dismiss() noexcept;

private:
    void end(std::optional<std::string> value, bool is_dismissed = false) noexcept;

    std::shared_ptr<Flight> flight_;
    Task* leader_ = nullptr;
    std::optional<FlightMark> mark_;
};

/// A node's action that counts as inside a flight, on any thread on which it is called. It refers to `action`.
struct ActionInFlight {
    ActionInFlight(const detail::NodeAction& action, std::shared_ptr<const void> input);
    ActionInFlight(const ActionInFlight&) = delete;
    ActionInFlight& operator=(const ActionInFlight&) = delete;

    const detail::NodeAction& inner;
    std::shared_ptr<const void> input;
    detail::NodeAction outer;
};

}  // namespace stategraph::engine
