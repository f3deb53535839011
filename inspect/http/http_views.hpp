#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/codec_std.hpp>
#include <stategraph/graph_description.hpp>
#include <stategraph/snapshot.hpp>
#include <stategraph/stats.hpp>
#include <stategraph/value_page.hpp>

#include "inspect/http/redaction.hpp"
#include "inspect/views.hpp"

// The responses of the HTTP interface, in addition to the views of the commands.
namespace stategraph::inspect {

struct ItemView {
    std::string key;
    std::string kind;
    std::uint64_t size = 0;
    std::uint64_t stored_bytes = 0;
    std::string json;
    bool is_whole = false;
    static constexpr auto fields() {
        return stategraph::fields(field("key", &ItemView::key), field("kind", &ItemView::kind),
                                  field("size", &ItemView::size), field("stored_bytes", &ItemView::stored_bytes),
                                  field("json", &ItemView::json), field("is_whole", &ItemView::is_whole));
    }
};
struct PageView {
    ItemView value;
    std::uint64_t from = 0;
    std::vector<ItemView> items;
    static constexpr auto fields() {
        return stategraph::fields(field("value", &PageView::value), field("from", &PageView::from),
                                  field("items", &PageView::items));
    }
};
PageView viewOf(const ValuePage& page);

/// A value or, if it is large, a description of it.
struct ShownValue {
    std::optional<Value> value;
    std::optional<ItemView> cut;
};
ShownValue shownValue(const Value& value);

struct QuestionView {
    std::string id;
    std::string key;
    Value value;
    static constexpr auto fields() {
        return stategraph::fields(field("id", &QuestionView::id), field("key", &QuestionView::key),
                                  field("value", &QuestionView::value));
    }
};

struct TaskView {
    std::string id;
    std::string name;
    std::string path;
    bool finished = false;
    std::optional<std::string> error;
    std::uint64_t attempts = 1;
    std::optional<std::int64_t> took_us;
    std::optional<std::string> began_at;
    std::optional<Value> input;
    std::optional<ItemView> input_cut;
    std::optional<Value> result;
    std::optional<ItemView> result_cut;
    std::vector<QuestionView> questions;
    std::vector<QuestionView> answered;
    std::optional<std::string> subgraph_ns;
    static constexpr auto fields() {
        return stategraph::fields(field("id", &TaskView::id), field("name", &TaskView::name),
                                  field("path", &TaskView::path), field("finished", &TaskView::finished),
                                  field("error", &TaskView::error), field("attempts", &TaskView::attempts),
                                  field("took_us", &TaskView::took_us), field("began_at", &TaskView::began_at),
                                  field("input", &TaskView::input), field("input_cut", &TaskView::input_cut),
                                  field("result", &TaskView::result), field("result_cut", &TaskView::result_cut),
                                  field("questions", &TaskView::questions), field("answered", &TaskView::answered),
                                  field("subgraph_ns", &TaskView::subgraph_ns));
    }
};

struct CheckpointPageView {
    std::string thread_id;
    std::string checkpoint_ns;
    std::string checkpoint_id;
    std::optional<std::string> parent;
    std::int64_t step = 0;
    std::string source;
    std::optional<std::string> created_at;
    std::optional<std::int64_t> took_us;
    bool cancelled = false;
    std::map<std::string, Value> metadata;
    std::vector<std::string> next;
    std::vector<TaskView> tasks;
    PageView values;
    static constexpr auto fields() {
        return stategraph::fields(
            field("thread_id", &CheckpointPageView::thread_id),
            field("checkpoint_ns", &CheckpointPageView::checkpoint_ns),
            field("checkpoint_id", &CheckpointPageView::checkpoint_id), field("parent", &CheckpointPageView::parent),
            field("step", &CheckpointPageView::step), field("source", &CheckpointPageView::source),
            field("created_at", &CheckpointPageView::created_at), field("took_us", &CheckpointPageView::took_us),
            field("cancelled", &CheckpointPageView::cancelled), field("metadata", &CheckpointPageView::metadata),
            field("next", &CheckpointPageView::next), field("tasks", &CheckpointPageView::tasks),
            field("values", &CheckpointPageView::values));
    }
};
/// Returns the view without the values.
CheckpointPageView pageViewOf(const SnapshotData& snapshot, const Redaction& redaction);

struct OperationView {
    std::string channel;
    std::string change;
    std::optional<Value> value;
    std::optional<ItemView> cut;
    static constexpr auto fields() {
        return stategraph::fields(field("channel", &OperationView::channel), field("change", &OperationView::change),
                                  field("value", &OperationView::value), field("cut", &OperationView::cut));
    }
};
struct ChangesView {
    bool is_whole = false;
    std::uint64_t supersteps = 1;
    std::uint64_t bytes = 0;
    std::vector<OperationView> changes;
    static constexpr auto fields() {
        return stategraph::fields(field("is_whole", &ChangesView::is_whole),
                                  field("supersteps", &ChangesView::supersteps), field("bytes", &ChangesView::bytes),
                                  field("changes", &ChangesView::changes));
    }
};

struct DifferenceView {
    std::string channel;
    std::optional<Value> before;
    std::optional<Value> after;
    static constexpr auto fields() {
        return stategraph::fields(field("channel", &DifferenceView::channel), field("before", &DifferenceView::before),
                                  field("after", &DifferenceView::after));
    }
};

struct WriterLineView {
    std::string checkpoint_id;
    std::int64_t step = 0;
    std::string source;
    std::string change;
    std::optional<Value> value;
    std::optional<ItemView> cut;
    std::vector<std::string> writers;
    static constexpr auto fields() {
        return stategraph::fields(field("checkpoint_id", &WriterLineView::checkpoint_id),
                                  field("step", &WriterLineView::step), field("source", &WriterLineView::source),
                                  field("change", &WriterLineView::change), field("value", &WriterLineView::value),
                                  field("cut", &WriterLineView::cut), field("writers", &WriterLineView::writers));
    }
};

/// A graph with the graphs inside it, as far as their descriptions are stored.
struct GraphView {
    GraphFingerprint fingerprint;
    std::vector<DescribedNode> nodes;
    std::vector<DescribedEdge> edges;
    std::vector<DescribedJoin> joins;
    std::vector<DescribedBranch> branches;
    std::vector<DescribedGoto> gotos;
    std::vector<DescribedChannel> channels;
    /// The graphs inside it by node, each as the JSON of a GraphView.
    std::map<std::string, Value> subgraphs;
    static constexpr auto fields() {
        return stategraph::fields(field("fingerprint", &GraphView::fingerprint), field("nodes", &GraphView::nodes),
                                  field("edges", &GraphView::edges), field("joins", &GraphView::joins),
                                  field("branches", &GraphView::branches), field("gotos", &GraphView::gotos),
                                  field("channels", &GraphView::channels), field("subgraphs", &GraphView::subgraphs));
    }
};
GraphView graphViewOf(BaseCheckpointSaver& saver, GraphDescription graph, const Redaction& redaction);

struct LargeThreadView {
    std::string thread_id;
    std::uint64_t checkpoints = 0;
    std::uint64_t bytes = 0;
    std::string newest_at;
    static constexpr auto fields() {
        return stategraph::fields(
            field("thread_id", &LargeThreadView::thread_id), field("checkpoints", &LargeThreadView::checkpoints),
            field("bytes", &LargeThreadView::bytes), field("newest_at", &LargeThreadView::newest_at));
    }
};
struct StatsView {
    std::uint64_t threads = 0;
    std::uint64_t checkpoints = 0;
    std::map<std::string, std::uint64_t> bytes;
    std::map<std::string, std::uint64_t> channels;
    /// The threads of SaverStats::per_thread.
    std::vector<LargeThreadView> largest;
    std::optional<std::uint64_t> stored_bytes;
    std::vector<DamagedView> damaged;
    static constexpr auto fields() {
        return stategraph::fields(field("threads", &StatsView::threads), field("checkpoints", &StatsView::checkpoints),
                                  field("bytes", &StatsView::bytes), field("channels", &StatsView::channels),
                                  field("largest", &StatsView::largest),
                                  field("stored_bytes", &StatsView::stored_bytes),
                                  field("damaged", &StatsView::damaged));
    }
};
StatsView viewOf(const SaverStats& stats);

}  // namespace stategraph::inspect
