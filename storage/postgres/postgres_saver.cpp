#include <stategraph/postgres_saver.hpp>

#include <algorithm>
#include <memory>
#include <new>
#include <string>

#include "storage/postgres/postgres_impl.hpp"

// Opens the saver and reads. postgres_put.cpp stores, and postgres_prune.cpp removes.
namespace stategraph {
namespace checkpoint {

const PostgresSaverOptions& checkedOptions(const PostgresSaverOptions& options) {
    checkPostgresSettings(poolSettings({}, options));
    checkPostgresJoin(options.join_puts);
    checkPostgresNotify(options.notify);
    if (options.read_only && (options.notify.work || options.notify.commits))
        throw InvalidArgumentError(
            "notify: a read_only saver stores nothing that it could notify others of; set one of them only");
    if (options.async_threads < 1 || options.async_threads > 64)
        throw InvalidArgumentError("async_threads is " + std::to_string(options.async_threads) +
                                   "; it must be 1 to 64");
    if (options.commits_ahead < 1 || options.commits_ahead > 1000)
        throw InvalidArgumentError("commits_ahead is " + std::to_string(options.commits_ahead) +
                                   "; it must be 1 to 1000");
    if (options.read_only && options.set_up)
        throw InvalidArgumentError("set_up: a read_only database is not changed; set one of them only");
    if (!options.retention) return options;
    checkRetention(*options.retention);
    if (options.read_only)
        throw InvalidArgumentError("retention: a read_only database cannot be pruned; set one of them only");
    return options;
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
    impl_->open(options.set_up);
    if (options.notify.work || options.notify.commits)
        impl_->notifier = std::make_unique<checkpoint::PostgresNotifier>(impl_->pool, options.notify);
    if (options.retention) impl_->retention = std::make_unique<checkpoint::Retention>(*this, *options.retention);
}

void PostgresSaver::Impl::open(bool set_up) {
    pool.repeat([&](PostgresConnection& connection) {
        set_up ? checkpoint::setUpPostgres(connection) : checkpoint::checkPostgresFormat(connection);
    });
}

PostgresSaver::~PostgresSaver() {
    impl_->is_closing = true;
    // A child of a fork does not have the threads, and need not wait for them.
    if (!impl_->pool.isOwnProcess()) {
        (void)impl_->notifier.release();
        (void)impl_->threads.release();
        (void)new (std::nothrow) std::shared_ptr(std::move(impl_->holds));
    }
    checkpoint::endRetention(impl_->retention);  // its thread calls prune
    impl_->notifier.reset();
}

void PostgresSaver::Impl::checkWritable() const {
    if (read_only) pool.errors().fail("it is open read_only; open it without read_only to change it");
}

std::uint64_t PostgresSaver::roundTrips() const noexcept { return impl_->pool.roundTrips(); }
std::uint64_t PostgresSaver::joinedPuts() const noexcept { return impl_->joiner.joined(); }
std::uint64_t PostgresSaver::notifications() const noexcept { return impl_->notifier ? impl_->notifier->sent() : 0; }
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
        bool may_be_done = false;  // the first of two attempts may have done it
        impl_->pool.repeat([&](PostgresConnection& connection) {
            bool is_taken = false;
            try {
                is_taken = connection.run(impl_->statements.copy_thread, parameters, "copy a thread").flag(0, 0);
            } catch (const checkpoint::PostgresRefused& error) {
                if (error.sqlstate() != "23505") throw;  // another writer has just created the target
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

bool PostgresSaver::holdsThreads() const noexcept { return impl_->pool.settings().connection.prepared_statements; }

std::unique_ptr<ThreadHold> PostgresSaver::tryHold(std::string_view thread_id) {
    if (!holdsThreads()) return BaseCheckpointSaver::tryHold(thread_id);
    return checkpoint::ofPostgresLog({thread_id}, [&] {
        impl_->checkWritable();
        return impl_->holds->tryHold(impl_->pool, thread_id);
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
