#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/codec_std.hpp>
#include <stategraph/config.hpp>
#include <stategraph/fields.hpp>
#include <stategraph/saver.hpp>

// When the tasks of one run ran, with those of its subgraphs and the times in which nothing ran.
namespace stategraph::inspect {

/// A task, or a time in which the run waited.
struct ChartBar {
    /// How many subgraphs are around it.
    std::uint64_t depth = 0;
    /// task, or wait.
    std::string kind = "task";
    /// A task's name, as in the timeline; what a run waited for.
    std::string name;
    /// The checkpoint that the task led to, or at which it is due, and the namespace of its log.
    std::string checkpoint_id;
    std::string checkpoint_ns;
    std::int64_t step = 0;
    /// Microseconds since the chart's beginning.
    std::int64_t begin_us = 0;
    /// None: it has not ended, or the log does not say how long it took.
    std::optional<std::int64_t> took_us;
    /// done, failed, asks or due; of a wait: over or open.
    std::string state;
    std::uint64_t attempts = 1;
    std::string error;
    static constexpr auto fields() {
        return stategraph::fields(field("depth", &ChartBar::depth), field("kind", &ChartBar::kind),
                                  field("name", &ChartBar::name), field("checkpoint_id", &ChartBar::checkpoint_id),
                                  field("checkpoint_ns", &ChartBar::checkpoint_ns), field("step", &ChartBar::step),
                                  field("begin_us", &ChartBar::begin_us), field("took_us", &ChartBar::took_us),
                                  field("state", &ChartBar::state), field("attempts", &ChartBar::attempts),
                                  field("error", &ChartBar::error));
    }
};

struct RunChart {
    std::string begins_at;
    /// From its beginning to the last thing that is known.
    std::int64_t length_us = 0;
    std::uint64_t supersteps = 0;
    /// In the order in which they began; those of a subgraph follow its task.
    std::vector<ChartBar> bars;
    /// Whether the run has more supersteps, tasks or subgraphs than a chart shows, or a checkpoint that cannot be read:
    /// then its beginning is missing, or something within it.
    bool is_cut = false;
    static constexpr auto fields() {
        return stategraph::fields(field("begins_at", &RunChart::begins_at), field("length_us", &RunChart::length_us),
                                  field("supersteps", &RunChart::supersteps), field("bars", &RunChart::bars),
                                  field("is_cut", &RunChart::is_cut));
    }
};

/// What a chart may show and read.
struct ChartLimits {
    std::size_t bars = 1000;
    std::size_t entries = 5000;  // of logs, subgraphs included
};

/// The run that led to a checkpoint, or to the log's newest: from the last input of its branch. Subgraphs whose logs
/// live with the thread (PER_THREAD, perThread) are not in it: the names of their logs name no task. Errors: those of
/// readTimeline; NotFound if the log has no such checkpoint. Cost: the records of its supersteps and of its subgraphs'
/// logs, within the limits, and a listing of the thread's logs.
RunChart readRunChart(BaseCheckpointSaver& saver, const Config& checkpoint, const ChartLimits& limits = {});

}  // namespace stategraph::inspect
