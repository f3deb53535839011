#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <stategraph/detail/chrono.hpp>
#include <stategraph/ids.hpp>
#include <stategraph/status.hpp>
#include <stategraph/value.hpp>

namespace stategraph {

struct Interrupt;
class Runtime;

/// Which run an observer is notified of. A subgraph's visit is a run inside a task of another. Views are valid during
/// the call.
struct ObservedRun {
    /// The number of the run in this process, from 1.
    std::uint64_t run_id = 0;
    /// The number of the outer run, and the task in which this one runs; 0 and none at the root.
    std::uint64_t parent_run_id = 0;
    TaskId parent_task_id;
    std::string_view thread_id;
    std::string_view checkpoint_ns;
};

/// A run begins.
struct RunStart {
    const ObservedRun& run;
};
/// A run has ended.
struct RunEnd {
    const ObservedRun& run;
    Status ending;
    std::chrono::nanoseconds duration;
    /// How many supersteps the run took, not counting that of START.
    int supersteps;
    /// The text of the error; empty if the run did not fail.
    std::string_view error;
};
/// A superstep begins.
struct SuperstepStart {
    const ObservedRun& run;
    std::int64_t step;
    /// The number of due tasks, and of those whose results an earlier run stored.
    std::size_t tasks;
    std::size_t restored;
};
/// A superstep has ended.
struct SuperstepEnd {
    const ObservedRun& run;
    std::int64_t step;
    Status ending;
    std::chrono::nanoseconds duration;
};
/// One attempt at a task. START's tasks are reported too. The call of the node's error handler (StateGraph::onError) is
/// a part of the last attempt, or where that failed in an earlier run, an attempt of its own.
struct TaskStart {
    const ObservedRun& run;
    std::int64_t step;
    std::string_view node;
    TaskId task_id;
    int attempt;
};
/// An attempt at a task has ended.
struct TaskEnd {
    const ObservedRun& run;
    std::int64_t step;
    std::string_view node;
    TaskId task_id;
    int attempt;
    Status ending;
    /// Includes the time for storing the task's result, if that is stored separately.
    std::chrono::nanoseconds duration;
    /// The text of the attempt's error, also if the attempt is retried or handled; otherwise empty.
    std::string_view error;
};
/// Reported before the wait for the next attempt.
struct TaskRetry {
    const ObservedRun& run;
    std::string_view node;
    TaskId task_id;
    /// The number of the attempt that failed.
    int attempt;
    std::chrono::duration<double, std::milli> wait;
};
/// A checkpoint was stored.
struct CheckpointStored {
    const ObservedRun& run;
    CheckpointId id;
    std::int64_t step;
    /// The size of the commit's record, without pending writes.
    std::size_t bytes;
    /// The time for encoding and the saver's put; with async durability and a slow saver, for encoding and enqueuing.
    std::chrono::nanoseconds duration;
};
/// A task asked a question.
struct InterruptRaised {
    const ObservedRun& run;
    std::int64_t step;
    std::string_view node;
    const Interrupt& interrupt;
};

/// A fact about a span, by OpenTelemetry's name for it: a text, an integer, a number or a list of texts.
using SpanAttribute = std::pair<std::string, Value>;

/// A piece of a task's work that the code of the node reports, such as one call of a model.
struct Operation {
    /// "chat gpt-5".
    std::string_view name;
    /// Whether another program has done it.
    bool is_remote = false;
    std::chrono::nanoseconds duration{0};
    /// Why it failed; empty if it did not.
    std::string_view error = {};
    std::span<const SpanAttribute> attributes = {};
};
/// A task has reported an operation, which has ended (reportOperation).
struct OperationEnd {
    const ObservedRun& run;
    std::string_view node;
    TaskId task_id;
    int attempt;
    const Operation& operation;
};
/// A task says what it is about, or what its run is about (describeTask, describeRun).
struct Described {
    const ObservedRun& run;
    /// None: the run.
    std::optional<TaskId> task_id;
    /// The name in place of the node's, or of "run"; empty: it stays.
    std::string_view name;
    std::span<const SpanAttribute> attributes;
};

/// How much observers of a run want to know of the work of a task.
enum class Interest : std::uint8_t {
    none,     // nobody observes the run
    facts,    // names, numbers and times
    content,  // also what prompts, answers, arguments and results say
};

/// Is notified of what runs do, for logs, metrics and traces: override what matters. RunConfig::observer and
/// CompileOptions::observer set it.
///
/// Methods are called on the threads on which the events happen, several at the same time. Every method must be safe
/// from any thread, and quick, because the run waits. Exceptions are caught and counted, so that no observer can make a
/// run fail. Cost without an observer: a branch at each place; with one, two readings of a clock for each thing that
/// has a duration.
class Observer {
public:
    Observer() = default;
    Observer(const Observer&) = delete;
    Observer& operator=(const Observer&) = delete;
    virtual ~Observer();

    /// Each of these is called for the event that its argument describes; the defaults do nothing.
    virtual void runStarts(const RunStart&) {}
    virtual void runEnds(const RunEnd&) {}
    virtual void superstepStarts(const SuperstepStart&) {}
    virtual void superstepEnds(const SuperstepEnd&) {}
    virtual void taskStarts(const TaskStart&) {}
    virtual void taskEnds(const TaskEnd&) {}
    virtual void taskRetries(const TaskRetry&) {}
    virtual void checkpointStored(const CheckpointStored&) {}
    virtual void interruptRaised(const InterruptRaised&) {}
    virtual void operationEnds(const OperationEnd&) {}
    virtual void described(const Described&) {}
    /// Whether reports of tasks are to have what prompts, answers, arguments and results say.
    virtual bool wantsContent() const noexcept { return false; }

    /// How many calls have thrown.
    std::uint64_t failures() const noexcept { return failures_.load(std::memory_order_relaxed); }

    /// Calls one of the methods. For the library.
    template <class Event>
    void tell(void (Observer::*method)(const Event&), const Event& event) noexcept {
        try {
            (this->*method)(event);
        } catch (...) {
            failures_.fetch_add(1, std::memory_order_relaxed);
        }
    }

private:
    std::atomic<std::uint64_t> failures_{0};
};

/// Returns what observers want to know of the task to which the runtime belongs. Cost without an observer: a lock that
/// nobody else wants.
Interest interestIn(Runtime& runtime) noexcept;
/// Reports a piece of the task's work to the observers of its run. What an abandoned attempt reports is dropped. Call
/// it on the thread of the node.
void reportOperation(Runtime& runtime, const Operation& operation) noexcept;
/// Says what the attempt at the task is about; a later call adds to it.
void describeTask(Runtime& runtime, std::string_view name, std::span<const SpanAttribute> attributes) noexcept;
/// Says what the run is about; a later call replaces the name, and attributes of the same names.
void describeRun(Runtime& runtime, std::string_view name, std::span<const SpanAttribute> attributes) noexcept;

}  // namespace stategraph
