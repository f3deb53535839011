#include "lmdb_saver.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/record.hpp>
#include <stategraph/saver_rules.hpp>

#include "lmdb_database.hpp"

// The rows. A number has 16 bytes, as ids have; each thread and each log has one, which is never used again.
//
//   "next"                           the number that was given last
//   "n" 0 thread                     the thread's number; 0 has 16 bytes too
//   "n" thread's number, namespace   the log's number
//   "r" log's number "c" id          a commit
//   "r" log's number "w" id path     a pending write

namespace sg = stategraph;
using Txn = LmdbTransaction;
using Row = LmdbTransaction::Row;

namespace {

std::string bytesOf(sg::CheckpointId id) {
    std::string bytes(16, '\0');
    id.toBytes(bytes.data());
    return bytes;
}
sg::CheckpointId idOf(const Row& row) { return sg::CheckpointId::fromBytes(row.key.data()); }
std::string after(std::string_view name) { return std::string(name) + '\0'; }
const std::string after_ids(17, '\xFF');

std::string commitsPrefix(std::string_view log) { return "r" + std::string(log) + "c"; }
std::string commitKey(std::string_view log, sg::CheckpointId id) { return commitsPrefix(log) + bytesOf(id); }
std::string writesPrefix(std::string_view log) { return "r" + std::string(log) + "w"; }
std::string writeKey(std::string_view log, const sg::WriteRow& row) {
    return writesPrefix(log) + bytesOf(row.checkpoint_id) + std::string(row.path);
}

// Threads are named below no number, and logs below their thread's.
const std::string no_number(16, '\0');
std::string namesPrefix(std::string_view number) { return "n" + std::string(number); }

// Return a number; empty if there is no such name, and nothing is stored under an empty one.
std::string find(const Txn& txn, std::string_view number, std::string_view name) {
    return std::string(txn.get(namesPrefix(number) + std::string(name)).value_or(""));
}
std::string findLog(const Txn& txn, const sg::LogName& log) {
    const std::string thread = find(txn, no_number, log.thread_id);
    return thread.empty() ? thread : find(txn, thread, log.checkpoint_ns);
}
std::string findOrMake(Txn& txn, std::string_view number, std::string_view name) {
    std::string made = find(txn, number, name);
    if (!made.empty()) return made;
    made = txn.get("next").value_or(no_number);
    made = bytesOf({0, sg::CheckpointId::fromBytes(made.data()).low() + 1});
    txn.put("next", made);
    txn.put(namesPrefix(number) + std::string(name), made);
    return made;
}
std::string makeLog(Txn& txn, const sg::LogName& log) {
    return findOrMake(txn, findOrMake(txn, no_number, log.thread_id), log.checkpoint_ns);
}

std::vector<sg::StoredWrite> readWrites(const Txn& txn, std::string_view log, sg::CheckpointId id) {
    std::vector<sg::StoredWrite> writes;
    txn.forEach(writesPrefix(log) + bytesOf(id), [&](const Row& row) {
        writes.push_back({std::string(row.key), std::string(row.value)});
    });
    return writes;
}

void listLog(const Txn& txn, const sg::LogName& name, std::string_view log, const sg::ListQuery& query,
             std::vector<sg::ListedCheckpoint>& listed) {
    const std::string prefix = commitsPrefix(log);
    sg::RowBuffer buffer;
    for (auto row = txn.below(prefix, query.before ? bytesOf(query.before) : after_ids); row;
         row = txn.below(prefix, bytesOf(listed.back().id))) {
        if (query.limit && listed.size() >= *query.limit) return;
        listed.push_back(
            {std::string(name.thread_id), std::string(name.checkpoint_ns), idOf(*row), buffer.add(row->value), {}});
        if (query.with_writes) listed.back().writes = readWrites(txn, log, idOf(*row));
        if (query.heads) return;
    }
}

void dropAll(Txn& txn, const std::string& prefix) {
    txn.forEach(prefix, [&](const Row& row) { txn.drop(prefix + std::string(row.key)); });
}

void dropThread(Txn& txn, std::string_view name) {
    const std::string thread = find(txn, no_number, name);
    if (thread.empty()) return;
    txn.forEach(namesPrefix(thread), [&](const Row& log) { dropAll(txn, "r" + std::string(log.value)); });
    dropAll(txn, namesPrefix(thread));
    txn.drop(namesPrefix(no_number) + std::string(name));
}

std::size_t pruneThread(Txn& txn, const std::string& name, const sg::PruneRequest& request) {
    const std::string thread = find(txn, no_number, name);
    if (thread.empty()) return 0;
    sg::checkpoint::ThreadRows all(name);
    txn.forEach(namesPrefix(thread), [&](const Row& log) {  // in the order of the logs' names
        all.addLog(log.key);
        txn.forEach(commitsPrefix(log.value), [&](const Row& row) { all.addCommit(idOf(row), row.value); });
        txn.forEach(writesPrefix(log.value),
                    [&](const Row& row) { all.addWrite(idOf(row), row.key.substr(16), row.value); });
    });
    const sg::checkpoint::ThreadPlan plan = all.plan(request, [&](std::string_view ns, sg::CheckpointId id) {
        return std::string(txn.get(commitKey(findLog(txn, {name, ns}), id)).value_or(""));
    });
    if (plan.drops_thread) dropThread(txn, name);
    for (const sg::checkpoint::LogPlan& each : plan.logs) {
        const std::string log = findLog(txn, {name, each.checkpoint_ns});
        for (const sg::CheckpointId id : each.dropped) {
            txn.drop(commitKey(log, id));
            dropAll(txn, writesPrefix(log) + bytesOf(id));
        }
        for (const sg::StoredCommit& commit : each.rewritten) txn.put(commitKey(log, commit.id), commit.bytes);
        if (!each.is_whole) continue;
        dropAll(txn, writesPrefix(log));
        txn.drop(namesPrefix(thread) + each.checkpoint_ns);
    }
    return plan.dropped_commits;
}

class LmdbSaver final : public sg::BaseCheckpointSaver {
public:
    LmdbSaver(const std::filesystem::path& folder, std::size_t bytes_max) : database_(folder, bytes_max) {}

    void put(const sg::PutRequest& request) override {
        sg::checkpoint::checkPut(request);
        database_.write(request.sync, [&](Txn& txn) {
            std::string log = findLog(txn, request.log);
            const auto head = txn.below(commitsPrefix(log), after_ids);
            sg::checkpoint::checkStored(
                request, head ? idOf(*head) : sg::CheckpointId(),
                [&](const sg::LogName& of, sg::CheckpointId id) { return txn.get(commitKey(findLog(txn, of), id)); },
                [&](const sg::WriteRow& row) { return txn.get(writeKey(log, row)); });
            if (request.commits.empty() && request.writes.empty()) return;
            log = makeLog(txn, request.log);
            for (const sg::CommitRow& row : request.commits) txn.put(commitKey(log, row.id), row.bytes);
            for (const sg::WriteRow& row : request.writes) txn.put(writeKey(log, row), row.bytes);
        });
    }

    std::optional<sg::CheckpointTuple> getTuple(const sg::TupleQuery& query) override {
        return database_.read([&](const Txn& txn) -> std::optional<sg::CheckpointTuple> {
            const std::string log = findLog(txn, query.log);
            const std::string prefix = commitsPrefix(log);
            auto row = txn.below(prefix, after_ids);
            sg::CheckpointTuple tuple;
            if (row) tuple.head = idOf(*row);
            if (query.checkpoint_id) row = txn.from(prefix, bytesOf(query.checkpoint_id));
            if (!query.checkpoint_id && query.before) row = txn.below(prefix, bytesOf(query.before));
            if (!row || (query.checkpoint_id && idOf(*row) != query.checkpoint_id)) return std::nullopt;
            tuple.id = idOf(*row);
            tuple.writes = readWrites(txn, log, tuple.id);
            const sg::RowKey key{query.log.thread_id, query.log.checkpoint_ns, tuple.id};
            row = txn.from(prefix, bytesOf(sg::readLinks(key, row->value).base));
            sg::RowBuffer buffer;
            for (; row && idOf(*row) <= tuple.id; row = txn.from(prefix, after(row->key)))
                tuple.commits.push_back({idOf(*row), buffer.add(row->value)});
            if (row) tuple.next = {idOf(*row), row->value};
            return tuple;
        });
    }

    std::vector<sg::ListedCheckpoint> list(const sg::ListQuery& query) override {
        return database_.read([&](const Txn& txn) {
            std::vector<sg::ListedCheckpoint> listed;
            const std::string from = query.after_thread_id ? after(*query.after_thread_id) : std::string();
            const std::string threads = namesPrefix(no_number);
            for (auto thread = txn.from(threads, std::max(from, query.thread_id.value_or(""))); thread;
                 thread = txn.from(threads, after(thread->key))) {
                if (query.thread_id && thread->key != *query.thread_id) break;
                if (query.limit && listed.size() >= *query.limit) break;
                const auto take = [&](std::string_view ns, std::string_view log) {
                    listLog(txn, {thread->key, ns}, log, query, listed);
                };
                if (query.checkpoint_ns) take(*query.checkpoint_ns, find(txn, thread->value, *query.checkpoint_ns));
                if (!query.checkpoint_ns)
                    txn.forEach(namesPrefix(thread->value), [&](const Row& log) { take(log.key, log.value); });
            }
            return listed;
        });
    }

    void deleteThread(std::string_view thread_id) override {
        database_.write(true, [&](Txn& txn) { dropThread(txn, thread_id); });
    }

    void copyThread(std::string_view from, std::string_view to) override {
        sg::checkpoint::checkCopyTarget(to);
        database_.write(true, [&](Txn& txn) {
            if (!find(txn, no_number, to).empty()) sg::checkpoint::refuseCopy(from, to);
            const std::string thread = find(txn, no_number, from);
            if (thread.empty()) return;
            txn.forEach(namesPrefix(thread), [&](const Row& log) {
                const std::string source = "r" + std::string(log.value);
                const std::string target = "r" + makeLog(txn, {to, std::string(log.key)});
                txn.forEach(source,
                            [&](const Row& row) { txn.put(target + std::string(row.key), std::string(row.value)); });
            });
        });
    }

    std::size_t prune(const sg::PruneRequest& request) override {
        const auto next = [&](const std::optional<std::string>& last) {
            const auto heads = list({.limit = 1, .heads = true, .after_thread_id = last});
            return heads.empty() ? std::nullopt : std::optional(heads.front().thread_id);
        };
        return sg::checkpoint::pruneThreads(request, next, [&](const std::string& name) {
            std::size_t dropped = 0;
            database_.write(false, [&](Txn& txn) { dropped = pruneThread(txn, name, request); });
            return dropped;
        });
    }

private:
    LmdbDatabase database_;
};

}  // namespace

std::unique_ptr<sg::BaseCheckpointSaver> openLmdb(const std::filesystem::path& folder, std::size_t bytes_max) {
    return std::make_unique<LmdbSaver>(folder, bytes_max);
}
