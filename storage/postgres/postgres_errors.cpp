#include "storage/postgres/postgres_errors.hpp"

namespace stategraph::checkpoint {
namespace {

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
    return text;
}

// Returns advice for an SQLSTATE (PostgreSQL's manual, appendix A) or its class.
std::string adviceFor(std::string_view state) {
    if (state == "53100") return "; make room on the server's disk: nothing of this was stored, later calls work again";
    if (state == "53200") return "; the server is out of memory: nothing of this was stored, later calls work again";
    if (state == "53300")
        return "; raise the server's max_connections, or lower connections_max in the programs that use it";
    if (state == "42501") return "; grant this user USAGE on the schema, and on its tables SELECT and what it writes";
    if (state == "25006")
        return "; this server only reads, as a standby does: name the primary (target_session_attrs=read-write), or "
               "open it read_only";
    if (state == "57014")
        return "; it took longer than statement_timeout, or another session cancelled it: nothing of this was stored";
    if (state == "54000") return "; a thread's name, a namespace or a path is too long for an index of PostgreSQL's";
    if (state == "3F000" || state == "42P01" || state == "42883" || state == "42703")
        return "; its tables do not exist or are others: call PostgresSaver::setUp (or PostgresStore's), "
               "or name another schema";
    if (state == "42P05" || state == "26000")
        return "; a pooler in transaction mode seems to be between the program and the server, where a prepared "
               "statement does not stay with its connection: open it with prepared_statements = false";
    if (state.starts_with("40")) return "; others wrote the same rows at this moment: try again";
    return "";
}

}  // namespace

void PostgresErrors::refuseOpening(const std::string& why) const {
    throw SaverError("cannot open the database " + place_ + ": " + std::string(trimmed(why)));
}

void PostgresErrors::fail(const std::string& what) const { throw SaverError("the database " + place_ + ": " + what); }

void PostgresErrors::failUnreadable(const std::string& what) const {
    throw CorruptCheckpointError("the database " + place_ + " " + what);
}

void PostgresErrors::failLost(std::string_view work, const std::string& why) const {
    throw PostgresLost("the database " + place_ + ": could not " + std::string(work) + ": " +
                       std::string(trimmed(why)));
}

void PostgresErrors::failCall(const PostgresFailure& failure, std::string_view work) const {
    const std::string_view state = failure.sqlstate;
    const std::string text = "could not " + std::string(work) + ": " + failure.message;
    if (state.starts_with("XX00") && state != "XX000")
        failUnreadable("is damaged: " + text + "; restore it from a backup");
    throw PostgresRefused("the database " + place_ + ": " + text + adviceFor(state), failure);
}

}  // namespace stategraph::checkpoint
