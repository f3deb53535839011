#include "src/run/events.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "src/interrupts.hpp"
#include "src/lasting.hpp"
#include "src/run/run.hpp"
#include "src/stream/log_reader.hpp"
#include "src/stream/topic.hpp"
#include "src/times.hpp"

namespace stategraph::engine {
namespace {

using checkpoint::WriteKind;
using detail::ChannelIndex;
using detail::ChannelSpec;

template <class Build>
Value build(Build&& fill) {
    std::string cbor;
    Encoder out(cbor);
    fill(out);
    return Value::fromCbor(std::move(cbor));
}

void encodeValues(Run& run, Encoder& out, bool all) {
    const State& state = run.state();
    const detail::Schema& schema = state.schema();
    const auto shows = [&](ChannelIndex index) { return state.has(index) && (all || run.core().returns(index)); };
    const auto order = schema.encodedOrder();
    out.map(static_cast<std::size_t>(std::count_if(order.begin(), order.end(), shows)));
    for (const ChannelIndex index : order) {
        if (!shows(index)) continue;
        const ChannelSpec& channel = schema.channel(index);
        out.text(channel.name);
        channel.behaviour->encode(channel, state.value(channel), out);
    }
}

void encodeWritten(const detail::Op& op, Encoder& out) {
    if (op.kind == WriteKind::overwrite) {
        out.map(1);
        out.text("__overwrite__");
        detail::encodeWriteValue(op, out);
    } else if (op.kind == WriteKind::clear) {
        out.map(1);
        out.text("__clear__");
        out.boolean(true);
    } else {
        detail::encodeWriteValue(op, out);
    }
}

// What an error handler does and says goes by a name of its own.
std::string nodeName(const Run& run, const Task& task) {
    const std::string& name = run.nodeOf(task).name;
    return task.record.failure ? "__error_handler__" + name : name;
}
bool isStart(const Run& run, const Task& task) { return task.planned.node == run.topology().start; }

void encodeInput(Run& run, const Task& task, Encoder& out) {
    if (task.planned.is_send) {
        run.encodeSend(task, out);
    } else {
        encodeValues(run, out, true);
    }
}

void encodeId(CheckpointId id, Encoder& out) {
    if (id) {
        out.text(id.toString());
    } else {
        out.null();
    }
}

// What the library says of a checkpoint and what its run does, in one map in the order of encoded keys; a run's keys are other ones.
void encodeMetadata(const CheckpointEvent& event, Encoder& out) {
    struct Entry {
        std::string_view key;
        std::string_view value;
    };
    std::string step;
    std::string source;
    Encoder(step).integer(event.step);
    Encoder(source).text(toString(event.source));
    std::vector<Entry> entries{{"step", step}, {"source", source}};
    if (!event.metadata.empty()) {
        Decoder in(event.metadata);
        for (std::size_t count = in.map(); count > 0; --count) {
            const std::string_view key = in.text();
            entries.push_back({key, in.raw()});
        }
    }
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
        return a.key.size() != b.key.size() ? a.key.size() < b.key.size() : a.key < b.key;
    });
    out.map(entries.size());
    for (const Entry& entry : entries) {
        out.text(entry.key);
        out.raw(entry.value);
    }
}

}  // namespace

void encodeResult(const detail::Schema& schema, detail::Writes& writes, Encoder& out, const detail::ChannelSet* only) {
    std::vector<detail::Op*> ops;
    for (detail::Op& op : writes) {
        if (only == nullptr || only->test(op.channel)) ops.push_back(&op);
    }
    std::stable_sort(ops.begin(), ops.end(), [&](const detail::Op* a, const detail::Op* b) {
        return schema.rank(a->channel) < schema.rank(b->channel);
    });
    std::size_t channels = 0;
    for (std::size_t i = 0; i < ops.size(); ++i) channels += i == 0 || ops[i]->channel != ops[i - 1]->channel;
    out.map(channels);
    for (std::size_t i = 0; i < ops.size();) {
        std::size_t end = i + 1;
        while (end < ops.size() && ops[end]->channel == ops[i]->channel) ++end;
        out.text(schema.channel(ops[i]->channel).name);
        if (end - i > 1) {
            out.map(1);
            out.text("$writes");
            out.array(end - i);
        }
        for (; i < end; ++i) encodeWritten(*ops[i], out);
    }
}

Value checkpointData(const CheckpointEvent& event, const std::function<void(Encoder&)>& encodeState) {
    const auto encodeConfig = [&event](CheckpointId id, Encoder& out) {
        out.map(3);
        out.text("thread_id");
        out.text(event.log.thread_id);
        out.text("checkpoint_id");
        out.text(id.toString());
        out.text("checkpoint_ns");
        out.text(event.log.checkpoint_ns);
    };
    return build([&](Encoder& out) {
        out.map(6);
        out.text("next");
        out.array(event.tasks.size());
        for (const auto& [id, name] : event.tasks) out.text(name);
        out.text("tasks");
        out.array(event.tasks.size());
        for (const auto& [id, name] : event.tasks) {
            out.map(2);
            out.text("id");
            out.text(id.toString());
            out.text("name");
            out.text(name);
        }
        out.text("config");
        encodeConfig(event.id, out);
        out.text("values");
        encodeState(out);
        out.text("metadata");
        encodeMetadata(event, out);
        out.text("parent_config");
        if (event.parent) {
            encodeConfig(event.parent, out);
        } else {
            out.null();
        }
    });
}

Events& Events::nobody() noexcept {
    static Lasting<Events> silent;
    return *silent;
}

void Events::attach(std::shared_ptr<stream::Topic> topic, bool stored, std::shared_ptr<const RunStop> stop) {
    topic_ = std::move(topic);
    stop_ = std::move(stop);
    stored_ = stored;
}

bool Events::sinkWants(StreamMode mode, bool inner) const noexcept {
    return sink_ != nullptr && (options_.subgraphs || !inner) && options_.modes.has(mode);
}

// What the log says is read there.
bool Events::topicWants(StreamMode mode, bool inner) const noexcept {
    if (topic_ == nullptr || !topic_->wants(mode, inner)) return false;
    return !stored_ || inner || (mode != StreamMode::values && mode != StreamMode::updates && mode != StreamMode::checkpoints);
}

bool Events::wants(StreamMode mode, const Run& run) const noexcept {
    if (!any()) return false;
    const bool inner = run.place().isInside();
    if (sinkWants(mode, inner) || topicWants(mode, inner)) return true;
    return (mode == StreamMode::tasks || mode == StreamMode::checkpoints) &&
           (sinkWants(StreamMode::debug, inner) || topicWants(StreamMode::debug, inner));
}

void Events::at(CheckpointId id) noexcept {
    if (topic_ != nullptr) at_.store(stream::sequenceOf(id), std::memory_order_relaxed);
}

void Events::committed(CheckpointId id) {
    if (topic_ != nullptr) topic_->committed(stream::sequenceOf(id), stop_.get());
}

void Events::changed() {
    if (topic_ != nullptr) topic_->changed();
}

StreamEvent Events::make(const Run& run, StreamMode mode, const Task* task) const {
    StreamEvent event;
    event.mode = mode;
    event.ns = run.place().path;
    event.step = run.place().step;
    event.time = run.idSource().now();
    if (task != nullptr) event.node = nodeName(run, *task);
    if (task != nullptr && task->progress.status() != TaskStatus::restored && !task->extra().is_cached) event.attempt = task->attempt;
    return event;
}

void Events::emit(std::optional<StreamEvent>&& event, std::optional<bool> with_inputs) {
    if (!event) return;
    const bool inner = !event->ns.empty();
    if (topicWants(event->mode, inner)) topic_->offer(*event, at_.load(std::memory_order_relaxed), stop_.get(), with_inputs);
    const bool is_for_sink = !with_inputs || *with_inputs == options_.task_inputs;
    if (is_for_sink && sinkWants(event->mode, inner)) give(std::move(*event));
}

// Some may want those whom no event of a task is for: what is made for them is offered to nobody.
bool Events::wantsInputs(bool with_inputs) const noexcept {
    return (sink_ != nullptr && options_.task_inputs == with_inputs) || (topic_ != nullptr && topic_->wantsInputs(with_inputs));
}

void Events::give(StreamEvent&& event) {
    const std::lock_guard lock(mutex_);
    sink_->take(std::move(event));
}

void Events::values(Run& run) {
    if (!wants(StreamMode::values, run)) return;
    StreamEvent event = make(run, StreamMode::values);
    event.step = run.place().step - 1;
    event.data = build([&](Encoder& out) { encodeValues(run, out, !run.place().isInside()); });
    emit(std::move(event));
}

std::optional<StreamEvent> Events::update(Run& run, Task& task, bool restored) const {
    if (!wants(StreamMode::updates, run) || isStart(run, task)) return {};
    StreamEvent event = make(run, StreamMode::updates, &task);
    const detail::Schema& schema = run.core().schema();
    detail::ChannelSet shown(schema.size());
    for (std::size_t i = 0; i < schema.size(); ++i) {
        shown.set(i, !run.place().isInside() || run.core().returns(static_cast<ChannelIndex>(i)));
    }
    event.data = build([&](Encoder& out) {
        const std::string name = nodeName(run, task);
        constexpr std::string_view metadata = "__metadata__";
        const auto encodeMetadata = [&] {
            out.text(metadata);
            out.map(1);
            out.text("cached");
            out.boolean(true);
        };
        const bool metadata_first = name.size() != metadata.size() ? metadata.size() < name.size() : metadata < name;
        out.map(restored ? 2 : 1);
        if (restored && metadata_first) encodeMetadata();
        out.text(name);
        encodeResult(schema, task.result.writes, out, &shown);
        if (restored && !metadata_first) encodeMetadata();
    });
    return event;
}

void Events::emitBoth(Run& run, StreamEvent event, std::string_view debug_type, std::optional<bool> with_inputs) {
    emit(StreamEvent(event), with_inputs);
    const bool inner = !event.ns.empty();
    if (!sinkWants(StreamMode::debug, inner) && !topicWants(StreamMode::debug, inner)) return;
    event.mode = StreamMode::debug;
    const Value payload = std::move(event.data);
    event.data = build([&](Encoder& out) {
        out.map(4);
        out.text("step");
        out.integer(event.step);
        out.text("type");
        out.text(debug_type);
        out.text("payload");
        out.raw(payload.bytes());
        out.text("timestamp");
        out.integer(times::nowMs(run.core().ids()));
    });
    emit(std::move(event), with_inputs);
}

void Events::taskStarts(Run& run, Task& task) {
    if (!wants(StreamMode::tasks, run) || isStart(run, task)) return;
    for (const bool with_inputs : {true, false}) {
        if (!wantsInputs(with_inputs)) continue;
        StreamEvent event = make(run, StreamMode::tasks, &task);
        event.data = build([&](Encoder& out) {
            out.map(with_inputs ? 4 : 3);
            out.text("id");
            out.text(run.idOf(task).toString());
            out.text("name");
            out.text(nodeName(run, task));
            if (with_inputs) {
                out.text("input");
                encodeInput(run, task, out);
            }
            out.text("interrupts");
            out.array(0);
        });
        emitBoth(run, std::move(event), "task", with_inputs);
    }
}

std::optional<StreamEvent> Events::taskEnds(Run& run, Task& task, TaskStatus how) const {
    if (!wants(StreamMode::tasks, run) || isStart(run, task)) return {};
    StreamEvent event = make(run, StreamMode::tasks, &task);
    const bool finished = how == TaskStatus::finished;
    event.data = build([&](Encoder& out) {
        out.map(5);
        out.text("id");
        out.text(run.idOf(task).toString());
        out.text("name");
        out.text(nodeName(run, task));
        out.text("error");
        if (how == TaskStatus::failed && task.record.error) {
            out.text(*task.record.error);
        } else {
            out.null();
        }
        out.text("result");
        if (finished) {
            encodeResult(run.core().schema(), task.result.writes, out);
        } else {
            out.map(0);
        }
        out.text("interrupts");
        encodeQuestions(task.extra().asked, out);
    });
    event.interrupts = task.extra().asked;
    return event;
}

void Events::emitTaskEnd(Run& run, std::optional<StreamEvent>&& event) {
    if (event) emitBoth(run, std::move(*event), "task_result");
}

void Events::interrupted(Run& run, const Task& task, const std::vector<Interrupt>& interrupts) {
    if (wants(StreamMode::updates, run)) {
        StreamEvent event = make(run, StreamMode::updates, &task);
        event.interrupts = interrupts;
        event.data = questionsAsData(interrupts);
        emit(std::move(event));
    }
    if (wants(StreamMode::values, run)) {
        StreamEvent event = make(run, StreamMode::values, &task);
        event.interrupts = interrupts;
        event.data = questionsAsData(interrupts);
        emit(std::move(event));
    }
}

void Events::breakpoint(Run& run) {
    if (wants(StreamMode::updates, run)) {
        StreamEvent event = make(run, StreamMode::updates);
        event.data = questionsAsData({});
        emit(std::move(event));
    }
    if (wants(StreamMode::values, run)) {
        StreamEvent event = make(run, StreamMode::values);
        event.data = questionsAsData({});
        emit(std::move(event));
    }
}

void Events::checkpoint(Run& run, Source source, std::int64_t step, std::span<Task* const> tasks) {
    if (!wants(StreamMode::checkpoints, run)) return;
    StreamEvent event = make(run, StreamMode::checkpoints);
    event.step = step;
    CheckpointEvent data{.log = {run.shared().config->thread_id.view(), run.place().ns},
                         .id = run.place().checkpoint,
                         .parent = run.place().parent,
                         .source = source,
                         .step = step,
                         .metadata = run.checkpointMetadata(),
                         .tasks = {}};
    data.tasks.reserve(tasks.size());
    for (Task* task : tasks) data.tasks.emplace_back(run.idOf(*task), nodeName(run, *task));
    event.data = checkpointData(data, [&](Encoder& out) { encodeValues(run, out, true); });
    emitBoth(run, std::move(event), "checkpoint");
}

// One that was told to begin has ended, whatever became of it.
Events::~Events() {
    if (is_run_open_ && topic_ != nullptr) topic_->runEnds(nullptr, at_.load(std::memory_order_relaxed), stop_.get());
}

void Events::runBegins(Run& run) {
    is_run_open_ = true;
    if (topic_ != nullptr) topic_->runBegins();
    if (!wants(StreamMode::runs, run)) return;
    StreamEvent event = make(run, StreamMode::runs);
    event.data = build([](Encoder& out) {
        out.map(1);
        out.text("event");
        out.text("begin");
    });
    emit(std::move(event));
}

void Events::runEnds(Run& run, Ending ending, const std::vector<Interrupt>& interrupts, std::string_view error) noexcept {
    if (!std::exchange(is_run_open_, false)) return;
    if (const CheckpointId stored = run.storedCheckpoint()) {
        if (stream::sequenceOf(stored) > at_.load(std::memory_order_relaxed)) at(stored);
    }
    std::optional<StreamEvent> event;
    try {
        if (wants(StreamMode::runs, run)) event = runEnd(run, ending, interrupts, error);
    } catch (...) {
        // No memory to report it: subscribers that end with the run do, and others see the next run's.
    }
    const bool is_wanted = event && topicWants(StreamMode::runs, false);
    if (topic_ != nullptr) topic_->runEnds(is_wanted ? &*event : nullptr, at_.load(std::memory_order_relaxed), stop_.get());
    try {
        if (event && sinkWants(StreamMode::runs, false)) give(std::move(*event));
    } catch (...) {
        // As above: who reads the stream is told of the run's end by the stream's.
    }
}

StreamEvent Events::runEnd(Run& run, Ending ending, const std::vector<Interrupt>& interrupts, std::string_view error) const {
    StreamEvent event = make(run, StreamMode::runs);
    event.step = run.place().step - 1;
    event.interrupts = interrupts;
    event.data = build([&](Encoder& out) {
        out.map(6);
        out.text("error");
        if (ending == Ending::failed) {
            out.text(error);
        } else {
            out.null();
        }
        out.text("event");
        out.text("end");
        out.text("status");
        out.text(toString(ending));
        out.text("interrupts");
        encodeQuestions(interrupts, out);
        out.text("wake_unix_ms");
        if (const auto wake_unix_ms = run.wakeUnixMs()) {
            out.integer(*wake_unix_ms);
        } else {
            out.null();
        }
        out.text("checkpoint_id");
        encodeId(run.storedCheckpoint(), out);
    });
    return event;
}

void Events::call(Run& run, const Task& task, const Call& call) {
    if (!wants(StreamMode::calls, run)) return;
    StreamEvent event = make(run, StreamMode::calls, &task);
    event.data = build([&](Encoder& out) {
        out.map(5);
        out.text("key");
        out.text(call.key);
        out.text("name");
        out.text(call.name);
        out.text("error");
        if (call.error) {
            out.text(*call.error);
        } else {
            out.null();
        }
        out.text("event");
        out.text(call.event);
        out.text("attempt");
        out.integer(call.attempt);
    });
    emit(std::move(event));
}

void Events::custom(Run& run, const Task& task, const Value& data) {
    if (!wants(StreamMode::custom, run)) return;
    StreamEvent event = make(run, StreamMode::custom, &task);
    event.data = data;
    emit(std::move(event));
}

}  // namespace stategraph::engine
