#include "storage/sharded/postgres/postgres_slot_copy.hpp"

#include <limits>
#include <utility>

#include "storage/postgres/postgres_tables.hpp"

namespace stategraph::checkpoint {
namespace {

constexpr std::size_t part_bytes = std::size_t{4} << 20U;
constexpr std::size_t part_rows = 2000;
constexpr std::int64_t no_time = std::numeric_limits<std::int64_t>::min();
constexpr const char* reading = "read the threads of a slot";
constexpr const char* writing = "store the threads of a slot";

// Statements of the target begin with this, and store nothing where it finds nothing; they return how many it found.
constexpr const char* if_arriving =
    "WITH f AS MATERIALIZED (SELECT FROM {S}.slots WHERE slot = $1 AND state = 4 AND version = $2 FOR KEY SHARE), ";

// Taken inputs are not counted: only their keys are left, which a worker may forget on one side meanwhile.
std::string digestSql() {
    return "SELECT (SELECT count(*) || ' ' || coalesce(sum(hashtextextended(encode(l.thread, 'hex') || ':' || "
           "encode(l.ns, 'hex') || ':' || coalesce(c.id::text, ''), 0)::numeric), 0) FROM {S}.logs l LEFT JOIN LATERAL "
           "(SELECT c.id FROM {S}.commits c WHERE c.log = l.log ORDER BY c.prev DESC LIMIT 1) c ON true WHERE "
           "{S}.slot_of(l.thread) = $1) || ' ' || (SELECT count(*) FROM {S}.inputs i WHERE {S}.slot_of(i.thread) = $1 "
           "AND i.taken IS NULL) || ' ' || (SELECT count(*) FROM {S}.work w WHERE {S}.slot_of(w.thread) = $1)";
}

PostgresParameters names(std::span<const std::string> threads) {
    PostgresArray array(bytea_type);
    for (const std::string& thread : threads) array.add(thread);
    PostgresParameters parameters;
    parameters.owned(array.encoded());
    return parameters;
}

}  // namespace

/// Rows for one statement of the target, as columns. They are stored when there are enough of them.
class SlotCopy::Part {
public:
    Part(SlotCopy& copy, const PostgresStatement& write, std::vector<Oid> types)
        : copy_(copy), write_(write), types_(std::move(types)), columns_(types_.begin(), types_.end()) {}

    PostgresArray& operator[](int column) { return columns_.at(static_cast<std::size_t>(column)); }
    /// Ends a row, of which `bytes` bytes count.
    void endRow(std::size_t bytes) {
        bytes_ += bytes;
        copy_.bytes_ += bytes;
        if (++rows_ == part_rows || bytes_ >= part_bytes) flush();
    }
    void flush() {
        if (rows_ == 0) return;
        PostgresParameters parameters = copy_.arrival();
        for (const PostgresArray& column : columns_) parameters.owned(column.encoded());
        copy_.store(write_, parameters);
        columns_ = std::vector<PostgresArray>(types_.begin(), types_.end());
        rows_ = bytes_ = 0;
    }

private:
    SlotCopy& copy_;
    const PostgresStatement& write_;
    const std::vector<Oid> types_;
    std::vector<PostgresArray> columns_;
    std::size_t rows_ = 0;
    std::size_t bytes_ = 0;
};

SlotCopy::SlotCopy(PostgresConnection& from, PostgresConnection& to, const Schemas& schemas, std::function<void()> tick)
    : from_(from), to_(to), source_(sourceOf(schemas.from)), target_(targetOf(schemas.to)), tick_(std::move(tick)) {
    // Rows of some tables pass as text.
    for (PostgresConnection* const each : {&from_, &to_})
        (void)each->command("SET DateStyle = ISO; SET TimeZone = UTC; SET bytea_output = hex", "set up a connection");
}

SlotCopy::Source SlotCopy::sourceOf(const std::string& quoted_schema) {
    const auto make = [&](const char* name, const std::string& sql, std::vector<Oid> types) {
        return PostgresStatement{name, inSchema(sql, quoted_schema), std::move(types)};
    };
    const std::string of_slot = " WHERE {S}.slot_of(thread) = $1 AND thread > $2 ORDER BY thread LIMIT $3)";
    return {
        .threads = make("m_threads",
                        "SELECT thread FROM ((SELECT DISTINCT thread FROM {S}.logs" + of_slot +
                            " UNION (SELECT DISTINCT thread FROM {S}.inputs" + of_slot + ") x ORDER BY thread LIMIT $3",
                        {bigint_type, bytea_type, bigint_type}),
        .touched = make("m_touched",
                        "WITH d AS (DELETE FROM {S}.touched t USING (SELECT n.number FROM {S}.touched n WHERE n.slot = "
                        "$1 ORDER BY n.number LIMIT 5000) n WHERE t.slot = $1 AND t.number = n.number RETURNING "
                        "t.thread, t.is_whole) SELECT thread, bool_or(is_whole) FROM d GROUP BY thread ORDER BY thread",
                        {bigint_type}),
        .logs =
            make("m_logs", "SELECT log, thread, ns, status, since, due, summary FROM {S}.logs WHERE thread = ANY ($1)",
                 {bytea_array_type}),
        .commits = make("m_commits",
                        "SELECT c.log, c.prev, c.id, c.parent, c.base, c.bytes FROM unnest($1, $2) AS u (log, head) "
                        "JOIN {S}.commits c ON c.log = u.log AND c.prev >= u.head",
                        {bigint_array_type, uuid_array_type}),
        .writes = make("m_writes", "SELECT w.log, w.id, w.path, w.bytes FROM {S}.writes w WHERE w.log = ANY ($1)",
                       {bigint_array_type}),
        .inputs =
            make("m_inputs", "SELECT (i.*)::text FROM {S}.inputs i WHERE i.thread = ANY ($1)", {bytea_array_type}),
        .work = make("m_work", "SELECT (w.*)::text FROM {S}.work w WHERE {S}.slot_of(w.thread) = $1", {bigint_type}),
        .graphs = make("m_graphs", "SELECT (g.*)::text FROM {S}.graphs g WHERE $1 >= 0", {bigint_type}),
        .last_input = make("m_last_input",
                           "SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence(" +
                               quotedTableText(quoted_schema, "inputs") + ", 'seq')::regclass), 0)",
                           {}),
        .digest = make("m_digest", digestSql(), {bigint_type}),
    };
}

// One table of statements with the types of their parameters; that makes it longer than other functions.
SlotCopy::Target SlotCopy::targetOf(const std::string& quoted_schema) {
    const auto make = [&](const char* name, const std::string& sql, std::vector<Oid> more) {
        std::vector<Oid> types{bigint_type, bigint_type};
        types.insert(types.end(), more.begin(), more.end());
        return PostgresStatement{name, inSchema(if_arriving + sql, quoted_schema), std::move(types)};
    };
    const std::string counted = " SELECT count(*), set_config('synchronous_commit', 'off', true) FROM f";
    Target target{
        .heads = {},
        .put_logs =
            make("m_put_logs",
                 "i AS (INSERT INTO {S}.logs AS l (thread, ns, status, since, due, summary) "
                 "SELECT u.thread, u.ns, u.status, nullif(u.since, '00000000-0000-0000-0000-000000000000'::uuid), "
                 "nullif(u.due, " +
                     std::to_string(no_time + 1) +
                     " - 1), u.summary "
                     "FROM f, unnest($3, $4, $5, $6, $7, $8) AS u (thread, ns, status, since, due, summary) "
                     "ON CONFLICT (thread, ns) DO UPDATE SET status = excluded.status, since = excluded.since, "
                     "due = excluded.due, summary = excluded.summary RETURNING l.log, l.thread, l.ns) "
                     "SELECT log, thread, ns, set_config('synchronous_commit', 'off', true) FROM i",
                 {bytea_array_type, bytea_array_type, bigint_array_type, uuid_array_type, bigint_array_type,
                  bytea_array_type}),
        .put_commits = make(
            "m_put_commits",
            "i AS (INSERT INTO {S}.commits (log, prev, id, parent, base, bytes) SELECT u.* FROM f, "
            "unnest($3, $4, $5, $6, $7, $8) AS u)" +
                counted,
            {bigint_array_type, uuid_array_type, uuid_array_type, uuid_array_type, uuid_array_type, bytea_array_type}),
        .put_writes = make("m_put_writes",
                           "i AS (INSERT INTO {S}.writes (log, id, path, bytes) SELECT u.* FROM f, "
                           "unnest($3, $4, $5, $6) AS u)" +
                               counted,
                           {bigint_array_type, uuid_array_type, bytea_array_type, bytea_array_type}),
        .drop_writes = make("m_drop_writes", "d AS (DELETE FROM {S}.writes w USING f WHERE w.log = ANY ($3))" + counted,
                            {bigint_array_type}),
        .drop_threads = make("m_drop_threads",
                             "l AS (DELETE FROM {S}.logs l USING f WHERE l.thread = ANY ($3) RETURNING l.log), w AS "
                             "(DELETE FROM {S}.writes w USING l WHERE w.log = l.log), c AS (DELETE FROM {S}.commits c "
                             "USING l WHERE c.log = l.log)" +
                                 counted,
                             {bytea_array_type}),
        .drop_inputs =
            make("m_drop_inputs", "d AS (DELETE FROM {S}.inputs i USING f WHERE i.thread = ANY ($3))" + counted,
                 {bytea_array_type}),
        .put_inputs = make("m_put_inputs",
                           "i AS (INSERT INTO {S}.inputs OVERRIDING SYSTEM VALUE SELECT (u.row::{S}.inputs).* FROM f, "
                           "unnest($3) AS u (row))" +
                               counted,
                           {text_array_type}),
        .drop_work =
            make("m_drop_work", "d AS (DELETE FROM {S}.work w USING f WHERE {S}.slot_of(w.thread) = $1)" + counted, {}),
        .put_work =
            make("m_put_work",
                 "i AS (INSERT INTO {S}.work (thread, queue, graph, state, due, attempts, inputs, head, version, "
                 "refused, is_woken, is_cancelled, is_aside, error, since, together, apart, is_begun) SELECT r.thread, "
                 "r.queue, r.graph, "
                 "r.state, CASE WHEN r.epoch <> 0 THEN now() ELSE r.due END, r.attempts, r.inputs, r.head, "
                 "r.version, r.refused, r.is_woken, r.is_cancelled, r.is_aside, r.error, r.since, "
                 "r.together, r.apart, r.is_begun FROM f, "
                 "(SELECT (u.row::{S}.work).* FROM unnest($3) AS u (row)) r)" +
                     counted,
                 {text_array_type}),
        .put_graphs = make("m_put_graphs",
                           "i AS (INSERT INTO {S}.graphs SELECT (u.row::{S}.graphs).* FROM f, unnest($3) AS u (row) "
                           "ON CONFLICT DO NOTHING)" +
                               counted,
                           {text_array_type}),
        .raise_inputs = {},
        .digest = {"m_digest", inSchema(digestSql(), quoted_schema), {bigint_type}},
    };
    target.heads = {
        "m_heads",
        inSchema("SELECT l.thread, l.ns, c.id FROM {S}.logs l, LATERAL (SELECT c.id FROM {S}.commits c WHERE "
                 "c.log = l.log ORDER BY c.prev DESC LIMIT 1) c WHERE l.thread = ANY ($1)",
                 quoted_schema),
        {bytea_array_type}};
    // Numbers of a thread's inputs ascend: those that come after the move must be greater than those that come before
    // it is decided, hence the distance.
    const std::string sequence =
        "pg_get_serial_sequence(" + quotedTableText(quoted_schema, "inputs") + ", 'seq')::regclass";
    target.raise_inputs = {"m_raise_inputs",
                           "SELECT setval(" + sequence + ", $1 + 1000000) WHERE coalesce(pg_sequence_last_value(" +
                               sequence + "), 0) <= $1",
                           {bigint_type}};
    return target;
}

void SlotCopy::begin(std::size_t slot, std::int64_t version) {
    slot_ = static_cast<std::int64_t>(slot);
    version_ = version;
}

PostgresParameters SlotCopy::arrival() const {
    PostgresParameters parameters;
    parameters.number(slot_).number(version_);
    return parameters;
}

void SlotCopy::store(const PostgresStatement& statement, const PostgresParameters& parameters) {
    if (to_.run(statement, parameters, writing).number(0, 0) == 0)
        throw SlotMoveLost("another move of slot " + std::to_string(slot_) + " has begun since; this one has ended");
    tick_();
}

std::vector<std::string> SlotCopy::threadsAfter(const std::string& name, std::size_t limit) {
    const auto rows = from_.run(source_.threads, PostgresParameters().number(slot_).bytes(name).limit(limit), reading);
    std::vector<std::string> threads;
    for (int row = 0; row < rows.rows(); ++row) threads.push_back(rows.copy(row, 0));
    return threads;
}

SlotCopy::Touched SlotCopy::takeTouched() {
    const auto rows = from_.run(source_.touched, PostgresParameters().number(slot_), reading);
    Touched touched;
    for (int row = 0; row < rows.rows(); ++row)
        (rows.flag(row, 1) ? touched.changed : touched.appended).push_back(rows.copy(row, 0));
    return touched;
}

// What is read of a thread that is written to at this time may be of several moments; it is copied again then.
void SlotCopy::copyThreads(std::span<const std::string> threads, bool is_whole) {
    if (threads.empty()) return;
    const auto which = [&] {
        PostgresArray array(bytea_type);
        for (const std::string& thread : threads) array.add(thread);
        PostgresParameters parameters = arrival();
        parameters.owned(array.encoded());
        return parameters;
    };
    if (is_whole) store(target_.drop_threads, which());
    std::map<LogKey, CheckpointId> heads;
    if (!is_whole) {
        const auto rows = to_.run(target_.heads, names(threads), reading);
        for (int row = 0; row < rows.rows(); ++row) heads[{rows.copy(row, 0), rows.copy(row, 1)}] = rows.id(row, 2);
    }
    const PostgresResult logs = from_.run(source_.logs, names(threads), reading);
    if (logs.rows() > 0) {
        const auto numbers = copyLogs(logs);
        copyCommits(logs, heads, numbers);
        copyWrites(numbers);
    }
    store(target_.drop_inputs, which());
    storeTexts(source_.inputs, names(threads), target_.put_inputs);
}

// The numbers that the target gives to the source's logs.
std::map<std::int64_t, std::int64_t> SlotCopy::copyLogs(const PostgresResult& logs) {
    PostgresArray threads(bytea_type);
    PostgresArray namespaces(bytea_type);
    PostgresArray statuses(bigint_type);
    PostgresArray since(uuid_type);
    PostgresArray due(bigint_type);
    PostgresArray summaries(bytea_type);
    std::map<LogKey, std::int64_t> old;
    for (int row = 0; row < logs.rows(); ++row) {
        threads.add(logs.bytes(row, 1));
        namespaces.add(logs.bytes(row, 2));
        statuses.addNumber(logs.number(row, 3));
        since.addId(logs.isNull(row, 4) ? CheckpointId() : logs.id(row, 4));
        due.addNumber(logs.isNull(row, 5) ? no_time : logs.number(row, 5));
        logs.isNull(row, 6) ? summaries.addNull() : summaries.add(logs.bytes(row, 6));
        old[{logs.copy(row, 1), logs.copy(row, 2)}] = logs.number(row, 0);
    }
    PostgresParameters parameters = arrival();
    for (const PostgresArray* array : {&threads, &namespaces, &statuses, &since, &due, &summaries})
        parameters.owned(array->encoded());
    const PostgresResult stored = to_.run(target_.put_logs, parameters, writing);
    if (stored.rows() != logs.rows())
        throw SlotMoveLost("another move of slot " + std::to_string(slot_) + " has begun since; this one has ended");
    std::map<std::int64_t, std::int64_t> numbers;
    for (int row = 0; row < stored.rows(); ++row)
        numbers[old.at({stored.copy(row, 1), stored.copy(row, 2)})] = stored.number(row, 0);
    return numbers;
}

void SlotCopy::copyCommits(const PostgresResult& logs, const std::map<LogKey, CheckpointId>& heads,
                           const std::map<std::int64_t, std::int64_t>& numbers) {
    PostgresArray wanted(bigint_type);
    PostgresArray after(uuid_type);
    for (int row = 0; row < logs.rows(); ++row) {
        const auto head = heads.find({logs.copy(row, 1), logs.copy(row, 2)});
        wanted.addNumber(logs.number(row, 0));
        after.addId(head == heads.end() ? CheckpointId() : head->second);
    }
    Part part(*this, target_.put_commits, {bigint_type, uuid_type, uuid_type, uuid_type, uuid_type, bytea_type});
    PostgresParameters parameters;
    parameters.owned(wanted.encoded()).owned(after.encoded());
    from_.stream(source_.commits, parameters, reading, [&](const PostgresResult& row) {
        part[0].addNumber(numbers.at(row.number(0, 0)));
        for (int id = 1; id <= 4; ++id) part[id].addId(row.id(0, id));  // prev, id, parent, base
        part[5].add(row.bytes(0, 5));
        ++commits_;
        part.endRow(row.bytes(0, 5).size());
    });
    part.flush();
}

void SlotCopy::copyWrites(const std::map<std::int64_t, std::int64_t>& numbers) {
    PostgresArray old(bigint_type);
    PostgresArray dropped(bigint_type);
    for (const auto& [from, to] : numbers) {
        old.addNumber(from);
        dropped.addNumber(to);
    }
    PostgresParameters to_drop = arrival();
    store(target_.drop_writes, to_drop.owned(dropped.encoded()));
    Part part(*this, target_.put_writes, {bigint_type, uuid_type, bytea_type, bytea_type});
    PostgresParameters parameters;
    from_.stream(source_.writes, parameters.owned(old.encoded()), reading, [&](const PostgresResult& row) {
        part[0].addNumber(numbers.at(row.number(0, 0)));
        part[1].addId(row.id(0, 1));
        part[2].add(row.bytes(0, 2));
        part[3].add(row.bytes(0, 3));
        part.endRow(row.bytes(0, 3).size());
    });
    part.flush();
}

void SlotCopy::storeTexts(const PostgresStatement& read, const PostgresParameters& which,
                          const PostgresStatement& write) {
    Part part(*this, write, {text_type});
    from_.stream(read, which, reading, [&](const PostgresResult& row) {
        part[0].add(row.bytes(0, 0));
        part.endRow(row.bytes(0, 0).size());
    });
    part.flush();
}

void SlotCopy::copyGraphs() {
    PostgresParameters slot;
    storeTexts(source_.graphs, slot.number(slot_), target_.put_graphs);
    const auto last = from_.run(source_.last_input, {}, reading).number(0, 0);
    if (last > 0) (void)to_.run(target_.raise_inputs, PostgresParameters().number(last), writing);
}

void SlotCopy::copyQueue() {
    store(target_.drop_work, arrival());
    PostgresParameters slot;
    storeTexts(source_.work, slot.number(slot_), target_.put_work);
}

bool SlotCopy::isSame() {
    PostgresParameters slot;
    slot.number(slot_);
    const std::string there = from_.run(source_.digest, slot, reading).copy(0, 0);
    return there == to_.run(target_.digest, slot, reading).copy(0, 0);
}

}  // namespace stategraph::checkpoint
