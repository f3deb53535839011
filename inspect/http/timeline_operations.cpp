#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/timeline.hpp>

#include "inspect/condition.hpp"
#include "inspect/first_step.hpp"
#include "inspect/http/api_call.hpp"
#include "inspect/run_chart.hpp"
#include "inspect/supersteps.hpp"
#include "inspect/views.hpp"

// The operations that read a log as a whole: its supersteps, its end, the first at which a condition holds, and when
// the tasks of a run ran.
namespace stategraph::inspect {
namespace {

struct TimelineView {
    std::vector<CheckpointView> checkpoints;
    std::optional<std::string> next;
    static constexpr auto fields() {
        return stategraph::fields(field("checkpoints", &TimelineView::checkpoints), field("next", &TimelineView::next));
    }
};
struct HeadView {
    std::optional<std::string> checkpoint_id;
    std::uint64_t newer = 0;
    std::string mark;
    bool running = false;
    std::string run_error;
    static constexpr auto fields() {
        return stategraph::fields(field("checkpoint_id", &HeadView::checkpoint_id), field("newer", &HeadView::newer),
                                  field("mark", &HeadView::mark), field("running", &HeadView::running),
                                  field("run_error", &HeadView::run_error));
    }
};

}  // namespace

serve::HandlerAnswer timeline(ApiCall& call) {
    SuperstepQuery query{.before = {},
                         .limit = call.number("limit", 500, 1, 2000),
                         .node = call.text("node"),
                         .status = call.text("status"),
                         .text = call.text("text")};
    if (const auto before = call.text("before"); !before.empty()) query.before = CheckpointId(before);
    if (const auto from = call.text("from"); !from.empty()) {
        if (query.before) throw InvalidArgumentError("give either before or from, not both");
        query.before = justAfter(CheckpointId(from));
    }
    const SuperstepPage page = readSupersteps(call.api.saver(), call.config(), query);
    if (page.rows.empty() && query.before.empty() &&
        readTimeline(call.api.saver(), call.config(), {.limit = 1}).empty())
        call.failMissing();
    TimelineView view;
    for (const Superstep& step : page.rows) view.checkpoints.push_back(viewOf(step));
    if (page.next) view.next = page.next.toString();
    return json(view);
}

serve::HandlerAnswer head(ApiCall& call) {
    const Config config = call.config();
    HeadView view;
    auto entries = readTimeline(call.api.saver(), config, {.before = {}, .limit = 1});
    if (!entries.empty()) {
        const TimelineEntry newest = entries.front();
        view.checkpoint_id = newest.id.toString();
        view.mark = newest.id.toString() + ":" + std::to_string(newest.writes_bytes) + ":" +
                    std::to_string(newest.open_questions) + ":" + std::to_string(newest.records);
        const std::string after = call.text("after");
        if (!after.empty() && after != *view.checkpoint_id) {
            const CheckpointId seen(after);
            entries = readTimeline(call.api.saver(), config, {.before = {}, .limit = 100});
            view.newer = static_cast<std::uint64_t>(
                std::ranges::count_if(entries, [&](const TimelineEntry& entry) { return entry.id > seen; }));
        }
    }
    const PageRun run = call.api.runs().last(call.thread);
    view.running = !run.has_ended;
    view.run_error = run.error;
    return json(view);
}

serve::HandlerAnswer firstStep(ApiCall& call) {
    if (!call.api.redaction().isEmpty())
        throw Refused{403, "a condition could tell what is redacted here; use 'stategraph find' on the store"};
    const Condition condition(call.text("condition"));
    const FirstStepLimits limits{.checkpoints = call.number("limit", 10'000, 1, 10'000),
                                 .entries = first_step_entries_max,
                                 .states_bytes = first_step_bytes_max,
                                 .reads = first_step_reads_max};
    const std::string from = call.text("from");
    FirstStepSearch search = findFirstStep(call.api.saver(), call.existing(), condition, limits,
                                           from.empty() ? CheckpointId() : CheckpointId(from));
    if (search.found) {  // the checkpoint's pages have the values
        search.found->values.clear();
        search.found->before.clear();
    }
    return json(search);
}

serve::HandlerAnswer chart(ApiCall& call) {
    return json(readRunChart(call.api.saver(), call.existing(), {.bars = call.number("limit", 1000, 1, 5000)}));
}

}  // namespace stategraph::inspect
