#include "inspect/run_chart.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include <stategraph/timeline.hpp>

#include "inspect/store.hpp"
#include "inspect/supersteps.hpp"
#include "inspect/views.hpp"

namespace stategraph::inspect {
namespace {

using Time = std::chrono::system_clock::time_point;

/// A shorter time in which nothing ran is not a wait.
constexpr std::chrono::milliseconds wait_min{1};
constexpr std::size_t depth_max = 8;

/// The id of the task whose log this is: "outer:ID|inner:ID" of a subgraph, "outer:ID|calls:ID:key" of a graph that a
/// node calls. Empty for a log that lives with its thread ("inner", "inner:=key": PER_THREAD, perThread): it is no
/// task's, so a chart does not have it.
std::string taskOfLog(const std::string& ns) {
    const std::size_t bar = ns.rfind('|');
    const std::size_t colon = ns.find(':', bar == std::string::npos ? 0 : bar + 1);
    if (colon == std::string::npos || ns.compare(colon, 2, ":=") == 0) return {};
    const std::size_t end = ns.find(':', colon + 1);
    return ns.substr(colon + 1, end == std::string::npos ? end : end - colon - 1);
}

/// The newest supersteps of a branch, oldest first.
struct Branch {
    std::vector<Superstep> steps;
    bool is_cut = false;
};

class Chart {
public:
    Chart(BaseCheckpointSaver& saver, const ThreadId& thread, const ChartLimits& limits)
        : saver_(saver), thread_(thread), limits_(limits) {
        for (std::string& ns : readNamespaces(saver, thread)) {
            std::string id = taskOfLog(ns);
            if (!id.empty()) logs_.emplace(std::move(id), std::move(ns));
        }
    }

    RunChart read(const Config& checkpoint) {
        Branch branch = branchTo(checkpoint);
        if (branch.steps.empty()) throw NotFound{"thread '" + thread_.toString() + "' has no such checkpoint"};
        chart_.is_cut = branch.is_cut;
        chart_.supersteps = branch.steps.size();
        add(branch, checkpoint.checkpoint_ns, 0);
        finish(branch);
        return std::move(chart_);
    }

private:
    // From a checkpoint, or the newest, back to the input that began the run.
    Branch branchTo(const Config& checkpoint) {
        Branch branch;
        std::size_t tasks = 0;
        SuperstepQuery query{.limit = 20};  // a superstep may have many tasks
        if (checkpoint.checkpoint_id) query.before = justAfter(checkpoint.checkpoint_id);
        CheckpointId wanted = checkpoint.checkpoint_id;
        for (;;) {
            SuperstepPage page = readSupersteps(saver_, checkpoint, query);
            looked_at_ += page.rows.size();
            for (Superstep& step : page.rows) {
                if (wanted && step.entry.id != wanted) continue;
                wanted = step.entry.parent;
                const bool is_damaged = !step.entry.damaged.empty();  // then its parent is not known
                const bool is_first = !is_damaged && (step.entry.source == Source::input || !wanted);
                tasks += step.ran.size() + step.due.size();
                branch.steps.push_back(std::move(step));
                if (is_first) return ordered(std::move(branch));
                if (!is_damaged && tasks <= room()) continue;
                branch.is_cut = true;
                return ordered(std::move(branch));
            }
            if (!page.next) return ordered(std::move(branch));  // older ones were pruned
            if (looked_at_ >= limits_.entries) {
                branch.is_cut = true;
                return ordered(std::move(branch));
            }
            query.before = page.next;
        }
    }
    static Branch ordered(Branch branch) {
        std::ranges::reverse(branch.steps);
        return branch;
    }

    // From the end of the branch to its beginning, in which order the bars are until finish(): so a chart that is too
    // long leaves out the beginning.
    void add(const Branch& branch, const std::string& ns, std::size_t depth) {
        if (branch.steps.empty()) return;
        const Superstep& last = branch.steps.back();
        addTasks(last, last.due, ns, depth, last.entry.created_at);
        for (std::size_t i = branch.steps.size(); i-- > 0;) {
            const Time before = i > 0 ? branch.steps[i - 1].entry.created_at : Time{};
            addTasks(branch.steps[i], branch.steps[i].ran, ns, depth, before);
            addWait(branch.steps[i], ns, depth, before);
        }
    }

    // Between the checkpoint before and the first task of the superstep.
    void addWait(const Superstep& step, const std::string& ns, std::size_t depth, Time before) {
        if (step.ran.empty() || before == Time{}) return;
        Time begin = step.entry.created_at;
        bool has_asked = false;
        for (const StepTask& each : step.ran) {
            if (each.task.started_at) begin = std::min(begin, *each.task.started_at);
            has_asked = has_asked || !each.task.interrupts.empty();
        }
        if (step.entry.took) begin = std::min(begin, step.entry.created_at - *step.entry.took);
        if (begin - before < wait_min) return;
        ChartBar bar = barOf(step, ns, depth, before);
        bar.kind = "wait";
        bar.name = has_asked ? "waited for an answer" : "nothing ran";
        bar.state = "over";
        bar.took_us = usOf(begin) - usOf(before);
        if (hasRoom()) chart_.bars.push_back(std::move(bar));
    }

    void addTasks(const Superstep& step, const std::vector<StepTask>& tasks, const std::string& ns, std::size_t depth,
                  Time otherwise) {
        std::vector<const StepTask*> sorted;
        for (const StepTask& each : tasks) sorted.push_back(&each);
        const auto begin = [&](const StepTask* each) { return each->task.started_at.value_or(otherwise); };
        std::ranges::stable_sort(sorted, {}, begin);
        for (std::size_t i = sorted.size(); i-- > 0;) {
            if (!hasRoom()) return;
            const StepTask* const each = sorted[i];
            const StepTaskView view = viewOf(*each);
            ChartBar bar = barOf(step, ns, depth, begin(each) == Time{} ? step.entry.created_at : begin(each));
            bar.name = view.name;
            bar.took_us = view.took_us;
            bar.state = view.state;
            bar.attempts = view.attempts;
            bar.error = view.error;
            ++around_;  // a subgraph's bars leave the place of its task's
            addSubgraphs(view.id, depth);
            --around_;
            chart_.bars.push_back(std::move(bar));
        }
    }

    void addSubgraphs(const std::string& task_id, std::size_t depth) {
        const auto [first, end] = logs_.equal_range(task_id);
        for (auto log = end; log != first;) {
            --log;
            if (depth + 1 >= depth_max || looked_at_ >= limits_.entries) {
                chart_.is_cut = true;
                return;
            }
            if (!hasRoom()) return;
            const Branch branch = branchTo({.thread_id = thread_, .checkpoint_id = {}, .checkpoint_ns = log->second});
            chart_.is_cut = chart_.is_cut || branch.is_cut;
            add(branch, log->second, depth + 1);
        }
    }

    static ChartBar barOf(const Superstep& step, const std::string& ns, std::size_t depth, Time begin) {
        return {.depth = depth,
                .name = {},
                .checkpoint_id = step.entry.id.toString(),
                .checkpoint_ns = ns,
                .step = step.entry.step,
                .begin_us = usOf(begin),
                .took_us = {},
                .state = {},
                .error = {}};
    }

    std::size_t room() const { return limits_.bars - std::min(limits_.bars, chart_.bars.size() + around_); }

    // Asked before a bar is added.
    bool hasRoom() {
        if (room() > 0) return true;
        chart_.is_cut = true;
        return false;
    }

    // The oldest bar becomes the first, and times become those since the beginning.
    void finish(const Branch& branch) {
        std::ranges::reverse(chart_.bars);
        std::int64_t start = usOf(branch.steps.front().entry.created_at);
        std::int64_t end = usOf(branch.steps.back().entry.created_at);
        for (const ChartBar& bar : chart_.bars) {
            start = std::min(start, bar.begin_us);
            end = std::max(end, bar.begin_us + bar.took_us.value_or(0));
        }
        for (ChartBar& bar : chart_.bars) bar.begin_us -= start;
        chart_.length_us = end - start;
        chart_.begins_at = isoTime(Time(std::chrono::microseconds(start)));
    }

    BaseCheckpointSaver& saver_;
    const ThreadId thread_;
    const ChartLimits limits_;
    std::multimap<std::string, std::string> logs_;  // by the id of the task that runs or calls their graphs
    std::size_t looked_at_ = 0;
    std::size_t around_ = 0;  // tasks around the branch that is being added
    RunChart chart_;
};

}  // namespace

RunChart readRunChart(BaseCheckpointSaver& saver, const Config& checkpoint, const ChartLimits& limits) {
    return Chart(saver, checkpoint.thread_id, limits).read(checkpoint);
}

}  // namespace stategraph::inspect
