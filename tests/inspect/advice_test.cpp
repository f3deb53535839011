#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/inspect/command.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/version.hpp>

// What the command says without a database: help, its version, and what was probably meant.
namespace sg = stategraph;
using sg::inspect::Exit;

namespace advice {

struct Answer {
    Exit exit;
    std::string out;
    std::string error;
};

Answer run(const std::vector<std::string>& arguments) {
    std::ostringstream out;
    std::ostringstream error;
    const Exit exit = sg::inspect::runCommand(arguments, out, error, {.store = "no such store"});
    return {exit, out.str(), error.str()};
}

}  // namespace advice

TEST_CASE("the command says its version") {
    const std::string text = "stategraph " + std::to_string(STATEGRAPH_VERSION_MAJOR) + "." +
                             std::to_string(STATEGRAPH_VERSION_MINOR) + "." + std::to_string(STATEGRAPH_VERSION_PATCH) +
                             "\n";
    CHECK(advice::run({"--version"}).out == text);
    CHECK(advice::run({"version"}).out == text);
    CHECK(advice::run({"version"}).exit == Exit::done);
}

TEST_CASE("a command or an option that does not exist is answered with the one that was probably meant") {
    CHECK(advice::run({"lst"}).error ==
          "stategraph: there is no command 'lst': did you mean 'ls'? 'stategraph help' lists them\n");
    CHECK(advice::run({"blaem", "a", "b"}).error.find("did you mean 'blame'?") != std::string::npos);
    CHECK(advice::run({"help", "timeline"}).error ==
          "stategraph: there is no command 'timeline': 'stategraph help' lists them\n");
    CHECK(advice::run({"help", "timeline"}).exit == Exit::usage);
    CHECK(advice::run({"help", "help"}).exit == Exit::done);
    CHECK(advice::run({"ls", "--stauts", "done"}).error ==
          "stategraph: 'ls' has no option --stauts: did you mean '--status'? 'stategraph help ls' lists them\n");
    CHECK(advice::run({"serve", "--port=8080", "--read-only"}).error ==
          "stategraph: 'serve' has no option --read-only: 'stategraph help serve' lists them\n");
    CHECK(advice::run({"log", "t", "--graph=yes"}).error ==
          "stategraph: the option --graph takes no value: leave out '=yes'\n");
    CHECK(advice::run({"show"}).error == "stategraph: an argument is missing: see 'stategraph help show'\n");
}

TEST_CASE("help names every kind of store") {
    const std::string help = advice::run({"help"}).out;
    for (const char* kind : {"RocksDB folder", "SQLite file", "postgresql://", "#SCHEMA", ".ndjson", "running program",
                             "in memory", "encrypted", "STATEGRAPH_STORE"}) {
        CAPTURE(kind);
        CHECK(help.find(kind) != std::string::npos);
    }
}

TEST_CASE("serve refuses a key by the name of its own option") {
    const auto refused = [&](const std::vector<std::string>& options) {
        std::vector<std::string> words{"serve", "--port", "0"};
        words.insert(words.end(), options.begin(), options.end());
        std::ostringstream out;
        std::ostringstream error;
        const sg::inspect::CommandOptions memory{
            .open = [](const std::string&, bool) { return std::make_shared<sg::MemorySaver>(); }};
        CHECK(sg::inspect::runCommand(words, out, error, memory) == Exit::usage);
        return error.str();
    };
    CHECK(refused({"--key", "short"}) ==
          "stategraph: the key of --key needs at least 16 letters, digits, '-' and '_'; without --key and --key-file "
          "STATEGRAPH_INSPECTOR_KEY is the key, or a random one\n");
    CHECK(refused({"--key", ""}).find("--key needs") != std::string::npos);
    CHECK(refused({"--key-file", "no such file"}).find("of --key-file cannot be read") != std::string::npos);
    CHECK(refused({"--key", "0123456789abcdef", "--key-file", "f"}).find("either --key or --key-file") !=
          std::string::npos);
}
