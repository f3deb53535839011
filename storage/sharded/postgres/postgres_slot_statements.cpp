#include "storage/postgres/postgres_tables.hpp"
#include "storage/sharded/postgres/postgres_slot_move.hpp"

namespace stategraph::checkpoint {

// A time in milliseconds is how long a state lasts unless it is renewed. What decides is on the server's disk when it
// is answered.
//
// One table of statements with the types of their parameters; that makes it longer than other functions.
SlotStatements::SlotStatements(const std::string& quoted_schema) {
    const auto make = [&](const char* name, const std::string& sql, std::vector<Oid> types) {
        return PostgresStatement{name, inSchema(sql, quoted_schema), std::move(types)};
    };
    const std::string durable = ", set_config('synchronous_commit', 'on', true)";
    const auto until = [](const char* ms) {
        return std::string("clock_timestamp() + ") + ms + " * interval '1 millisecond'";
    };
    states = make("s_states", "SELECT slot, state, version, owner FROM {S}.slots ORDER BY slot", {});
    survey = make("s_survey",
                  "SELECT s.slot, s.state, s.version, s.owner, coalesce(s.peer, ''), coalesce(s.until < "
                  "clock_timestamp(), false), EXISTS (SELECT FROM {S}.logs x WHERE {S}.slot_of(x.thread) = s.slot) OR "
                  "EXISTS (SELECT FROM {S}.work x WHERE {S}.slot_of(x.thread) = s.slot) OR EXISTS (SELECT FROM "
                  "{S}.inputs x WHERE {S}.slot_of(x.thread) = s.slot) FROM {S}.slots s ORDER BY s.slot",
                  {});
    versions = make("s_versions", "SELECT coalesce(sum(version), 0)::bigint FROM {S}.slots", {});
    state = make("s_state", "SELECT state, version, owner FROM {S}.slots WHERE slot = $1", {bigint_type});
    begin = make("s_begin",
                 "UPDATE {S}.slots SET state = 3, version = version + 1, peer = $2, until = " + until("$3") +
                     " WHERE slot = $1 AND state IN (1, 2, 3) RETURNING version" + durable,
                 {bigint_type, text_type, bigint_type});
    lock_time = make("s_lock_time", "SELECT set_config('lock_timeout', $1::text, true)", {bigint_type});
    drain = make("s_drain", "SELECT 1 FROM {S}.slots WHERE slot = $1 FOR UPDATE", {bigint_type});
    forget = make("s_forget", "DELETE FROM {S}.touched WHERE slot = $1", {bigint_type});
    step = make("s_step",
                "UPDATE {S}.slots SET state = $4, until = " + until("$5") +
                    " WHERE slot = $1 AND version = $2 AND state = $3 RETURNING 1",
                {bigint_type, bigint_type, bigint_type, bigint_type, bigint_type});
    undo =
        make("s_undo",
             "UPDATE {S}.slots SET state = 1, peer = NULL, until = NULL WHERE slot = $1 AND version = $2 AND state IN "
             "(2, 3)",
             {bigint_type, bigint_type});
    decide = make("s_decide",
                  "UPDATE {S}.slots SET state = 0, version = version + 1, owner = $3, peer = NULL, until = NULL WHERE "
                  "slot = $1 AND version = $2 AND state = 3 RETURNING 1" +
                      durable,
                  {bigint_type, bigint_type, text_type});
    arrive =
        make("s_arrive",
             "UPDATE {S}.slots SET state = 4, version = $2, owner = $3, peer = $3, until = NULL WHERE slot = $1 AND "
             "state IN (0, 4) AND version < $2 RETURNING 1" +
                 durable,
             {bigint_type, bigint_type, text_type});
    confirm = make(
        "s_confirm",
        "UPDATE {S}.slots SET version = version WHERE slot = $1 AND version = $2 AND state = 4 RETURNING 1" + durable,
        {bigint_type, bigint_type});
    end_dead = make("s_end_dead",
                    "UPDATE {S}.slots SET state = 1, peer = NULL, until = NULL WHERE slot = $1 AND state IN (2, 3) AND "
                    "until < clock_timestamp()",
                    {bigint_type});
    end_arrival = make("s_end_arrival",
                       "UPDATE {S}.slots SET state = 0, peer = NULL WHERE slot = $1 AND state = 4 AND version <= $2",
                       {bigint_type, bigint_type});
    finish = make("s_finish",
                  "UPDATE {S}.slots SET state = 1, version = $2 + 1, owner = $3, peer = NULL WHERE slot = $1 AND "
                  "version = $2 AND state = 4 RETURNING 1" +
                      durable,
                  {bigint_type, bigint_type, text_type});
    const std::string found =
        "WITH f AS MATERIALIZED (SELECT FROM {S}.slots WHERE slot = $1 AND version = $2 AND state = $3 FOR KEY "
        "SHARE), ";
    clear = make("s_clear",
                 found +
                     "t AS MATERIALIZED (SELECT DISTINCT l.thread FROM {S}.logs l, f WHERE {S}.slot_of(l.thread) = $1 "
                     "ORDER BY l.thread LIMIT $4), l AS (DELETE FROM {S}.logs l USING t WHERE l.thread = t.thread "
                     "RETURNING l.log), w AS (DELETE FROM {S}.writes w USING l WHERE w.log = l.log), c AS (DELETE FROM "
                     "{S}.commits c USING l WHERE c.log = l.log) SELECT count(*) FROM t",
                 {bigint_type, bigint_type, bigint_type, bigint_type});
    clear_rest =
        make("s_clear_rest",
             found +
                 "i AS (DELETE FROM {S}.inputs i USING f WHERE {S}.slot_of(i.thread) = $1), w AS (DELETE FROM "
                 "{S}.work w USING f WHERE {S}.slot_of(w.thread) = $1), t AS (DELETE FROM {S}.touched t USING f "
                 "WHERE t.slot = $1) SELECT count(*) FROM f",
             {bigint_type, bigint_type, bigint_type});
}

}  // namespace stategraph::checkpoint
