#include <stategraph/postgres_saver.hpp>

#include <algorithm>

#include "storage/postgres/postgres_impl.hpp"

// Opening and reading. What stores is in postgres_put.cpp, what removes in postgres_prune.cpp.
namespace stategraph {
namespace checkpoint {
namespace {

constexpr std::size_t schema_bytes_max = 63;
constexpr std::size_t connections_limit = 1000;

void checkTime(const char* name, std::chrono::milliseconds time, std::chrono::milliseconds least,
               std::chrono::milliseconds most) {
    if (time >= least && time <= most) return;
    throw InvalidArgumentError(std::string(name) + " is " + std::to_string(time.count()) + " ms; it must be " +
                               std::to_string(least.count()) + " to " + std::to_string(most.count()));
}

}  // namespace

const PostgresSaverOptions& checkedOptions(const PostgresSaverOptions& options) {
    using std::chrono::hours;
    using std::chrono::milliseconds;
    if (options.schema.empty() || options.schema.size() > schema_bytes_max ||
        options.schema.find('\0') != std::string::npos)
        throw InvalidArgumentError("schema '" + options.schema.substr(0, schema_bytes_max) + "' has " +
                                   std::to_string(options.schema.size()) +
                                   " bytes; it must have 1 to 63, and none of value 0");
    if (options.connections_max < 1 || options.connections_max > connections_limit)
        throw InvalidArgumentError("connections_max is " + std::to_string(options.connections_max) +
                                   "; it must be 1 to " + std::to_string(connections_limit));
    checkTime("connection_wait", options.connection_wait, milliseconds(0), hours(24));
    checkTime("connect_timeout", options.connect_timeout, milliseconds(1), hours(1));
    checkTime("statement_timeout", options.statement_timeout, milliseconds(1), hours(1));
    checkTime("reconnect_for", options.reconnect_for, milliseconds(0), hours(24));
    if (options.read_only && options.set_up)
        throw InvalidArgumentError("set_up: a read_only database is not changed; set one of them only");
    if (!options.retention) return options;
    checkRetention(*options.retention);
    if (options.read_only)
        throw InvalidArgumentError("retention: a read_only database cannot be pruned; set one of them only");
    return options;
}

PostgresPoolSettings poolSettings(const std::string& conninfo, const PostgresSaverOptions& options) {
    return {.connection = {.conninfo = conninfo,
                           .read_only = options.read_only,
                           .prepared_statements = options.prepared_statements,
                           .connect_timeout = options.connect_timeout,
                           .statement_timeout = options.statement_timeout},
            .schema = options.schema,
            .connections_max = options.connections_max,
            .connection_wait = options.connection_wait,
            .reconnect_for = options.reconnect_for};
}

}  // namespace checkpoint

namespace {

using checkpoint::PostgresArray;
using checkpoint::PostgresConnection;
using checkpoint::PostgresParameters;
using checkpoint::PostgresResult;

CheckpointTuple tupleOf(const PostgresResult& rows) {
    CheckpointTuple tuple;
    RowBuffer buffer;
    for (int row = 0; row < rows.rows(); ++row) {
        const CheckpointId id = rows.id(row, 1);
        switch (rows.number(row, 0)) {
            case 0:
                tuple.id = id;
                tuple.head = rows.id(row, 4);
                break;
            case 1:
                tuple.commits.push_back({id, buffer.add(rows.bytes(row, 3))});
                break;
            case 2:
                tuple.next = StoredCommit{id, rows.copy(row, 3)};
                break;
            default:
                tuple.writes.push_back({rows.copy(row, 2), rows.copy(row, 3)});
        }
    }
    std::ranges::sort(tuple.commits, {}, &StoredCommit::id);
    std::ranges::sort(tuple.writes, {}, &StoredWrite::path);
    return tuple;
}

PostgresParameters listParameters(const ListQuery& query) {
    PostgresParameters parameters;
    if (query.thread_id) {
        parameters.bytes(*query.thread_id);
    } else if (!query.thread_ids.empty()) {
        PostgresArray threads(checkpoint::bytea_type);
        for (const std::string& thread_id : query.thread_ids) threads.add(thread_id);
        parameters.owned(threads.encoded());
    }
    if (query.checkpoint_ns) parameters.bytes(*query.checkpoint_ns);
    if (query.after_thread_id && query.thread_ids.empty()) parameters.bytes(*query.after_thread_id);
    if (!query.before.empty()) parameters.id(query.before);
    if (query.limit) parameters.limit(*query.limit);
    return parameters;
}

std::vector<ListedCheckpoint> listedOf(const PostgresResult& rows) {
    std::vector<ListedCheckpoint> listed;
    RowBuffer buffer;
    for (int row = 0; row < rows.rows(); ++row) {
        if (rows.isNull(row, 5)) {
            listed.push_back(
                {rows.copy(row, 1), rows.copy(row, 2), rows.id(row, 3), buffer.add(rows.bytes(row, 4)), {}});
        } else {
            listed.back().writes.push_back({rows.copy(row, 5), rows.copy(row, 4)});
        }
    }
    return listed;
}

CheckpointId keyOf(const GraphFingerprint& fingerprint) { return {fingerprint.graph, fingerprint.schema}; }

}  // namespace

PostgresSaver::PostgresSaver(const std::string& conninfo, const PostgresSaverOptions& options)
    : impl_(std::make_unique<Impl>(conninfo, checkpoint::checkedOptions(options))) {
    impl_->pool.repeat([&](PostgresConnection& connection) {
        if (options.set_up) return checkpoint::setUpPostgres(connection);
        checkpoint::checkPostgresFormat(connection);
    });
    if (options.retention) impl_->retention = std::make_unique<checkpoint::Retention>(*this, *options.retention);
}

PostgresSaver::~PostgresSaver() {
    impl_->is_closing = true;
    // A child of a fork does not have the thread that prunes, and nothing to wait for.
    if (!impl_->pool.isOwnProcess()) (void)impl_->retention.release();
    impl_->retention.reset();  // it calls prune
}

void PostgresSaver::Impl::checkWritable() const {
    if (read_only) pool.errors().fail("it is open read_only; open it without read_only to change it");
}

std::uint64_t PostgresSaver::roundTrips() const noexcept { return impl_->pool.roundTrips(); }
RetentionReport PostgresSaver::retentionReport() const {
    return impl_->retention ? impl_->retention->report() : RetentionReport();
}

std::optional<CheckpointTuple> PostgresSaver::getTuple(const TupleQuery& query) {
    return checkpoint::ofPostgresLog(query.log, [&]() -> std::optional<CheckpointTuple> {
        const checkpoint::PostgresStatements& statements = impl_->statements;
        PostgresParameters parameters;
        parameters.log(query.log);
        const checkpoint::PostgresStatement* statement = &statements.newest_tuple;
        if (!query.checkpoint_id.empty() || !query.before.empty()) {
            const bool is_exact = !query.checkpoint_id.empty();
            parameters.id(is_exact ? query.checkpoint_id : query.before);
            statement = is_exact ? &statements.tuple : &statements.tuple_before;
        }
        const PostgresResult rows = impl_->pool.repeat([&](PostgresConnection& connection) {
            return connection.run(*statement, parameters, "read a checkpoint");
        });
        if (rows.rows() == 0) return std::nullopt;
        return tupleOf(rows);
    });
}

std::vector<ListedCheckpoint> PostgresSaver::list(const ListQuery& query) {
    if (query.limit == std::size_t{0}) return {};
    const auto statement = checkpoint::postgresList(query, impl_->quoted_schema);
    const auto call = [&] {
        return listedOf(impl_->pool.repeat([&](PostgresConnection& connection) {
            return connection.run(statement, listParameters(query), "list checkpoints");
        }));
    };
    return query.thread_id ? checkpoint::ofPostgresLog({*query.thread_id}, call) : call();
}

void PostgresSaver::copyThread(std::string_view from, std::string_view to) {
    checkpoint::checkCopyTarget(to);
    checkpoint::ofPostgresLog({to}, [&] {
        impl_->checkWritable();
        PostgresParameters parameters;
        parameters.bytes(from).bytes(to);
        bool may_be_done = false;  // by the first of two tries
        impl_->pool.repeat([&](PostgresConnection& connection) {
            bool is_taken = false;
            try {
                is_taken = connection.run(impl_->statements.copy_thread, parameters, "copy a thread").flag(0, 0);
            } catch (const checkpoint::PostgresRefused& error) {
                if (error.sqlstate() != "23505") throw;  // somebody made the target at this moment
                is_taken = true;
            } catch (const checkpoint::PostgresLost&) {
                may_be_done = true;
                throw;
            }
            if (!is_taken) return;
            if (may_be_done && connection.run(impl_->statements.is_copy, parameters, "look at a copy").flag(0, 0))
                return;
            checkpoint::refuseCopy(from, to);
        });
    });
}

void PostgresSaver::putGraph(const GraphFingerprint& fingerprint, std::string_view bytes) {
    impl_->checkWritable();
    impl_->pool.repeat([&](PostgresConnection& connection) {
        (void)connection.run(impl_->statements.put_graph, PostgresParameters().id(keyOf(fingerprint)).bytes(bytes),
                             "store a graph's description");
    });
}

std::optional<std::string> PostgresSaver::getGraph(const GraphFingerprint& fingerprint) {
    return impl_->pool.repeat([&](PostgresConnection& connection) -> std::optional<std::string> {
        const auto rows = connection.run(impl_->statements.get_graph, PostgresParameters().id(keyOf(fingerprint)),
                                         "read a graph's description");
        if (rows.rows() == 0) return std::nullopt;
        return rows.copy(0, 0);
    });
}

std::optional<std::uint64_t> PostgresSaver::storedBytes() {
    return impl_->pool.repeat([&](PostgresConnection& connection) {
        const auto rows = connection.run(impl_->statements.stored_bytes, {}, "read its size");
        return static_cast<std::uint64_t>(rows.number(0, 0));
    });
}

}  // namespace stategraph
