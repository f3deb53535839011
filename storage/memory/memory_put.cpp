#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <stategraph/error.hpp>
#include <stategraph/saver_rules.hpp>

#include "storage/memory/memory_impl.hpp"

// Storing.
namespace stategraph {
namespace {

using checkpoint::HashedName;
using checkpoint::Log;
using Shard = checkpoint::MemoryShard;
using checkpoint::PendingWrites;
using checkpoint::Thread;
using checkpoint::WriteKey;

// Throws unless the request fits the log (null: an empty one) of the thread (null: a new one).
void checkStored(const PutRequest& request, Thread* thread, const Log* log) {
    checkpoint::checkStored(
        request, log ? log->head() : CheckpointId(),
        [&](const LogName& name, CheckpointId id) {
            const Log* const asked = thread ? thread->find(name.checkpoint_ns) : nullptr;
            return asked != nullptr && asked->has(id);
        },
        [&](const WriteRow& row) -> std::optional<std::string_view> {
            if (!log) return {};
            const auto at = log->pending.find(checkpoint::WriteKeyView{row.checkpoint_id, row.path});
            return at == log->pending.end() ? std::nullopt : std::optional<std::string_view>(at->second);
        });
}

// Moves rows into a log, without an allocation. Returns how many bytes the rows counted that they replace.
std::size_t takePending(PendingWrites& staged, Log& log) noexcept {
    std::size_t freed = 0;
    while (!staged.empty()) {
        auto write = staged.extract(staged.begin());
        const checkpoint::WriteKeyView key = write.key();
        const auto at = log.pending.lower_bound(key);
        if (at == log.pending.end() || checkpoint::WriteKeyView(at->first) != key) {
            log.pending.insert(at, std::move(write));
        } else {
            freed += checkpoint::sizeOf(*at);
            at->second.swap(write.mapped());
        }
    }
    return freed;
}

// What the index stores of the request; empty for a superstep of a run under way, which is why nothing is copied then.
inline void takeSummary(const PutRequest& request, std::string& summary) {
    const bool is_known = request.outlook.status != Status::in_flight && request.log.checkpoint_ns.empty();
    if (is_known) summary = request.summary;
}

std::size_t bytesOfCommits(const PutRequest& request) {
    std::size_t total = 0;
    for (const CommitRow& row : request.commits) {
        if (row.bytes.size() > std::numeric_limits<std::uint32_t>::max()) {
            throw SaverError(
                "a commit of " + std::to_string(row.bytes.size()) + " bytes is too large; at most 4 GiB fit",
                {.thread_id = std::string(request.log.thread_id)});
        }
        total += row.bytes.size();
    }
    return total;
}

}  // namespace

// No row: it can change only the index, so it evicts no thread. Without room for its summary it stores none.
void MemorySaver::Impl::putNothing(const PutRequest& request) {
    std::string summary;
    takeSummary(request, summary);
    if (!limit.tryTake(summary.size())) summary.clear();
    const std::size_t added = summary.size();
    checkpoint::Room room(limit, added);
    const HashedName name(request.log.thread_id);
    Shard& shard = shardOf(name);
    const detail::LockGuard lock(shard.mutex);
    Thread* const thread = shard.threads.find(name);
    const Log* const log = thread ? thread->find(request.log.checkpoint_ns) : nullptr;
    checkStored(request, thread, log);
    if (!thread || !request.log.checkpoint_ns.empty()) return;
    const std::size_t freed = thread->summary.size();
    shard.index.note(*thread, request.expected_head, request.outlook, std::move(summary));
    room.keep(added, freed);
    thread->bytes += added - freed;
    shard.bytes += added - freed;
}

void MemorySaver::put(const PutRequest& request) {
    checkpoint::checkPut(request);
    if (request.commits.empty() && request.writes.empty()) return impl_->putNothing(request);
    const std::size_t total = bytesOfCommits(request);
    // What can fail comes first, so that nothing is stored by halves.
    PendingWrites staged;
    for (const WriteRow& row : request.writes) {
        staged.insert_or_assign(WriteKey{row.checkpoint_id, std::string(row.path)}, std::string(row.bytes));
    }
    const bool takes_over = request.commits.size() == 1 && checkpoint::ByteStore::wants(request.commits.front());
    checkpoint::ByteStore::Strings taken;
    if (takes_over) taken.emplace_front();
    std::string summary;
    takeSummary(request, summary);
    std::size_t added = total + request.commits.size() * checkpoint::commit_cost + summary.size();
    for (const auto& write : staged) added += checkpoint::sizeOf(write);
    const std::size_t thread_size = checkpoint::sizeOfThreadNamed(request.log.thread_id);
    const std::size_t log_size =
        request.log.checkpoint_ns.empty() ? 0 : checkpoint::sizeOfLogNamed(request.log.checkpoint_ns);
    checkpoint::Room room = impl_->takeRoom(added + thread_size + log_size, {request.log.thread_id, {}});

    const HashedName name(request.log.thread_id);
    Shard& shard = impl_->shardOf(name);
    const detail::LockGuard lock(shard.mutex);
    Thread* thread = shard.threads.find(name);
    Log* log = thread ? thread->find(request.log.checkpoint_ns) : nullptr;
    checkStored(request, thread, log);
    std::size_t freed = 0;
    if (!thread) {
        thread = &shard.threads.insert(name, checkpoint::makeThread(name.text));
        added += thread_size;
    }
    if (!log) {
        log = thread->find(request.log.checkpoint_ns);
        if (!log) {
            log = &thread->make(request.log.checkpoint_ns);
            added += log_size;
        }
    }
    if (!request.commits.empty()) {
        log->reserve(request.commits.size());
        char* at = takes_over ? request.commits.front().buffer->data() : log->bytes.take(total);
        for (const CommitRow& row : request.commits) {
            log->append(row.id, row.base, row.bytes, at);
            at += row.bytes.size();
        }
        if (takes_over) taken.front().swap(*request.commits.front().buffer);
        log->bytes.takeOver(taken);
    }
    freed += takePending(staged, *log);
    if (request.log.checkpoint_ns.empty() && !thread->index.stays(log->head(), request.outlook)) {
        freed += thread->summary.size();
        shard.index.note(*thread, log->head(), request.outlook, std::move(summary));
    }
    room.keep(added, freed);
    thread->bytes += added - freed;
    shard.bytes += added - freed;
}

}  // namespace stategraph
