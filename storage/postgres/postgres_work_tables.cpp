#include "storage/postgres/postgres_work_tables.hpp"

namespace stategraph::checkpoint {

// With an epoch, of a lease or a hold, the function returns 5 and stores nothing if the epoch is not the thread's. The
// input with the number `p_takes` is taken with the put; SG003 says that the input was withdrawn, and undoes what was
// stored. With `p_wakes`, a worker is to look at the thread or, if a worker has it, to look again. A hold ends with a
// commit after which nothing is due. Apart from that, the function does what `put` does.
const char* postgresWorkPutFunction() {
    return R"(
CREATE OR REPLACE FUNCTION {S}.put_work(
    p_thread bytea, p_ns bytea, p_expected uuid, p_ids uuid[], p_parents uuid[], p_bases uuid[], p_bytes bytea[],
    p_needs uuid[], p_is_old boolean, w_ids uuid[], w_paths bytea[], w_bytes bytea[], w_is_conditional boolean[],
    w_expected bytea[], v_ids uuid[], v_paths bytea[], v_expected bytea[], p_status bigint, p_due bigint,
    p_second_ago uuid, p_summary bytea, p_commit text, p_root uuid, p_epoch bigint, p_takes bigint, p_hold bigint,
    p_wakes boolean, OUT status int, OUT which uuid, OUT place int) LANGUAGE plpgsql AS $put_work$
DECLARE
    changed int;
BEGIN
    IF p_hold IS NOT NULL THEN
        PERFORM FROM {S}.holds h WHERE h.thread = p_thread AND h.epoch = p_hold FOR KEY SHARE;
        IF NOT FOUND THEN
            status := 5; RETURN;
        END IF;
    END IF;
    IF p_wakes THEN
        PERFORM FROM {S}.work w WHERE w.thread = p_thread FOR NO KEY UPDATE;
    ELSIF p_epoch IS NOT NULL THEN
        IF p_takes IS NULL THEN
            PERFORM FROM {S}.work w WHERE w.thread = p_thread AND w.epoch = p_epoch FOR KEY SHARE;
        ELSE
            PERFORM FROM {S}.work w WHERE w.thread = p_thread AND w.epoch = p_epoch FOR NO KEY UPDATE;
        END IF;
        IF NOT FOUND THEN
            status := 5; RETURN;
        END IF;
    END IF;
    SELECT p.status, p.which, p.place INTO status, which, place FROM {S}.put(
        p_thread, p_ns, p_expected, p_ids, p_parents, p_bases, p_bytes, p_needs, p_is_old, w_ids, w_paths, w_bytes,
        w_is_conditional, w_expected, v_ids, v_paths, v_expected, p_status, p_due, p_second_ago, p_summary,
        p_commit, p_root) p;
    IF status <> 0 THEN
        RETURN;
    END IF;
    IF p_hold IS NOT NULL AND p_ns = '' AND p_status = 1 AND cardinality(p_ids) > 0 THEN
        DELETE FROM {S}.holds h WHERE h.thread = p_thread AND h.epoch = p_hold;
    END IF;
    IF p_wakes THEN
        UPDATE {S}.work w SET is_woken = true,
            due = CASE WHEN w.epoch = 0 AND NOT w.is_aside THEN least(w.due, now()) ELSE w.due END
            WHERE w.thread = p_thread;
    ELSIF p_takes IS NOT NULL THEN
        DELETE FROM {S}.inputs i WHERE i.thread = p_thread AND i.seq = p_takes AND i.taken IS NULL AND i.key IS NULL;
        GET DIAGNOSTICS changed = ROW_COUNT;
        IF changed = 0 THEN
            UPDATE {S}.inputs i SET taken = now(), input = NULL
                WHERE i.thread = p_thread AND i.seq = p_takes AND i.taken IS NULL;
            GET DIAGNOSTICS changed = ROW_COUNT;
        END IF;
        IF changed = 0 THEN
            RAISE EXCEPTION 'the input was withdrawn' USING ERRCODE = 'SG003';
        END IF;
        UPDATE {S}.work w SET state = 1, inputs = w.inputs - 1 WHERE w.thread = p_thread;
    END IF;
END $put_work$;
)";
}

// Stores row by row in the order of threads, so that two calls at the same time seldom wait for each other. The row
// of the thread in `work` comes first: it stays locked to the end of the call, so that the numbers of a thread's
// inputs ascend in the order in which they become visible, and a worker takes none before one with a smaller number.
// An input whose key exists is locked, so that the call has something to commit: it then waits until the input is on
// the standbys, as the call that stored it would have.
// Each row's answer is 0 if the input waits or 1 if its key existed, and the input's number. SG004 says that a
// thread has too many inputs, SG005 that it belongs to another graph, both with the place of the input; then nothing
// is stored.
const char* postgresSubmitFunction() {
    return R"(
CREATE OR REPLACE FUNCTION {S}.submit(
    p_threads bytea[], p_queues text[], p_graphs text[], p_keys bytea[], p_inputs bytea[], p_metadata text[],
    p_most bigint, OUT n bigint, OUT answer int, OUT seq bigint) RETURNS SETOF record LANGUAGE plpgsql AS $submit$
DECLARE
    one record;
    held record;
BEGIN
    FOR one IN SELECT u.* FROM unnest(p_threads, p_queues, p_graphs, p_keys, p_inputs, p_metadata)
        WITH ORDINALITY AS u (thread, queue, graph, key, input, metadata, place) ORDER BY u.thread, u.place
    LOOP
        n := one.place; answer := 0;
        IF one.key <> '' THEN
            PERFORM FROM {S}.work w WHERE w.thread = one.thread FOR NO KEY UPDATE;
            SELECT i.seq INTO seq FROM {S}.inputs i WHERE i.thread = one.thread AND i.key = one.key FOR KEY SHARE;
            IF FOUND THEN
                answer := 1; RETURN NEXT; CONTINUE;
            END IF;
        END IF;
        INSERT INTO {S}.work AS w (thread, queue, graph, due, inputs, metadata)
            VALUES (one.thread, one.queue, one.graph, now(), 1, nullif(one.metadata, '')::jsonb)
            ON CONFLICT (thread) DO UPDATE SET inputs = w.inputs + 1,
                metadata = CASE WHEN excluded.metadata IS NULL THEN w.metadata
                    ELSE coalesce(w.metadata, '{}') || excluded.metadata END,
                due = CASE WHEN w.epoch = 0 AND w.state = 0 AND NOT w.is_aside THEN coalesce(w.due, now())
                    ELSE w.due END
            RETURNING w.graph, w.inputs INTO held;
        IF held.graph <> one.graph THEN
            RAISE EXCEPTION '%', one.place USING ERRCODE = 'SG005';
        END IF;
        IF held.inputs > p_most THEN
            RAISE EXCEPTION '%', one.place USING ERRCODE = 'SG004';
        END IF;
        INSERT INTO {S}.inputs AS i (thread, key, input) VALUES (one.thread, nullif(one.key, ''), one.input)
            ON CONFLICT (thread, key) WHERE key IS NOT NULL DO NOTHING RETURNING i.seq INTO seq;
        IF NOT FOUND THEN
            UPDATE {S}.work w SET inputs = w.inputs - 1 WHERE w.thread = one.thread;
            SELECT i.seq INTO seq FROM {S}.inputs i WHERE i.thread = one.thread AND i.key = one.key FOR KEY SHARE;
            seq := coalesce(seq, 0); answer := 1;
        END IF;
        RETURN NEXT;
    END LOOP;
END $submit$;
)";
}

// The row of the queue in `limits` is locked until the claim is committed, and each statement in the function sees what
// was committed before it begins, so the count has the claims of all workers. A lease that ran out takes no room:
// whoever claims that thread next does. Tokens are saved for a second, so that workers that ask less often than they
// claim lose none.
const char* postgresRoomFunction() {
    return R"(
CREATE OR REPLACE FUNCTION {S}.room(
    p_queue text, OUT room bigint, OUT tokens double precision, OUT moment timestamptz)
    LANGUAGE plpgsql AS $room$
DECLARE
    held record;
BEGIN
    SELECT l.runs, l.rate, l.tokens AS saved, l.refilled INTO held FROM {S}.limits l WHERE l.queue = p_queue FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    moment := clock_timestamp();
    room := 9223372036854775807;
    IF held.runs IS NOT NULL THEN
        SELECT greatest(held.runs - count(*), 0) INTO room FROM {S}.work w
            WHERE w.queue = p_queue AND w.epoch <> 0 AND w.due > moment;
    END IF;
    IF held.rate IS NOT NULL THEN
        tokens := least(greatest(held.rate, 1),
            held.saved + held.rate * greatest(extract(epoch FROM moment - held.refilled)::double precision, 0));
        room := least(room, floor(tokens)::bigint);
    END IF;
END $room$;
)";
}

}  // namespace stategraph::checkpoint
