#include <stategraph/snapshot.hpp>

#include <algorithm>
#include <ostream>

#include "src/value/interrupts.hpp"
#include "src/value/times.hpp"

namespace stategraph {
namespace {

void encodeConfig(const Config& config, Encoder& out) {
    out.map(3);
    out.text("thread_id");
    out.text(config.thread_id.view());
    out.text("checkpoint_ns");
    out.text(config.checkpoint_ns);
    out.text("checkpoint_id");
    if (config.checkpoint_id) {
        out.text(config.checkpoint_id.toString());
    } else {
        out.null();
    }
}

void encodeSnapshot(const SnapshotData& snapshot, Encoder& out);

void encodeDuration(std::string_view name, std::optional<std::chrono::microseconds> duration, Encoder& out) {
    if (!duration) return;
    out.text(name);
    out.integer(duration->count());
}

void encodeTask(const TaskSnapshot& task, Encoder& out) {
    out.map((task.input.isNull() ? 8U : 9U) + !task.calls.empty() + task.took.has_value() +
            task.started_at.has_value() + (task.attempts != 1));
    out.text("id");
    out.text(task.id.toString());
    out.text("name");
    out.text(task.name);
    out.text("path");
    out.text(task.path);
    if (!task.input.isNull()) {
        out.text("input");
        out.raw(task.input.bytes());
    }
    if (!task.calls.empty()) {
        out.text("calls");
        out.map(task.calls.size());
        for (const CallSnapshot& call : task.calls) {
            out.text(call.key);
            encodeSnapshot(*call.state, out);
        }
    }
    out.text("error");
    if (task.error) {
        out.text(*task.error);
    } else {
        out.null();
    }
    out.text("interrupts");
    out.array(task.interrupts.size());
    for (const auto& interrupt : task.interrupts) {
        const bool open = std::find(task.open_interrupts.begin(), task.open_interrupts.end(), interrupt) !=
                          task.open_interrupts.end();
        engine::encodeInterrupt(interrupt, !open, out);
    }
    out.text("finished");
    out.boolean(task.finished);
    if (task.started_at) {
        out.text("started_at");
        out.text(times::toIso(times::unixUs(*task.started_at), 6));
    }
    encodeDuration("took_us", task.took, out);
    if (task.attempts != 1) {
        out.text("attempts");
        out.unsignedInteger(task.attempts);
    }
    out.text("result");
    out.raw(task.result.bytes());
    out.text("state");
    if (task.state) {
        encodeSnapshot(*task.state, out);
    } else if (task.state_config) {
        encodeConfig(*task.state_config, out);
    } else {
        out.null();
    }
}

void encodeSnapshot(const SnapshotData& snapshot, Encoder& out) {
    out.map(7U + snapshot.cancelled + snapshot.took.has_value() + snapshot.commit_took.has_value());
    out.text("values");
    out.raw(snapshot.values_as_cbor.bytes());
    out.text("next");
    out.array(snapshot.next.size());
    for (const auto& name : snapshot.next) out.text(name);
    if (snapshot.cancelled) {
        out.text("cancelled");
        out.boolean(true);
    }
    out.text("tasks");
    out.array(snapshot.tasks.size());
    for (const auto& task : snapshot.tasks) encodeTask(task, out);
    out.text("metadata");
    out.map(snapshot.metadata.size() + 2);
    out.text("source");
    out.text(toString(snapshot.source));
    out.text("step");
    out.integer(snapshot.step);
    for (const auto& entry : snapshot.metadata) {
        out.text(entry.key);
        out.raw(entry.value.bytes());
    }
    out.text("config");
    encodeConfig(snapshot.config, out);
    out.text("parent_config");
    if (snapshot.parent_config) {
        encodeConfig(*snapshot.parent_config, out);
    } else {
        out.null();
    }
    out.text("created_at");
    out.text(snapshot.createdAt());
    encodeDuration("took_us", snapshot.took, out);
    encodeDuration("commit_took_us", snapshot.commit_took, out);
}

}  // namespace

std::vector<Interrupt> SnapshotData::interrupts() const {
    std::vector<Interrupt> open;
    for (const auto& task : tasks) {
        open.insert(open.end(), task.open_interrupts.begin(), task.open_interrupts.end());
    }
    return open;
}

std::string SnapshotData::createdAt() const {
    if (!created_at) return {};
    return times::toIso(times::unixMs(config.checkpoint_id) * 1000, 3);
}

std::string detail::valuesAsJson(const Schema& schema, const void* state, const ChannelSet& present,
                                 const Value& as_cbor) {
    Decoder in(as_cbor.bytes());
    if (present == ChannelSet() || present == ChannelSet(schema.size()) || in.peek() != Decoder::Type::map)
        return as_cbor.toJson();
    std::vector<bool> is_shown(schema.size());
    const std::size_t count = in.map();
    for (std::size_t i = 0; i < count; ++i) {
        const ChannelSpec* const channel = in.peek() == Decoder::Type::text ? schema.find(in.text()) : nullptr;
        if (channel == nullptr) return as_cbor.toJson();
        is_shown[channel->index] = true;
        in.skip();
    }
    std::string cbor;
    Encoder out = Encoder::forPeople(cbor);
    out.map(count);
    for (const ChannelSpec& channel : schema.channels()) {
        if (!is_shown[channel.index]) continue;
        out.text(channel.name);
        channel.behaviour->encode(channel, schema.value(state, channel), out);
    }
    return cborToJson(cbor);
}

std::string toJson(const SnapshotData& snapshot) {
    std::string cbor;
    Encoder out(cbor);
    encodeSnapshot(snapshot, out);
    return cborToJson(cbor);
}

std::ostream& operator<<(std::ostream& out, const SnapshotData& snapshot) {
    out << "step " << snapshot.step << " (" << toString(snapshot.source) << ") " << snapshot.values_as_cbor
        << " next [";
    for (std::size_t i = 0; i < snapshot.next.size(); ++i) out << (i == 0 ? "" : ", ") << snapshot.next[i];
    return out << "] " << snapshot.config.checkpoint_id.toString();
}

}  // namespace stategraph
