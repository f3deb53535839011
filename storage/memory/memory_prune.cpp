#include "storage/memory/memory_prune.hpp"

#include <algorithm>
#include <chrono>

#include <stategraph/error.hpp>
#include <stategraph/record.hpp>

namespace stategraph::checkpoint {
namespace {

bool hasOpenInterrupts(std::string_view thread_id, std::string_view ns, const Log& log) {
    return std::any_of(log.pending.begin(), log.pending.end(), [&](const auto& write) {
        return hasOpenInterrupt({thread_id, ns, write.first.id, write.first.path}, write.second);
    });
}

LogLinks readLog(std::string_view thread_id, std::string_view ns, const Log& log) {
    LogLinks links{.checkpoint_ns = ns, .commits = {}, .interrupted = {}, .thread_id = thread_id};
    links.commits.reserve(log.commits.size());
    for (const auto& commit : log.commits) {
        links.commits.push_back(linksOf(commit.id, readLinks({thread_id, ns, commit.id}, commit.bytes()), commit.size));
    }
    for (const auto& [key, bytes] : log.pending) {
        if (hasOpenInterrupt({thread_id, ns, key.id, key.path}, bytes)) links.interrupted.push_back(key.id);
    }
    return links;
}

void pruneLog(const LogPrune& prune) {
    Log& log = prune.log;
    const auto& dropped = prune.plan.dropped;
    const auto& rewritten = prune.plan.rewritten;
    if (dropped.empty()) return;
    const auto is_dropped = [&ids = dropped](CheckpointId id) {
        return std::binary_search(ids.begin(), ids.end(), id);
    };
    Log kept;  // the old bytes are freed with the old log
    if (dropped.size() < log.commits.size()) {
        kept.reserve(log.commits.size() - dropped.size());
        auto anew = rewritten.begin();
        for (std::size_t i = 0; i < log.commits.size(); ++i) {
            const CommitLinks& commit = prune.commits[i];
            if (is_dropped(commit.id)) continue;
            const bool is_anew = anew != rewritten.end() && anew->id == commit.id;
            const std::string_view row = is_anew ? std::string_view(anew->bytes) : log.commits[i].bytes();
            kept.append(commit.id, is_anew ? commit.id : commit.base, row, kept.bytes.take(row.size()));
            if (is_anew) ++anew;
        }
        std::erase_if(log.pending, [&](const auto& write) { return is_dropped(write.first.id); });
        kept.pending = std::move(log.pending);
    }
    log = std::move(kept);
}

}  // namespace

bool isUnused(Thread& thread, std::chrono::system_clock::time_point since) {
    ThreadUse use(since);
    bool is_used = false;
    thread.forEachLog([&](std::string_view ns, const Log& log) {
        if (is_used || log.commits.empty()) return;
        const auto& head = log.commits.back();
        use.add(ns, head.id, readLinks({thread.name, ns, head.id}, head.bytes()),
                [&] { return hasOpenInterrupts(thread.name, ns, log); });
        is_used = use.isUsed();
    });
    return !use.isUsed();
}

bool isFinished(Thread& thread) {
    try {
        return isUnused(thread, std::chrono::system_clock::time_point::max());
    } catch (const CorruptCheckpointError&) {
        return false;
    }
}

std::vector<LogPrune> planThread(Thread& thread, const PruneRequest& request) {
    std::vector<Log*> logs;
    std::vector<LogLinks> links;
    thread.forEachLog([&](std::string_view ns, Log& log) {
        logs.push_back(&log);
        links.push_back(readLog(thread.name, ns, log));
    });
    const auto read = [&](std::string_view ns, CheckpointId id) {
        const Log& log =
            *logs[static_cast<std::size_t>(std::ranges::find(links, ns, &LogLinks::checkpoint_ns) - links.begin())];
        return std::string(log.commits[log.placeOf(id)].bytes());
    };
    std::vector<LogPlan> planned = ThreadPrune(request).plan(links, read);
    std::vector<LogPrune> plans;
    for (std::size_t i = 0; i < logs.size(); ++i)
        plans.push_back({*logs[i], std::move(links[i].commits), std::move(planned[i])});
    return plans;
}

std::size_t growthOf(const std::vector<LogPrune>& plans) {
    std::size_t more = 0;
    std::size_t less = 0;
    for (const auto& [log, commits, plan] : plans) {
        for (const StoredCommit& commit : plan.rewritten) {
            more += commit.bytes.size();
            less += log.commits[log.placeOf(commit.id)].size;
        }
        for (const CheckpointId id : plan.dropped) less += log.commits[log.placeOf(id)].size;
    }
    return more - std::min(more, less);
}

std::size_t applyPrune(Thread& thread, const std::vector<LogPrune>& plans) {
    std::size_t dropped = 0;
    for (const LogPrune& prune : plans) {
        pruneLog(prune);
        dropped += prune.plan.dropped.size();
    }
    thread.dropEmptyLogs();
    return dropped;
}

}  // namespace stategraph::checkpoint
