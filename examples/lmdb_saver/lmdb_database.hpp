#pragma once
#include <lmdb.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <stategraph/error.hpp>

/// LMDB's handle of a folder, and what its errors mean.
struct LmdbEnvironment {
    std::string folder;
    std::unique_ptr<MDB_env, void (*)(MDB_env*)> env{nullptr, mdb_env_close};

    /// Throws SaverError, or CorruptCheckpointError for a damaged file, if a call of LMDB's has returned an error.
    void check(int code, const char* work) const {
        if (code == MDB_SUCCESS) return;
        const std::string text = std::string("LMDB: could not ") + work + " in '" + folder + "': " + mdb_strerror(code);
        if (code == MDB_CORRUPTED || code == MDB_PAGE_NOTFOUND || code == MDB_INVALID)
            throw stategraph::CorruptCheckpointError(text + "; restore the folder from a copy");
        throw stategraph::SaverError(text + (code == MDB_MAP_FULL ? "; prune, or open it with more bytes_max"
                                                                  : "; repair the cause and call again"));
    }
};

/// Rows in the order of their keys, as bytes. What it returns is valid until it writes the next time, or ends.
class LmdbTransaction {
public:
    struct Row {
        std::string_view key;  // without the prefix that was asked for
        std::string_view value;
    };

    LmdbTransaction(const LmdbEnvironment& environment, unsigned flags) : environment_(environment) {
        MDB_txn* txn = nullptr;
        environment_.check(mdb_txn_begin(environment_.env.get(), nullptr, flags, &txn), "begin a transaction");
        txn_.reset(txn);
        environment_.check(mdb_dbi_open(txn, nullptr, 0, &table_), "begin a transaction");
        MDB_cursor* cursor = nullptr;
        environment_.check(mdb_cursor_open(txn, table_, &cursor), "begin a transaction");
        cursor_.reset(cursor);
    }
    void commit() {
        cursor_.reset();
        environment_.check(mdb_txn_commit(txn_.release()), "commit");
    }

    std::optional<std::string_view> get(std::string_view key) const {
        const auto row = move(MDB_SET_RANGE, key);
        return row && row->key == key ? std::optional(row->value) : std::nullopt;
    }
    /// The first row whose key begins with `prefix` and goes on with `rest` or something greater; none: there is none.
    std::optional<Row> from(std::string_view prefix, std::string_view rest = {}) const {
        return within(prefix, move(MDB_SET_RANGE, std::string(prefix).append(rest)));
    }
    /// The last row whose key begins with `prefix` and goes on with something less than `rest`.
    std::optional<Row> below(std::string_view prefix, std::string_view rest) const {
        const bool is_last = !move(MDB_SET_RANGE, std::string(prefix).append(rest));
        return within(prefix, move(is_last ? MDB_LAST : MDB_PREV));
    }
    /// Calls `f` for each row whose key begins with `prefix`. It may store and remove rows.
    template <class F>
    void forEach(const std::string& prefix, F f) const {
        std::string key;
        for (auto row = from(prefix); row; row = from(prefix, key)) {
            key = std::string(row->key) + '\0';
            f(*row);
        }
    }
    void put(std::string_view key, std::string_view value) {
        MDB_val name = valueOf(key);
        MDB_val bytes = valueOf(value);
        environment_.check(mdb_put(txn_.get(), table_, &name, &bytes, 0), "store a row");
    }
    void drop(std::string_view key) {
        if (get(key)) environment_.check(mdb_cursor_del(cursor_.get(), 0), "remove a row");
    }

private:
    static MDB_val valueOf(std::string_view text) { return {text.size(), const_cast<char*>(text.data())}; }
    static std::string_view textOf(MDB_val value) { return {static_cast<const char*>(value.mv_data), value.mv_size}; }
    static std::optional<Row> within(std::string_view prefix, std::optional<Row> row) {
        if (!row || !row->key.starts_with(prefix)) return std::nullopt;
        return Row{row->key.substr(prefix.size()), row->value};
    }
    // Neighbours are quick: LMDB looks first in the page where the cursor is.
    std::optional<Row> move(MDB_cursor_op op, std::string_view to = {}) const {
        MDB_val key = valueOf(to);
        MDB_val value{};
        const int code = mdb_cursor_get(cursor_.get(), &key, &value, op);
        if (code == MDB_NOTFOUND) return std::nullopt;
        environment_.check(code, "read a row");
        return Row{textOf(key), textOf(value)};
    }

    const LmdbEnvironment& environment_;
    std::unique_ptr<MDB_txn, void (*)(MDB_txn*)> txn_{nullptr, mdb_txn_abort};
    MDB_dbi table_ = 0;
    std::unique_ptr<MDB_cursor, void (*)(MDB_cursor*)> cursor_{nullptr, mdb_cursor_close};  // ends before `txn_`
};

/// A folder of LMDB's. Safe from any thread.
class LmdbDatabase {
public:
    LmdbDatabase(const std::filesystem::path& folder, std::size_t bytes_max)
        : environment_{(std::filesystem::create_directories(folder), std::filesystem::canonical(folder).string())} {
        const std::lock_guard lock(open_mutex);
        const std::string& name = environment_.folder;
        if (open_folders.contains(name))
            throw stategraph::SaverError("LMDB: '" + name + "' is open in this process; share that saver");
        MDB_env* env = nullptr;
        environment_.check(mdb_env_create(&env), "begin");
        environment_.env.reset(env);
        environment_.check(mdb_env_set_mapsize(env, bytes_max), "set its size");
        environment_.check(mdb_env_set_maxreaders(env, 1000), "begin");
        // NOTLS: the threads of executors come and go. NOMETASYNC: a commit is whole on the disk or not there.
        environment_.check(mdb_env_open(env, name.c_str(), MDB_NOTLS | MDB_NOMETASYNC, 0600), "open");
        environment_.check(mdb_reader_check(env, nullptr), "forget the readers of dead processes");
        open_folders.insert(name);
    }
    ~LmdbDatabase() {
        const std::lock_guard lock(open_mutex);
        environment_.env.reset();
        open_folders.erase(environment_.folder);
    }

    /// Calls `f` with a transaction that sees the database as it is now, whatever is written meanwhile.
    template <class F>
    auto read(F f) {
        const LmdbTransaction txn(environment_, MDB_RDONLY);
        return f(txn);
    }
    /// Calls `f` with the only transaction that writes, of all threads and processes, and commits it. If `f` throws,
    /// nothing is stored. Without `sync` a power failure may take the newest commits, whole ones; a kill takes nothing.
    template <class F>
    void write(bool sync, F f) {
        LmdbTransaction txn(environment_, 0);
        f(txn);
        txn.commit();
        if (sync) environment_.check(mdb_env_sync(environment_.env.get(), 1), "write to the disk");
    }

private:
    // LMDB's locks belong to a process: opening a folder twice in it, and closing one, would release the other's.
    static inline std::mutex open_mutex;
    static inline std::set<std::string> open_folders;

    LmdbEnvironment environment_;
};
