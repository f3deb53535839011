#include "workflow/listing.hpp"

#include <algorithm>

#include <stategraph/error.hpp>

namespace stategraph::workflow {
namespace {

constexpr std::size_t page_size = 256;

bool isAskedFor(const RunQuery& query, const ListedRun& run) {
    if (!query.status.empty() && std::ranges::find(query.status, run.status) == query.status.end()) return false;
    return std::ranges::all_of(query.metadata, [&](const auto& wanted) {
        const auto found = run.metadata.find(wanted.first);
        return found != run.metadata.end() && found->second == wanted.second;
    });
}

bool isInTime(const RunQuery& query, std::chrono::system_clock::time_point changed_at) {
    if (query.changed_after && changed_at <= *query.changed_after) return false;
    return !query.changed_before || changed_at < *query.changed_before;
}

// None: it is not asked for. One that cannot be read never stops the others.
std::optional<ListedRun> runOf(const Flow::Impl& flow, const RunQuery& query, ListedRun run,
                               const std::string& damage) {
    const bool any_will_do = query.status.empty() && query.metadata.empty();
    try {
        if (!damage.empty()) throw CorruptCheckpointError(damage);
        const RunView view = flow.view(run.run_id);
        run.status = view.status;
        run.metadata = view.metadata;
        if (!isAskedFor(query, run)) return {};
    } catch (const Error& error) {
        run.damage = error.message();
        if (!any_will_do) return {};
    }
    return run;
}

}  // namespace

std::vector<ListedRun> listRuns(const Flow::Impl& flow, const RunQuery& query) {
    if (query.limit == 0U) throw InvalidArgumentError("a list of runs needs a limit of at least 1, or none");
    std::vector<ListedRun> runs;
    if (!flow.saver) return runs;
    const std::string prefix = flow.threadNameOf("");
    ListQuery page{.checkpoint_ns = "", .limit = page_size, .heads = true};
    if (!query.after_run_id.empty()) page.after_thread_id = flow.threadNameOf(query.after_run_id);
    for (bool is_last = false; !is_last;) {
        const std::vector<ListedCheckpoint> heads = flow.saver->list(page);
        is_last = heads.size() < page_size;
        if (!heads.empty()) page.after_thread_id = heads.back().thread_id;
        for (const ListedCheckpoint& head : heads) {
            if (!head.thread_id.starts_with(prefix)) continue;
            ListedRun listed{
                .run_id = head.thread_id.substr(prefix.size()), .changed_at = head.id.time(), .checkpoint_id = head.id};
            if (!isInTime(query, listed.changed_at)) continue;
            auto run = runOf(flow, query, std::move(listed), head.damaged);
            if (run) runs.push_back(std::move(*run));
            if (query.limit && runs.size() == *query.limit) return runs;
        }
    }
    return runs;
}

}  // namespace stategraph::workflow
