#include <string>

#include <stategraph/sharded_saver.hpp>

#include "storage/postgres/postgres_impl.hpp"
#include "storage/postgres/postgres_one_put.hpp"
#include "storage/postgres/postgres_shard_tables.hpp"

// Storing: one statement, perhaps together with other puts, and what follows if its answer does not come.
namespace stategraph {
namespace {

using checkpoint::PostgresArray;
using checkpoint::PostgresConnection;
using checkpoint::PostgresFence;
using checkpoint::PostgresParameters;
using checkpoint::PostgresPool;
using checkpoint::PostgresPut;

// An entry of an index has at most about 2,700 bytes.
constexpr std::size_t name_bytes_max = 2500;
void checkName(std::size_t bytes, const char* what) {
    if (bytes > name_bytes_max)
        throw InvalidArgumentError(std::string(what) + " " + std::to_string(bytes) +
                                   " bytes, and a PostgresSaver stores at most " + std::to_string(name_bytes_max));
}

void checkNames(const PutRequest& request) {
    checkName(request.log.thread_id.size() + request.log.checkpoint_ns.size(), "thread and namespace together have");
    for (const WriteRow& row : request.writes) checkName(row.path.size(), "a pending write's path has");
}

class PostgresPut {
public:
    /// `lease` may be null: nobody asks for one.
    PostgresPut(const PostgresStatements& statements, const PostgresFence& fence, const PutRequest& request,
                const PutLease* lease)
        : statements_(statements), fence_(fence), request_(request), lease_(lease) {
        needs_.resize(request.commits.size());
        // As checkpoint::checkAncestors asks: the function `put` looks.
        for (std::size_t i = 0; i < request.commits.size(); ++i) needs_[i] = checkpoint::neededAncestor(request, i);
        const auto isOld = [&](CheckpointId id) {
            return id != request.expected_head &&
                   std::ranges::none_of(request.commits, [&](const CommitRow& row) { return row.id == id; });
        };
        is_old_ = std::ranges::any_of(needs_, [](CheckpointId id) { return !id.empty(); }) ||
                  std::ranges::any_of(request.writes, [&](const WriteRow& row) { return isOld(row.checkpoint_id); });
    }

    /// Throws ConcurrentUpdateError if it is refused.
    void store(PostgresConnection& connection) const {
        for (int tries = 1;; ++tries) {
            try {
                if (isAppend() ? append(connection) : putAll(connection)) return;
            } catch (const checkpoint::PostgresRefused& error) {
                if (!error.mayBeRetried() || tries == put_tries_max) throw;
            }
            if (tries == put_tries_max)
                connection.errors().fail(std::string("could not ") + storing +
                                         ": others came between again and again; try again");
        }
    }

    /// Whether the rows exist. For pending writes alone this may also be true because another writer stored the same
    /// bytes.
    bool isStored(PostgresConnection& connection) const {
        constexpr const char* looking = "look whether a commit was stored";
        PostgresParameters parameters;
        parameters.log(request_.log);
        if (!request_.commits.empty())
            return connection.run(statements_.has_commit, parameters.id(request_.commits.back().id), looking)
                .flag(0, 0);
        if (request_.writes.empty()) return false;
        PostgresArray ids(checkpoint::uuid_type);
        PostgresArray paths(checkpoint::bytea_type);
        PostgresArray bytes(checkpoint::bytea_type);
        for (const WriteRow& row : request_.writes) {
            ids.addId(row.checkpoint_id);
            paths.add(row.path);
            bytes.add(row.bytes);
        }
        parameters.owned(ids.encoded()).owned(paths.encoded()).owned(bytes.encoded());
        return connection.run(statements_.has_writes, parameters, looking).flag(0, 0);
    }

private:
    PostgresResult run(PostgresConnection& connection, const PostgresStatement& statement,
                       const PostgresParameters& parameters) const {
        return fence_.run(connection, PostgresFence::Access::append, request_.log.thread_id, statement, parameters,
                          storing);
    }

    const char* durability() const noexcept { return request_.sync ? "on" : "off"; }

    bool isAppend() const noexcept {
        return request_.commits.size() == 1 && request_.writes.empty() && request_.compared.empty() &&
               !request_.expected_head.empty() && !is_old_ && (lease_ == nullptr || !lease_->takes);
    }

    // Answers from outside are such puts: a worker is to see them.
    bool mayWake() const noexcept {
        return std::ranges::any_of(request_.writes, [](const WriteRow& row) { return row.expected.has_value(); });
    }

    // Returns false if it may succeed now.
    bool refuseOrTryAgain(PostgresConnection& connection) const {
        if (lease_ != nullptr) {
            PostgresParameters parameters;
            parameters.bytes(request_.log.thread_id).number(lease_->epoch);
            if (!connection.run(statements_.has_lease, parameters, "look for a lease").flag(0, 0))
                checkpoint::refuseLease(lease_->epoch);
        }
        const PostgresResult found =
            connection.run(statements_.head, PostgresParameters().log(request_.log), "read the newest commit");
        const CheckpointId head = found.rows() > 0 ? found.id(0, 0) : CheckpointId();
        if (head != request_.expected_head) checkpoint::refuseHead(request_.log, request_.expected_head, head);
        return false;
    }

    PostgresParameters appended() const {
        const CommitRow& row = request_.commits.front();
        PostgresParameters parameters;
        parameters.log(request_.log).id(request_.expected_head).id(row.id).id(row.parent).id(row.base);
        parameters.bytes(row.bytes).text(durability());
        if (request_.log.checkpoint_ns.empty()) addPlace(parameters, row.id);
        if (lease_ != nullptr) parameters.number(lease_->epoch);
        return parameters;
    }

    bool append(PostgresConnection& connection) const {
        const bool is_own = request_.log.checkpoint_ns.empty();
        const PostgresStatement& unleased = is_own ? statements_.append : statements_.append_inner;
        const PostgresStatement& leased = is_own ? statements_.append_leased : statements_.append_inner_leased;
        const PostgresStatement& statement = lease_ != nullptr ? leased : unleased;
        PostgresParameters parameters = appended();
        if (!fence_.hasSlots())
            return connection.run(statement, parameters, storing).rows() > 0 || refuseOrTryAgain(connection);
        // Where the slot is simply owned, the statement finds that out by itself, which is faster than two statements.
        using checkpoint::SlotState;
        const auto slot = static_cast<std::int64_t>(slotOf(request_.log.thread_id));
        parameters.number(slot).number(static_cast<std::int64_t>(SlotState::owned));
        if (connection.run(statement, parameters, storing).rows() > 0) return true;
        PostgresParameters again = appended();
        again.number(slot).number(static_cast<std::int64_t>(SlotState::copying));
        return run(connection, statement, again).rows() > 0 || refuseOrTryAgain(connection);
    }

    // What the index of threads stores.
    void addPlace(PostgresParameters& parameters, CheckpointId head) const {
        const ThreadOutlook& outlook = request_.outlook;
        parameters.number(static_cast<std::int64_t>(outlook.status));
        outlook.due ? parameters.number(times::unixMs(*outlook.due)) : parameters.null();
        parameters.id(checkpoint::placeKeptFrom(head));
        const bool has_summary = outlook.status != ThreadStatus::unknown && !request_.summary.empty();
        has_summary ? parameters.bytes(request_.summary) : parameters.null();
    }

    PostgresParameters all() const {
        PostgresArray ids(checkpoint::uuid_type);
        PostgresArray parents(checkpoint::uuid_type);
        PostgresArray bases(checkpoint::uuid_type);
        PostgresArray bytes(checkpoint::bytea_type);
        PostgresArray needs(checkpoint::uuid_type);
        for (const CommitRow& row : request_.commits) {
            ids.addId(row.id);
            parents.addId(row.parent);
            bases.addId(row.base);
            bytes.add(row.bytes);
        }
        for (const CheckpointId id : needs_) needs.addId(id);
        PostgresArray write_ids(checkpoint::uuid_type);
        PostgresArray paths(checkpoint::bytea_type);
        PostgresArray write_bytes(checkpoint::bytea_type);
        PostgresArray conditional(checkpoint::bool_type);
        PostgresArray expected(checkpoint::bytea_type);
        for (const WriteRow& row : request_.writes) {
            write_ids.addId(row.checkpoint_id);
            paths.add(row.path);
            write_bytes.add(row.bytes);
            conditional.addFlag(row.expected.has_value());
            expected.add(row.expected.value_or(std::string_view()));
        }
        const CheckpointId head = request_.commits.empty() ? request_.expected_head : request_.commits.back().id;
        PostgresParameters parameters;
        parameters.log(request_.log).id(request_.expected_head);
        for (const PostgresArray* array : {&ids, &parents, &bases, &bytes, &needs}) parameters.owned(array->encoded());
        parameters.flag(is_old_);
        for (const PostgresArray* array : {&write_ids, &paths, &write_bytes, &conditional, &expected})
            parameters.owned(array->encoded());
        PostgresArray compared_ids(checkpoint::uuid_type);
        PostgresArray compared_paths(checkpoint::bytea_type);
        PostgresArray compared(checkpoint::bytea_type);
        for (const WriteRow& row : request_.compared) {
            compared_ids.addId(row.checkpoint_id);
            compared_paths.add(row.path);
            compared.add(row.expected.value_or(std::string_view()));
        }
        for (const PostgresArray* array : {&compared_ids, &compared_paths, &compared})
            parameters.owned(array->encoded());
        addPlace(parameters, head);
        parameters.text(durability());
        return parameters;
    }

    PostgresResult callPut(PostgresConnection& connection) const {
        PostgresParameters parameters = all();
        if (lease_ == nullptr && !mayWake()) return run(connection, statements_.put, parameters);
        lease_ != nullptr ? parameters.number(lease_->epoch) : parameters.null();
        lease_ != nullptr && lease_->takes ? parameters.number(*lease_->takes) : parameters.null();
        return run(connection, statements_.put_work, parameters);
    }

    bool putAll(PostgresConnection& connection) const {
        try {
            const PostgresResult answer = callPut(connection);
            const std::int64_t status = answer.number(0, 0);
            if (status == lease_is_lost) checkpoint::refuseLease(lease_->epoch);
            const auto place = static_cast<std::size_t>(std::max<std::int64_t>(answer.number(0, 2), 1)) - 1;
            if (status == head_is_another)
                checkpoint::refuseHead(request_.log, request_.expected_head, answer.id(0, 1));
            if (status == write_is_refused) checkpoint::refuseWrite(request_.log, request_.writes[place]);
            if (status == compared_is_another) checkpoint::refuseWrite(request_.log, request_.compared[place]);
            if (status == ancestor_is_gone)
                checkpoint::refuseAncestor(request_.log, request_.commits[place].id, answer.id(0, 1));
            return true;
        } catch (const checkpoint::PostgresRefused& error) {
            if (error.sqlstate() == "SG001") return refuseOrTryAgain(connection);
            if (error.sqlstate() == "SG002")
                checkpoint::refuseWrite(request_.log, request_.writes[std::stoul(error.said()) - 1]);
            if (error.sqlstate() == "SG003") checkpoint::refuseInput(*lease_->takes);
            throw;
        }
    }

    const PostgresStatements& statements_;
    const PostgresFence& fence_;
    const PutRequest& request_;
    const PutLease* const lease_;
    std::vector<CheckpointId> needs_;  // one a commit; none: nothing that could be gone
    bool is_old_ = false;              // what it builds on, a prune might drop
};

}  // namespace

void checkpoint::refuseLease(std::int64_t epoch) {
    throw LeaseLostError("the lease with epoch " + std::to_string(epoch) +
                         " on the thread is lost, so nothing was stored: it ran out and another worker claimed the "
                         "thread, or the thread was taken from the queue. End the run: its new owner continues it");
}

void checkpoint::refuseInput(std::int64_t number) {
    throw ConcurrentUpdateError("input " + std::to_string(number) +
                                " of the queue was withdrawn or taken meanwhile, so nothing was stored");
}

namespace {

[[noreturn]] void failUnknown(const SaverError& error) {
    throw SaverError(error.message() +
                     "; whether the server has stored it is not known: the thread's newest checkpoint tells");
}

}  // namespace

// If the answer to a put was lost, the put is looked for by an id that no other writer uses. It may still be under way
// in the server. If so, the second put finds it in the chain's index, waits for it, is refused, and then finds it.
void PostgresSaver::Impl::put(const PutRequest& request, const PutLease* lease) {
    const PostgresPut put(statements, fence, request, lease);
    try {
        const auto outcome = joiner.store(put);
        if (outcome == PostgresJoiner::Outcome::stored) return;
        if (outcome == PostgresJoiner::Outcome::alone) {
            PostgresPool::Lease connection(pool);
            return put.store(*connection);
        }
    } catch (const checkpoint::PostgresLost&) {
    }
    try {
        PostgresPool::Lease connection(pool, PostgresPool::Lease::Kind::made_anew);
        if (put.isStored(*connection)) return;
        try {
            put.store(*connection);
        } catch (const ConcurrentUpdateError&) {
            if (!put.isStored(*connection)) throw;
        }
    } catch (const checkpoint::PostgresRefused& error) {
        if (error.isCertain()) throw;
        failUnknown(error);
    } catch (ThreadMovedError& error) {
        error.setMayBeStored();  // before the thread moved
        throw;
    } catch (const SaverError& error) {
        failUnknown(error);
    }
}

void PostgresSaver::put(const PutRequest& request) { impl_->checkAndPut(request, nullptr); }
void PostgresSaver::put(const PutRequest& request, const PutLease& lease) { impl_->checkAndPut(request, &lease); }

void PostgresSaver::Impl::checkAndPut(const PutRequest& request, const PutLease* lease) {
    checkpoint::checkPut(request);
    checkpoint::ofPostgresLog(request.log, [&] {
        checkWritable();
        checkNames(request);
        try {
            put(request, lease);
        } catch (const ThreadMovedError& error) {
            // A lease does not move with its thread.
            if (lease == nullptr) throw;
            if (error.mayBeStored()) failUnknown(error);
            throw LeaseLostError("the lease with epoch " + std::to_string(lease->epoch) + " on the thread is lost: " +
                                 error.message() + ". End the run: a worker there continues it");
        }
    });
}

}  // namespace stategraph
