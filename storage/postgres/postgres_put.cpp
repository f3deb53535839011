#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "src/value/times.hpp"
#include "storage/postgres/postgres_impl.hpp"
#include "storage/postgres/postgres_index.hpp"

// Storing: one statement, and what follows if its answer does not come.
namespace stategraph {
namespace {

using checkpoint::PostgresArray;
using checkpoint::PostgresConnection;
using checkpoint::PostgresParameters;
using checkpoint::PostgresPool;
using checkpoint::PostgresResult;
using checkpoint::PostgresStatements;

constexpr const char* storing = "store a commit";
// An entry of an index has at most some 2,700 bytes.
constexpr std::size_t name_bytes_max = 2500;
constexpr int put_tries_max = 5;

// What the function `put` answers.
constexpr std::int64_t head_is_another = 1;
constexpr std::int64_t write_is_refused = 2;
constexpr std::int64_t ancestor_is_gone = 3;
constexpr std::int64_t compared_is_another = 4;

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
    PostgresPut(const PostgresStatements& statements, const PutRequest& request)
        : statements_(statements), request_(request) {
        needs_.resize(request.commits.size());
        CheckpointId before = request.expected_head;
        for (std::size_t i = 0; i < request.commits.size(); ++i) {
            // As checkpoint::checkAncestors asks: the function `put` looks.
            const CommitRow& row = request.commits[i];
            if (row.base != row.id && !row.parent.empty() && row.parent != before) needs_[i] = row.parent;
            before = row.id;
        }
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
    const char* durability() const noexcept { return request_.sync ? "on" : "off"; }

    bool isAppend() const noexcept {
        return request_.commits.size() == 1 && request_.writes.empty() && request_.compared.empty() &&
               !request_.expected_head.empty() && !is_old_;
    }

    // Returns false if it may succeed now.
    bool refuseOrTryAgain(PostgresConnection& connection) const {
        const PostgresResult found =
            connection.run(statements_.head, PostgresParameters().log(request_.log), "read the newest commit");
        const CheckpointId head = found.rows() > 0 ? found.id(0, 0) : CheckpointId();
        if (head != request_.expected_head) checkpoint::refuseHead(request_.log, request_.expected_head, head);
        return false;
    }

    bool append(PostgresConnection& connection) const {
        const CommitRow& row = request_.commits.front();
        const bool is_own = request_.log.checkpoint_ns.empty();
        PostgresParameters parameters;
        parameters.log(request_.log).id(request_.expected_head).id(row.id).id(row.parent).id(row.base);
        parameters.bytes(row.bytes).text(durability());
        if (is_own) addPlace(parameters, row.id);
        const auto stored = connection.run(is_own ? statements_.append : statements_.append_inner, parameters, storing);
        return stored.rows() > 0 || refuseOrTryAgain(connection);
    }

    // What the index of threads stores.
    void addPlace(PostgresParameters& parameters, CheckpointId head) const {
        const ThreadOutlook& outlook = request_.outlook;
        parameters.number(static_cast<std::int64_t>(outlook.status));
        outlook.due ? parameters.number(times::unixMs(*outlook.due)) : parameters.null();
        parameters.id(checkpoint::placeKeptFrom(head));
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

    bool putAll(PostgresConnection& connection) const {
        try {
            const PostgresResult answer = connection.run(statements_.put, all(), storing);
            const std::int64_t status = answer.number(0, 0);
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
            throw;
        }
    }

    const PostgresStatements& statements_;
    const PutRequest& request_;
    std::vector<CheckpointId> needs_;  // one for each commit; none: it needs nothing that could have been dropped
    bool is_old_ = false;              // what it builds on, a prune might drop
};

[[noreturn]] void failUnknown(const SaverError& error) {
    throw SaverError(error.message() +
                     "; whether the server has stored it is not known: the thread's newest checkpoint tells");
}

}  // namespace

// If the answer of a put was lost, it is looked up by its id, which no other writer uses. It may still be under way in
// the server: then the repeated put meets it in the chain's index, waits for it, is refused, and finds it.
void PostgresSaver::Impl::put(const PutRequest& request) {
    const PostgresPut put(statements, request);
    try {
        PostgresPool::Lease lease(pool);
        return put.store(*lease);
    } catch (const checkpoint::PostgresLost&) {
    }
    try {
        PostgresPool::Lease lease(pool, PostgresPool::Lease::Kind::made_anew);
        if (put.isStored(*lease)) return;
        try {
            put.store(*lease);
        } catch (const ConcurrentUpdateError&) {
            if (!put.isStored(*lease)) throw;
        }
    } catch (const checkpoint::PostgresRefused& error) {
        if (error.isCertain()) throw;
        failUnknown(error);
    } catch (const SaverError& error) {
        failUnknown(error);
    }
}

void PostgresSaver::put(const PutRequest& request) {
    checkpoint::checkPut(request);
    checkpoint::ofPostgresLog(request.log, [&] {
        impl_->checkWritable();
        checkNames(request);
        impl_->put(request);
    });
}

}  // namespace stategraph
