// SECONDS: 70
// ALSO PLAIN: each damaged place
// Damage to the tables of a database and to the list of them (MANIFEST): an error, or everything is there.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include <doctest/doctest.h>
#include <rocksdb/options.h>

#include <stategraph/rocksdb_store.hpp>

#include "tests/storage/rocksdb/damaged.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/until.hpp"

using namespace damaged;

namespace {

constexpr int items = 30;

/// RocksDB waits for a second before it closes a database whose compaction has failed. A compaction could also delete a
/// table that an earlier list names.
rocksdb::Options withoutCompaction() {
    rocksdb::Options options;
    options.create_if_missing = true;
    options.write_buffer_size = 64U << 10U;
    options.disable_auto_compactions = true;
    return options;
}

Opened openTables(const fs::path& path, bool drop_damaged_log = false) {
    const rocksdb::Options options = withoutCompaction();
    return open(path, {.rocksdb_options = &options, .drop_damaged_log = drop_damaged_log});
}

std::string fileWith(const fs::path& folder, std::string_view part) {
    std::string found;
    for (const auto& entry : fs::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        if (name.find(part) != std::string::npos) found = std::max(found, name);
    }
    REQUIRE_FALSE(found.empty());
    return found;
}

/// A closed database. The first ten items are in a table, the next ones in tables that were written while the database
/// was open, and the last ones in the log.
class Tables {
public:
    Tables() {
        { putItems(*make(), 0, 10, false); }
        const auto store = make();  // opening it has made a table
        list_before_ = content(name("MANIFEST"));
        putItems(*store, 10, 20, true);
        patience::until([&] { return content(name("MANIFEST")).size() != list_before_.size(); });
        putItems(*store, 20, items, false);
    }
    std::string name(std::string_view part) const { return fileWith(folder_ / "whole", part); }
    std::string content(const std::string& name) const { return contentOf(folder_ / "whole" / name); }
    /// The list of tables as it was before tables were written while the database was open.
    const std::string& listBefore() const { return list_before_; }
    fs::path with(const std::string& name, const std::string& content) const {
        fs::remove_all(folder_ / "copy");
        fs::copy(folder_ / "whole", folder_ / "copy", fs::copy_options::recursive);
        writeFile(folder_ / "copy" / name, content);
        return folder_ / "copy";
    }
    fs::path flipped(const std::string& name, std::size_t at, unsigned bits) const {
        std::string changed = content(name);
        changed[at] = static_cast<char>(changed[at] ^ static_cast<char>(bits));
        return with(name, changed);
    }

private:
    std::unique_ptr<sg::RocksDBStore> make() const {
        const rocksdb::Options options = withoutCompaction();
        return std::make_unique<sg::RocksDBStore>((folder_ / "whole").string(), sg::StoreOptions{},
                                                  sg::RocksDBStoreOptions{.rocksdb_options = &options});
    }
    TemporaryFolder folder_;
    std::string list_before_;
};

}  // namespace

TEST_CASE("any altered byte of a table is an error that names it, and never ends the process") {
    const Tables tables;
    const std::string name = tables.name(".sst");
    const std::string content = tables.content(name);
    std::size_t refused = 0;
    // Where the table describes itself, at its end, each byte; in its data some.
    const std::size_t described = content.size() > 1200 ? content.size() - 1200 : 0;
    for (std::size_t at = sanitized::turn(); at < content.size();
         at += at < described ? 1 + described / 50 : sanitized::one_of) {
        CAPTURE(at);
        const Opened opened = openTables(tables.flipped(name, at, 0xFFU));
        if (opened.error.empty()) {
            CHECK(opened.items == items);
            continue;
        }
        ++refused;
        CHECK(has(opened.error, "copy"));
    }
    CHECK(refused > 100);
}

TEST_CASE("any altered byte of the list of tables is an error that says where, and nothing is lost") {
    const Tables tables;
    const std::string name = tables.name("MANIFEST");
    const std::string content = tables.content(name);
    for (std::size_t at = sanitized::turn(); at < content.size(); at += sanitized::one_of) {
        CAPTURE(at);
        const fs::path path = tables.flipped(name, at, 1U << at % 8);
        CHECK(has(openTables(path).error, "copy"));
        writeFile(path / name, content);
        CHECK(openTables(path).items == items);
    }
}

TEST_CASE("a list of tables that was cut at any place is an error, or everything is there") {
    const Tables tables;
    const std::string name = tables.name("MANIFEST");
    const std::string content = tables.content(name);
    std::size_t refused = 0;
    for (std::size_t size = sanitized::turn(); size < content.size(); size += sanitized::one_of) {
        CAPTURE(size);
        const Opened opened = openTables(tables.with(name, content.substr(0, size)));
        refused += opened.error.empty() ? 0 : 1;
        CHECK((!opened.error.empty() || opened.items == items));
    }
    CHECK(refused > 20);
}

TEST_CASE("a database that was copied while tables were written is refused, or opened without what follows the hole") {
    const Tables tables;
    const std::string name = tables.name("MANIFEST");
    const std::string& before =
        tables.listBefore();  // the log, copied later, continues after the rows of the new tables
    const Opened refused = openTables(tables.with(name, before));
    CAPTURE(refused.error);
    CHECK(has(refused.error, "its list of tables " + name + " lacks tables with the rows before those in "));
    CHECK(has(refused.error, "restore it from a copy, or set drop_damaged_log"));
    const fs::path path = tables.with(name, before);
    const Opened dropped = openTables(path, true);
    CHECK(dropped.error.empty());
    CHECK(dropped.items == 10);
    CHECK(has(dropped.dropped, "and were dropped"));
    const Opened again = openTables(path);
    CHECK(again.error.empty());
    CHECK(again.dropped.empty());
    CHECK(again.items == dropped.items);
}
