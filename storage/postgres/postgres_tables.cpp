#include "storage/postgres/postgres_tables.hpp"

#include "storage/postgres/postgres_index.hpp"

namespace stategraph::checkpoint {

namespace {

std::string quotedBy(char quote, std::string_view text) {
    std::string quoted(1, quote);
    for (const char c : text) {
        if (c == quote) quoted += quote;
        quoted += c;
    }
    return quoted += quote;
}

}  // namespace

// A name with a dollar sign would end the text of a function between dollar signs that it is in ($put$), and what
// comes after it would be executed. The form with U& has no dollar signs.
std::string quotedName(std::string_view name) {
    if (name.find('$') == std::string_view::npos) return quotedBy('"', name);
    std::string escaped;
    for (const char c : name) {
        if (c == '\\') escaped += '\\';
        escaped += c == '$' ? std::string("\\0024") : std::string(1, c);
    }
    return "U&" + quotedBy('"', escaped);
}
std::string quotedText(std::string_view text) { return quotedBy('\'', text); }

std::string quotedTableText(std::string_view quoted_schema, std::string_view table) {
    std::string name(quoted_schema);
    if (name.starts_with("U&")) {
        name.erase(0, 2);
        for (std::size_t at = name.find('\\'); at != std::string::npos; at = name.find('\\', at + 1)) {
            if (name[at + 1] == '\\') {
                name.erase(at, 1);
            } else {
                name.replace(at, 5, "$");
            }
        }
    }
    return quotedText(name + '.' + std::string(table));
}

std::string inSchema(std::string_view text, const std::string& quoted_schema) {
    constexpr std::string_view place = "{S}";
    std::string sql;
    for (std::size_t at = text.find(place); at != std::string_view::npos; at = text.find(place)) {
        sql += text.substr(0, at);
        text.remove_prefix(at + place.size());
        if (!sql.ends_with('\'')) {
            sql += quoted_schema;
            continue;
        }
        // The whole text is a table's name: .NAME' follows.
        const std::size_t end = text.find('\'');
        sql.pop_back();
        sql += quotedTableText(quoted_schema, text.substr(1, end - 1));
        text.remove_prefix(end + 1);
    }
    return sql += text;
}

// Returns 0: stored; 1: the head is `which`; 2: the write at `place` is refused; 3: the commit at `place` builds on
// `which`, which no longer exists; 4: the compared write at `place` differs; 6: the thread has no checkpoint `p_root`
// any more; while a put that asks for it is under way, a deletion waits for it. While a put compares, no other writer
// stores pending writes of the thread; while a put stores what the thread waits for, no other writer appends to the
// thread's own log. Each statement of the function sees what was stored before that statement began, so a lock protects
// the statements after it, but not its own. The errors SG001 (another writer was first) and SG002 (another writer
// stored the write whose place is the message) undo what the function has done.
//
// It is longer than other functions because the database executes it as one.
const char* postgresPutFunction() {
    static const std::string text =
        R"(
CREATE OR REPLACE FUNCTION {S}.put(
    p_thread bytea, p_ns bytea, p_expected uuid, p_ids uuid[], p_parents uuid[], p_bases uuid[], p_bytes bytea[],
    p_needs uuid[], p_is_old boolean, w_ids uuid[], w_paths bytea[], w_bytes bytea[], w_is_conditional boolean[],
    w_expected bytea[], v_ids uuid[], v_paths bytea[], v_expected bytea[], p_status bigint, p_due bigint,
    p_second_ago uuid, p_summary bytea, p_commit text, p_root uuid,
    OUT status int, OUT which uuid, OUT place int) LANGUAGE plpgsql AS $put$
DECLARE
    no_id CONSTANT uuid := '00000000-0000-0000-0000-000000000000';
    commits_count int := cardinality(p_ids);
    writes_count int := cardinality(w_ids);
    number bigint;
    head uuid;
    stored bytea;
    is_there boolean;
    changed int;
BEGIN
    PERFORM set_config('synchronous_commit', p_commit, true);
    status := 0;
    IF p_is_old THEN
        PERFORM pg_advisory_xact_lock_shared(hashtextextended(encode(p_thread, 'hex'), 7));
    END IF;
    IF cardinality(v_ids) > 0 THEN
        PERFORM pg_advisory_xact_lock(hashtextextended(encode(p_thread, 'hex'), 8));
    ELSIF writes_count > 0 THEN
        PERFORM pg_advisory_xact_lock_shared(hashtextextended(encode(p_thread, 'hex'), 8));
    END IF;
    IF p_root <> no_id THEN
        SELECT l.log INTO number FROM {S}.logs l WHERE l.thread = p_thread AND l.ns = '' FOR KEY SHARE;
        SELECT c.id INTO which FROM {S}.commits c WHERE c.log = number AND c.prev < p_root ORDER BY c.prev DESC LIMIT 1;
        IF which IS DISTINCT FROM p_root THEN
            status := 6; RETURN;
        END IF;
    END IF;
    IF p_ns = '' AND (p_status <> 0 OR commits_count > 0) THEN
        SELECT l.log INTO number FROM {S}.logs l WHERE l.thread = p_thread AND l.ns = p_ns FOR NO KEY UPDATE;
    ELSE
        SELECT l.log INTO number FROM {S}.logs l WHERE l.thread = p_thread AND l.ns = p_ns;
    END IF;
    SELECT c.id INTO head FROM {S}.commits c WHERE c.log = number ORDER BY c.prev DESC LIMIT 1;
    head := coalesce(head, no_id);
    IF head <> p_expected THEN
        status := 1; which := head; RETURN;
    END IF;
    FOR i IN 1 .. cardinality(v_ids) LOOP
        SELECT w.bytes INTO stored FROM {S}.writes w WHERE w.log = number AND w.id = v_ids[i] AND w.path = v_paths[i];
        is_there := FOUND;
        IF is_there <> (v_expected[i] <> '') OR (is_there AND stored <> v_expected[i]) THEN
            status := 4; place := i; RETURN;
        END IF;
    END LOOP;
    FOR i IN 1 .. writes_count LOOP
        CONTINUE WHEN NOT w_is_conditional[i];
        SELECT w.bytes INTO stored FROM {S}.writes w WHERE w.log = number AND w.id = w_ids[i] AND w.path = w_paths[i];
        is_there := FOUND;
        IF is_there <> (w_expected[i] <> '') OR (is_there AND stored <> w_expected[i]) THEN
            status := 2; place := i; RETURN;
        END IF;
    END LOOP;
    FOR i IN 1 .. commits_count LOOP
        CONTINUE WHEN p_needs[i] = no_id;
        SELECT c.id INTO which FROM {S}.commits c WHERE c.log = number AND c.prev < p_needs[i]
            ORDER BY c.prev DESC LIMIT 1;
        IF which IS DISTINCT FROM p_needs[i] THEN
            status := 3; which := p_needs[i]; place := i; RETURN;
        END IF;
    END LOOP;
    IF number IS NULL AND commits_count + writes_count > 0 THEN
        INSERT INTO {S}.logs (thread, ns) VALUES (p_thread, p_ns) ON CONFLICT DO NOTHING;
        SELECT l.log INTO number FROM {S}.logs l WHERE l.thread = p_thread AND l.ns = p_ns;
    END IF;
    IF commits_count > 0 THEN
        INSERT INTO {S}.commits (log, prev, id, parent, base, bytes)
            SELECT number, u.prev, u.id, u.parent, u.base, u.bytes
            FROM unnest(p_expected || p_ids[1:commits_count - 1], p_ids, p_parents, p_bases, p_bytes)
                AS u (prev, id, parent, base, bytes)
            ON CONFLICT DO NOTHING;
        GET DIAGNOSTICS changed = ROW_COUNT;
        IF changed = 0 AND commits_count = 1 THEN
            SELECT c.id INTO which FROM {S}.commits c WHERE c.log = number ORDER BY c.prev DESC LIMIT 1;
            status := 1; RETURN;
        END IF;
        IF changed <> commits_count THEN
            RAISE EXCEPTION 'another writer was first' USING ERRCODE = 'SG001';
        END IF;
        PERFORM {S}.follows(number, p_expected);
        head := p_ids[commits_count];
    END IF;
    FOR i IN 1 .. writes_count LOOP
        IF NOT w_is_conditional[i] THEN
            INSERT INTO {S}.writes AS w (log, id, path, bytes) VALUES (number, w_ids[i], w_paths[i], w_bytes[i])
                ON CONFLICT (log, id, path) DO UPDATE SET bytes = excluded.bytes;
            CONTINUE;
        END IF;
        IF w_expected[i] = '' THEN
            INSERT INTO {S}.writes AS w (log, id, path, bytes) VALUES (number, w_ids[i], w_paths[i], w_bytes[i])
                ON CONFLICT DO NOTHING;
        ELSE
            UPDATE {S}.writes w SET bytes = w_bytes[i]
                WHERE w.log = number AND w.id = w_ids[i] AND w.path = w_paths[i] AND w.bytes = w_expected[i];
        END IF;
        GET DIAGNOSTICS changed = ROW_COUNT;
        IF changed <> 1 THEN
            RAISE EXCEPTION '%', i USING ERRCODE = 'SG002';
        END IF;
    END LOOP;
    IF p_ns = '' AND head <> no_id THEN
        )" +
        postgresIndexUpdate("", "l.thread = p_thread AND l.ns = ''", "l", "head", "p_status", "p_due", "p_second_ago",
                            "p_summary") +
        R"(;
    END IF;
END $put$;
)";
    return text.c_str();
}

// A statement sees what was stored when it began, also if it waits for locks after that. Until it appends, other
// writers may have appended to the same head, and a prune may have dropped that head and closed the chain behind it:
// then the index over (log, prev) has no row of theirs any more. So whoever has appended calls this function, whose
// query sees what is stored now: the head must still be there. If it is, and nothing else follows it, nothing was
// stored after it.
const char* postgresFollowsFunction() {
    return R"(
CREATE OR REPLACE FUNCTION {S}.follows(p_log bigint, p_prev uuid) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $follows$
BEGIN
    IF p_prev <> '00000000-0000-0000-0000-000000000000' AND (SELECT c.id FROM {S}.commits c
        WHERE c.log = p_log AND c.prev < p_prev ORDER BY c.prev DESC LIMIT 1) IS DISTINCT FROM p_prev THEN
        RAISE EXCEPTION 'another writer was first' USING ERRCODE = 'SG001';
    END IF;
    RETURN true;
END $follows$;
)";
}

}  // namespace stategraph::checkpoint
