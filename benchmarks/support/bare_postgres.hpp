#pragma once
#if STATEGRAPH_HAS_POSTGRES
#include <array>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

#include <libpq-fe.h>
#include <unistd.h>

namespace bench {

/// Returns the server that the workloads may use: libpq's conninfo in STATEGRAPH_BENCH_POSTGRES, or an empty text if
/// there is none.
inline std::string postgresConninfo() {
    const char* const given = std::getenv("STATEGRAPH_BENCH_POSTGRES");
    return given ? given : "";
}

/// Runs SQL on a connection of its own, and returns the first column of its result as a number, or 0.
inline double askPostgres(const char* sql) {
    PGconn* const connection = PQconnectdb(postgresConninfo().c_str());
    PGresult* const result = PQexec(connection, sql);
    const double number = PQntuples(result) > 0 ? std::atof(PQgetvalue(result, 0, 0)) : 0;
    PQclear(result);
    PQfinish(connection);
    return number;
}

/// A PostgreSQL table without a saver, for floors: one prepared INSERT, and a transaction for each row.
class BarePostgres {
public:
    explicit BarePostgres(bool sync) : connection_(PQconnectdb(postgresConninfo().c_str())) {
        if (PQstatus(connection_) != CONNECTION_OK) throw std::runtime_error(PQerrorMessage(connection_));
        run(sync ? "SET synchronous_commit=on" : "SET synchronous_commit=off");
        run("CREATE TABLE " + table_ +
            " (thread bytea NOT NULL, id bytea NOT NULL, bytes bytea NOT NULL, PRIMARY KEY (thread, id))");
        PQclear(
            PQprepare(connection_, "insert", ("INSERT INTO " + table_ + " VALUES ($1, $2, $3)").c_str(), 3, nullptr));
    }
    BarePostgres(const BarePostgres&) = delete;
    BarePostgres& operator=(const BarePostgres&) = delete;
    ~BarePostgres() {
        PQclear(PQexec(connection_, ("DROP TABLE " + table_).c_str()));
        PQfinish(connection_);
    }

    void write(std::string_view thread, std::string_view id, std::string_view bytes) {
        const std::array values{thread.data(), id.data(), bytes.data()};
        const std::array lengths{static_cast<int>(thread.size()), static_cast<int>(id.size()),
                                 static_cast<int>(bytes.size())};
        const std::array formats{1, 1, 1};
        check(PQexecPrepared(connection_, "insert", 3, values.data(), lengths.data(), formats.data(), 1));
    }

private:
    void run(const std::string& sql) { check(PQexec(connection_, sql.c_str())); }
    void check(PGresult* result) const {
        const bool is_done = PQresultStatus(result) == PGRES_COMMAND_OK;
        PQclear(result);
        if (!is_done) throw std::runtime_error(PQerrorMessage(connection_));
    }

    const std::string table_ = "stategraph_bare_" + std::to_string(::getpid());
    PGconn* connection_;
};

}  // namespace bench
#endif
