#include <cstddef>
#include <filesystem>
#include <fstream>
#include <istream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/inspect/command.hpp>
#include <stategraph/rocksdb_saver.hpp>

#include "tests/inspect/command_run.hpp"
#include "tests/support/inspected.hpp"
#include "tests/support/temporary_folder.hpp"

// The files that the command line writes and reads, whatever is in their place.
namespace sg = stategraph;
namespace fs = std::filesystem;
using namespace inspected;
using sg::inspect::Exit;

namespace {

struct Database {
    Database() {
        const App app = graph().compile({.checkpointer = std::make_shared<sg::RocksDBSaver>(path)});
        for (const char* thread : {"asks", "again"})
            app.invoke(Update{sg::set(&Order::topic, std::string("tea"))}, {.thread_id = thread});
    }
    CommandRun run(const std::vector<std::string>& arguments, std::istream* in = nullptr) const {
        return runCommand(arguments, {.store = path, .in = in});
    }

    TemporaryFolder folder;
    std::string path = (folder / "db").string();
};

std::string textIn(const fs::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
}

std::size_t filesIn(const fs::path& folder) {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

}  // namespace

TEST_CASE("an export replaces a file only when it is complete, and follows a link") {
    const Database database;
    const fs::path folder = database.folder / "files";
    fs::create_directory(folder);
    const std::string file = (folder / "thread.ndjson").string();
    std::ofstream(file) << "precious";
    CHECK(database.run({"export", "nobody", file}).exit == Exit::usage);
    CHECK(textIn(file) == "precious");

    const std::string link = (folder / "link").string();
    fs::create_symlink(file, link);
    CHECK(database.run({"export", "asks", link}).exit == Exit::done);
    CHECK(fs::is_symlink(link));
    CHECK(textIn(file) == database.run({"export", "asks"}).out);
    CHECK(database.run({"export", "asks", file, "--trace"}).exit == Exit::done);
    CHECK(textIn(file) == database.run({"export", "asks", "--trace"}).out);
    CHECK(filesIn(folder) == 2);
}

TEST_CASE("an export to a device that is full fails, and removes neither the device nor a link to it") {
    const Database database;
    const std::string link = (database.folder / "full").string();
    fs::create_symlink("/dev/full", link);
    CHECK(database.run({"export", "asks", link}).exit == Exit::failed);
    CHECK(fs::is_symlink(link));
    CHECK(fs::is_character_file("/dev/full"));
}

TEST_CASE("a file named by a hyphen is the standard output, and the standard input") {
    const Database database;
    const CommandRun exported = database.run({"export", "asks", "-"});
    CHECK(exported.out == database.run({"export", "asks"}).out);
    CHECK_FALSE(fs::exists("-"));
    std::istringstream in(exported.out);
    CHECK(database.run({"import", "-", "--as", "copy"}, &in).exit == Exit::done);
    CHECK(database.run({"show", "copy"}).exit == Exit::done);
}

TEST_CASE("an import stores all threads of a file") {
    const Database database;
    const std::string both = database.run({"export", "asks"}).out + database.run({"export", "again"}).out;
    const std::string elsewhere = (database.folder / "elsewhere").string();
    std::istringstream in(both);
    const CommandRun stored = runCommand({"import", "--create"}, {.store = elsewhere, .in = &in});
    CHECK_MESSAGE(stored.exit == Exit::done, stored.error);
    const CommandRun listed = runCommand({"ls"}, {.store = elsewhere});
    CHECK(listed.has("asks"));
    CHECK(listed.has("again"));
}

TEST_CASE("a file of exported threads that is empty or absent is refused, and a blank last line is not") {
    const Database database;
    const std::string file = (database.folder / "threads.ndjson").string();
    std::ofstream(file).flush();
    CHECK(runCommand({"check", file}).exit != Exit::done);
    CHECK(runCommand({"check", (database.folder / "none.ndjson").string()}).exit != Exit::done);
    REQUIRE(database.run({"export", "asks", file}).exit == Exit::done);
    std::ofstream(file, std::ios::app) << "\n";
    CHECK(runCommand({"check", file}).exit == Exit::done);
    CHECK(runCommand({"ls", file}).out.find("asks") != std::string::npos);
}

TEST_CASE("a status that no thread can have is refused") {
    const Database database;
    const CommandRun refused = database.run({"ls", "--status", "faild"});
    CHECK(refused.exit == Exit::usage);
    CHECK(refused.error.find("failed") != std::string::npos);
    for (const char* status : {"open", "done", "in_flight", "failed", "damaged", "sealed"})
        CHECK(database.run({"ls", "--status", status}).exit == Exit::done);
}
