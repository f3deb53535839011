#include <algorithm>
#include <map>

#include <stategraph/record.hpp>

#include "storage/postgres/postgres_impl.hpp"
#include "storage/saver/damaged.hpp"
#include "storage/saver/prune_rules.hpp"

// Deletes and prunes.
namespace stategraph {
namespace {

using checkpoint::PostgresArray;
using checkpoint::PostgresConnection;
using checkpoint::PostgresParameters;
using checkpoint::PostgresResult;
using checkpoint::PostgresStatements;

constexpr const char* pruning = "prune a thread";
constexpr std::int64_t names_a_page = 500;
constexpr int prune_tries_max = 5;

// What a prune reads of one log. Its rows are sorted by id.
struct PostgresLog {
    std::int64_t number = 0;
    std::string ns;
    std::vector<checkpoint::CommitLinks> commits;
    std::vector<CheckpointId> interrupted;
    RecordLinks newest;
};

std::vector<PostgresLog> readThread(PostgresConnection& connection, const PostgresStatements& statements,
                                    std::string_view thread_id) {
    std::vector<PostgresLog> logs;
    const auto take = [&](const PostgresResult& row) {
        const std::string_view ns = row.bytes(0, 1);
        if (logs.empty() || logs.back().ns != ns) logs.push_back({row.number(0, 0), std::string(ns), {}, {}, {}});
        PostgresLog& log = logs.back();
        const CheckpointId id = row.id(0, 3);
        if (row.number(0, 2) == 0) {
            log.newest = readLinks({thread_id, ns, id}, row.bytes(0, 5));
            log.commits.push_back(checkpoint::linksOf(id, log.newest, row.bytes(0, 5).size()));
        } else if (hasOpenInterrupt({thread_id, ns, id, row.bytes(0, 4)}, row.bytes(0, 5))) {
            log.interrupted.push_back(id);
        }
    };
    connection.stream(statements.thread_rows, PostgresParameters().bytes(thread_id), "read a thread", take);
    std::erase_if(logs, [](const PostgresLog& log) { return log.commits.empty(); });
    return logs;
}

bool isUnused(const std::vector<PostgresLog>& logs, std::chrono::system_clock::time_point since) {
    checkpoint::ThreadUse use(since);
    for (const PostgresLog& log : logs)
        use.add(log.ns, log.commits.back().id, log.newest, [&] { return !log.interrupted.empty(); });
    return !use.isUsed();
}

// Throws SaverError if a writer has appended to it since it was read.
void dropLog(PostgresConnection& connection, const PostgresStatements& statements, std::string_view thread_id,
             const PostgresLog& log) {
    PostgresParameters parameters;
    parameters.number(log.number).id(log.commits.back().id).bytes(thread_id).bytes(log.ns);
    if (connection.run(statements.drop_log, parameters, pruning).rows() == 0)
        throw ConcurrentUpdateError("another writer appended to the thread while it was pruned");
}

// Keeps writers out of a log whose newest commit is dropped, until the transaction ends: one that appends to that
// commit waits for the row that is in the place, and finds then that the commit is gone; one that stores pending writes
// waits for the lock. Throws ConcurrentUpdateError if a writer has appended since the log was read.
void barHead(PostgresConnection& connection, const PostgresStatements& statements, std::string_view thread_id,
             const PostgresLog& log) {
    PostgresParameters parameters;
    parameters.number(log.number).id(log.commits.back().id).bytes(thread_id);
    if (connection.run(statements.bar_head, parameters, pruning).rows() == 0)
        throw ConcurrentUpdateError("another writer appended to the thread while it was pruned");
}

// Deletes commits, closes the chain after each gap, and replaces the records that are rewritten as a whole.
void applyPlan(PostgresConnection& connection, const PostgresStatements& statements, std::string_view thread_id,
               const PostgresLog& log, const checkpoint::LogPlan& plan) {
    PostgresArray dropped(checkpoint::uuid_type);
    for (const CheckpointId id : plan.dropped) dropped.addId(id);
    if (plan.dropped.back() == log.commits.back().id) {
        barHead(connection, statements, thread_id, log);
        dropped.addId(checkpoint::postgres_tombstone_id);
    }
    (void)connection.run(statements.drop_commits, PostgresParameters().number(log.number).owned(dropped.encoded()),
                         pruning);
    PostgresArray old_prevs(checkpoint::uuid_type);
    PostgresArray new_prevs(checkpoint::uuid_type);
    std::map<CheckpointId, CheckpointId> prev_of;
    CheckpointId before;
    CheckpointId kept;
    bool has_gaps = false;
    for (const checkpoint::CommitLinks& commit : log.commits) {
        if (!std::ranges::binary_search(plan.dropped, commit.id)) {
            if (kept != before) {
                old_prevs.addId(before);
                new_prevs.addId(kept);
                has_gaps = true;
            }
            prev_of[commit.id] = kept;
            kept = commit.id;
        }
        before = commit.id;
    }
    if (has_gaps) {
        PostgresParameters parameters;
        parameters.number(log.number).owned(old_prevs.encoded()).owned(new_prevs.encoded());
        (void)connection.run(statements.close_chain, parameters, pruning);
    }
    for (const StoredCommit& commit : plan.rewritten) {
        PostgresArray prevs(checkpoint::uuid_type);
        PostgresArray ids(checkpoint::uuid_type);
        PostgresArray bytes(checkpoint::bytea_type);
        prevs.addId(prev_of.at(commit.id));
        ids.addId(commit.id);
        bytes.add(commit.bytes);
        PostgresParameters parameters;
        parameters.number(log.number).owned(prevs.encoded()).owned(ids.encoded()).owned(bytes.encoded());
        (void)connection.run(statements.rewrite_commits, parameters, pruning);
    }
}

std::size_t pruneInTransaction(PostgresConnection& connection, const PostgresStatements& statements,
                               std::string_view thread_id, const PruneRequest& request) {
    (void)connection.run(statements.lock_thread, PostgresParameters().bytes(thread_id), pruning);
    const std::vector<PostgresLog> logs = readThread(connection, statements, thread_id);
    std::size_t dropped = 0;
    const auto isQueued = [&] {
        return connection.run(statements.is_queued, PostgresParameters().bytes(thread_id), pruning).flag(0, 0);
    };
    if (request.threads_unused_since && isUnused(logs, *request.threads_unused_since) && !isQueued()) {
        for (const PostgresLog& log : logs) {
            dropLog(connection, statements, thread_id, log);
            dropped += log.commits.size();
        }
        return dropped;
    }
    if (!checkpoint::dropsCommits(request)) return 0;
    std::vector<checkpoint::LogLinks> links;
    for (const PostgresLog& log : logs) links.push_back({log.ns, log.commits, log.interrupted, thread_id});
    const auto read = [&](std::string_view ns, CheckpointId id) {
        const std::int64_t number = std::ranges::find(logs, ns, &PostgresLog::ns)->number;
        const auto rows =
            connection.run(statements.commit, PostgresParameters().number(number).id(id), "read a commit");
        if (rows.rows() == 0)
            connection.errors().failUnreadable(
                "is damaged: a commit that is listed cannot be found; restore it from a backup");
        return rows.copy(0, 0);
    };
    const std::vector<checkpoint::LogPlan> plans = checkpoint::ThreadPrune(request).plan(links, read);
    for (std::size_t i = 0; i < logs.size(); ++i) {
        const PostgresLog& log = logs[i];
        const checkpoint::LogPlan& plan = plans[i];
        if (plan.dropped.empty()) continue;
        dropped += plan.dropped.size();
        if (plan.dropped.size() == log.commits.size()) {
            dropLog(connection, statements, thread_id, log);
        } else {
            applyPlan(connection, statements, thread_id, log, plan);
        }
    }
    return dropped;
}

}  // namespace

// No reader reaches what a deletion leaves. If it is not freed here, a later sweep frees it.
void PostgresSaver::deleteThread(std::string_view thread_id) { impl_->deleteThread(thread_id, nullptr); }
void PostgresSaver::deleteThread(std::string_view thread_id, const PutLease& lease) {
    impl_->deleteThread(thread_id, &lease.epoch);
}

void PostgresSaver::Impl::deleteThread(std::string_view thread_id, const std::int64_t* epoch) {
    checkpoint::ofPostgresLog({thread_id}, [&] {
        checkWritable();
        bool may_be_done = false;  // the first of two attempts may have done it
        const PostgresResult logs = pool.repeat([&](PostgresConnection& connection) {
            PostgresParameters parameters;
            parameters.bytes(thread_id);
            if (epoch != nullptr) parameters.number(*epoch);
            try {
                return connection.run(epoch != nullptr ? statements.delete_thread_leased : statements.delete_thread,
                                      parameters, "delete a thread");
            } catch (const checkpoint::PostgresLost&) {
                may_be_done = true;
                throw;
            }
        });
        if (epoch != nullptr && !logs.flag(0, 0)) {
            if (!may_be_done) checkpoint::refuseLease(*epoch);
            pool.errors().fail(
                "the connection broke while a thread was deleted, and whether it was is not known: "
                "read the thread's newest checkpoint to find out");
        }
        if (logs.isNull(0, 1)) return;
        PostgresArray numbers(checkpoint::bigint_type);
        for (int row = 0; row < logs.rows(); ++row) numbers.addNumber(logs.number(row, 1));
        try {
            checkpoint::PostgresPool::Lease connection(pool);
            (void)connection->run(statements.delete_rows,
                                  PostgresParameters().owned(numbers.encoded()).bytes(thread_id),
                                  "free the space of a deleted thread");
            (void)connection->run(statements.sweep, {}, "free the space of deleted threads");
        } catch (const SaverError&) {
        }
    });
}

// Uses one transaction for each thread, while runs append to the thread. A head is dropped only by dropLog and after
// barHead, which prevent appends. A commit that builds on an older one, which might be dropped, waits
// (postgresPutFunction).
std::size_t PostgresSaver::Impl::pruneThread(const std::string& thread_id, const PruneRequest& request) {
    const auto pruneOnce = [&](checkpoint::PostgresConnection& connection) {
        (void)connection.command("BEGIN", pruning);
        try {
            const std::size_t dropped = pruneInTransaction(connection, statements, thread_id, request);
            (void)connection.command("COMMIT", pruning);
            return dropped;
        } catch (const checkpoint::PostgresLost&) {
            throw;
        } catch (...) {
            (void)connection.command("ROLLBACK", pruning);
            throw;
        }
    };
    for (int tries = 1;; ++tries) {
        try {
            return pool.repeat(pruneOnce);
        } catch (const ConcurrentUpdateError&) {
            if (tries == prune_tries_max) return 0;  // the thread is in use
        } catch (const checkpoint::PostgresRefused& error) {
            if (!error.mayBeRetried() || tries == prune_tries_max) throw;
        }
    }
}

std::size_t PostgresSaver::prune(const PruneRequest& request) {
    impl_->checkWritable();
    checkpoint::checkPrune(request);
    if (request.thread_id)
        return checkpoint::ofPostgresLog({*request.thread_id},
                                         [&] { return impl_->pruneThread(*request.thread_id, request); });
    std::size_t dropped = 0;
    std::optional<std::string> last;
    for (;;) {
        const PostgresResult names = impl_->pool.repeat([&](PostgresConnection& connection) {
            PostgresParameters parameters;
            last ? parameters.bytes(*last) : parameters.null();
            return connection.run(impl_->statements.thread_names, parameters.number(names_a_page),
                                  "read the names of threads");
        });
        for (int row = 0; row < names.rows() && !impl_->is_closing; ++row) {
            last = names.copy(row, 0);
            checkpoint::pruneOrNote(request, *last, [&] {
                checkpoint::ofPostgresLog({*last}, [&] { dropped += impl_->pruneThread(*last, request); });
            });
        }
        if (names.rows() < names_a_page || impl_->is_closing) break;
    }
    const auto sweepSome = [&](PostgresConnection& connection) {
        return connection.run(impl_->statements.sweep, {}, "free the space of deleted threads").rows() > 0;
    };
    while (!impl_->is_closing && impl_->pool.repeat(sweepSome)) {
    }
    return dropped;
}

}  // namespace stategraph
