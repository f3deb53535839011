#include <string>

#include "storage/postgres/postgres_impl.hpp"
#include "storage/postgres/postgres_one_put.hpp"

// Storing: one statement, perhaps together with other puts, and what follows if its answer does not come.
namespace stategraph {
namespace {

using checkpoint::PostgresJoiner;
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

}  // namespace

void checkpoint::refuseLease(std::int64_t epoch) {
    throw LeaseLostError("the lease with epoch " + std::to_string(epoch) +
                         " on the thread is lost, so nothing was stored: it ran out and another worker claimed the "
                         "thread, or the thread was taken from the queue. End the run: its new owner continues it");
}

void checkpoint::refuseHold(std::int64_t epoch) {
    throw LeaseLostError("the hold with epoch " + std::to_string(epoch) +
                         " on the thread is lost, so nothing was stored: the connection that kept it was lost, and "
                         "another process or a worker has the thread now. End the run: its new owner continues it");
}

void checkpoint::refuseInput(std::int64_t number) {
    throw ConcurrentUpdateError("input " + std::to_string(number) +
                                " of the queue was withdrawn or taken meanwhile, so nothing was stored");
}

namespace {

[[noreturn]] void failUnknown(const SaverError& error) {
    throw SaverError(
        error.message() +
        "; whether the server has stored it is not known: read the thread's newest checkpoint to find out");
}

}  // namespace

// If the answer to a put was lost, the put is looked for by an id that no other writer uses. It may still be under way
// in the server. If so, the second put finds it in the chain's index, waits for it, is refused, and then finds it.
void PostgresSaver::Impl::put(const PutRequest& request, const PutLease* lease) {
    const PostgresPut put(statements, *holds, request, lease);
    auto outcome = PostgresJoiner::Outcome::lost;
    try {
        outcome = joiner.store(put);
    } catch (const checkpoint::PostgresLost&) {
    }
    if (outcome != PostgresJoiner::Outcome::stored) putAlone(put, outcome);
}

void PostgresSaver::Impl::putAlone(const PostgresPut& put, PostgresJoiner::Outcome outcome, Reconnect reconnect) {
    using Kind = PostgresPool::Lease::Kind;
    if (outcome == PostgresJoiner::Outcome::alone) {
        try {
            PostgresPool::Lease connection(pool);
            return put.store(*connection);
        } catch (const checkpoint::PostgresLost&) {
        }
    }
    try {
        PostgresPool::Lease connection(pool, reconnect == Reconnect::once ? Kind::any : Kind::made_anew);
        if (put.isStored(*connection)) return;
        try {
            put.store(*connection);
        } catch (const ConcurrentUpdateError&) {
            if (!put.isStored(*connection)) throw;
        }
    } catch (const checkpoint::PostgresRefused& error) {
        if (error.isCertain()) throw;
        failUnknown(error);
    } catch (const SaverError& error) {
        failUnknown(error);
    }
}

void PostgresSaver::put(const PutRequest& request) { impl_->checkAndPut(request, nullptr); }
void PostgresSaver::put(const PutRequest& request, const PutLease& lease) { impl_->checkAndPut(request, &lease); }

void PostgresSaver::Impl::checkRequest(const PutRequest& request) const {
    checkpoint::checkPut(request);
    checkpoint::ofPostgresLog(request.log, [&] {
        checkWritable();
        checkNames(request);
    });
}

void PostgresSaver::Impl::checkAndPut(const PutRequest& request, const PutLease* lease) {
    checkRequest(request);
    checkpoint::ofPostgresLog(request.log, [&] {
        put(request, lease);
        tellStored(request, lease);
    });
}

void PostgresSaver::Impl::tellStored(const PutRequest& request, const PutLease* lease) const noexcept {
    if (!request.commits.empty()) tellOthers(PostgresNotice::commit, request.log.thread_id);
    if (lease == nullptr && request.answers) tellOthers(PostgresNotice::work);
    if (lease == nullptr && checkpoint::endsHold(request)) holds->noteEnded(request.log.thread_id);
}

}  // namespace stategraph
