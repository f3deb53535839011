#include <algorithm>
#include <deque>
#include <utility>

#include <stategraph/error.hpp>
#include <stategraph/record.hpp>
#include <stategraph/saver_rules.hpp>

#include "storage/saver/damaged.hpp"
#include "storage/saver/prune_rules.hpp"

namespace stategraph::checkpoint {

struct ThreadRows::Rows {
    struct Log {
        std::string checkpoint_ns;
        LogLinks links;
        RecordLinks newest;
    };

    bool isUnused(std::chrono::system_clock::time_point since) const;

    std::string thread_id;
    std::deque<Log> logs;  // whose links refer to their names
};

bool ThreadRows::Rows::isUnused(std::chrono::system_clock::time_point since) const {
    ThreadUse use(since);
    for (const Log& log : logs) {
        if (log.links.commits.empty()) continue;
        use.add(log.checkpoint_ns, log.links.commits.back().id, log.newest,
                [&] { return !log.links.interrupted.empty(); });
    }
    return !use.isUsed();
}

ThreadRows::ThreadRows(std::string_view thread_id) : rows_(new Rows{std::string(thread_id), {}}) {}
ThreadRows::~ThreadRows() = default;

void ThreadRows::addLog(std::string_view checkpoint_ns) {
    Rows::Log& log = rows_->logs.emplace_back();
    log.checkpoint_ns = checkpoint_ns;
    log.links.checkpoint_ns = log.checkpoint_ns;
    log.links.thread_id = rows_->thread_id;
}

void ThreadRows::addCommit(CheckpointId id, std::string_view bytes) {
    Rows::Log& log = rows_->logs.back();
    log.newest = readLinks({rows_->thread_id, log.checkpoint_ns, id}, bytes);
    log.links.commits.push_back(linksOf(id, log.newest, bytes.size()));
}

void ThreadRows::addWrite(CheckpointId id, std::string_view path, std::string_view bytes) {
    Rows::Log& log = rows_->logs.back();
    if (hasOpenInterrupt({rows_->thread_id, log.checkpoint_ns, id, path}, bytes)) log.links.interrupted.push_back(id);
}

ThreadPlan ThreadRows::plan(const PruneRequest& request, const ReadRecord& read) const {
    checkPrune(request);
    ThreadPlan plan;
    if (request.threads_unused_since && rows_->isUnused(*request.threads_unused_since)) {
        plan.drops_thread = true;
        for (const Rows::Log& log : rows_->logs) plan.dropped_commits += log.links.commits.size();
        return plan;
    }
    if (!dropsCommits(request)) return plan;
    std::vector<LogLinks> logs;
    for (const Rows::Log& log : rows_->logs) {
        if (!log.links.commits.empty()) logs.push_back(log.links);
    }
    std::vector<LogPlan> planned = ThreadPrune(request).plan(logs, read);
    for (std::size_t i = 0; i < logs.size(); ++i) {
        LogPlan& log = planned[i];
        if (log.dropped.empty()) continue;
        log.checkpoint_ns = logs[i].checkpoint_ns;
        log.is_whole = log.dropped.size() == logs[i].commits.size();
        plan.dropped_commits += log.dropped.size();
        plan.logs.push_back(std::move(log));
    }
    return plan;
}

std::size_t pruneThreads(const PruneRequest& request,
                         const std::function<std::optional<std::string>(const std::optional<std::string>& last)>& next,
                         const std::function<std::size_t(const std::string& thread_id)>& prune_thread) {
    checkPrune(request);
    if (request.thread_id) return prune_thread(*request.thread_id);
    std::size_t dropped = 0;
    for (auto thread_id = next(std::nullopt); thread_id; thread_id = next(thread_id))
        pruneOrNote(request, *thread_id, [&] { dropped += prune_thread(*thread_id); });
    return dropped;
}

}  // namespace stategraph::checkpoint
