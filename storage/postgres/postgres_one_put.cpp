#include "storage/postgres/postgres_one_put.hpp"

#include <algorithm>
#include <string>

#include "src/value/times.hpp"
#include "storage/postgres/postgres_impl.hpp"
#include "storage/postgres/postgres_index.hpp"
#include "storage/postgres/postgres_thread_holds.hpp"

namespace stategraph::checkpoint {
namespace {

constexpr int put_tries_max = 5;

// What the function `put` answers.
constexpr std::int64_t head_is_another = 1;
constexpr std::int64_t write_is_refused = 2;
constexpr std::int64_t ancestor_is_gone = 3;
constexpr std::int64_t compared_is_another = 4;
constexpr std::int64_t lease_is_lost = 5;
constexpr std::int64_t root_is_gone = 6;

constexpr std::string_view was_first = "SG001";  // another writer

}  // namespace

PostgresPut::PostgresPut(const PostgresStatements& statements, PostgresThreadHolds& holds, const PutRequest& request,
                         const PutLease* lease)
    : statements_(statements), holds_(holds), request_(request), lease_(lease) {
    needs_.resize(request.commits.size());
    // As checkAncestors asks: the function `put` looks.
    for (std::size_t i = 0; i < request.commits.size(); ++i) needs_[i] = neededAncestor(request, i);
    const auto isOld = [&](CheckpointId id) {
        return id != request.expected_head &&
               std::ranges::none_of(request.commits, [&](const CommitRow& row) { return row.id == id; });
    };
    is_old_ = !request.root.empty() || std::ranges::any_of(needs_, [](CheckpointId id) { return !id.empty(); }) ||
              std::ranges::any_of(request.writes, [&](const WriteRow& row) { return isOld(row.checkpoint_id); });
}

bool PostgresPut::tryToStore(PostgresConnection& connection) const {
    if (isAppend()) return append(connection);
    PostgresJoinedColumns columns;
    addTo(columns);
    return connection.run(statements_.joined, columns.encoded(request_.sync), storing_commit).rows() > 0;
}

void PostgresPut::store(PostgresConnection& connection) const {
    for (int tries = 1;; ++tries) {
        try {
            if ((isAppend() && append(connection)) || putAll(connection)) return;
        } catch (const PostgresRefused& error) {
            if (!error.mayBeRetried() || tries == put_tries_max) throw;
        }
        if (tries == put_tries_max)
            connection.errors().fail(std::string("could not ") + storing_commit +
                                     ": other writers came first several times; try again");
    }
}

// What the server shows may be gone with it, until a standby has it.
bool PostgresPut::isStored(PostgresConnection& connection) const {
    if (!isVisible(connection)) return false;
    if (request_.sync) connection.makeDurable("wait until a commit that was found is durable");
    return true;
}

bool PostgresPut::isVisible(PostgresConnection& connection) const {
    constexpr const char* looking = "look whether a commit was stored";
    PostgresParameters parameters;
    parameters.log(request_.log);
    if (!request_.commits.empty())
        return connection.run(statements_.has_commit, parameters.id(request_.commits.back().id), looking).flag(0, 0);
    if (request_.writes.empty()) return false;
    PostgresArray ids(uuid_type);
    PostgresArray paths(bytea_type);
    PostgresArray bytes(bytea_type);
    for (const WriteRow& row : request_.writes) {
        ids.addId(row.checkpoint_id);
        paths.add(row.path);
        bytes.add(row.bytes);
    }
    parameters.owned(ids.encoded()).owned(paths.encoded()).owned(bytes.encoded());
    return connection.run(statements_.has_writes, parameters, looking).flag(0, 0);
}

PostgresPut::Right PostgresPut::right() const {
    if (lease_ != nullptr) return {.lease = lease_->epoch};
    return {.hold = holds_.epochOf(request_.log.thread_id)};
}

// A hold that nobody else has may be had again: a crash of the server loses the newest ones, and the session that
// proves that the holder is alive may have been lost for a while.
void PostgresPut::refuseOrHoldAgain(PostgresConnection& connection, const Right& right) const {
    if (right.lease) refuseLease(*right.lease);
    if (!holds_.holdAgain(connection, request_.log.thread_id)) refuseHold(*right.hold);
}

// Returns false if it may succeed now.
bool PostgresPut::refuseOrTryAgain(PostgresConnection& connection) const {
    const Right has = right();
    if (has.lease || has.hold) {
        PostgresParameters parameters;
        parameters.bytes(request_.log.thread_id).number(has.lease ? *has.lease : *has.hold);
        const PostgresStatement& statement = has.lease ? statements_.has_lease : statements_.has_hold;
        if (!connection.run(statement, parameters, "look for a lease").flag(0, 0)) refuseOrHoldAgain(connection, has);
    }
    const PostgresResult found =
        connection.run(statements_.head, PostgresParameters().log(request_.log), "read the newest commit");
    const CheckpointId head = found.rows() > 0 ? found.id(0, 0) : CheckpointId();
    if (head != request_.expected_head) refuseHead(request_.log, request_.expected_head, head);
    return false;
}

bool PostgresPut::append(PostgresConnection& connection) const {
    const CommitRow& row = request_.commits.front();
    const bool is_own = request_.log.checkpoint_ns.empty();
    PostgresParameters parameters;
    parameters.log(request_.log).id(request_.expected_head).id(row.id).id(row.parent).id(row.base);
    parameters.bytes(row.bytes).text(durability());
    if (is_own) addPlace(parameters, row.id);
    const Right has = right();
    if (has.lease || has.hold) parameters.number(has.lease ? *has.lease : *has.hold);
    const PostgresAppends& appends = is_own ? statements_.append : statements_.append_inner;
    const PostgresStatement& statement = has.lease ? appends.leased : has.hold ? appends.held : appends.free;
    try {
        return connection.run(statement, parameters, storing_commit).rows() > 0;
    } catch (const PostgresRefused& error) {
        if (error.sqlstate() != was_first) throw;
        return false;
    }
}

// What the index of threads stores.
void PostgresPut::addPlace(PostgresParameters& parameters, CheckpointId head) const {
    const ThreadOutlook& outlook = request_.outlook;
    parameters.number(static_cast<std::int64_t>(outlook.status));
    outlook.due ? parameters.number(times::unixMs(*outlook.due)) : parameters.null();
    parameters.id(placeKeptFrom(head));
    hasSummary() ? parameters.bytes(request_.summary) : parameters.null();
}

bool PostgresPut::hasSummary() const noexcept {
    return request_.outlook.status != Status::in_flight && !request_.summary.empty();
}

PostgresParameters PostgresPut::all() const {
    PostgresArray ids(uuid_type);
    PostgresArray parents(uuid_type);
    PostgresArray bases(uuid_type);
    PostgresArray bytes(bytea_type);
    PostgresArray needs(uuid_type);
    for (const CommitRow& row : request_.commits) {
        ids.addId(row.id);
        parents.addId(row.parent);
        bases.addId(row.base);
        bytes.add(row.bytes);
    }
    for (const CheckpointId id : needs_) needs.addId(id);
    PostgresArray write_ids(uuid_type);
    PostgresArray paths(bytea_type);
    PostgresArray write_bytes(bytea_type);
    PostgresArray conditional(bool_type);
    PostgresArray expected(bytea_type);
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
    PostgresArray compared_ids(uuid_type);
    PostgresArray compared_paths(bytea_type);
    PostgresArray compared(bytea_type);
    for (const WriteRow& row : request_.compared) {
        compared_ids.addId(row.checkpoint_id);
        compared_paths.add(row.path);
        compared.add(row.expected.value_or(std::string_view()));
    }
    for (const PostgresArray* array : {&compared_ids, &compared_paths, &compared}) parameters.owned(array->encoded());
    addPlace(parameters, head);
    parameters.text(durability()).id(request_.root);
    return parameters;
}

PostgresResult PostgresPut::callPut(PostgresConnection& connection, const Right& has) const {
    PostgresParameters parameters = all();
    if (!has.lease && !has.hold && !request_.answers)
        return connection.run(statements_.put, parameters, storing_commit);
    has.lease ? parameters.number(*has.lease) : parameters.null();
    lease_ != nullptr && lease_->takes ? parameters.number(*lease_->takes) : parameters.null();
    has.hold ? parameters.number(*has.hold) : parameters.null();
    parameters.flag(!has.lease && request_.answers);
    return connection.run(statements_.put_work, parameters, storing_commit);
}

bool PostgresPut::putAll(PostgresConnection& connection) const {
    try {
        const Right has = right();
        const PostgresResult answer = callPut(connection, has);
        const std::int64_t status = answer.number(0, 0);
        if (status == lease_is_lost) {
            refuseOrHoldAgain(connection, has);
            return false;
        }
        if (status == root_is_gone) refuseRoot(request_);
        const auto place = static_cast<std::size_t>(std::max<std::int64_t>(answer.number(0, 2), 1)) - 1;
        if (status == head_is_another) refuseHead(request_.log, request_.expected_head, answer.id(0, 1));
        if (status == write_is_refused) refuseWrite(request_.log, request_.writes[place]);
        if (status == compared_is_another) refuseWrite(request_.log, request_.compared[place]);
        if (status == ancestor_is_gone) refuseAncestor(request_.log, request_.commits[place].id, answer.id(0, 1));
        return true;
    } catch (const PostgresRefused& error) {
        if (error.sqlstate() == was_first) return refuseOrTryAgain(connection);
        if (error.sqlstate() == "SG002") refuseWrite(request_.log, request_.writes[std::stoul(error.said()) - 1]);
        if (error.sqlstate() == "SG003") refuseInput(*lease_->takes);
        throw;
    }
}

std::size_t PostgresPut::joinedBytes() const noexcept {
    constexpr std::size_t fixed = 200;  // ids and numbers
    std::size_t bytes = request_.log.thread_id.size() + request_.log.checkpoint_ns.size() + request_.summary.size();
    for (const CommitRow& row : request_.commits) bytes += fixed + row.bytes.size();
    return bytes;
}

void PostgresPut::addTo(PostgresJoinedColumns& columns) const {
    const CommitRow& first = request_.commits.front();
    const CheckpointId head = request_.commits.back().id;
    ++columns.puts;
    columns.threads.add(request_.log.thread_id);
    columns.namespaces.add(request_.log.checkpoint_ns);
    columns.expected.addId(request_.expected_head);
    columns.last_ids.addId(head);
    columns.parents.addId(first.parent);
    columns.bases.addId(first.base);
    columns.bytes.add(first.bytes);
    const ThreadOutlook& outlook = request_.outlook;
    columns.statuses.addNumber(static_cast<std::int64_t>(outlook.status));
    outlook.due ? columns.dues.addNumber(times::unixMs(*outlook.due)) : columns.dues.addNull();
    columns.seconds_ago.addId(placeKeptFrom(head));
    const Right has = right();
    has.lease ? columns.epochs.addNumber(*has.lease) : columns.epochs.addNull();
    has.hold ? columns.holds.addNumber(*has.hold) : columns.holds.addNull();
    lease_ != nullptr && lease_->takes ? columns.takes.addNumber(*lease_->takes) : columns.takes.addNull();
    hasSummary() ? columns.summaries.add(request_.summary) : columns.summaries.addNull();
    columns.first_ids.addId(first.id);
    for (std::size_t i = 1; i < request_.commits.size(); ++i) {
        const CommitRow& row = request_.commits[i];
        columns.further.places.addNumber(columns.puts);
        columns.further.before.addId(request_.commits[i - 1].id);
        columns.further.ids.addId(row.id);
        columns.further.parents.addId(row.parent);
        columns.further.bases.addId(row.base);
        columns.further.bytes.add(row.bytes);
    }
}

PostgresParameters PostgresJoinedColumns::encoded(bool sync) const {
    PostgresParameters parameters;
    for (const PostgresArray* array : {&threads, &namespaces, &expected, &last_ids, &parents, &bases, &bytes})
        parameters.owned(array->encoded());
    parameters.text(sync ? "on" : "off");
    for (const PostgresArray* array : {&statuses, &dues, &seconds_ago, &epochs, &takes, &summaries, &first_ids})
        parameters.owned(array->encoded());
    for (const PostgresArray* array :
         {&further.places, &further.before, &further.ids, &further.parents, &further.bases, &further.bytes})
        parameters.owned(array->encoded());
    parameters.owned(holds.encoded());
    return parameters;
}

}  // namespace stategraph::checkpoint
