#include <stategraph/memory_saver.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <mutex>

#include <stategraph/error.hpp>
#include <stategraph/record.hpp>
#include <stategraph/saver_rules.hpp>

#include "checkpoint/memory_thread.hpp"

namespace stategraph {
namespace {

using checkpoint::BySizeThenText;
using checkpoint::CommitLinks;
using checkpoint::HashedName;
using checkpoint::Log;
using checkpoint::PendingWrites;
using checkpoint::Thread;
using checkpoint::ThreadTable;
using checkpoint::WriteKey;

// All of a thread lives in one shard: what touches all its namespaces takes one lock.
struct alignas(64) Shard {
    std::mutex mutex;
    ThreadTable threads;
};

std::unique_ptr<Thread> makeThread(std::string_view name) {
    auto thread = std::make_unique<Thread>();
    thread->name = name;
    return thread;
}

void copyLog(const Log& from, Log& to) {
    to.reserve(from.commits.size());
    std::size_t total = 0;
    for (const auto& commit : from.commits) total += commit.size;
    char* at = to.bytes.take(total);
    for (const auto& commit : from.commits) {
        if (commit.size > 0) std::memcpy(at, commit.data, commit.size);
        to.commits.push_back({commit.id, at, commit.size, commit.to_base});
        at += commit.size;
    }
    to.pending = from.pending;
    to.pending_bytes = from.pending_bytes;
}

bool hasOpenInterrupts(std::string_view thread_id, std::string_view ns, const Log& log) {
    return std::any_of(log.pending.begin(), log.pending.end(), [&](const auto& write) {
        return hasOpenInterrupt({thread_id, ns, write.first.id, write.first.path}, write.second);
    });
}

bool isUnused(Thread& thread, std::int64_t since_unix_ms) {
    checkpoint::ThreadUse use(since_unix_ms);
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

// A log and what a prune drops of it.
struct LogPrune {
    Log& log;
    std::vector<CommitLinks> commits;
    std::vector<CheckpointId> dropped;
};

LogPrune planPrune(std::string_view thread_id, std::string_view ns, Log& log, checkpoint::ThreadPrune& prune) {
    checkpoint::LogLinks links{.checkpoint_ns = ns, .commits = {}, .interrupted = {}};
    links.commits.reserve(log.commits.size());
    for (const auto& commit : log.commits) {
        const RecordLinks record = readLinks({thread_id, ns, commit.id}, commit.bytes());
        links.commits.push_back({commit.id, record.parent, record.base, record.root});
    }
    for (const auto& [key, bytes] : log.pending) {
        if (hasOpenInterrupt({thread_id, ns, key.id, key.path}, bytes)) links.interrupted.push_back(key.id);
    }
    std::vector<CheckpointId> dropped = prune.drop(links);
    return {log, std::move(links.commits), std::move(dropped)};
}

void pruneLog(const LogPrune& plan) {
    Log& log = plan.log;
    if (plan.dropped.empty()) return;
    const auto is_dropped = [&](CheckpointId id) {
        return std::binary_search(plan.dropped.begin(), plan.dropped.end(), id);
    };
    Log kept;  // the old bytes go with the old log
    if (plan.dropped.size() < log.commits.size()) {
        kept.reserve(log.commits.size() - plan.dropped.size());
        for (std::size_t i = 0; i < log.commits.size(); ++i) {
            const CommitLinks& commit = plan.commits[i];
            if (is_dropped(commit.id)) continue;
            const std::string_view row = log.commits[i].bytes();
            kept.append(commit.id, commit.base, row, kept.bytes.take(row.size()));
        }
        std::erase_if(log.pending, [&](const auto& write) { return is_dropped(write.first.id); });
        kept.pending = std::move(log.pending);
        for (const auto& write : kept.pending) kept.pending_bytes += sizeOf(write);
    }
    log = std::move(kept);
}

// How many commits went. All is read before anything goes.
std::size_t pruneCommits(Thread& thread, const PruneRequest& request) {
    checkpoint::ThreadPrune prune(request);
    std::vector<LogPrune> plans;
    thread.forEachLog([&](std::string_view ns, Log& log) { plans.push_back(planPrune(thread.name, ns, log, prune)); });
    std::size_t dropped = 0;
    for (const LogPrune& plan : plans) {
        pruneLog(plan);
        dropped += plan.dropped.size();
    }
    thread.dropEmptyLogs();
    return dropped;
}

// Throws unless each row that says what it expects finds it in the log (null: an empty one).
void checkExpected(const PutRequest& request, const Log* log) {
    for (const WriteRow& row : request.writes) {
        if (!row.expected) continue;
        std::optional<std::string_view> stored;
        if (log) {
            const auto at = log->pending.find(checkpoint::WriteKeyView{row.checkpoint_id, row.path});
            if (at != log->pending.end()) stored = at->second;
        }
        checkpoint::checkExpected(request.log, row, stored);
    }
}

void listLog(std::string_view thread_id, std::string_view ns, const Log& log, const ListQuery& query,
             std::vector<ListedCheckpoint>& out) {
    const std::size_t limit = query.limit.value_or(std::numeric_limits<std::size_t>::max());
    std::size_t place = query.before.empty() ? log.commits.size() : log.placeOf(query.before);
    while (place-- > 0 && out.size() < limit) {
        const auto& commit = log.commits[place];
        out.push_back({std::string(thread_id), std::string(ns), commit.id, std::string(commit.bytes()),
                       query.with_writes ? log.writesOf(commit.id) : std::vector<StoredWrite>()});
        if (query.heads) return;
    }
}

void listThread(std::string_view thread_id, Thread& thread, const ListQuery& query,
                std::vector<ListedCheckpoint>& out) {
    if (query.checkpoint_ns) {
        if (const Log* const log = thread.find(*query.checkpoint_ns)) {
            listLog(thread_id, *query.checkpoint_ns, *log, query, out);
        }
        return;
    }
    thread.forEachLog([&](std::string_view ns, const Log& log) { listLog(thread_id, ns, log, query, out); });
}

}  // namespace

struct MemorySaver::Impl {
    static constexpr std::size_t shard_count = 64;

    Shard& shardOf(const HashedName& name) noexcept {
        return shards[(name.hash * 0x9E3779B97F4A7C15ULL) >> 58U];  // other bits than the table's
    }

    std::array<Shard, shard_count> shards;
};

MemorySaver::MemorySaver() : impl_(std::make_unique<Impl>()) {}
MemorySaver::~MemorySaver() = default;

void MemorySaver::put(const PutRequest& request) {
    checkpoint::checkPut(request);
    std::size_t total = 0;
    for (const CommitRow& row : request.commits) {
        if (row.bytes.size() > std::numeric_limits<std::uint32_t>::max()) {
            throw SaverError(
                "a commit of " + std::to_string(row.bytes.size()) + " bytes is too large; at most 4 GiB fit",
                {.thread_id = std::string(request.log.thread_id)});
        }
        total += row.bytes.size();
    }
    // What can fail comes first, so that nothing is stored by halves.
    PendingWrites staged;
    for (const WriteRow& row : request.writes) {
        staged.insert_or_assign(WriteKey{row.checkpoint_id, std::string(row.path)}, std::string(row.bytes));
    }

    const HashedName name(request.log.thread_id);
    Shard& shard = impl_->shardOf(name);
    const std::lock_guard lock(shard.mutex);
    Thread* thread = shard.threads.find(name);
    Log* log = thread ? thread->find(request.log.checkpoint_ns) : nullptr;
    const CheckpointId head = log ? log->head() : CheckpointId();
    if (head != request.expected_head) checkpoint::refuseHead(request.log, request.expected_head, head);
    checkExpected(request, log);
    if (request.commits.empty() && staged.empty()) return;
    if (!log) {
        if (!thread) thread = &shard.threads.insert(name, makeThread(name.text));
        log = &thread->make(request.log.checkpoint_ns);
    }
    if (!request.commits.empty()) {
        log->reserve(request.commits.size());
        char* at = log->bytes.take(total);
        for (const CommitRow& row : request.commits) {
            log->append(row.id, row.base, row.bytes, at);
            at += row.bytes.size();
        }
    }
    if (staged.empty()) return;
    for (const auto& write : staged) {
        if (const auto old = log->pending.find(write.first); old != log->pending.end()) {
            log->pending_bytes -= sizeOf(*old);
            log->pending.erase(old);
        }
        log->pending_bytes += sizeOf(write);
    }
    log->pending.merge(staged);
}

std::optional<CheckpointTuple> MemorySaver::getTuple(const TupleQuery& query) {
    const HashedName name(query.log.thread_id);
    Shard& shard = impl_->shardOf(name);
    const std::lock_guard lock(shard.mutex);
    Thread* const thread = shard.threads.find(name);
    const Log* const log = thread ? thread->find(query.log.checkpoint_ns) : nullptr;
    if (!log) return std::nullopt;

    std::size_t place = 0;
    if (!query.checkpoint_id.empty()) {
        place = log->placeOf(query.checkpoint_id);
        if (place == log->commits.size() || log->commits[place].id != query.checkpoint_id) return std::nullopt;
    } else {
        const std::size_t end = query.before.empty() ? log->commits.size() : log->placeOf(query.before);
        if (end == 0) return std::nullopt;
        place = end - 1;
    }

    const auto& wanted = log->commits[place];
    CheckpointTuple tuple{
        .id = wanted.id, .head = log->head(), .commits = {}, .writes = log->writesOf(wanted.id), .next = {}};
    tuple.commits.reserve(wanted.to_base + std::size_t{1});
    for (std::size_t i = place - wanted.to_base; i <= place; ++i) {
        tuple.commits.push_back({log->commits[i].id, std::string(log->commits[i].bytes())});
    }
    if (place + 1 < log->commits.size()) {
        const auto& next = log->commits[place + 1];
        tuple.next = StoredCommit{next.id, std::string(next.bytes())};
    }
    return tuple;
}

std::vector<ListedCheckpoint> MemorySaver::list(const ListQuery& query) {
    std::vector<ListedCheckpoint> listed;
    const auto listOne = [&](std::string_view thread_id) {
        const HashedName name(thread_id);
        Shard& shard = impl_->shardOf(name);
        const std::lock_guard lock(shard.mutex);
        if (Thread* const thread = shard.threads.find(name)) listThread(thread_id, *thread, query, listed);
    };
    const auto isBehind = [&](std::string_view thread_id) {
        return !query.after_thread_id || BySizeThenText()(*query.after_thread_id, thread_id);
    };
    if (query.thread_id) {
        if (isBehind(*query.thread_id)) listOne(*query.thread_id);
        return listed;
    }
    std::vector<std::string> names;
    for (Shard& shard : impl_->shards) {
        const std::lock_guard lock(shard.mutex);
        shard.threads.forEach([&](const Thread& thread) {
            if (isBehind(thread.name)) names.push_back(thread.name);
        });
    }
    // A heap: a page of many threads sorts no more of them than it shows.
    const auto comesLater = [](const std::string& a, const std::string& b) { return BySizeThenText()(b, a); };
    std::make_heap(names.begin(), names.end(), comesLater);
    while (!names.empty() && (!query.limit || listed.size() < *query.limit)) {
        std::pop_heap(names.begin(), names.end(), comesLater);
        listOne(names.back());
        names.pop_back();
    }
    return listed;
}

void MemorySaver::deleteThread(std::string_view thread_id) {
    const HashedName name(thread_id);
    Shard& shard = impl_->shardOf(name);
    std::unique_ptr<Thread> gone;  // freed after the lock
    const std::lock_guard lock(shard.mutex);
    gone = shard.threads.extract(name);
}

void MemorySaver::copyThread(std::string_view from, std::string_view to) {
    checkpoint::checkCopyTarget(to);
    const HashedName source_name(from);
    const HashedName target_name(to);
    Shard& source_shard = impl_->shardOf(source_name);
    Shard& target_shard = impl_->shardOf(target_name);
    std::unique_lock first(source_shard.mutex, std::defer_lock);
    std::unique_lock second(target_shard.mutex, std::defer_lock);
    if (&source_shard == &target_shard) {
        first.lock();
    } else {
        std::lock(first, second);
    }

    if (Thread* const target = target_shard.threads.find(target_name)) {
        target->forEachLog([&](std::string_view, const Log&) { checkpoint::refuseCopy(from, to); });
    }
    Thread* const source = source_shard.threads.find(source_name);
    if (!source) return;
    auto copy = makeThread(to);
    source->forEachLog([&](std::string_view ns, const Log& log) { copyLog(log, copy->make(ns)); });
    target_shard.threads.extract(target_name);  // one without rows, if any
    target_shard.threads.insert(target_name, std::move(copy));
}

std::size_t MemorySaver::prune(const PruneRequest& request) {
    checkpoint::checkPrune(request);
    std::size_t dropped = 0;
    // Whether nothing of the thread is left.
    const auto pruneThread = [&](Thread& thread) {
        if (request.threads_unused_since_unix_ms && isUnused(thread, *request.threads_unused_since_unix_ms)) {
            thread.forEachLog([&](std::string_view, const Log& log) { dropped += log.commits.size(); });
            return true;
        }
        if (!request.keep_last && !request.older_than_unix_ms) return false;
        dropped += pruneCommits(thread, request);
        return false;
    };
    if (request.thread_id) {
        const HashedName name(*request.thread_id);
        Shard& shard = impl_->shardOf(name);
        const std::lock_guard lock(shard.mutex);
        Thread* const thread = shard.threads.find(name);
        if (thread && pruneThread(*thread)) shard.threads.extract(name);
        return dropped;
    }
    for (Shard& shard : impl_->shards) {
        const std::lock_guard lock(shard.mutex);
        std::vector<std::string> unused;
        shard.threads.forEach([&](Thread& thread) {
            if (pruneThread(thread)) unused.push_back(thread.name);
        });
        for (const auto& name : unused) shard.threads.extract(HashedName(name));
    }
    return dropped;
}

std::optional<std::uint64_t> MemorySaver::storedBytes() {
    std::uint64_t total = 0;
    for (Shard& shard : impl_->shards) {
        const std::lock_guard lock(shard.mutex);
        total += shard.threads.size();
        shard.threads.forEach([&](const Thread& thread) { total += thread.size(); });
    }
    return total;
}

}  // namespace stategraph
