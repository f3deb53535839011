#pragma once
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <libpq-fe.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stategraph/error.hpp>
#include <stategraph/postgres_saver.hpp>
#include <stategraph/postgres_store.hpp>

#include "tests/storage/database_error.hpp"

// A server, schemas on it, and connections without a saver, for the tests of the PostgreSQL saver.
namespace postgres_tests {

namespace fs = std::filesystem;

using database_tests::databaseError;
using database_tests::has;

/// Starts a server that ends with this object or with this process.
class Server {
public:
    /// `lines` are added to postgresql.conf.
    explicit Server(const std::vector<std::string>& lines = {}) {
        std::string more = pid();
        for (const std::string& line : lines) more += " \"" + line + "\"";
        run("start", more);
    }
    /// A standby of this server that answers under the name in synchronous_standby_names.
    std::unique_ptr<Server> standby() const { return std::unique_ptr<Server>(new Server("standby", folder_)); }
    /// A PgBouncer in transaction mode before this server, with two connections to it.
    std::unique_ptr<Server> pooler() const { return std::unique_ptr<Server>(new Server("pooler", folder_)); }
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    ~Server() {
        try {
            run("stop");
        } catch (const std::exception&) {  // it ends with the process in any case
        }
    }
    /// A busy server may take longer to answer than connecting may take by default.
    std::string conninfo() const { return "host=" + folder_.string() + " user=sg dbname=postgres connect_timeout=300"; }
    const fs::path& folder() const noexcept { return folder_; }
    /// Ends the server as a crash would, or starts it again on its files.
    void down() const { run("down"); }
    void up() const { run("up"); }
    /// Makes a standby a server of its own.
    void promote() const { run("promote"); }
    /// Has the server listen on this port, with TLS alone.
    void useTls(int port) const { run("tls", " " + std::to_string(port)); }

private:
    Server(const std::string& command, const fs::path& of) { run(command, pid() + " '" + of.string() + "'"); }

    static std::string pid() { return " " + std::to_string(::getpid()); }
    static std::string next() {
        static std::atomic<int> count{0};
        return std::to_string(++count);
    }
    void run(const std::string& command, const std::string& more = {}) const {
        const std::string line =
            "'" STATEGRAPH_TESTS_DIR "/storage/postgres/server.sh' " + command + " '" + folder_.string() + "'" + more;
        if (std::system(line.c_str()) != 0) throw std::runtime_error(line + " failed");
    }

    fs::path folder_ = fs::temp_directory_path() / ("stategraph-pg-" + std::to_string(::getpid()) + "-" + next());
};

/// The options with five minutes for each limit of time that is the default one: on a busy machine a server may take
/// longer than that to start a process or to write to its disk.
template <class Options>
Options patient(Options options = {}) {
    const Options defaults;
    for (auto limit :
         {&Options::connection_wait, &Options::connect_timeout, &Options::statement_timeout, &Options::reconnect_for}) {
        if (options.*limit == defaults.*limit) options.*limit = std::chrono::minutes(5);
    }
    return options;
}

/// Whether CTest has started a server for this test. It does so for tests that run on every kind of store.
inline bool isThere() { return std::getenv("STATEGRAPH_TEST_POSTGRES") != nullptr; }

/// The connection string of the server that CTest started for all tests, or else of one that this process starts.
inline std::string conninfo() {
    if (const char* const given = std::getenv("STATEGRAPH_TEST_POSTGRES")) return given;
    static Server server;
    return server.conninfo();
}

/// A plain connection of libpq.
class Raw {
public:
    explicit Raw(const std::string& info = conninfo()) : connection_(PQconnectdb(info.c_str())) {
        if (PQstatus(connection_) != CONNECTION_OK) throw std::runtime_error(PQerrorMessage(connection_));
    }
    Raw(const Raw&) = delete;
    Raw& operator=(const Raw&) = delete;
    ~Raw() { PQfinish(connection_); }
    /// The first column of the first row as text; empty if there is no row.
    std::string run(const std::string& sql) {
        PGresult* const result = PQexec(connection_, sql.c_str());
        const auto status = PQresultStatus(result);
        const std::string text = PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "";
        PQclear(result);
        if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
            throw std::runtime_error(sql + ": " + PQerrorMessage(connection_));
        return text;
    }

private:
    PGconn* connection_;
};

/// A unique name of a schema, which is removed at the end.
class Schema {
public:
    explicit Schema(std::string info = conninfo()) : info_(std::move(info)) {
        static std::atomic<int> count{0};
        name_ = "t" + std::to_string(::getpid()) + "_" + std::to_string(++count);
    }
    Schema(const Schema&) = delete;
    Schema& operator=(const Schema&) = delete;
    ~Schema() {
        try {
            Raw(info_).run("SET client_min_messages=error; DROP SCHEMA IF EXISTS " + name_ + " CASCADE");
        } catch (const std::exception&) {  // the server is down
        }
    }
    const std::string& name() const noexcept { return name_; }
    /// Opens a saver on the schema, and sets the schema up if necessary. Limits of time are those of `patient`.
    std::unique_ptr<stategraph::PostgresSaver> open(stategraph::PostgresSaverOptions options = {}) const {
        options.schema = name_;
        options.set_up = !options.read_only;
        return std::make_unique<stategraph::PostgresSaver>(info_, patient(options));
    }
    std::unique_ptr<stategraph::PostgresStore> openStore(const stategraph::StoreOptions& options = {},
                                                         stategraph::PostgresStoreOptions database = {}) const {
        database.schema = name_;
        database.set_up = !database.read_only;
        return std::make_unique<stategraph::PostgresStore>(info_, options, patient(database));
    }

private:
    std::string info_;
    std::string name_;
};

#define POSTGRES_SAYS(text, part)                          \
    do {                                                   \
        const std::string postgres_said = (text);          \
        CAPTURE(postgres_said);                            \
        CHECK(::postgres_tests::has(postgres_said, part)); \
    } while (false)

}  // namespace postgres_tests
