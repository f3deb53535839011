#include <filesystem>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>

#include <stategraph/inspect/command.hpp>
#include <stategraph/sqlite_saver.hpp>

#include "tests/inspect/command_run.hpp"
#include "tests/support/inspected.hpp"
#include "tests/support/temporary_folder.hpp"

// The command line with a SQLite file that a program has open.
namespace sg = stategraph;
using namespace inspected;
using sg::inspect::Exit;

namespace {

CommandRun run(const std::vector<std::string>& arguments, std::istream* in = nullptr) {
    return runCommand(arguments, {.in = in});
}

}  // namespace

TEST_CASE("the command opens a SQLite file, reads next to the program that writes it, and stores for it") {
    const TemporaryFolder folder;
    const std::string path = (folder / "threads.db").string();
    const auto saver = std::make_shared<sg::SqliteSaver>(path);
    const App app = graph().compile({.checkpointer = saver});
    app.invoke(Update{sg::set(&Order::topic, std::string("tea"))}, {.thread_id = "asks"});
    const CommandRun before = run({"ls", "--store", path});
    CHECK(before.exit == Exit::done);
    CHECK(before.out.find("asks") != std::string::npos);
    CHECK(before.out.find("Pay 7?") != std::string::npos);
    const CommandRun answered = run({"answer", "asks", "\"yes\"", "--store", path});
    CHECK_MESSAGE(answered.exit == Exit::done, answered.error);
    app.invoke(sg::RESUME, {.thread_id = "asks"});
    const CommandRun after = run({"ls", "--store", path, "--status", "done"});
    CHECK(after.out.find("asks") != std::string::npos);
    // A thread moves to another file.
    const CommandRun lines = run({"export", "asks", "--store", path});
    CHECK(lines.exit == Exit::done);
    std::istringstream in(lines.out);
    const std::string copy = (folder / "copy.sqlite").string();
    CHECK(run({"import", "--store", copy, "--create"}, &in).exit == Exit::done);
    CHECK(std::filesystem::is_regular_file(copy));
    CHECK(run({"ls", "--store", copy}).out.find("asks") != std::string::npos);
}

TEST_CASE("the command says of a file that is none of SQLite's what it is") {
    const TemporaryFolder folder;
    std::ofstream(folder / "notes.txt") << std::string(500, 'x');
    const CommandRun said = run({"ls", "--store", (folder / "notes.txt").string()});
    CHECK(said.exit != Exit::done);
    CHECK(said.error.find("notes.txt") != std::string::npos);
    CHECK(said.error.find("not a database") != std::string::npos);
}
