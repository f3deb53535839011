#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/causes.hpp>
#include <stategraph/checkpoint_changes.hpp>
#include <stategraph/codec_std.hpp>
#include <stategraph/fields.hpp>
#include <stategraph/graph_description.hpp>
#include <stategraph/timeline.hpp>
#include <stategraph/unfinished.hpp>

#include "inspect/supersteps.hpp"

// What the commands show, as data. Each view is printed as text, or with --json as JSON by its table of fields.
namespace stategraph::inspect {

/// The number of threads, or checkpoints, that are read at a time.
inline constexpr std::size_t rows_a_page = 500;

/// Returns text such as "2026-11-23T21:40:05.123Z".
std::string isoTime(std::chrono::system_clock::time_point time);
/// Microseconds since 1970.
std::int64_t usOf(std::chrono::system_clock::time_point time);

/// Parses a value from the command line: JSON, or the text itself if it is not JSON. So `yes` is a text, and `true` is
/// not.
Value valueOf(const std::string& text);

struct ThreadView {
    std::string thread_id;
    /// The word of a Status.
    std::string status;
    std::int64_t step = 0;
    std::string checkpoint_id;
    std::string updated_at;
    std::vector<std::string> next;
    /// The open questions, as they were asked.
    std::vector<Value> questions;
    std::string error;
    std::optional<std::string> wake_at;
    /// The metadata of the newest checkpoint.
    std::map<std::string, Value> metadata;
    static constexpr auto fields() {
        return stategraph::fields(field("thread_id", &ThreadView::thread_id), field("status", &ThreadView::status),
                                  field("step", &ThreadView::step), field("checkpoint_id", &ThreadView::checkpoint_id),
                                  field("updated_at", &ThreadView::updated_at), field("next", &ThreadView::next),
                                  field("questions", &ThreadView::questions), field("error", &ThreadView::error),
                                  field("wake_at", &ThreadView::wake_at), field("metadata", &ThreadView::metadata));
    }
};

struct WrittenView {
    std::string channel;
    std::uint64_t bytes = 0;
    static constexpr auto fields() {
        return stategraph::fields(field("channel", &WrittenView::channel), field("bytes", &WrittenView::bytes));
    }
};

/// A task that ran, or is due.
struct StepTaskView {
    std::string id;
    /// The node, and for a Send its number, such as "price #0".
    std::string name;
    std::string node;
    /// done, failed, asks or due.
    std::string state;
    std::optional<std::int64_t> took_us;
    std::optional<std::string> began_at;
    std::uint64_t attempts = 1;
    std::string error;
    std::uint64_t questions = 0;  // that it asked, answered or not
    std::vector<WrittenView> wrote;
    static constexpr auto fields() {
        return stategraph::fields(field("id", &StepTaskView::id), field("name", &StepTaskView::name),
                                  field("node", &StepTaskView::node), field("state", &StepTaskView::state),
                                  field("took_us", &StepTaskView::took_us), field("began_at", &StepTaskView::began_at),
                                  field("attempts", &StepTaskView::attempts), field("error", &StepTaskView::error),
                                  field("questions", &StepTaskView::questions), field("wrote", &StepTaskView::wrote));
    }
};

StepTaskView viewOf(const StepTask& task);

/// A checkpoint with the superstep that led to it.
struct CheckpointView {
    std::string checkpoint_id;
    std::optional<std::string> parent;
    std::int64_t step = 0;
    std::string source;
    std::string created_at;
    std::vector<StepTaskView> ran;  // the first of them
    std::uint64_t ran_count = 0;
    std::uint64_t supersteps = 1;
    std::vector<WrittenView> wrote;
    std::vector<std::string> next;
    std::vector<StepTaskView> due;  // the first of them: failed ones, those that ask, due ones, those that are done
    std::uint64_t due_count = 0;
    std::uint64_t open_questions = 0;
    std::optional<std::int64_t> took_us;
    std::uint64_t bytes = 0;
    bool is_whole = false;
    bool is_sealed = false;
    std::string error;
    std::string damaged;
    static constexpr auto fields() {
        return stategraph::fields(
            field("checkpoint_id", &CheckpointView::checkpoint_id), field("parent", &CheckpointView::parent),
            field("step", &CheckpointView::step), field("source", &CheckpointView::source),
            field("created_at", &CheckpointView::created_at), field("ran", &CheckpointView::ran),
            field("ran_count", &CheckpointView::ran_count), field("supersteps", &CheckpointView::supersteps),
            field("wrote", &CheckpointView::wrote), field("next", &CheckpointView::next),
            field("due", &CheckpointView::due), field("due_count", &CheckpointView::due_count),
            field("open_questions", &CheckpointView::open_questions), field("took_us", &CheckpointView::took_us),
            field("bytes", &CheckpointView::bytes), field("is_whole", &CheckpointView::is_whole),
            field("is_sealed", &CheckpointView::is_sealed), field("error", &CheckpointView::error),
            field("damaged", &CheckpointView::damaged));
    }
};
/// The most tasks, and the most channels, that a row lists.
inline constexpr std::size_t row_items_max = 50;
CheckpointView viewOf(const Superstep& step);

/// One channel of a difference, or one operation of a commit.
struct ChangeView {
    std::string channel;
    /// The text of `toString(Change)`, or "differs" between two checkpoints that are not neighbours.
    std::string change;
    std::optional<Value> before;
    std::optional<Value> after;
    static constexpr auto fields() {
        return stategraph::fields(field("channel", &ChangeView::channel), field("change", &ChangeView::change),
                                  field("before", &ChangeView::before), field("after", &ChangeView::after));
    }
};

struct CauseView {
    std::string kind;
    std::vector<std::string> from;
    /// For a join: the step at which each source in `from` had arrived, if the log says it.
    std::map<std::string, std::int64_t> arrived;
    std::optional<std::uint64_t> index;
    /// A phrase such as "the edge from plan".
    std::string text;
    static constexpr auto fields() {
        return stategraph::fields(field("kind", &CauseView::kind), field("from", &CauseView::from),
                                  field("arrived", &CauseView::arrived), field("index", &CauseView::index),
                                  field("text", &CauseView::text));
    }
};
struct TaskCausesView {
    std::string task_id;
    std::string name;
    std::string path;
    std::vector<CauseView> causes;
    static constexpr auto fields() {
        return stategraph::fields(field("task_id", &TaskCausesView::task_id), field("name", &TaskCausesView::name),
                                  field("path", &TaskCausesView::path), field("causes", &TaskCausesView::causes));
    }
};
TaskCausesView viewOf(const TaskCauses& task);

struct WriterView {
    std::string checkpoint_id;
    std::int64_t step = 0;
    std::string source;
    std::string change;
    Value value;
    std::vector<std::string> writers;
    static constexpr auto fields() {
        return stategraph::fields(field("checkpoint_id", &WriterView::checkpoint_id), field("step", &WriterView::step),
                                  field("source", &WriterView::source), field("change", &WriterView::change),
                                  field("value", &WriterView::value), field("writers", &WriterView::writers));
    }
};
/// Names the writers as `graph` does, the graph of the checkpoint at which the history begins, if it is known.
WriterView viewOf(const ChannelHistoryEntry& entry, const std::optional<GraphDescription>& graph);

struct DamagedView {
    std::string thread_id;
    std::string why;
    static constexpr auto fields() {
        return stategraph::fields(field("thread_id", &DamagedView::thread_id), field("why", &DamagedView::why));
    }
};

}  // namespace stategraph::inspect
