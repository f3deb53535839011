#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>
#include <stategraph/rocksdb_saver.hpp>
#if STATEGRAPH_HAS_SQLITE
#include <stategraph/sqlite_saver.hpp>
#endif

#include "tests/golden/rows.hpp"
#include "tests/inspect/command_run.hpp"
#include "tests/inspect/inspected_api.hpp"
#include "tests/support/temporary_folder.hpp"

// `edit --raw` and the operation of the same name: channels are set in a store, without the program.
namespace sg = stategraph;
using namespace inspected_api;
using sg::inspect::Exit;

namespace {

/// A database on the disk, which is closed before a command opens it, as after a crash of its program.
template <class Open>
void onDisk(const std::string& path, Open open) {
    {
        const App app = graph().compile({.checkpointer = open()});
        app.invoke(Update{sg::set(&Order::topic, std::string("tea"))}, {.thread_id = "asks"});
    }
    const auto run = [&](const std::vector<std::string>& words) {
        return inspected::runCommand(words, {.store = path});
    };
    const CommandRun edited = run({"edit", "asks", "topic=coffee", "total=9", "--raw", "--note", "wrong price"});
    CHECK_MESSAGE(edited.exit == Exit::done, edited.error);
    CHECK(edited.has("to undo this: stategraph fork asks@"));
    CHECK(run({"show", "asks", "--channel", "topic"}).out == "\"coffee\"\n");
    CHECK(run({"ls", "--status", "edited"}).has("asks"));
    CHECK(run({"ls", "--metadata", "note=wrong price"}).has("asks"));
    CHECK(run({"ls", "--metadata", "raw_edit=[\"topic\",\"total\"]"}).has("asks"));
    CHECK(run({"check"}).exit == Exit::done);

    const CommandRun wrong = run({"edit", "asks", "total=nine", "--raw"});
    CHECK(wrong.exit == Exit::usage);
    CHECK(wrong.error.find("a whole number is stored, and a text is given") != std::string::npos);
    CHECK(wrong.error.find("--any-kind") != std::string::npos);
    {
        const App app = graph().compile({.checkpointer = open()});
        const auto asked = app.invoke(sg::RESUME, {.thread_id = "asks"});
        REQUIRE(asked.interrupts.size() == 1);
        CHECK(asked.interrupts.front().value.toJson() == R"("Pay 9?")");
    }
    const std::string undo = edited.out.substr(edited.out.find("asks@"), 5 + 36);
    const CommandRun undone = run({"fork", undo});
    CHECK_MESSAGE(undone.exit == Exit::done, undone.error);
    const App app = graph().compile({.checkpointer = open()});
    CHECK(app.invoke(sg::RESUME, {.thread_id = "asks"}).interrupts.front().value.toJson() == R"("Pay 7?")");
}

const Place newest{{"threads", "asks", "checkpoints", "newest", "raw_edit"}};

}  // namespace

TEST_CASE("a database without its program is edited, resumed by the program, and the edit is undone") {
    const TemporaryFolder folder;
    const std::string path = (folder / "db").string();
    onDisk(path, [&] { return std::make_shared<sg::RocksDBSaver>(path); });
#if STATEGRAPH_HAS_SQLITE
    const std::string file = (folder / "threads.sqlite").string();
    onDisk(file, [&] { return std::make_shared<sg::SqliteSaver>(file); });
#endif
}

TEST_CASE("a raw edit whose arguments contradict each other is refused, and stores nothing") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    graph()
        .compile({.checkpointer = saver})
        .invoke(Update{sg::set(&Order::topic, std::string("tea"))}, {.thread_id = "asks"});
    const std::string before = golden::rowsOf(*saver);
    const auto refused = [&](const std::vector<std::string>& words, const std::string& part) {
        const CommandRun run = inspected::runCommand(words, {.open = [&](const std::string&, bool) { return saver; }});
        CAPTURE(run.error);
        CHECK(run.exit == Exit::usage);
        CHECK(run.error.find(part) != std::string::npos);
        CHECK(golden::rowsOf(*saver) == before);
    };
    refused({"edit", "asks", "total=1"}, "or set channels without it, with --raw");
    refused({"edit", "asks", "total=1", "--raw", "--as", "plan"}, "leave out --as");
    refused({"edit", "asks", "total=1", "--any-kind"}, "add --raw");
    refused({"edit", "asks", "total=1", "total=2", "--raw"}, "named twice");
    refused({"edit", "asks", "totl=1", "--raw"}, "'totl' does not exist");
    const CommandRun nobody = inspected::runCommand({"edit", "nobody", "total=1", "--raw"},
                                                    {.open = [&](const std::string&, bool) { return saver; }});
    CHECK(nobody.exit == Exit::no);
}

TEST_CASE("a page edits without a graph what its server may write") {
    Store store({.write = true});
    const std::string before = textAt(store.checkpoint("asks"), "/checkpoint_id");
    const auto stored = store.post(newest, R"({"values":{"topic":"coffee","total":9},"note":"by hand"})");
    INFO(stored.body);
    REQUIRE(stored.status == 200);
    const auto shown = store.checkpoint("asks");
    CHECK(shown.at("checkpoint_id") == stored.value().at("checkpoint_id"));
    CHECK(textAt(shown, "/parent") == before);
    CHECK(textAt(shown, "/metadata/by") == "stategraph inspector");
    CHECK(textAt(shown, "/metadata/note") == "by hand");
    CHECK(shown.at_pointer("/metadata/raw_edit").as_array().size() == 2);
    CHECK(store.app.getState({.thread_id = "asks"}).values.total == 9);
    CHECK_THROWS_AS(store.post(newest, R"({"values":{"total":"nine"}})"), sg::InvalidArgumentError);
    CHECK_THROWS_AS(store.post(newest, R"({"values":{}})"), sg::InvalidArgumentError);
    CHECK_THROWS_AS(store.post(newest, R"({"value":{"total":1}})"), sg::WrongTypeError);
    CHECK(store.post(newest, R"({"values":{"total":"nine"},"any_kind":true})").status == 200);
    CHECK_THROWS_AS(store.app.invoke(sg::RESUME, {.thread_id = "asks"}), sg::CorruptCheckpointError);
    const Place at_before{{"threads", "asks", "checkpoints", before, "fork"}};
    CHECK(store.post(at_before, "{}").status == 200);
    CHECK(store.app.invoke(sg::RESUME, {.thread_id = "asks"}).interrupts.size() == 1);
}

TEST_CASE("a page that only reads, and one that hides a value, does not edit it") {
    Store reading;
    const std::string before = golden::rowsOf(*reading.saver);
    CHECK(reading.post(newest, R"({"values":{"total":9}})").status == 403);
    CHECK(golden::rowsOf(*reading.saver) == before);

    Store hiding({.write = true, .redact = {"to*c"}});
    const std::string hidden = golden::rowsOf(*hiding.saver);
    const auto refused = hiding.post(newest, R"({"values":{"topic":"•••","total":9}})");
    CHECK(refused.status == 403);
    CHECK(refused.body.find("redacted") != std::string::npos);
    CHECK(refused.body.find("tea") == std::string::npos);
    CHECK(golden::rowsOf(*hiding.saver) == hidden);
    CHECK(hiding.post(newest, R"({"values":{"total":9}})").status == 200);
    CHECK(hiding.app.getState({.thread_id = "asks"}).values.topic == "tea");
}
