// SECONDS: 30
#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/read_checkpoint.hpp>
#include <stategraph/rocksdb_saver.hpp>
#include <stategraph/stream_hub.hpp>

#include "tests/support/graphs.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/temporary_folder.hpp"

// A saver that follows the database of another one. tests/process/follow.cpp tests it between processes.
namespace sg = stategraph;
using namespace graphs;

namespace {

App appOn(const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    Graph graph;
    graph.addNode("a", appends("a")).addNode("b", appends("b")).addEdge(sg::START, "a").addEdge("a", "b");
    return graph.compile({.checkpointer = saver});
}

std::shared_ptr<sg::RocksDBSaver> follower(const std::string& path, int every_ms = 0) {
    return std::make_shared<sg::RocksDBSaver>(
        path, sg::RocksDBSaverOptions{
                  .read_only = true, .follow = true, .follow_every = std::chrono::milliseconds(every_ms)});
}

}  // namespace

TEST_CASE("a follower sees what the writer adds, replaces and deletes") {
    const TemporaryFolder folder;
    const std::string path = (folder / "db").string();
    const auto writer = std::make_shared<sg::RocksDBSaver>(path);
    const App app = appOn(writer);
    app.invoke(bar("1"), {.thread_id = "t"});
    const auto reader = follower(path);
    const App read = appOn(reader);
    CHECK(read.getState({.thread_id = "t"}).values.bar == Strings{"1", "a", "b"});
    app.invoke(bar("2"), {.thread_id = "t"});
    CHECK(read.getState({.thread_id = "t"}).values.bar == Strings{"1", "a", "b", "2", "a", "b"});
    app.cancelThread("t");
    app.invoke(bar("1"), {.thread_id = "u"});
    CHECK(reader->list({.heads = true}).size() == 2);
    writer->deleteThread("t");
    CHECK(reader->list({.heads = true}).size() == 1);
    CHECK(!sg::readCheckpoint(*reader, {.thread_id = "t"}));
    CHECK_THROWS_AS(read.invoke(bar("3"), {.thread_id = "u"}), sg::SaverError);
}

TEST_CASE("a follower reads on while the writer prunes and compacts") {
    const TemporaryFolder folder;
    const std::string path = (folder / "db").string();
    const auto writer = std::make_shared<sg::RocksDBSaver>(path);
    const App app = appOn(writer);
    const auto reader = follower(path);
    const App read = appOn(reader);
    const std::string long_text(20'000, 'x');
    for (int round = 0; round < static_cast<int>(sanitized::some(40)); ++round) {
        for (int i = 0; i < 5; ++i) app.invoke(bar(long_text), {.thread_id = "t" + std::to_string(i)});
        if (round % 4 == 3) writer->prune({.keep_last = 2});
        for (int i = 0; i < 5; ++i) {
            const auto snapshot = read.getState({.thread_id = "t" + std::to_string(i)});
            REQUIRE(snapshot.values.bar.size() == static_cast<std::size_t>(3 * (round + 1)));
        }
    }
}

TEST_CASE("a follower looks as often as its option says, and no more") {
    const TemporaryFolder folder;
    const std::string path = (folder / "db").string();
    const auto writer = std::make_shared<sg::RocksDBSaver>(path);
    const App app = appOn(writer);
    app.invoke(bar("1"), {.thread_id = "t"});
    const auto reader = follower(path, 3'600'000);
    const std::size_t before = reader->list({}).size();
    app.invoke(bar("2"), {.thread_id = "t"});
    CHECK(reader->list({}).size() == before);
}

TEST_CASE("a hub over a follower gives what another saver's runs commit") {
    const TemporaryFolder folder;
    const std::string path = (folder / "db").string();
    const auto writer = std::make_shared<sg::RocksDBSaver>(path);
    const App app = appOn(writer);
    app.invoke(bar("1"), {.thread_id = "t"});
    const App read = appOn(follower(path));
    sg::StreamHub hub(read);
    auto subscription = hub.subscribe(
        "t", {.from = sg::StreamPosition(), .modes = sg::StreamMode::updates, .poll = std::chrono::milliseconds(1)});
    // The events of one run, of which the last one is that of b.
    const auto eventsOfRun = [&subscription] {
        std::size_t count = 0;
        for (bool is_over = false; !is_over; ++count) {
            const auto event = subscription.next(std::chrono::minutes(5));
            REQUIRE(event);
            is_over = event->node == "b";
        }
        return count;
    };
    const std::size_t before = eventsOfRun();
    CHECK(before >= 2);
    app.invoke(bar("2"), {.thread_id = "t"});
    CHECK(eventsOfRun() == before);
    CHECK(!subscription.next(std::chrono::milliseconds(50)));
}

TEST_CASE("options that make no sense are refused, and a missing database is an error as for every reader") {
    const TemporaryFolder folder;
    const std::string path = (folder / "db").string();
    CHECK_THROWS_AS(sg::RocksDBSaver(path, {.follow = true}), sg::InvalidArgumentError);
    CHECK_THROWS_AS(follower(path, -1), sg::InvalidArgumentError);
    CHECK_THROWS_AS(follower(path), sg::SaverError);
}
