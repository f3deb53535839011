#include "storage/postgres/postgres_shard_tables.hpp"

#include <string>

namespace stategraph::checkpoint {

// A writer that finds a move whose time is over ends it: the mover notices, for it names the state that it left. It
// locks the row's key, as the rows of a queue are locked by puts under a lease: any number of writers at once, and no
// drain (postgres_slot_move.cpp) before they have ended. A state that refuses is not locked.
const PostgresPart postgres_shard_part{.name = "shards",
                                       .format = 1,
                                       .tables = R"(
CREATE TABLE {S}.cluster (is_one boolean PRIMARY KEY DEFAULT true CHECK (is_one), name text NOT NULL);
CREATE TABLE {S}.slots (
    slot bigint PRIMARY KEY, state bigint NOT NULL, version bigint NOT NULL, owner text NOT NULL, peer text,
    until timestamptz) WITH (fillfactor = 50);
CREATE TABLE {S}.touched (
    number bigint GENERATED ALWAYS AS IDENTITY, slot bigint NOT NULL, thread bytea NOT NULL, is_whole boolean NOT NULL,
    PRIMARY KEY (slot, number));
CREATE FUNCTION {S}.slot_of(thread bytea) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $slot_of$
    SELECT ((get_byte(sha256(thread), 0) << 2) | (get_byte(sha256(thread), 1) >> 6))::bigint
$slot_of$;
CREATE INDEX slot_logs ON {S}.logs ({S}.slot_of(thread), thread);
CREATE INDEX slot_work ON {S}.work ({S}.slot_of(thread), thread);
CREATE INDEX slot_inputs ON {S}.inputs ({S}.slot_of(thread), thread);
CREATE FUNCTION {S}.refuse_slot(p_slot bigint) RETURNS boolean LANGUAGE plpgsql AS $refuse_slot$
DECLARE
    held record;
BEGIN
    SELECT s.state, s.owner INTO held FROM {S}.slots s WHERE s.slot = p_slot;
    RAISE EXCEPTION '% %', coalesce(held.state, 0), coalesce(held.owner, '') USING ERRCODE = 'SG010';
END
$refuse_slot$;
CREATE FUNCTION {S}.hold_slot(p_slot bigint, p_thread bytea, p_is_whole boolean) RETURNS boolean LANGUAGE plpgsql
    AS $hold_slot$
DECLARE
    held record;
BEGIN
    SELECT s.state, s.until INTO held FROM {S}.slots s WHERE s.slot = p_slot AND s.state IN (1, 2) FOR KEY SHARE;
    IF NOT FOUND THEN
        UPDATE {S}.slots s SET state = 1, peer = NULL, until = NULL
            WHERE s.slot = p_slot AND s.state = 3 AND s.until < clock_timestamp();
        SELECT s.state, s.until INTO held FROM {S}.slots s WHERE s.slot = p_slot AND s.state IN (1, 2) FOR KEY SHARE;
        IF NOT FOUND THEN
            PERFORM {S}.refuse_slot(p_slot);
        END IF;
    END IF;
    IF held.state = 2 AND held.until < clock_timestamp() THEN
        UPDATE {S}.slots s SET state = 1, peer = NULL, until = NULL
            WHERE s.slot = p_slot AND s.state = 2 AND s.until < clock_timestamp();
        IF FOUND THEN
            DELETE FROM {S}.touched t WHERE t.slot = p_slot;
            RETURN true;
        END IF;
    END IF;
    IF held.state = 2 THEN
        INSERT INTO {S}.touched (slot, thread, is_whole) VALUES (p_slot, p_thread, p_is_whole);
    END IF;
    RETURN true;
END
$hold_slot$;
CREATE FUNCTION {S}.hold_slots(p_threads bytea[], p_is_whole boolean) RETURNS void LANGUAGE plpgsql AS $hold_slots$
DECLARE
    one record;
BEGIN
    FOR one IN SELECT DISTINCT {S}.slot_of(u.thread) AS slot, u.thread FROM unnest(p_threads) AS u (thread)
        ORDER BY 1, 2
    LOOP
        PERFORM {S}.hold_slot(one.slot, one.thread, p_is_whole);
    END LOOP;
END
$hold_slots$;
)",
                                       .set_up = "PostgresShards::setUp"};

std::string threadIsHere(bool has_slots, std::string_view thread, bool to_write) {
    if (!has_slots) return {};
    return " AND EXISTS (SELECT FROM {S}.slots h WHERE h.slot = {S}.slot_of(" + std::string(thread) +
           ") AND h.state IN (1, 2" + (to_write ? "" : ", 3") + "))";
}

}  // namespace stategraph::checkpoint
