#pragma once
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/step/place.hpp"
#include "src/stream/events.hpp"
#include "src/superstep/apply.hpp"
#include "src/value/build_value.hpp"

namespace stategraph::engine {

/// Reports one run to its readers (Events): creates events, in LangGraph's shapes, only if a reader requested their
/// mode. It is as safe from several threads as the task, the place and the state are.
class Teller {
public:
    /// The object refers to its arguments. `clock` is the run's.
    Teller(Events& events, const Place& place, const State& state, const Schedule& schedule, IdSource& clock) noexcept
        : events_(events), place_(place), state_(state), schedule_(schedule), clock_(clock) {}

    bool any() const noexcept { return events_.any(); }
    bool wants(StreamMode mode) const noexcept { return events_.wants(mode, place_.isInside()); }
    Events& events() noexcept { return events_; }

    void values();
    /// Returns the update of a finished task. Call it before the task's writes are applied.
    std::optional<StreamEvent> update(Task& task, bool restored) const;
    void taskStarts(Task& task);
    /// Returns the event of a task's end. It is created before the task's writes are applied, and delivered afterwards.
    /// `how` says how it ends.
    std::optional<StreamEvent> taskEnds(Task& task, TaskStatus how) const;
    void emit(std::optional<StreamEvent>&& event) { events_.emit(std::move(event)); }
    void emitTaskEnd(std::optional<StreamEvent>&& event);
    void interrupted(const Task& task, const std::vector<Interrupt>& interrupts);
    void breakpoint();
    /// `metadata` is that of the run that created the checkpoint, a CBOR map or empty. `tasks` are those that are due.
    void checkpoint(std::span<Task* const> tasks, std::string_view metadata);
    void custom(const Task& task, const Value& data);
    /// Reports an event whose data the caller writes: `encode(Encoder&)` writes one item.
    template <class Encode>
    void report(StreamMode mode, const Task& task, const Encode& encode) {
        if (wants(mode)) give(mode, task, buildValue(encode));
    }
    void messagePart(Task& task, int attempt, const Value& part);
    /// Returns the messages that a finished task wrote. Call it before its writes are applied.
    std::vector<WrittenMessage> messages(Task& task, int attempt);
    void emit(WrittenMessage&& message);
    /// Notes what a graph inside a task has returned: `state` is its state. Its tasks have reported the messages in it,
    /// in this run or an earlier one, so readers of events of subgraphs do not receive them again from the outer task.
    void noteInside(TaskId task, const detail::Core& inner, const State& state);

    /// For the root: these report once that the run has begun, and once how it has ended.
    void runBegins();
    struct RunEndFields {
        Status ending;
        const std::vector<Interrupt>& interrupts;
        std::string_view error;  // the failure of the run
        std::optional<std::chrono::system_clock::time_point> wake_at;
        CheckpointId stored;  // the newest stored checkpoint, or none
    };
    void runEnds(const RunEndFields& end) noexcept;

private:
    void give(StreamMode mode, const Task& task, Value data);
    StreamEvent make(StreamMode mode, const Task* task = nullptr) const;
    StreamEvent runEnd(const RunEndFields& end) const;
    void emitBoth(StreamEvent event, std::string_view debug_type, const stream::Readers& readers = {});
    bool isStart(const Task& task) const noexcept { return task.planned.node == place_.topology().start; }
    std::string nodeName(const Task& task) const;
    void encodeValues(Encoder& out, bool all) const;
    void encodeInput(const Task& task, Encoder& out) const;

    Events& events_;
    const Place& place_;
    const State& state_;
    const Schedule& schedule_;
    IdSource& clock_;
};

}  // namespace stategraph::engine
