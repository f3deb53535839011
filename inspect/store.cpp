#include "inspect/store.hpp"

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include <stategraph/error.hpp>
#include <stategraph/export.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/rocksdb_saver.hpp>
#if STATEGRAPH_HAS_SQLITE
#include <stategraph/sqlite_saver.hpp>
#endif
#if STATEGRAPH_HAS_POSTGRES
#include <stategraph/postgres_saver.hpp>
#endif

#include "inspect/app/app_saver.hpp"
#include "inspect/views.hpp"

namespace stategraph::inspect {
namespace {

std::optional<std::int64_t> numberOf(std::string_view text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

std::optional<CheckpointId> idOf(std::string_view text) {
    if (text.size() != 36) return {};
    try {
        return CheckpointId(text);
    } catch (const InvalidArgumentError&) {
        return {};
    }
}

// Returns the first checkpoint of a log, newest first, that `is` accepts.
template <class Is>
std::optional<CheckpointId> search(BaseCheckpointSaver& saver, const Config& log, Is is) {
    TimelineQuery query{.limit = rows_a_page};
    for (;;) {
        const auto entries = readTimeline(saver, log, query);
        for (const TimelineEntry& entry : entries) {
            if (is(entry)) return entry.id;
        }
        if (entries.size() < rows_a_page) return {};
        query.before = entries.back().id;
    }
}

std::string shown(const Config& config) {
    return "thread '" + config.thread_id.toString() + "'" +
           (config.checkpoint_ns.empty() ? "" : " in namespace '" + config.checkpoint_ns + "'");
}

// RocksDB's databases are folders, so a file is SQLite's. The file is not opened: if this process has it open through
// SQLite too, closing it would release SQLite's locks.
bool isSqliteFile(const std::filesystem::path& store) {
    if (std::filesystem::exists(store)) return std::filesystem::is_regular_file(store);
    return store.extension() == ".sqlite";
}

// Returns whether it is a file that `export` writes.
bool isExport(const std::filesystem::path& store) {
    return store.extension() == ".ndjson" && std::filesystem::is_regular_file(store);
}

std::shared_ptr<BaseCheckpointSaver> readExport(const std::string& file, bool for_writing) {
    if (for_writing) {
        throw SaverError("cannot write to '" + file +
                         "': it has exported threads, which are only read; 'stategraph import' puts them into a "
                         "database");
    }
    std::ifstream in(file, std::ios::binary);
    if (!in) throw SaverError("cannot open '" + file + "' to read it: " + std::generic_category().message(errno));
    auto saver = std::make_shared<MemorySaver>();
    do {
        importThread(*saver, in, {.sealed = true});  // refuses an empty file
    } while ((in >> std::ws).peek() != std::ifstream::traits_type::eof());
    return saver;
}

// Returns whether it has the form postgresql://HOST/DATABASE, with a schema after a # if there is one.
bool isPostgres(std::string_view store) {
    return store.starts_with("postgresql://") || store.starts_with("postgres://");
}

std::shared_ptr<BaseCheckpointSaver> openPostgres(const std::string& store, bool for_writing, bool create) {
#if STATEGRAPH_HAS_POSTGRES
    const std::size_t mark = store.rfind('#');
    PostgresSaverOptions options{.set_up = create, .read_only = !for_writing, .connections_max = 2};
    if (mark != std::string::npos) options.schema = store.substr(mark + 1);
    return std::make_shared<PostgresSaver>(store.substr(0, mark), options);
#else
    (void)for_writing;
    (void)create;
    throw SaverError("cannot open the database of '" + store.substr(0, store.find("://")) +
                     "': this program was built without PostgreSQL; build stategraph with it");
#endif
}

}  // namespace

std::string storeName(const Arguments& arguments, const CommandOptions& options) {
    std::string store = arguments.value("--store").value_or("");
    if (store.empty()) store = arguments.value("--app").value_or(options.store);
    if (!store.empty()) return store;
    return std::filesystem::exists("CURRENT") ? "." : "checkpoints";
}

std::shared_ptr<BaseCheckpointSaver> openStore(const Arguments& arguments, const CommandOptions& options,
                                               bool for_writing, bool follows) {
    const std::string store = storeName(arguments, options);
    const bool is_app = arguments.value("--app") == store;
    if (options.open && !is_app) return options.open(store, for_writing);
    // Importing may create a database.
    const bool create = for_writing && arguments.has("--create");
    if (isAppAddress(store)) return std::make_shared<AppSaver>(readAppAddress(store), for_writing);
    if (isPostgres(store)) return openPostgres(store, for_writing, create);
    if (!create && !std::filesystem::exists(store)) {
        throw SaverError("cannot open the database '" + store +
                         "': there is none; name one with --store FOLDER or --store FILE, or in STATEGRAPH_STORE");
    }
    if (isExport(store)) return readExport(store, for_writing);
    if (isSqliteFile(store)) {
#if STATEGRAPH_HAS_SQLITE
        return std::make_shared<SqliteSaver>(
            store, SqliteSaverOptions{.create_if_missing = create, .read_only = !for_writing});
#else
        throw SaverError("cannot open the database '" + store +
                         "': it is a file, and this program was built without SQLite; build stategraph with it");
#endif
    }
    // Files that a writer deletes meanwhile stay open. A command that ends immediately reads nothing newer.
    const std::chrono::milliseconds every = follows ? std::chrono::milliseconds(50) : std::chrono::hours(1);
    return std::make_shared<RocksDBSaver>(
        store,
        RocksDBSaverOptions{
            .create_if_missing = create, .read_only = !for_writing, .follow = !for_writing, .follow_every = every});
}

std::vector<std::string> logsOf(BaseCheckpointSaver& saver, const std::string& thread_id) {
    auto namespaces = readNamespaces(saver, ThreadId(thread_id));
    if (namespaces.empty()) throw NotFound{"there is no thread '" + thread_id + "'"};
    return namespaces;
}

Config findPlace(BaseCheckpointSaver& saver, const Arguments& arguments, const std::string& place) {
    Config config{.thread_id = {}, .checkpoint_id = {}, .checkpoint_ns = arguments.value("--ns").value_or("")};
    const std::size_t at = place.rfind('@');
    const std::string_view behind = at == std::string::npos ? "" : std::string_view(place).substr(at + 1);
    const auto id = idOf(behind);
    const bool is_back = behind.starts_with('~');
    const auto number = numberOf(is_back ? behind.substr(1) : behind);
    if (!id && !number) {
        if (place.empty()) throw UsageError{"the thread's name is empty"};
        config.thread_id = ThreadId(place);
        return config;
    }
    config.thread_id = ThreadId(std::string_view(place).substr(0, at));
    if (config.thread_id.empty()) throw UsageError{"there is no thread's name before '@'"};
    if (id) {
        config.checkpoint_id = *id;
        return config;
    }
    std::optional<CheckpointId> found;
    if (!is_back) {
        found = search(saver, config, [&](const TimelineEntry& entry) {
            return entry.damaged.empty() && !entry.is_sealed && entry.step == *number;
        });
    } else {
        CheckpointId on_branch;
        std::int64_t back = *number;
        found = search(saver, config, [&](const TimelineEntry& entry) {
            if (on_branch && entry.id != on_branch) return false;
            on_branch = entry.parent;
            return back-- == 0;
        });
    }
    if (!found) throw NotFound{shown(config) + " has no checkpoint '" + std::string(behind) + "'"};
    config.checkpoint_id = *found;
    return config;
}

Config findCheckpoint(BaseCheckpointSaver& saver, const Arguments& arguments, const std::string& place) {
    Config config = findPlace(saver, arguments, place);
    const auto tuple =
        saver.getTuple({.log = {config.thread_id.view(), config.checkpoint_ns}, .checkpoint_id = config.checkpoint_id});
    if (!tuple) {
        throw NotFound{config.checkpoint_id ? shown(config) + " has no checkpoint " + config.checkpoint_id.toString()
                                            : shown(config) + " has no checkpoints; 'stategraph ls' lists the threads"};
    }
    config.checkpoint_id = tuple->id;
    return config;
}

}  // namespace stategraph::inspect
