#include "storage/postgres/postgres_hold_tables.hpp"

namespace stategraph::checkpoint {

// After a restart of the server, its holders get some seconds to come back. They are counted from the moment at which
// one of them did, because a start may take long.
//
// hold_thread returns the epoch, or null if another holder or a worker has the thread. A lease that ran out gets
// another epoch, so that its worker, which may have been stopped, stores nothing more; the thread stays due.
//
// unheld is for a claim, and returns those of the threads that nobody holds. It waits for nobody.
const char* postgresHoldFunctions() {
    return R"(
CREATE OR REPLACE FUNCTION {S}.is_holder_gone(p_holder bigint) RETURNS boolean LANGUAGE sql VOLATILE AS $is_gone$
    SELECT EXISTS (SELECT FROM {S}.starts s WHERE s.started = pg_postmaster_start_time()
            AND s.seen < clock_timestamp() - interval '5 seconds')
        AND pg_try_advisory_xact_lock_shared(hashtextextended('{S}.holds' || p_holder, 10))
$is_gone$;
CREATE OR REPLACE FUNCTION {S}.hold_thread(p_thread bytea, p_holder bigint) RETURNS bigint LANGUAGE plpgsql AS $hold$
DECLARE
    other bigint;
    number bigint;
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true),
        pg_advisory_xact_lock(hashtextextended(encode(p_thread, 'hex'), 9));
    SELECT h.holder INTO other FROM {S}.holds h WHERE h.thread = p_thread;
    IF FOUND AND other <> p_holder AND NOT {S}.is_holder_gone(other) THEN
        RETURN NULL;
    END IF;
    IF EXISTS (SELECT FROM {S}.work w WHERE w.thread = p_thread AND w.epoch <> 0 AND w.due > clock_timestamp()) THEN
        RETURN NULL;
    END IF;
    IF other IS NOT NULL THEN
        DELETE FROM {S}.holds h WHERE h.thread = p_thread;
    END IF;
    INSERT INTO {S}.holds AS h (thread, epoch, holder) VALUES (p_thread, nextval('{S}.epochs'), p_holder)
        RETURNING h.epoch INTO number;
    PERFORM FROM {S}.work w WHERE w.thread = p_thread AND w.epoch <> 0 FOR UPDATE;
    IF FOUND THEN
        UPDATE {S}.work w SET epoch = nextval('{S}.epochs') WHERE w.thread = p_thread;
    END IF;
    RETURN number;
END $hold$;
CREATE OR REPLACE FUNCTION {S}.unheld(p_threads bytea[]) RETURNS SETOF bytea LANGUAGE plpgsql ROWS 10 AS $unheld$
DECLARE
    locked bytea[];
BEGIN
    SELECT array_agg(u.thread) INTO locked FROM unnest(p_threads) AS u (thread)
        WHERE pg_try_advisory_xact_lock_shared(hashtextextended(encode(u.thread, 'hex'), 9));
    DELETE FROM {S}.holds h USING (SELECT d.thread FROM {S}.holds d WHERE d.thread = ANY (locked)
        AND {S}.is_holder_gone(d.holder) FOR UPDATE SKIP LOCKED) g WHERE h.thread = g.thread;
    RETURN QUERY SELECT u.thread FROM unnest(locked) AS u (thread)
        WHERE NOT EXISTS (SELECT FROM {S}.holds h WHERE h.thread = u.thread);
END $unheld$;
)";
}

}  // namespace stategraph::checkpoint
