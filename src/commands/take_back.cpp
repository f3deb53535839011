#include <stategraph/take_back.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <string_view>
#include <utility>

#include <stategraph/error.hpp>
#include <stategraph/record.hpp>
#include <stategraph/unfinished.hpp>

#include "src/checkpoint/paths.hpp"
#include "src/checkpoint/task_fields.hpp"
#include "src/commit/metadata.hpp"
#include "src/threads/thread_claim.hpp"

// takeBack: removes what a run has stored.
namespace stategraph {
namespace {

constexpr std::size_t page_commits = 200;

bool isOfRun(const ListedCheckpoint& commit, const Metadata& wanted) {
    const RowKey key{commit.thread_id, commit.checkpoint_ns, commit.id};
    return engine::hasMetadata(readHeader(key, commit.bytes.view()).metadata, wanted);
}

// The commits of a run, by the namespaces of their logs.
struct RunCommits {
    std::map<std::string, std::vector<CheckpointId>, std::less<>> ids;
    std::size_t count = 0;
    bool are_whole_thread = true;  // whether the thread's own log has no others

    bool contain(const LogMark& mark) const {
        const auto log = ids.find(mark.checkpoint_ns);
        return log != ids.end() && std::ranges::find(log->second, mark.head) != log->second.end();
    }
};

RunCommits findCommits(BaseCheckpointSaver& saver, const std::string& thread_id, const Metadata& wanted) {
    RunCommits found;
    for (const ListedCheckpoint& log : saver.list({.thread_id = thread_id, .heads = true})) {
        ListQuery query{.thread_id = thread_id, .checkpoint_ns = log.checkpoint_ns, .limit = page_commits};
        for (;;) {
            const std::vector<ListedCheckpoint> page = saver.list(query);
            for (const ListedCheckpoint& each : page) {
                if (isOfRun(each, wanted)) {
                    found.ids[log.checkpoint_ns].push_back(each.id);
                    ++found.count;
                } else if (log.checkpoint_ns.empty()) {
                    found.are_whole_thread = false;
                }
            }
            if (page.size() < page_commits) break;
            query.before = page.back().id;
        }
    }
    return found;
}

// The record of a task of which nothing is known.
std::string blankRecord(const RowKey& key, std::string_view bytes) {
    checkpoint::TaskFields blank;
    const checkpoint::TaskFields stored = checkpoint::readTask(key, bytes);
    blank.node = stored.node;
    if (key.path == checkpoint::run_path) blank.node = {};
    std::string record;
    checkpoint::writeTask(key.id, blank, record);
    return record;
}

// Gives a checkpoint the pending writes that it had.
void putBack(BaseCheckpointSaver& saver, std::string_view thread_id, const LogMark& mark) {
    const LogName log{thread_id, mark.checkpoint_ns};
    const auto tuple = saver.getTuple({.log = log, .checkpoint_id = mark.head});
    if (!tuple) return;  // it was pruned meanwhile
    std::deque<std::string> blank;
    std::vector<WriteRow> rows;
    const auto findIn = [](const std::vector<StoredWrite>& writes, std::string_view path) {
        const auto at = std::ranges::find(writes, path, &StoredWrite::path);
        return at == writes.end() ? nullptr : &*at;
    };
    for (const StoredWrite& before : mark.writes) {
        const StoredWrite* const now = findIn(tuple->writes, before.path);
        if (now != nullptr && now->bytes == before.bytes) continue;
        rows.push_back({mark.head, before.path, before.bytes, now != nullptr ? std::string_view(now->bytes) : ""});
    }
    for (const StoredWrite& now : tuple->writes) {
        if (findIn(mark.writes, now.path) != nullptr) continue;
        blank.push_back(blankRecord({thread_id, mark.checkpoint_ns, mark.head, now.path}, now.bytes));
        if (blank.back() != now.bytes) rows.push_back({mark.head, now.path, blank.back(), now.bytes});
    }
    if (!rows.empty()) saver.putWrites(log, tuple->head, rows, true);
}

std::size_t takeBackHeld(BaseCheckpointSaver& saver, const std::string& thread_id, const TakeBackOptions& options) {
    const RunCommits run = findCommits(saver, thread_id, options.metadata);
    if (run.count > 0 && run.are_whole_thread) {
        saver.deleteThread(thread_id);
        return run.count;
    }
    // The logs of subgraphs first: the thread's own says which of them count.
    for (auto mark = options.before.rbegin(); mark != options.before.rend(); ++mark) {
        if (!run.contain(*mark)) putBack(saver, thread_id, *mark);
    }
    if (run.count > 0 && saver.prune({.thread_id = thread_id, .commits = run.ids}) < run.count) {
        throw ConcurrentUpdateError(
            "not all that the run has stored could be removed: others write to the thread, or what they stored on top "
            "of it cannot be written whole; try again, or delete the thread");
    }
    (void)saver.unfinishedThreads({.thread_ids = {thread_id}});  // has the index of threads say how it stands now
    return run.count;
}

}  // namespace

std::vector<LogMark> markThread(BaseCheckpointSaver& saver, const ThreadId& thread_id) {
    std::vector<LogMark> marks;
    for (ListedCheckpoint& head : saver.list({.thread_id = thread_id.toString(), .heads = true, .with_writes = true}))
        marks.push_back({std::move(head.checkpoint_ns), head.id, std::move(head.writes)});
    return marks;
}

std::size_t takeBack(BaseCheckpointSaver& saver, const ThreadId& thread_id, const TakeBackOptions& options) {
    if (options.metadata.empty())
        throw InvalidArgumentError("takeBack: no metadata is given; say which run it is, by an entry that it stores");
    try {
        engine::ThreadClaim claim;
        claim.acquire(saver, thread_id.view(), options.on_busy, options.busy_timeout);
        claim.hold(saver, options.on_busy, options.busy_timeout, {});
        return takeBackHeld(saver, thread_id.toString(), options);
    } catch (Error& error) {
        error.addContext({.thread_id = thread_id.toString()});
        throw;
    }
}

}  // namespace stategraph
