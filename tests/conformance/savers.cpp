#include "tests/conformance/savers.hpp"

#include <chrono>
#include <filesystem>
#include <stdexcept>

#include <stategraph/memory_saver.hpp>
#if STATEGRAPH_HAS_ROCKSDB
#include <stategraph/rocksdb_saver.hpp>
#endif
#if STATEGRAPH_HAS_SQLITE
#include <stategraph/sqlite_saver.hpp>
#endif
#if STATEGRAPH_HAS_POSTGRES
#include <stategraph/postgres_saver.hpp>
#endif

#include "tests/support/later_saver.hpp"

namespace conformance {

namespace sg = stategraph;

Savers::Savers(const std::string& kind) {
    constexpr std::string_view rocksdb = "rocksdb:";
    if (kind == "memory") return;
    answers_later_ = kind == "later";
    if (answers_later_) return;
    constexpr std::string_view sqlite = "sqlite:";
    if (kind.starts_with(sqlite) && kind.size() > sqlite.size()) {
#if STATEGRAPH_HAS_SQLITE
        shared_ = std::make_shared<sg::SqliteSaver>(kind.substr(sqlite.size()));
        return;
#else
        throw std::invalid_argument("--saver " + kind + ": this program was built without SQLite");
#endif
    }
    constexpr std::string_view postgres = "postgres:";
    if (kind.starts_with(postgres) && kind.size() > postgres.size()) {
#if STATEGRAPH_HAS_POSTGRES
        shared_ = std::make_shared<sg::PostgresSaver>(
            kind.substr(postgres.size()), sg::PostgresSaverOptions{.schema = "conformance",
                                                                   .set_up = true,
                                                                   .connection_wait = std::chrono::minutes(10),
                                                                   .connect_timeout = std::chrono::minutes(10),
                                                                   .statement_timeout = std::chrono::minutes(10),
                                                                   .reconnect_for = std::chrono::minutes(10)});
        return;
#else
        throw std::invalid_argument("--saver " + kind + ": this program was built without PostgreSQL");
#endif
    }
    if (!kind.starts_with(rocksdb) || kind.size() == rocksdb.size()) {
        throw std::invalid_argument(
            "--saver must be memory, later, rocksdb:FOLDER, sqlite:FILE or postgres:CONNINFO, and is '" + kind + "'");
    }
#if STATEGRAPH_HAS_ROCKSDB
    const std::string folder = kind.substr(rocksdb.size());
    std::filesystem::create_directories(folder);
    shared_ = std::make_shared<sg::RocksDBSaver>(folder);
#else
    throw std::invalid_argument("--saver " + kind + ": this program was built without RocksDB");
#endif
}

Settings Savers::next(const json::object& scenario) {
    ++count_;
    if (answers_later_) return {.saver = std::make_shared<LaterSaver>()};
    if (!shared_) return {.saver = std::make_shared<sg::MemorySaver>()};
    Settings settings{.saver = shared_, .threads_prefix = std::to_string(count_) + "/"};
    // The database may contain rows of an earlier run.
    for (const json::value& op : get(scenario, "run").as_array()) {
        const json::value& thread = get(op.as_object(), "thread");
        shared_->deleteThread(settings.threads_prefix + (thread.is_string() ? text(thread) : "t"));
    }
    return settings;
}

}  // namespace conformance
