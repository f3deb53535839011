// SECONDS: 30
// ALSO PLAIN: each damaged place
// Damage to the write-ahead log: unreadable parts cause an error or a report, and a log with a truncated tail opens.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <rocksdb/options.h>

#include <stategraph/rocksdb_saver.hpp>
#include <stategraph/rocksdb_store.hpp>

#include "storage/rocksdb/rocksdb_log_scan.hpp"

#include "tests/storage/rocksdb/damaged.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace damaged;

namespace {

std::vector<std::string> logsOf(const fs::path& database) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(database)) {
        if (entry.path().extension() == ".log" && entry.file_size() > 0)
            names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
}

/// A closed database whose items are in its log, and copies of it with changed logs.
class Damaged {
public:
    Damaged(int items, bool some_large) : items_(items) {
        sg::RocksDBStore store((folder_ / "whole").string());
        putItems(store, 0, items, some_large);
        name_ = logsOf(folder_ / "whole").back();
        content_ = contentOf(folder_ / "whole" / name_);
    }
    int items() const { return items_; }
    const std::string& name() const { return name_; }
    const std::string& content() const { return content_; }
    fs::path with(const std::string& content) const {
        fs::remove_all(folder_ / "copy");
        fs::copy(folder_ / "whole", folder_ / "copy", fs::copy_options::recursive);
        writeFile(folder_ / "copy" / name_, content);
        return folder_ / "copy";
    }
    fs::path flipped(std::size_t at, char bits) const {
        std::string content = content_;
        content[at] = static_cast<char>(content[at] ^ bits);
        return with(content);
    }

private:
    TemporaryFolder folder_;
    int items_;
    std::string name_;
    std::string content_;
};

}  // namespace

TEST_CASE("the checksum of log records is CRC-32C") {
    CHECK(sg::checkpoint::crc32c("123456789") == 0xE3069283U);
    CHECK(sg::checkpoint::crc32c("") == 0U);
}

TEST_CASE("one altered byte anywhere in the log is an error that says where, and nothing is lost") {
    const Damaged small(20, false);
    const Damaged large(20, true);
    for (const Damaged* database : {&small, &large}) {
        const std::size_t step = database->content().size() / sanitized::some(60) | 1U;
        std::vector<std::size_t> places = {0, 4, 5, 6, database->content().size() - 1};
        for (std::size_t at = 7; at < database->content().size(); at += step) places.push_back(at);
        for (const std::size_t at : places) {
            CAPTURE(at);
            const fs::path path = database->flipped(at, static_cast<char>(1U << at % 8));
            // RocksDB skips the last bytes of a block if they are too few for a record.
            const Opened opened = open(path);
            if (opened.items == database->items() && opened.dropped.empty()) continue;
            CHECK(has(opened.error, "its log file " + database->name() + " has damage at byte "));
            CHECK(has(opened.error, "would be lost; restore it from a copy"));
            CHECK(has(opened.error, path.string()));
            writeFile(path / database->name(), database->content());
            CHECK(open(path).items == database->items());
        }
    }
}

TEST_CASE("any altered bit of a record's header is an error, also in its type") {
    const Damaged database(3, false);
    for (std::size_t at = 0; at < 7; ++at) {
        for (unsigned bit = 0; bit < 8; ++bit) {
            CAPTURE(at);
            CAPTURE(bit);
            CHECK(has(open(database.flipped(at, static_cast<char>(1U << bit))).error, "has damage at byte 0 of"));
        }
    }
}

TEST_CASE("a log that is damaged in its midst opens without what follows, if that is wanted") {
    const Damaged database(20, false);
    int before = 0;
    for (std::size_t at = 30; at < database.content().size(); at += database.content().size() / 12) {
        CAPTURE(at);
        const fs::path path = database.flipped(at, 0x10);
        const Opened opened = open(path, {.drop_damaged_log = true});
        CHECK(opened.error.empty());
        CHECK(has(opened.dropped, "were dropped"));
        CHECK(opened.items >= before);
        CHECK(opened.items < database.items());
        before = opened.items;
        const Opened again = open(path);
        CHECK(again.error.empty());
        CHECK(again.dropped.empty());
        CHECK(again.items == opened.items);
    }
    CHECK(before > 10);
}

TEST_CASE("zeros in the midst of the log are an error, and dropping what follows leaves no hole") {
    const Damaged database(60, true);  // fills more than one block
    std::string content = database.content();
    std::fill(content.begin() + 40'000, content.begin() + 44'096, '\0');
    const Opened refused = open(database.with(content));
    CHECK(has(refused.error, "has damage at byte"));
    const Opened dropped = open(database.with(content), {.drop_damaged_log = true});
    CHECK(dropped.error.empty());  // open() checks that the items are consecutive
    CHECK(dropped.items < database.items());
    // Also at the beginning of a record, where RocksDB continues with the next block.
    content = database.content();
    std::fill(content.begin(), content.begin() + 32'768, '\0');
    CHECK(has(open(database.with(content)).error, "zeros where a record should begin"));
    CHECK(open(database.with(content), {.drop_damaged_log = true}).items == 0);
}

TEST_CASE("a log that was cut at any place opens with what came before, and says what was dropped") {
    const Damaged small(15, false);
    const Damaged large(15, true);
    for (const Damaged* database : {&small, &large}) {
        int before = 0;
        const std::size_t size = database->content().size();
        for (std::size_t left = 0; left <= size;
             left = left == size ? size + 1 : std::min(size, left + size / sanitized::some(40))) {
            CAPTURE(left);
            const Opened opened = open(database->with(database->content().substr(0, left)));
            CHECK(opened.error.empty());
            CHECK(opened.items >= before);
            CHECK((opened.dropped.empty() || has(opened.dropped, "the file ends within a record")));
            before = opened.items;
        }
        CHECK(before == database->items());
    }
}

TEST_CASE("a log whose tail a power cut left as zeros or noise opens, and says what was dropped") {
    const Damaged database(15, false);
    for (const std::size_t bytes : {1U, 9U, 60U, 130U}) {
        CAPTURE(bytes);
        for (const bool is_noise : {false, true}) {
            // After the last record there is space that was never written.
            std::string content = database.content() + std::string(bytes + 7, '\0');
            if (is_noise) {
                for (std::size_t i = database.content().size(); i < content.size(); ++i)
                    content[i] = static_cast<char>(i * 37 + 11);
            }
            const Opened opened = open(database.with(content));
            CHECK(opened.error.empty());
            CHECK(opened.items == database.items());
            CHECK_FALSE(opened.dropped.empty());
        }
    }
    std::string content = database.content();
    std::fill(content.end() - 40, content.end(), '\0');
    const Opened opened = open(database.with(content));
    CHECK(opened.error.empty());
    CHECK(opened.items == database.items() - 1);
    CHECK(has(opened.dropped, "a record with a wrong checksum"));
}

TEST_CASE("of several log files the ones that follow a damaged one are not forgotten") {
    const TemporaryFolder folder;
    rocksdb::Options keeps_logs;
    keeps_logs.create_if_missing = true;
    keeps_logs.avoid_flush_during_recovery = true;
    const sg::RocksDBStoreOptions options{.rocksdb_options = &keeps_logs};
    const fs::path whole = folder / "whole";
    for (int n = 0; n < 3; ++n) {
        sg::RocksDBStore store(whole.string(), {}, options);
        putItems(store, n * 10, n * 10 + 10, false);
    }
    const std::vector<std::string> logs = logsOf(whole);
    REQUIRE(logs.size() == 3);
    const auto copy = [&](const std::string& log, auto change) {
        fs::remove_all(folder / "copy");
        fs::copy(whole, folder / "copy", fs::copy_options::recursive);
        std::string content = contentOf(folder / "copy" / log);
        change(content);
        writeFile(folder / "copy" / log, content);
        return folder / "copy";
    };
    CHECK(open(copy(logs[0], [](std::string&) {})).items == 30);
    const auto flip = [](std::string& content) { content[content.size() - 20] ^= 1; };
    const auto cut = [](std::string& content) { content.resize(content.size() - 20); };
    const auto tear = [](std::string& content) { content += content.substr(0, 30); };
    CHECK(has(open(copy(logs[1], flip)).error, logs[1] + " has damage"));
    CHECK(has(open(copy(logs[1], flip)).error, "rows that were stored after it would be lost"));
    const Opened short_one = open(copy(logs[1], cut));
    CHECK(short_one.error.empty());
    CHECK(short_one.items == 19);
    CHECK(has(short_one.dropped, "with "));
    // The tail of a write that failed, after which a new file was begun.
    const Opened torn = open(copy(logs[1], tear));
    CHECK(torn.error.empty());
    CHECK(torn.items == 30);
}

TEST_CASE("damage to a log file that is no longer needed does no harm") {
    const TemporaryFolder folder;
    const fs::path path = folder / "db";
    {
        sg::RocksDBStore store(path.string());
        putItems(store, 0, 10, false);
    }
    const std::string log = logsOf(path).back();
    std::string content = contentOf(path / log);
    { const sg::RocksDBStore store(path.string()); }  // afterwards its rows are in a table
    content[content.size() / 2] ^= 1;
    writeFile(path / log, content);
    const Opened opened = open(path);
    CHECK(opened.error.empty());
    CHECK(opened.dropped.empty());
    CHECK(opened.items == 10);
}

TEST_CASE("a saver and a reader refuse a damaged log") {
    const TemporaryFolder folder;
    const auto damage = [&](const std::string& name) {
        const std::string log = logsOf(folder / name).back();
        std::string content = contentOf(folder / name / log);
        content[content.size() / 2] ^= 1;
        writeFile(folder / name / log, content);
    };
    {
        sg::RocksDBStore store((folder / "store").string());
        putItems(store, 0, 10, false);
        sg::RocksDBSaver saver((folder / "saver").string());
    }
    damage("store");
    CHECK(has(open(folder / "store", {.read_only = true}).error, "has damage at byte"));
    // The only row of a saver is that of the format.
    const std::string log = logsOf(folder / "saver").back();
    std::string content = contentOf(folder / "saver" / log);
    content[10] ^= 1;
    writeFile(folder / "saver" / log, content);
    CHECK_THROWS_AS(sg::RocksDBSaver((folder / "saver").string()), sg::CorruptCheckpointError);
    CHECK_FALSE(sg::RocksDBSaver((folder / "saver").string(), {.drop_damaged_log = true}).droppedAtOpening().empty());
}
