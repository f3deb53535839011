#include "workflow/listing.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <stategraph/error.hpp>
#include <stategraph/thread_summary.hpp>

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

// Returns the run, or none if the query does not ask for it. A run that cannot be read never stops the listing of
// others.
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

// Returns whether a run with this status has something due, so that its thread is open.
bool isOfOpenThread(RunStatus status) noexcept {
    return status == RunStatus::running || status == RunStatus::waiting || status == RunStatus::suspended;
}

// Returns whether a run of an open thread may be requested, as far as the index of threads says: a run with open
// questions is suspended, and one without them runs or sleeps.
bool mayBeRequested(const RunQuery& query, const IndexedThread& thread) {
    if (thread.outlook.status == Status::in_flight) return true;
    if (!isInTime(query, thread.place.since.time())) return false;
    const auto summary = thread.summary ? readThreadSummary(*thread.summary) : std::nullopt;
    if (!summary) return true;
    const bool wants_suspended = std::ranges::find(query.status, RunStatus::suspended) != query.status.end();
    if (!summary->questions.empty() || !summary->has_all_questions) return wants_suspended;
    return !std::ranges::all_of(query.status, [](RunStatus each) { return each == RunStatus::suspended; });
}

/// Reads the heads of a workflow's threads in the order of listings, in pages. If only runs of open threads are
/// requested and the saver has an index of threads, it reads only those that may be requested.
class Heads {
public:
    Heads(const Flow::Impl& flow, const RunQuery& query)
        : saver_(*flow.saver),
          query_(query),
          prefix_(flow.threadNameOf("")),
          is_open_(!query.status.empty() && std::ranges::all_of(query.status, isOfOpenThread) &&
                   saver_.openThreads({.limit = 0}).has_value()) {
        if (!query.after_run_id.empty()) after_ = flow.threadNameOf(query.after_run_id);
    }

    bool isLast() const noexcept { return is_last_; }
    std::vector<ListedCheckpoint> next() { return is_open_ ? nextOpen() : nextOfAll(); }
    std::string_view prefix() const noexcept { return prefix_; }

private:
    std::vector<ListedCheckpoint> nextOfAll() {
        auto heads = saver_.list({.checkpoint_ns = "", .limit = page_size, .heads = true, .after_thread_id = after_});
        is_last_ = heads.size() < page_size;
        if (!heads.empty()) after_ = heads.back().thread_id;
        std::erase_if(heads, [&](const ListedCheckpoint& head) { return !head.thread_id.starts_with(prefix_); });
        return heads;
    }
    std::vector<ListedCheckpoint> nextOpen() {
        const auto open = saver_.openThreads({.after_thread_id = after_, .limit = page_size, .with_summaries = true});
        is_last_ = !open || open->size() < page_size;
        if (!open || open->empty()) return {};
        after_ = open->back().place.thread_id;
        ListQuery query{.checkpoint_ns = "", .heads = true};
        for (const IndexedThread& thread : *open) {
            const bool is_worth = thread.place.thread_id.starts_with(prefix_) && mayBeRequested(query_, thread);
            if (is_worth) query.thread_ids.push_back(thread.place.thread_id);
        }
        return query.thread_ids.empty() ? std::vector<ListedCheckpoint>() : saver_.list(query);
    }

    BaseCheckpointSaver& saver_;
    const RunQuery& query_;
    std::string prefix_;
    bool is_open_;
    std::optional<std::string> after_ = {};
    bool is_last_ = false;
};

}  // namespace

std::vector<ListedRun> listRuns(const Flow::Impl& flow, const RunQuery& query) {
    if (query.limit == 0U) throw InvalidArgumentError("a list of runs needs a limit of at least 1, or none");
    std::vector<ListedRun> runs;
    if (!flow.saver) return runs;
    Heads heads(flow, query);
    while (!heads.isLast()) {
        for (const ListedCheckpoint& head : heads.next()) {
            ListedRun listed{.run_id = head.thread_id.substr(heads.prefix().size()),
                             .changed_at = head.id.time(),
                             .checkpoint_id = head.id};
            if (!isInTime(query, listed.changed_at)) continue;
            auto run = runOf(flow, query, std::move(listed), head.damaged);
            if (run) runs.push_back(std::move(*run));
            if (query.limit && runs.size() == *query.limit) return runs;
        }
    }
    return runs;
}

}  // namespace stategraph::workflow
