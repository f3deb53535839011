#include <algorithm>

#include <stategraph/detail/table.hpp>

#include "src/stream/events.hpp"
#include "src/value/build_value.hpp"

// Creates the data of events that can also be created from stored checkpoints.
namespace stategraph::engine {
namespace {

using checkpoint::WriteKind;

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

// Encodes what the library says about a checkpoint and what its run adds, in one map in the order of encoded keys. Keys
// of a run never equal keys of the library.
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
    std::sort(entries.begin(), entries.end(),
              [](const Entry& a, const Entry& b) { return detail::storedBefore(a.key, b.key); });
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
    return buildValue([&](Encoder& out) {
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

}  // namespace stategraph::engine
