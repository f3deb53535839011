#include <stategraph/rocksdb_saver.hpp>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <doctest/doctest.h>
#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stategraph/error.hpp>
#include <stategraph/testing/saver_contract.hpp>

#include "src/value/bytes.hpp"
#include "storage/memory/memory_thread.hpp"
#include "storage/rocksdb/rocksdb_keys.hpp"

#include "tests/support/helper_process.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/until.hpp"

namespace {

namespace fs = std::filesystem;

struct RocksDBFactory {
    std::unique_ptr<stategraph::BaseCheckpointSaver> make() { return reopen(); }
    std::unique_ptr<stategraph::BaseCheckpointSaver> reopen() {
        return std::make_unique<stategraph::RocksDBSaver>((folder / "db").string());
    }
    TemporaryFolder folder;
};

}  // namespace

STATEGRAPH_SAVER_CONTRACT(RocksDBFactory);

namespace stategraph::testing {
namespace {

using helpers::awaitLines;
using helpers::given;
using helpers::Helper;

// The exception that opening throws, as "SaverError: …" or "CorruptCheckpointError: …"; empty if it throws none.
std::string openingError(const fs::path& path, const RocksDBSaverOptions& options = {}) {
    try {
        const RocksDBSaver saver(path.string(), options);
    } catch (const SaverError& error) {
        CHECK(error.message().find(path.string()) != std::string::npos);
        return "SaverError: " + error.message();
    } catch (const CorruptCheckpointError& error) {
        CHECK(error.message().find(path.string()) != std::string::npos);
        return "CorruptCheckpointError: " + error.message();
    }
    return {};
}

#define CHECK_SAYS(text, part)           \
    do {                                 \
        const std::string said = (text); \
        CAPTURE(said);                   \
        CHECK(said.find(part) == 0);     \
    } while (false)
#define CHECK_MENTIONS(text, part)                   \
    do {                                             \
        const std::string said = (text);             \
        CAPTURE(said);                               \
        CHECK(said.find(part) != std::string::npos); \
    } while (false)

// Makes a database with 50 commits in a table file: opening it again writes the content of the log file there.
void makeDatabase(const fs::path& path) {
    {
        RocksDBSaver saver(path.string());
        putLine(saver, {"t"}, 50);
    }
    const RocksDBSaver again(path.string());
}

fs::path fileIn(const fs::path& path, const std::string& start, const std::string& extension) {
    for (const auto& entry : fs::directory_iterator(path)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with(start) && entry.path().extension() == extension) return entry.path();
    }
    FAIL("no such file");
    return {};
}

// Reads everything, since damage may be found at opening or later.
std::string readingError(const fs::path& path) {
    try {
        RocksDBSaver saver(path.string(), {.create_if_missing = false});
        if (saver.list({}).size() != 50) return "rows are missing";
        for (unsigned n = 1; n <= 50; ++n) {
            if (!saver.getTuple({.log = {"t"}, .checkpoint_id = nthId(n)})) return "a row is missing";
        }
    } catch (const Error& error) {
        CHECK(error.message().find(path.string()) != std::string::npos);
        return (error.code() == Errc::corrupt_checkpoint ? "CorruptCheckpointError: " : "SaverError: ") +
               error.message();
    }
    return {};
}

}  // namespace

TEST_CASE("helper: holds a database open" * doctest::skip()) {
    const std::string path = given("STATEGRAPH_TEST_DATABASE");
    if (path.empty()) return;
    const RocksDBSaver saver(path);
    std::ofstream(given("STATEGRAPH_TEST_NOTES")) << "ready\n";
    std::this_thread::sleep_for(std::chrono::minutes(10));  // sleeps: the process is killed before that
}

TEST_CASE("helper: commits without an end" * doctest::skip()) {
    const std::string path = given("STATEGRAPH_TEST_DATABASE");
    if (path.empty()) return;
    RocksDBSaver saver(path);
    std::ofstream acknowledged(given("STATEGRAPH_TEST_NOTES"));
    for (unsigned n = 1;; ++n) {
        putOne(saver, {"t"}, n > 1 ? nthId(n - 1) : CheckpointId(), makeCommit(n, n - 1));
        acknowledged << n << '\n' << std::flush;
    }
}

TEST_CASE("a database that another process has open is an error that says so") {
    const TemporaryFolder folder;
    Helper helper("helper: holds a database open", folder / "db", folder / "ready");
    awaitLines(folder / "ready", 1);
    const std::string error = openingError(folder / "db");
    CHECK_SAYS(error, "SaverError");
    CHECK_MENTIONS(error, "another process has it open");
    helper.kill();
    CHECK(openingError(folder / "db").empty());
}

TEST_CASE("after a process was killed everything that was confirmed to it is stored") {
    const TemporaryFolder folder;
    Helper helper("helper: commits without an end", folder / "db", folder / "ready");
    awaitLines(folder / "ready", 100);
    helper.kill();
    std::ifstream file(folder / "ready");
    unsigned last = 0;
    for (std::string text; std::getline(file, text) && !file.eof();) last = static_cast<unsigned>(std::stoul(text));
    REQUIRE(last > 0);
    RocksDBSaver saver((folder / "db").string());
    const auto ids = listIds(saver, {"t"});
    CHECK(ids.size() >= last);
    CHECK(ids.size() <= last + 1);
    CHECK(ids.back() == nthId(1));
    putOne(saver, {"t"}, ids.front(), makeCommit(last + 2, last));
}

TEST_CASE("a database that this process has open is an error that says so") {
    const TemporaryFolder folder;
    const RocksDBSaver saver((folder / "db").string());
    CHECK_MENTIONS(openingError(folder / "db"), "this process has it open already");
}

TEST_CASE("a missing database is made, or is an error") {
    const TemporaryFolder folder;
    CHECK_SAYS(openingError(folder / "db", {.create_if_missing = false}), "SaverError");
    CHECK_MENTIONS(openingError(folder / "db", {.create_if_missing = false}), "there is none");
    CHECK_MENTIONS(openingError(folder / "db", {.read_only = true}), "there is none");
    CHECK_FALSE(fs::exists(folder / "db"));
    fs::create_directory(folder / "empty");
    CHECK_MENTIONS(openingError(folder / "empty", {.create_if_missing = false}), "has no database");
    CHECK_MENTIONS(openingError(folder / "empty", {.read_only = true}), "has no database");
    CHECK(openingError(folder / "empty").empty());
    CHECK(openingError(folder / "deep/down/db").empty());
    CHECK(openingError(folder / "db").empty());
    CHECK(openingError(folder / "db", {.create_if_missing = false}).empty());
    CHECK_MENTIONS(openingError(""), "empty");
}

TEST_CASE("a path that is something else is an error and is left as it is") {
    const TemporaryFolder folder;
    std::ofstream(folder / "file") << "text";
    CHECK_MENTIONS(openingError(folder / "file"), "it is a file");
    CHECK_SAYS(openingError(folder / "file/db"), "SaverError");
    fs::create_directory(folder / "photos");
    std::ofstream(folder / "photos/cat.jpg") << "meow";
    CHECK_MENTIONS(openingError(folder / "photos"), "files of something else ('cat.jpg')");
    CHECK(std::distance(fs::directory_iterator(folder / "photos"), fs::directory_iterator()) == 1);

    rocksdb::Options options;
    options.create_if_missing = true;
    rocksdb::DB* db = nullptr;
    REQUIRE(rocksdb::DB::Open(options, (folder / "foreign").string(), &db).ok());
    REQUIRE(db->Put({}, "some", "thing").ok());
    delete db;
    CHECK_MENTIONS(openingError(folder / "foreign"), "a database of something else");
}

TEST_CASE("a folder that may not be written to is an error") {
    const TemporaryFolder folder;
    makeDatabase(folder / "db");
    fs::permissions(folder / "db", fs::perms::owner_read | fs::perms::owner_exec);
    if (::geteuid() == 0) {
        MESSAGE("not tried: this user may write anywhere");
    } else {
        CHECK_MENTIONS(openingError(folder / "db"), "may not write");
    }
    fs::permissions(folder / "db", fs::perms::owner_all);
}

TEST_CASE("a database of a newer format is an error that says so") {
    const TemporaryFolder folder;
    const auto setVersion = [&](const char* version) {
        rocksdb::DB* db = nullptr;
        REQUIRE(rocksdb::DB::Open({}, (folder / "db").string(), &db).ok());
        REQUIRE(db->Put({}, std::string(checkpoint::format_key), version).ok());
        delete db;
    };
    makeDatabase(folder / "db");
    setVersion("2");
    CHECK_SAYS(openingError(folder / "db"), "CorruptCheckpointError");
    CHECK_MENTIONS(openingError(folder / "db"), "format 2, newer than this library's 1");
    setVersion("x");
    CHECK_MENTIONS(openingError(folder / "db"), "format version cannot be read");
    setVersion("1");
    CHECK(readingError(folder / "db").empty());
}

TEST_CASE("a damaged database is a CorruptCheckpointError, at opening or at reading") {
    const TemporaryFolder folder;
    const fs::path path = folder / "db";
    makeDatabase(path);
    REQUIRE(readingError(path).empty());
    fs::copy(path, folder / "good", fs::copy_options::recursive);
    const auto restore = [&] {
        fs::remove_all(path);
        fs::copy(folder / "good", path, fs::copy_options::recursive);
    };
    const auto overwrite = [&](const fs::path& file, std::streamoff offset, const std::string& bytes) {
        std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
        stream.seekp(offset);
        stream << bytes;
    };
    SUBCASE("CURRENT is gone") { fs::remove(path / "CURRENT"); }
    SUBCASE("CURRENT is empty") { fs::resize_file(path / "CURRENT", 0); }
    SUBCASE("CURRENT is nonsense") { std::ofstream(path / "CURRENT") << "nonsense\n"; }
    SUBCASE("the manifest is gone") { fs::remove(fileIn(path, "MANIFEST", "")); }
    SUBCASE("the manifest is empty") { fs::resize_file(fileIn(path, "MANIFEST", ""), 0); }
    SUBCASE("the manifest's start is overwritten") { overwrite(fileIn(path, "MANIFEST", ""), 3, std::string(20, 'x')); }
    SUBCASE("a table is gone") { fs::remove(fileIn(path, "", ".sst")); }
    SUBCASE("a table is cut") {
        const fs::path table = fileIn(path, "", ".sst");
        fs::resize_file(table, fs::file_size(table) / 2);
    }
    SUBCASE("a table's rows are overwritten") { overwrite(fileIn(path, "", ".sst"), 200, std::string(64, 'x')); }
    CHECK_SAYS(readingError(path), "CorruptCheckpointError");
    restore();
    CHECK(readingError(path).empty());
}

TEST_CASE("several readers share a database and cannot change it") {
    const TemporaryFolder folder;
    makeDatabase(folder / "db");
    RocksDBSaver first((folder / "db").string(), {.read_only = true});
    RocksDBSaver second((folder / "db").string(), {.read_only = true});
    CHECK(first.list({}).size() == 50);
    CHECK(headOf(second, {"t"}) == nthId(50));
    CHECK_THROWS_AS(putOne(first, {"t"}, nthId(50), makeCommit(51, 50)), SaverError);
    CHECK_THROWS_AS(putWrite(first, {"t"}, nthId(50), nthId(50), "p", "bytes"), SaverError);
    CHECK_THROWS_AS(first.deleteThread("t"), SaverError);
    CHECK_THROWS_AS(first.copyThread("t", "u"), SaverError);
    CHECK_THROWS_AS(first.prune({.keep_last = 1}), SaverError);
    CHECK(first.storedBytes().value() > 1000);
}

TEST_CASE("the user's own options are taken") {
    const TemporaryFolder folder;
    rocksdb::Options options;
    options.compression = rocksdb::kNoCompression;
    options.wal_dir = (folder / "wal").string();
    {
        RocksDBSaver saver((folder / "db").string(), {.rocksdb_options = &options});
        putLine(saver, {"t"}, 3);
    }
    CHECK(fs::exists(folder / "wal"));
    RocksDBSaver saver((folder / "db").string(), {.rocksdb_options = &options});
    CHECK(listIds(saver, {"t"}) == nthIds({3, 2, 1}));
}

TEST_CASE("pruning a large thread gives its space back") {
    const TemporaryFolder folder;
    RocksDBSaver saver((folder / "db").string());
    std::vector<TestCommit> commits;
    std::vector<CommitRow> rows;
    commits.reserve(60'000);
    for (unsigned n = 1; n <= 60'000; ++n) rows.push_back(commits.emplace_back(makeCommit(n, n - 1)).row());
    saver.put({.log = {"t"}, .expected_head = {}, .commits = rows, .writes = {}});
    CHECK(saver.prune({.keep_last = 10}) == 59'990);
    CHECK(saver.list({}).size() == 10);
    const auto tables = [&] {
        std::uintmax_t size = 0;
        for (const auto& entry : fs::directory_iterator(folder / "db")) {
            std::error_code gone;  // RocksDB's own threads remove files
            const std::uintmax_t bytes = entry.file_size(gone);
            if (entry.path().extension() == ".sst" && !gone) size += bytes;
        }
        return size;
    };
    CHECK(patience::eventually([&] { return tables() < 100'000; }));
    CHECK(patience::eventually([&] { return saver.storedBytes().value() < 200'000; }));
}

TEST_CASE("keys are parsed to what they were made of, and nothing else is a key") {
    for (const auto& thread_id : oddNames()) {
        for (const auto& ns : {std::string(), std::string("child"), std::string(200, '\xFF')}) {
            for (const auto& path : {std::string(), std::string("p"), std::string("\0\xFF", 2)}) {
                const LogName log{thread_id, ns};
                const std::string key = checkpoint::rowKey(checkpoint::Table::writes, log, nthId(7), path);
                const auto parsed = checkpoint::parseKey(key);
                REQUIRE(parsed);
                CHECK(parsed->log.thread_id == thread_id);
                CHECK(parsed->log.checkpoint_ns == ns);
                CHECK(parsed->id == nthId(7));
                CHECK(parsed->path == path);
                CHECK(parsed->log_prefix == checkpoint::logPrefix(checkpoint::Table::writes, log));
                const std::string end = stategraph::detail::prefixEnd(std::string(parsed->log_prefix));
                CHECK(key < end);
                const std::string commit = checkpoint::rowKey(checkpoint::Table::commits, log, nthId(7));
                CHECK(checkpoint::parseKey(commit)->path.empty());
                CHECK_FALSE(checkpoint::parseKey(commit + "x"));
                for (std::size_t size = 0; size < commit.size(); ++size) {
                    CHECK_FALSE(checkpoint::parseKey(std::string_view(commit).substr(0, size)));
                }
            }
        }
    }
    CHECK_FALSE(checkpoint::parseKey(checkpoint::format_key));
    CHECK_FALSE(checkpoint::parseKey("c\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"));
    CHECK(stategraph::detail::prefixEnd(std::string("c\xFF\xFF")) == "d");
}

TEST_CASE("keys are in the order in which the memory saver lists") {
    // The encoding of sizes from 128 on begins with the low bits, so 256 precedes 129.
    const checkpoint::BySizeThenText isBefore;
    std::vector<std::string> names;
    for (const std::size_t size :
         {1U, 2U, 127U, 128U, 129U, 255U, 256U, 257U, 300U, 16'383U, 16'384U, 16'385U, 20'000U}) {
        for (const char letter : {'\0', 'a', '\xFF'}) names.push_back(std::string(size, letter));
    }
    for (const auto& a : names) {
        for (const auto& b : names) {
            const std::string key_a = checkpoint::threadPrefix(checkpoint::Table::commits, a);
            const std::string key_b = checkpoint::threadPrefix(checkpoint::Table::commits, b);
            CHECK(isBefore(a, b) == (key_a < key_b));
        }
    }
}

}  // namespace stategraph::testing
