// SECONDS: 30
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <doctest/doctest.h>
#include <stategraph/rocksdb_saver.hpp>

#include "tests/checkpoint/bytes.hpp"
#include "tests/fault/harness.hpp"
#include "tests/fault/rounds.hpp"
#include "tests/support/temporary_folder.hpp"

// Files of a database are cut short or altered. The database reports it, or gives a complete prefix of what was stored,
// from which the thread continues.
using namespace fault;

namespace {

namespace fs = std::filesystem;

std::string contentOf(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}
void store(const fs::path& path, const std::string& content) { std::ofstream(path, std::ios::binary) << content; }

SharedSaver openAt(const fs::path& path) { return std::make_shared<sg::RocksDBSaver>(path.string()); }

/// Creates a database with the thread: up to its question in a table, and the rest in the write-ahead log.
void makeDatabase(const fs::path& path) {
    Runs runs;
    const sg::RunConfig config{.thread_id = "t", .durability = sg::Durability::sync, .max_concurrency = 1};
    faultGraph(runs, openAt(path)).invoke(theInput(), config);
    faultGraph(runs, openAt(path))
        .invoke(sg::Command<State>{.resume = "yes"}, config);  // opening it again has made the table
}

/// Opens and reads a damaged copy, and continues if that is possible. Returns whether anything was read.
bool survives(const fs::path& path) {
    try {
        const SharedSaver saver = openAt(path);
        (void)saver->list({.with_writes = true});
        Disturbed run(saver, saver, {.thread_id = "t", .max_concurrency = 1});
        run.drive([](const std::exception&) { throw; });
        return true;
    } catch (const sg::Error& error) {
        const std::string said = error.what();
        CHECK((error.code() == sg::Errc::saver_failed || error.code() == sg::Errc::corrupt_checkpoint));
        const bool says_where = said.find(path.string()) != std::string::npos || said.find("'t'") != std::string::npos;
        CHECK_MESSAGE(says_where, said, " names neither path nor key");
        return false;
    }
}

/// Changes one file of a copy with `change(content)`, for each file and for `times` rounds.
template <class F>
void damageEach(std::size_t times, F change) {
    const TemporaryFolder folder;
    makeDatabase(folder / "whole");
    std::size_t read = 0;
    std::size_t refused = 0;
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder / "whole")) {
        const std::string name = entry.path().filename().string();
        if (entry.file_size() > 0 && name != "LOCK" && !name.starts_with("LOG")) names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    const auto has = [&](std::string_view end) {
        return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return name.ends_with(end); });
    };
    REQUIRE(has(".log"));
    REQUIRE(has(".sst"));
    REQUIRE(has("CURRENT"));
    for (const auto& name : names) {
        const std::string content = contentOf(folder / "whole" / name);
        // Most damage is possible in the log and the tables.
        const bool is_data = name.ends_with(".log") || name.ends_with(".sst");
        for (std::size_t round = 0; round < (is_data ? 3 * times : times); ++round) {
            CAPTURE(name);
            CAPTURE(round);
            fs::remove_all(folder / "torn");
            fs::copy(folder / "whole", folder / "torn", fs::copy_options::recursive);
            store(folder / "torn" / name, change(content));
            ++(survives(folder / "torn") ? read : refused);
        }
    }
    CHECK(read > 0);
    CHECK(refused > 0);
}

}  // namespace

TEST_CASE("a database whose files were cut short gives a whole prefix or an error that says where") {
    const std::uint64_t seed = tests::seed();
    CAPTURE(seed);
    bytes::Random random(seed);
    damageEach(rounds(8), [&](const std::string& content) { return content.substr(0, random.below(content.size())); });
}

TEST_CASE("a database with altered bytes gives a whole prefix or an error that says where") {
    const std::uint64_t seed = tests::seed();
    CAPTURE(seed);
    bytes::Random random(seed);
    damageEach(rounds(8), [&](std::string content) {
        for (std::size_t n = 1 + random.below(3); n > 0; --n) {
            char& byte = content[random.below(content.size())];
            byte = static_cast<char>(byte ^ static_cast<char>(1U + random.below(255)));
        }
        return content;
    });
}

TEST_CASE("a log that was cut short at any place loses the newest commits and nothing else") {
    const TemporaryFolder folder;
    makeDatabase(folder / "whole");
    std::string log;
    for (const auto& entry : fs::directory_iterator(folder / "whole")) {
        if (entry.path().extension() == ".log" && entry.file_size() > 0) log = entry.path().filename().string();
    }
    REQUIRE_FALSE(log.empty());
    const std::string content = contentOf(folder / "whole" / log);
    std::size_t steps_before = 0;
    for (std::size_t size = 0; size <= content.size(); size += std::max<std::size_t>(1, content.size() / rounds(40))) {
        CAPTURE(size);
        fs::remove_all(folder / "torn");
        fs::copy(folder / "whole", folder / "torn", fs::copy_options::recursive);
        store(folder / "torn" / log, content.substr(0, size));
        {
            const SharedSaver saver = openAt(folder / "torn");
            const std::size_t steps = saver->list({.thread_id = "t", .checkpoint_ns = ""}).size();
            CHECK(steps >= steps_before);  // the longer the log, the more rows it has
            CHECK(steps >= 7);             // what is in the table
            steps_before = steps;
        }
        CHECK(survives(folder / "torn"));
    }
}
