#pragma once
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <stategraph/detail/chrono.hpp>
#include <stategraph/detail/opt_in.hpp>
#include <stategraph/detail/print_enum.hpp>
#include <stategraph/interrupt.hpp>
#include <stategraph/status.hpp>
#include <stategraph/value.hpp>

namespace stategraph {

/// What a stream reports. The enumerators' names are the modes' in JSON and in requests to a server.
enum class StreamMode : std::uint8_t {
    values,       // the state after each superstep that changed it
    updates,      // what each task wrote, when it finishes
    tasks,        // each task when it starts and when it ends
    checkpoints,  // each checkpoint
    debug,        // tasks and checkpoints, with step and time
    custom,       // what nodes pass to Runtime::write
    messages,     // parts of messages that nodes pass to Runtime::emitMessage, and whole messages that they write
    runs,         // that the run begins, and how it ended; only for the root graph
    calls,        // each call of a function (stategraph/functional.hpp) when it begins and when it ends
};
/// The number of modes.
inline constexpr unsigned stream_mode_count = static_cast<unsigned>(StreamMode::calls) + 1;
/// The name of a mode, such as "updates".
const char* toString(StreamMode mode) noexcept;

/// A set of modes.
class StreamModes {
public:
    constexpr StreamModes() noexcept = default;
    constexpr StreamModes(StreamMode mode) noexcept : bits_(bit(mode)) {}
    constexpr StreamModes(std::initializer_list<StreamMode> modes) noexcept {
        for (const StreamMode mode : modes) bits_ |= bit(mode);
    }
    /// Never called: it explains that modes are no texts.
    template <class Text>
        requires std::is_convertible_v<const Text&, std::string_view>
    constexpr StreamModes(const Text&) {
        static_assert(detail::never<Text>, "stategraph: a mode is a sg::StreamMode: .modes = sg::StreamMode::updates");
    }
    constexpr bool has(StreamMode mode) const noexcept { return (bits_ & bit(mode)) != 0; }
    constexpr bool empty() const noexcept { return bits_ == 0; }
    friend constexpr StreamModes operator|(StreamModes a, StreamModes b) noexcept {
        a.bits_ |= b.bits_;
        return a;
    }
    friend constexpr bool overlap(StreamModes a, StreamModes b) noexcept { return (a.bits_ & b.bits_) != 0; }

private:
    static constexpr unsigned bit(StreamMode mode) noexcept { return 1U << static_cast<unsigned>(mode); }
    unsigned bits_ = 0;
};

namespace detail {
/// The modes that tasks report while they run: a reader that has nothing else to do waits for these events.
inline constexpr StreamModes modes_of_running_tasks{StreamMode::custom, StreamMode::messages, StreamMode::calls};
}  // namespace detail

/// What a stream reports, and how.
struct StreamOptions {
    /// The kinds of events that are reported.
    StreamModes modes = StreamMode::updates;
    /// Whether events of subgraphs are reported too, with their namespace.
    bool subgraphs = false;
    /// Whether a task's start, in `tasks` and `debug`, has the task's `input`: the whole state, unless a Send made the
    /// task.
    bool task_inputs = true;
};

/// One event of a run. `data` has LangGraph's shape for its mode:
///   values       {channel: value}; {"__interrupt__": [question…]} when a task stops, or without questions at a breakpoint
///   updates      {node: {channel: written}}; {"__interrupt__": [question…]} as above
///   tasks        {"id", "name", "input", "interrupts"}, without "input" if StreamOptions::task_inputs is false, and at the end {"id", "name", "error",
///                "result", "interrupts"}
///   checkpoints  {"config", "metadata", "next", "parent_config", "tasks", "values"}
///   debug        {"payload", "step", "timestamp", "type"}, type "task", "task_result" or "checkpoint"
///   custom       what the node wrote
///   messages     {"delta", "attempt", "message", "task_id"}: of emitMessage with delta true. A message that a task wrote to a channel with
///                `addMessages` comes when the task finishes, with delta false, unless the task emitted parts of it or found it in its input
///   runs         {"event"}: "begin", when the run has the thread and before its first superstep; and as its last event, when the thread is free for
///                other runs, {"error", "event", "status", "interrupts", "wake_unix_ms", "checkpoint_id"}: "end"; the error's text or null; how it
///                ended (a word of `Status`: "done", "interrupted", "failed", …); the open questions; when a sleeping run wants to be resumed, in
///                milliseconds since 1970, or null; the newest checkpoint or null. `endOf` reads it
///   calls        {"key", "name", "error", "event", "attempt"}: of one call (Calls::call), which its key names. "event" is "begin" for each attempt, and
///                then one of "done", "failed", "retried" (another attempt follows), "paused" (it asked or sleeps), or without a beginning "restored"
///                (an earlier run made the call) and "cached"; "error" is the text of what the attempt failed with, or null
struct StreamEvent {
    StreamMode mode = StreamMode::values;
    /// Where it happened: "name:task id" for each enclosing node, as in the namespaces of the log; empty at the root.
    std::vector<std::string> ns;
    /// The task's node; empty for values and checkpoints.
    std::string node;
    std::int64_t step = 0;
    Value data;
    /// Open questions, for the event that reports them.
    std::vector<Interrupt> interrupts;
    /// When it happened, by the clock of the graph (CompileOptions::ids). For an event that a subscriber reads from the
    /// log, when its checkpoint was created.
    std::chrono::system_clock::time_point time = {};
    /// The attempt of the task, from 1. 0: the event belongs to no task, or the attempt is not known (results that were
    /// restored, came from a cache, or are read from the log).
    int attempt = 0;
    /// The number of the Send that made the task, in its superstep; none: an edge, a join or a goto made it due, or the
    /// event belongs to no task or is read from the log.
    std::optional<std::uint64_t> send = {};
};

/// Whether an event is of the mode `runs` and reports the end of a run.
bool isRunEnd(const StreamEvent& event);

/// How a run ended, as an event of the mode `runs` reports it.
struct EndOfRun {
    Status ending = Status::done;
    /// The text of the error; empty if the run did not fail.
    std::string error = {};
    /// The questions that are open.
    std::vector<Interrupt> interrupts = {};
    /// When a sleeping run is to be resumed.
    std::optional<std::chrono::system_clock::time_point> wake_time = {};
    /// The newest checkpoint; none without a saver.
    CheckpointId checkpoint_id = {};
};
/// Reads the end of a run from an event; none if the event reports something else.
std::optional<EndOfRun> endOf(const StreamEvent& event);

/// One line of JSON: {"data", "mode", "node", "ns", "step"}. It depends only on the run; NdjsonWriter writes time and
/// attempt too.
std::string toJson(const StreamEvent& event);
std::ostream& operator<<(std::ostream& out, const StreamEvent& event);

namespace detail {
/// Receives events as they happen, one at a time, on the thread on which a task runs.
class EventSink {
public:
    virtual ~EventSink() = default;
    virtual void take(StreamEvent&& event) = 0;
};
}  // namespace detail

}  // namespace stategraph
