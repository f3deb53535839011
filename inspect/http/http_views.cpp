#include "inspect/http/http_views.hpp"

#include <algorithm>

namespace stategraph::inspect {
namespace {

/// A larger value is replaced by its size, and the page reads it in pages.
constexpr std::size_t value_bytes_max = 100'000;

/// Graphs inside graphs are shown to this depth, and at most this many of them in one answer.
constexpr int subgraph_depth_max = 8;
constexpr std::size_t subgraphs_max = 200;

ItemView itemViewOf(const ValueItem& item) {
    return {.key = item.key,
            .kind = toString(item.kind),
            .size = item.size,
            .stored_bytes = item.stored_bytes,
            .json = item.json,
            .is_whole = item.is_whole};
}

QuestionView questionOf(const Interrupt& asked, const Redaction& redaction) {
    return {asked.id.toString(), asked.key, redaction.apply(asked.value, "")};
}

TaskView taskViewOf(const TaskSnapshot& task, const Redaction& redaction) {
    TaskView view;
    view.id = task.id.toString();
    view.name = task.name;
    view.path = task.path;
    view.finished = task.finished;
    view.error = task.error;
    view.attempts = task.attempts;
    if (task.took) view.took_us = task.took->count();
    if (task.started_at) view.began_at = isoTime(*task.started_at);
    if (!task.input.isNull()) {
        ShownValue shown = shownValue(redaction.apply(task.input, ""));
        view.input = std::move(shown.value);
        view.input_cut = std::move(shown.cut);
    }
    if (!task.result.isNull()) {
        ShownValue shown = shownValue(redaction.apply(task.result, ""));
        view.result = std::move(shown.value);
        view.result_cut = std::move(shown.cut);
    }
    for (const Interrupt& asked : task.interrupts) {
        const bool is_open = std::ranges::find(task.open_interrupts, asked) != task.open_interrupts.end();
        (is_open ? view.questions : view.answered).push_back(questionOf(asked, redaction));
    }
    return view;
}

}  // namespace

PageView viewOf(const ValuePage& page) {
    PageView view{.value = itemViewOf(page.value), .from = page.from, .items = {}};
    for (const ValueItem& item : page.items) view.items.push_back(itemViewOf(item));
    return view;
}

ShownValue shownValue(const Value& value) {
    if (value.bytes().size() <= value_bytes_max) return {value, {}};
    return {{}, itemViewOf(pageOf(value, "", {.from = 0, .count = 1, .bytes_max = 200}).value)};
}

CheckpointPageView pageViewOf(const SnapshotData& snapshot, const Redaction& redaction) {
    CheckpointPageView view;
    view.thread_id = snapshot.config.thread_id.toString();
    view.checkpoint_ns = snapshot.config.checkpoint_ns;
    view.checkpoint_id = snapshot.config.checkpoint_id.toString();
    if (snapshot.parent_config) view.parent = snapshot.parent_config->checkpoint_id.toString();
    view.step = snapshot.step;
    view.source = toString(snapshot.source);
    if (snapshot.created_at) view.created_at = isoTime(*snapshot.created_at);
    if (snapshot.took) view.took_us = snapshot.took->count();
    view.cancelled = snapshot.cancelled;
    for (const MetadataEntry& entry : snapshot.metadata)
        view.metadata[entry.key] = redaction.apply(entry.value, entry.key);
    view.next = snapshot.next;
    for (const TaskSnapshot& task : snapshot.tasks) view.tasks.push_back(taskViewOf(task, redaction));
    return view;
}

namespace {

GraphView viewWith(BaseCheckpointSaver& saver, GraphDescription graph, const Redaction& redaction, int depth,
                   std::size_t& left) {
    GraphView view;
    if (depth < subgraph_depth_max) {
        for (const DescribedNode& node : graph.nodes) {
            if (!node.subgraph || left == 0) continue;
            auto inner = readGraph(saver, *node.subgraph);
            if (!inner) continue;
            --left;
            const GraphView shown = viewWith(saver, *std::move(inner), redaction, depth + 1, left);
            view.subgraphs.emplace(node.name, parseJson(toJson(shown)));
        }
    }
    for (DescribedNode& node : graph.nodes) node.metadata = redaction.apply(std::move(node.metadata), "");
    for (DescribedChannel& channel : graph.channels) {
        if (channel.initial) channel.initial = redaction.apply(std::move(*channel.initial), channel.name);
    }
    view.fingerprint = graph.fingerprint;
    view.nodes = std::move(graph.nodes);
    view.edges = std::move(graph.edges);
    view.joins = std::move(graph.joins);
    view.branches = std::move(graph.branches);
    view.gotos = std::move(graph.gotos);
    view.channels = std::move(graph.channels);
    return view;
}

}  // namespace

GraphView graphViewOf(BaseCheckpointSaver& saver, GraphDescription graph, const Redaction& redaction) {
    std::size_t left = subgraphs_max;
    return viewWith(saver, std::move(graph), redaction, 0, left);
}

StatsView viewOf(const SaverStats& stats) {
    const StorageBytes& total = stats.total;
    StatsView view{.threads = stats.threads,
                   .checkpoints = total.commits,
                   .bytes = {{"schedule", total.schedule_bytes},
                             {"metadata", total.metadata_bytes},
                             {"input", total.input_bytes},
                             {"operations", total.operation_bytes},
                             {"snapshots", total.snapshot_bytes},
                             {"task_writes", total.task_write_bytes},
                             {"pending_writes", total.pending_write_bytes}},
                   .channels = {},
                   .largest = {},
                   .stored_bytes = stats.stored_bytes,
                   .damaged = {}};
    for (const ChannelBytes& channel : total.channels) view.channels[channel.channel] = channel.bytes;
    for (const ThreadStats& thread : stats.per_thread)
        view.largest.push_back({thread.thread_id, thread.commits, thread.bytes(), isoTime(thread.newest_at)});
    for (const DamagedThread& thread : stats.damaged) view.damaged.push_back({thread.thread_id, thread.why});
    return view;
}

}  // namespace stategraph::inspect
