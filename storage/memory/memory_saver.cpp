#include <stategraph/memory_saver.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/error.hpp>
#include <stategraph/saver_rules.hpp>

#include "storage/memory/memory_impl.hpp"
#include "storage/memory/memory_prune.hpp"
#include "storage/saver/branch_walk.hpp"
#include "storage/saver/damaged.hpp"

namespace stategraph {
namespace {

using checkpoint::BySizeThenText;
using checkpoint::HashedName;
using checkpoint::Log;
using Shard = checkpoint::MemoryShard;
using checkpoint::Thread;

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

// Returns the commits from a checkpoint's base to the checkpoint, oldest first. If there may be many commits of other
// branches, they are left out.
std::vector<std::size_t> placesToRead(const LogName& name, const Log& log, std::size_t place) {
    const std::size_t base = place - log.commits[place].to_base;
    std::size_t bytes = 0;
    for (std::size_t i = base; i <= place && bytes <= checkpoint::unseen_bytes_max; ++i) bytes += log.commits[i].size;
    std::vector<std::size_t> places;
    if (place - base >= checkpoint::unseen_rows_max || bytes > checkpoint::unseen_bytes_max) {
        try {
            checkpoint::walkToBase(
                name, log.commits[place].id, [&](CheckpointId id) -> std::optional<std::string_view> {
                    const std::size_t at =
                        !places.empty() && places.back() > 0 && log.commits[places.back() - 1].id == id
                            ? places.back() - 1
                            : log.placeOf(id);
                    if (at == log.commits.size() || log.commits[at].id != id) return {};
                    places.push_back(at);
                    return log.commits[at].bytes();
                });
            std::reverse(places.begin(), places.end());
            return places;
        } catch (const CorruptCheckpointError&) {
            places.clear();  // the reader reports it
        }
    }
    for (std::size_t i = base; i <= place; ++i) places.push_back(i);
    return places;
}

void listLog(std::string_view thread_id, std::string_view ns, const Log& log, const ListQuery& query,
             std::vector<ListedCheckpoint>& out) {
    const std::size_t limit = query.limit.value_or(std::numeric_limits<std::size_t>::max());
    std::size_t place = query.before.empty() ? log.commits.size() : log.placeOf(query.before);
    RowBuffer buffer;
    while (place-- > 0 && out.size() < limit) {
        const auto& commit = log.commits[place];
        out.push_back({std::string(thread_id), std::string(ns), commit.id, buffer.add(commit.bytes()),
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

MemorySaver::MemorySaver(const MemorySaverOptions& options) : impl_(new Impl(options)) {
    if (options.bytes_max == std::size_t{0}) {
        throw InvalidArgumentError(
            "the memory saver's bytes_max is 0, so nothing would fit; leave it out for no limit");
    }
    if (options.retention) impl_->retention = std::make_unique<checkpoint::Retention>(*this, *options.retention);
}

MemorySaver::~MemorySaver() {
    impl_->is_closing = true;
    checkpoint::endRetention(impl_->retention);  // its thread calls prune
}

RetentionReport MemorySaver::retentionReport() const {
    return impl_->retention ? impl_->retention->report() : RetentionReport();
}
std::uint64_t MemorySaver::evictedThreads() const noexcept {
    return impl_->evicted_threads.load(std::memory_order_relaxed);
}

void MemorySaver::putGraph(const GraphFingerprint& fingerprint, std::string_view bytes) {
    const detail::LockGuard lock(impl_->graphs_mutex);
    const auto kept = impl_->graphs.find(fingerprint);
    const std::size_t before = kept == impl_->graphs.end() ? 0 : kept->second.size();
    if (kept == impl_->graphs.end() && impl_->graphs.size() >= Impl::graphs_max) return;
    if (impl_->graph_bytes - before + bytes.size() > Impl::graph_bytes_max) return;
    impl_->graphs[fingerprint] = bytes;
    impl_->graph_bytes += bytes.size() - before;
}

std::optional<std::string> MemorySaver::getGraph(const GraphFingerprint& fingerprint) {
    const detail::LockGuard lock(impl_->graphs_mutex);
    const auto kept = impl_->graphs.find(fingerprint);
    return kept == impl_->graphs.end() ? std::nullopt : std::optional(kept->second);
}

std::optional<std::uint64_t> MemorySaver::storedBytes() {
    if (impl_->limit.isSet()) return impl_->limit.taken();
    std::uint64_t bytes = 0;
    for (Shard& shard : impl_->shards) {
        const detail::LockGuard lock(shard.mutex);
        bytes += shard.bytes;
    }
    return bytes;
}

std::optional<CheckpointTuple> MemorySaver::getTuple(const TupleQuery& query) {
    const HashedName name(query.log.thread_id);
    Shard& shard = impl_->shardOf(name);
    const detail::LockGuard lock(shard.mutex);
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
    const std::vector<std::size_t> places = placesToRead(query.log, *log, place);
    tuple.commits.reserve(places.size());
    std::size_t bytes = 0;
    for (const std::size_t each : places) bytes += log->commits[each].size;
    RowBuffer buffer(bytes);
    for (const std::size_t each : places)
        tuple.commits.push_back({log->commits[each].id, buffer.add(log->commits[each].bytes())});
    if (place + 1 < log->commits.size()) {
        const auto& next = log->commits[place + 1];
        tuple.next = StoredCommit{next.id, next.bytes()};
    }
    return tuple;
}

std::vector<ListedCheckpoint> MemorySaver::list(const ListQuery& query) {
    std::vector<ListedCheckpoint> listed;
    const auto listOne = [&](std::string_view thread_id) {
        const HashedName name(thread_id);
        Shard& shard = impl_->shardOf(name);
        const detail::LockGuard lock(shard.mutex);
        if (Thread* const thread = shard.threads.find(name)) listThread(thread_id, *thread, query, listed);
    };
    if (query.thread_id) {
        if (!query.after_thread_id || BySizeThenText()(*query.after_thread_id, *query.thread_id))
            listOne(*query.thread_id);
        return listed;
    }
    if (!query.thread_ids.empty()) {
        for (const std::string& thread_id : query.thread_ids) listOne(thread_id);
        return listed;
    }
    // Shards have about equally many threads, so twice a shard's share of the page rarely has to be read again.
    constexpr std::size_t names_min = 8;
    const std::size_t share =
        query.limit ? *query.limit / Impl::shard_count : std::numeric_limits<std::size_t>::max() / 2;
    checkpoint::ThreadNames names(impl_->shards, query.after_thread_id, std::max(names_min, 2 * share));
    while (!query.limit || listed.size() < *query.limit) {
        const std::optional<std::string> name = names.next();
        if (!name) break;
        listOne(*name);
    }
    return listed;
}

void MemorySaver::deleteThread(std::string_view thread_id) {
    const HashedName name(thread_id);
    Shard& shard = impl_->shardOf(name);
    std::unique_ptr<Thread> gone;  // freed after the lock is released
    const detail::LockGuard lock(shard.mutex);
    gone = impl_->extract(shard, name);
}

void MemorySaver::copyThread(std::string_view from, std::string_view to) {
    checkpoint::checkCopyTarget(to);
    const HashedName source_name(from);
    const HashedName target_name(to);
    Shard& source_shard = impl_->shardOf(source_name);
    Shard& target_shard = impl_->shardOf(target_name);
    const auto refuseTaken = [&]() SG_REQUIRES(target_shard.mutex) {
        Thread* const target = target_shard.threads.find(target_name);
        if (target) target->forEachLog([&](std::string_view, const Log&) { checkpoint::refuseCopy(from, to); });
    };
    {
        const detail::LockGuard lock(target_shard.mutex);
        refuseTaken();
    }
    auto copy = checkpoint::makeThread(to);
    ThreadOutlook outlook;
    std::string summary;
    {
        const detail::LockGuard lock(source_shard.mutex);
        Thread* const source = source_shard.threads.find(source_name);
        if (!source) return;
        source->forEachLog([&](std::string_view ns, const Log& log) { copyLog(log, copy->make(ns)); });
        outlook = source->index.outlook();
        summary = source->summary;
    }
    copy->summary = summary;  // it counts
    copy->bytes = checkpoint::sizeOf(*copy);
    checkpoint::Room room = impl_->takeRoom(copy->bytes, {to, from});

    const detail::LockGuard lock(target_shard.mutex);
    refuseTaken();
    impl_->extract(target_shard, target_name);  // removes a target without rows, if there is one
    Thread& kept = target_shard.threads.insert(target_name, std::move(copy));
    target_shard.index.note(kept, kept.root.head(), outlook, std::move(summary));
    target_shard.bytes += kept.bytes;
    room.keep(kept.bytes, 0);
}

std::size_t MemorySaver::prune(const PruneRequest& request) {
    checkpoint::checkPrune(request);
    std::size_t dropped = 0;
    const auto pruneThread = [&](const std::string& thread_id) {
        const HashedName name(thread_id);
        Shard& shard = impl_->shardOf(name);
        std::unique_ptr<Thread> gone;  // freed after the lock is released
        const detail::LockGuard lock(shard.mutex);
        Thread* const thread = shard.threads.find(name);
        if (!thread) return;
        if (request.threads_unused_since && isUnused(*thread, *request.threads_unused_since)) {
            thread->forEachLog([&](std::string_view, const Log& log) { dropped += log.commits.size(); });
            gone = impl_->extract(shard, name);
        } else if (checkpoint::dropsCommits(request)) {
            dropped += impl_->pruneCommits(shard, *thread, request);
        }
    };
    if (request.thread_id) {
        pruneThread(*request.thread_id);
        return dropped;
    }
    // Each thread is locked separately, because writers wait while a shard is locked.
    for (Shard& shard : impl_->shards) {
        std::vector<std::string> names;
        {
            const detail::LockGuard lock(shard.mutex);
            shard.threads.forEach([&](const Thread& thread) { names.push_back(thread.name); });
        }
        for (const auto& name : names) {
            if (impl_->is_closing.load(std::memory_order_relaxed)) return dropped;
            checkpoint::pruneOrNote(request, name, [&] { pruneThread(name); });
        }
    }
    return dropped;
}

}  // namespace stategraph
