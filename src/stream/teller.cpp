#include "src/stream/teller.hpp"

#include <algorithm>
#include <utility>

#include <stategraph/detail/table.hpp>

#include "src/value/interrupts.hpp"
#include "src/value/times.hpp"

namespace stategraph::engine {
namespace {

using detail::ChannelIndex;
using detail::ChannelSpec;

void encodeId(CheckpointId id, Encoder& out) {
    if (id) {
        out.text(id.toString());
    } else {
        out.null();
    }
}

}  // namespace

void Teller::encodeValues(Encoder& out, bool all) const {
    const State& state = state_;
    const detail::Schema& schema = state.schema();
    const auto shows = [&](ChannelIndex index) { return state.has(index) && (all || place_.core.returns(index)); };
    const auto order = schema.encodedOrder();
    out.map(static_cast<std::size_t>(std::count_if(order.begin(), order.end(), shows)));
    for (const ChannelIndex index : order) {
        if (!shows(index)) continue;
        const ChannelSpec& channel = schema.channel(index);
        out.text(channel.name);
        channel.behaviour->encode(channel, state.value(channel), out);
    }
}

// Returns the name of the task's node. An error handler has a name of its own.
std::string Teller::nodeName(const Task& task) const {
    const std::string& name = place_.nodeOf(task).name;
    return task.record.failure ? "__error_handler__" + name : name;
}

void Teller::encodeInput(const Task& task, Encoder& out) const {
    if (task.planned.is_send) {
        encodeSend(*sendOf(schedule_, task), out);
    } else {
        encodeValues(out, true);
    }
}

StreamEvent Teller::make(StreamMode mode, const Task* task) const {
    StreamEvent event;
    event.mode = mode;
    event.ns = place_.path;
    event.step = place_.step;
    event.time = clock_.now();
    if (task != nullptr) event.node = nodeName(*task);
    if (task != nullptr && task->planned.is_send) event.send = task->planned.send;
    if (task != nullptr && task->progress.status() != TaskStatus::restored && !task->extra().is_cached)
        event.attempt = task->attempt;
    return event;
}

void Teller::values() {
    if (!wants(StreamMode::values)) return;
    StreamEvent event = make(StreamMode::values);
    event.step = place_.step - 1;
    event.data = buildValue([&](Encoder& out) { encodeValues(out, !place_.isInside()); });
    emit(std::move(event));
}

std::optional<StreamEvent> Teller::update(Task& task, bool restored) const {
    if (!wants(StreamMode::updates) || isStart(task)) return {};
    StreamEvent event = make(StreamMode::updates, &task);
    const detail::Schema& schema = place_.core.schema();
    detail::ChannelSet shown(schema.size());
    for (std::size_t i = 0; i < schema.size(); ++i) {
        shown.set(i, !place_.isInside() || place_.core.returns(static_cast<ChannelIndex>(i)));
    }
    event.data = buildValue([&](Encoder& out) {
        const std::string name = nodeName(task);
        constexpr std::string_view metadata = "__metadata__";
        const auto encodeMetadata = [&] {
            out.text(metadata);
            out.map(1);
            out.text("cached");
            out.boolean(true);
        };
        const bool metadata_first = detail::storedBefore(metadata, name);
        out.map(restored ? 2 : 1);
        if (restored && metadata_first) encodeMetadata();
        out.text(name);
        encodeResult(schema, task.result.writes, out, &shown);
        if (restored && !metadata_first) encodeMetadata();
    });
    return event;
}

// Emits the event as its own mode and as debug, as far as they are wanted.
void Teller::emitBoth(StreamEvent event, std::string_view debug_type, const stream::Readers& readers) {
    events_.emit(StreamEvent(event), readers);
    if (!events_.wantsDebug(place_.isInside())) return;
    event.mode = StreamMode::debug;
    const Value payload = std::move(event.data);
    event.data = buildValue([&](Encoder& out) {
        out.map(4);
        out.text("step");
        out.integer(event.step);
        out.text("type");
        out.text(debug_type);
        out.text("payload");
        out.raw(payload.bytes());
        out.text("timestamp");
        out.integer(times::nowMs(clock_));
    });
    events_.emit(std::move(event), readers);
}

void Teller::taskStarts(Task& task) {
    if (!wants(StreamMode::tasks) || isStart(task)) return;
    for (const bool with_inputs : {true, false}) {
        if (!events_.wantsInputs(with_inputs)) continue;
        StreamEvent event = make(StreamMode::tasks, &task);
        event.data = buildValue([&](Encoder& out) {
            out.map(with_inputs ? 4 : 3);
            out.text("id");
            out.text(place_.idOf(task).toString());
            out.text("name");
            out.text(nodeName(task));
            if (with_inputs) {
                out.text("input");
                encodeInput(task, out);
            }
            out.text("interrupts");
            out.array(0);
        });
        emitBoth(std::move(event), "task", {.task_inputs = with_inputs});
    }
}

std::optional<StreamEvent> Teller::taskEnds(Task& task, TaskStatus how) const {
    if (!wants(StreamMode::tasks) || isStart(task)) return {};
    StreamEvent event = make(StreamMode::tasks, &task);
    const bool finished = how == TaskStatus::finished;
    event.data = buildValue([&](Encoder& out) {
        out.map(5);
        out.text("id");
        out.text(place_.idOf(task).toString());
        out.text("name");
        out.text(nodeName(task));
        out.text("error");
        if (how != TaskStatus::failed) {
            out.null();
        } else {  // a refusal is not in the record
            out.text(task.record.error ? *task.record.error : detail::describe(task.extra().failure));
        }
        out.text("result");
        if (finished) {
            encodeResult(place_.core.schema(), task.result.writes, out);
        } else {
            out.map(0);
        }
        out.text("interrupts");
        encodeQuestions(task.extra().asked, out);
    });
    event.interrupts = task.extra().asked;
    return event;
}

void Teller::emitTaskEnd(std::optional<StreamEvent>&& event) {
    if (event) emitBoth(std::move(*event), "task_result");
}

void Teller::interrupted(const Task& task, const std::vector<Interrupt>& interrupts) {
    if (wants(StreamMode::updates)) {
        StreamEvent event = make(StreamMode::updates, &task);
        event.interrupts = interrupts;
        event.data = questionsAsData(interrupts);
        emit(std::move(event));
    }
    if (wants(StreamMode::values)) {
        StreamEvent event = make(StreamMode::values, &task);
        event.interrupts = interrupts;
        event.data = questionsAsData(interrupts);
        emit(std::move(event));
    }
}

void Teller::breakpoint() {
    if (wants(StreamMode::updates)) {
        StreamEvent event = make(StreamMode::updates);
        event.data = questionsAsData({});
        emit(std::move(event));
    }
    if (wants(StreamMode::values)) {
        StreamEvent event = make(StreamMode::values);
        event.data = questionsAsData({});
        emit(std::move(event));
    }
}

void Teller::checkpoint(std::span<Task* const> tasks, std::string_view metadata) {
    if (!wants(StreamMode::checkpoints)) return;
    StreamEvent event = make(StreamMode::checkpoints);
    event.step = place_.step - 1;
    CheckpointEvent data{.log = place_.log(),
                         .id = place_.checkpoint,
                         .parent = place_.parent,
                         .source = place_.source,
                         .step = event.step,
                         .metadata = metadata,
                         .tasks = {}};
    data.tasks.reserve(tasks.size());
    for (Task* task : tasks) data.tasks.emplace_back(place_.idOf(*task), nodeName(*task));
    event.data = checkpointData(data, [&](Encoder& out) { encodeValues(out, true); });
    emitBoth(std::move(event), "checkpoint");
}

void Teller::runBegins() {
    events_.runBegins();
    if (!wants(StreamMode::runs)) return;
    StreamEvent event = make(StreamMode::runs);
    event.data = buildValue([](Encoder& out) {
        out.map(1);
        out.text("event");
        out.text("begin");
    });
    emit(std::move(event));
}

void Teller::runEnds(const RunEndFields& end) noexcept {
    if (!events_.closeRun(end.stored)) return;
    std::optional<StreamEvent> event;
    try {
        if (wants(StreamMode::runs)) event = runEnd(end);
    } catch (...) {
        // There is no memory to report the end. Subscribers that end with the run still end, and others see the next
        // run's events.
    }
    events_.giveRunEnd(std::move(event));
}

StreamEvent Teller::runEnd(const RunEndFields& end) const {
    StreamEvent event = make(StreamMode::runs);
    event.step = place_.step - 1;
    event.interrupts = end.interrupts;
    event.data = buildValue([&](Encoder& out) {
        out.map(6);
        out.text("error");
        if (end.ending == Status::failed) {
            out.text(end.error);
        } else {
            out.null();
        }
        out.text("event");
        out.text("end");
        out.text("status");
        out.text(toString(end.ending));
        out.text("interrupts");
        encodeQuestions(end.interrupts, out);
        out.text("wake_unix_ms");
        if (end.wake_at) {
            out.integer(times::unixMs(*end.wake_at));
        } else {
            out.null();
        }
        out.text("checkpoint_id");
        encodeId(end.stored, out);
    });
    return event;
}

void Teller::give(StreamMode mode, const Task& task, Value data) {
    StreamEvent event = make(mode, &task);
    event.data = std::move(data);
    emit(std::move(event));
}

void Teller::custom(const Task& task, const Value& data) {
    if (wants(StreamMode::custom)) give(StreamMode::custom, task, data);
}

}  // namespace stategraph::engine
