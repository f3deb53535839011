#include <memory>
#include <string>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>
#include <stategraph/stats.hpp>

#include "tests/golden/rows.hpp"
#include "tests/inspect/command_run.hpp"
#include "tests/inspect/inspected_api.hpp"

// What a deletion removes is shown before it does.
namespace sg = stategraph;
using namespace inspected_api;
using sg::inspect::Exit;

namespace {

/// A thread whose subgraph asks.
std::shared_ptr<sg::MemorySaver> nested() {
    const auto saver = std::make_shared<sg::MemorySaver>();
    Graph outer;
    outer.addNode("inner", graph().compile()).addEdge(sg::START, "inner");
    outer.compile({.checkpointer = saver})
        .invoke(Update{sg::set(&Order::topic, std::string("tea"))}, {.thread_id = "nested"});
    return saver;
}

}  // namespace

TEST_CASE("rm says what it would remove, with the logs of subgraphs and open questions, and then removes it") {
    const auto saver = nested();
    const auto run = [&](const std::vector<std::string>& words) {
        return inspected::runCommand(words, {.open = [&](const std::string&, bool) { return saver; }});
    };
    const std::string before = golden::rowsOf(*saver);
    const auto stats = saver->stats({.thread_id = "nested"});
    const CommandRun tried = run({"rm", "nested", "--dry-run", "--json"});
    CHECK_MESSAGE(tried.exit == Exit::done, tried.error);
    const auto view = json::parse(tried.out);
    CHECK(view.at("checkpoints") == stats.total.commits);
    CHECK(view.at("pending_writes") == stats.total.pending_writes);
    CHECK(view.at("bytes") == stats.total.bytes());
    CHECK(view.at("subgraph_logs") == 1);
    CHECK(textAt(view, "/subgraphs/0").starts_with("inner"));
    CHECK(view.at("status") == "interrupted");
    CHECK(textAt(view, "/questions/0") == "Pay 7?");
    CHECK(view.at("deleted") == false);
    CHECK(textAt(view, "/newest") == saver->list({.thread_id = "nested", .checkpoint_ns = ""}).front().id.toString());
    CHECK(run({"rm", "nested", "--dry-run"}).has("would be deleted"));
    CHECK(run({"rm", "nested", "--dry-run"}).has("1 log of subgraphs"));
    CHECK(golden::rowsOf(*saver) == before);

    const CommandRun removed = run({"rm", "nested"});
    CHECK(removed.has("? \"Pay 7?\""));
    CHECK(removed.has("was deleted"));
    CHECK(saver->list({.thread_id = "nested"}).empty());
    CHECK(run({"rm", "nested"}).exit == Exit::no);
    CHECK(run({"rm"}).exit == Exit::usage);
}

TEST_CASE("a page shows what a deletion removes, without what is redacted, and also if it only reads") {
    Store store({.redact = {"*"}});
    const std::string before = golden::rowsOf(*store.saver);
    const auto view = store.ok({{"threads", "asks", "deletion"}});
    CHECK(view.at("newest") == store.checkpoint("asks").at("checkpoint_id"));
    CHECK(view.at("checkpoints") == store.saver->list({.thread_id = "asks"}).size());
    CHECK(view.at("questions").as_array().size() == 1);
    CHECK(view.at("deleted") == false);
    CHECK(store.get({{"threads", "nobody", "deletion"}}).status == 404);
    CHECK(golden::rowsOf(*store.saver) == before);
}

TEST_CASE("a thread whose records are damaged is counted too") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const sg::CheckpointId id{1, 2};
    const sg::CommitRow commit{.id = id, .parent = {}, .base = id, .bytes = "no record"};
    saver->put({.log = {"broken", ""}, .expected_head = {}, .commits = {&commit, 1}, .writes = {}});
    const CommandRun tried =
        inspected::runCommand({"rm", "broken", "--dry-run"}, {.open = [&](const std::string&, bool) { return saver; }});
    CHECK_MESSAGE(tried.exit == Exit::done, tried.error);
    CHECK(tried.has("damaged"));
    CHECK(tried.has("1 checkpoint, 0 pending writes, 9 B"));
}
