#include <stategraph/memory_saver.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <mutex>

#include <stategraph/error.hpp>
#include <stategraph/record.hpp>

#include "checkpoint/memory_thread.hpp"
#include "checkpoint/prune.hpp"
#include "checkpoint/put_check.hpp"

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
}

std::size_t pruneLog(std::string_view thread_id, std::string_view ns, Log& log, const PruneRequest& request) {
    std::vector<CommitLinks> links;
    links.reserve(log.commits.size());
    for (const auto& commit : log.commits) {
        const RecordLinks record = readLinks({thread_id, ns, commit.id}, commit.bytes());
        links.push_back({commit.id, record.parent, record.base});
    }
    std::vector<CheckpointId> interrupted;
    for (const auto& [key, bytes] : log.pending) {
        if (hasOpenInterrupt({thread_id, ns, key.id, key.path}, bytes)) interrupted.push_back(key.id);
    }
    const std::vector<CheckpointId> dropped = checkpoint::droppable(links, interrupted, request);
    if (dropped.empty()) return 0;

    const auto is_dropped = [&](CheckpointId id) { return std::binary_search(dropped.begin(), dropped.end(), id); };
    Log kept;  // the old bytes go with the old log
    kept.reserve(links.size() - dropped.size());
    for (std::size_t i = 0; i < links.size(); ++i) {
        if (is_dropped(links[i].id)) continue;
        const std::string_view row = log.commits[i].bytes();
        kept.append(links[i].id, links[i].base, row, kept.bytes.take(row.size()));
    }
    std::erase_if(log.pending, [&](const auto& write) { return is_dropped(write.first.id); });
    kept.pending = std::move(log.pending);
    log = std::move(kept);
    return dropped.size();
}

void listLog(std::string_view thread_id, std::string_view ns, const Log& log, const ListQuery& query,
             std::vector<ListedCheckpoint>& out) {
    const std::size_t limit = query.limit.value_or(std::numeric_limits<std::size_t>::max());
    std::size_t place = query.before.empty() ? log.commits.size() : log.placeOf(query.before);
    while (place-- > 0 && out.size() < limit) {
        const auto& commit = log.commits[place];
        out.push_back({std::string(thread_id), std::string(ns), commit.id, std::string(commit.bytes()),
                       query.with_writes ? log.writesOf(commit.id) : std::vector<StoredWrite>()});
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
        if (const auto old = log->pending.find(write.first); old != log->pending.end()) log->pending.erase(old);
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
    if (query.thread_id) {
        listOne(*query.thread_id);
        return listed;
    }
    std::vector<std::string> names;
    for (Shard& shard : impl_->shards) {
        const std::lock_guard lock(shard.mutex);
        shard.threads.forEach([&](const Thread& thread) { names.push_back(thread.name); });
    }
    std::sort(names.begin(), names.end(), BySizeThenText());
    for (const auto& name : names) {
        if (query.limit && listed.size() >= *query.limit) break;
        listOne(name);
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
    const auto pruneThread = [&](Thread& thread) {
        thread.forEachLog([&](std::string_view ns, Log& log) { dropped += pruneLog(thread.name, ns, log, request); });
    };
    if (request.thread_id) {
        const HashedName name(*request.thread_id);
        Shard& shard = impl_->shardOf(name);
        const std::lock_guard lock(shard.mutex);
        if (Thread* const thread = shard.threads.find(name)) pruneThread(*thread);
        return dropped;
    }
    for (Shard& shard : impl_->shards) {
        const std::lock_guard lock(shard.mutex);
        shard.threads.forEach(pruneThread);
    }
    return dropped;
}

}  // namespace stategraph
