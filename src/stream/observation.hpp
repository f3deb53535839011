#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <string>

#include <stategraph/config.hpp>
#include <stategraph/observer.hpp>

namespace stategraph::engine {

struct Place;
class RunStop;
struct Task;

/// The clock of durations. It never jumps.
using Clock = std::chrono::steady_clock;

/// Returns the text of an error, or an empty text if there is no memory for it.
std::string describedOrEmpty(const std::exception_ptr& error) noexcept;

/// Reports one run to its observers. Without observers, every call is one branch.
class Observation {
public:
    Observation(Observer* graphs, Observer* runs) noexcept : observers_{graphs, runs == graphs ? nullptr : runs} {}
    explicit operator bool() const noexcept { return observers_[0] != nullptr || observers_[1] != nullptr; }

    template <class Event>
    void tell(void (Observer::*method)(const Event&), const Event& event) const noexcept {
        for (Observer* observer : observers_) {
            if (observer != nullptr) observer->tell(method, event);
        }
    }

    template <class F>
    void forEach(const F& f) const {
        for (Observer* observer : observers_) {
            if (observer != nullptr) f(*observer);
        }
    }

    void runStarts(const ObservedRun& run) noexcept;
    /// Reports the end of the run; only the first call counts. `supersteps` is the number of its supersteps.
    void runEnds(Status ending, int supersteps, std::string_view error) noexcept;
    void superstepStarts(std::int64_t step, std::size_t tasks, std::size_t restored) noexcept;
    void superstepEnds(Status ending) noexcept;

    /// What the observers want to know of tasks.
    Interest interest() const noexcept;
    const ObservedRun& run() const noexcept { return run_; }
    bool isOpen() const noexcept { return open_; }

private:
    std::array<Observer*, 2> observers_;
    ObservedRun run_;
    Clock::time_point run_began_;
    Clock::time_point superstep_began_;
    std::int64_t step_ = 0;
    bool open_ = false;
    bool in_superstep_ = false;
};

/// Reports one attempt at a task, from its construction to its end.
class TaskWatch {
public:
    /// The object refers to its arguments. `stop` is what may end the run; null if nothing can.
    TaskWatch(const Observation& observation, const Place& place, RunStop* stop, Task& task, int attempt) noexcept
        : observation_(observation),
          place_(place),
          stop_(stop),
          task_(task),
          attempt_(attempt),
          watches_(static_cast<bool>(observation)) {
        if (watches_) start();
    }
    TaskWatch(const TaskWatch&) = delete;
    TaskWatch& operator=(const TaskWatch&) = delete;
    ~TaskWatch() {
        if (watches_) end();
    }
    /// Reports that the attempt failed, and that there will be another.
    void retries(const std::exception_ptr& error) noexcept;

private:
    void start() noexcept;
    void end() noexcept;

    const Observation& observation_;
    const Place& place_;
    RunStop* stop_;
    Task& task_;
    const int attempt_;
    const bool watches_;
    bool retries_ = false;
    Clock::time_point began_;
    std::string error_;
};

}  // namespace stategraph::engine
