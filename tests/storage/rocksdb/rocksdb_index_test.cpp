#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <stategraph/rocksdb_saver.hpp>
#include <stategraph/testing/saver_contract/index.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

#include "storage/rocksdb/rocksdb_keys.hpp"
#include "storage/rocksdb/rocksdb_open_threads.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/temporary_folder.hpp"

// The index of threads in a RocksDB database.
using namespace graphs;
namespace kit = stategraph::testing;

namespace {

/// Changes the rows of a database that is not open.
template <class F>
void changeRows(const std::string& path, F change) {
    rocksdb::DB* opened = nullptr;
    REQUIRE(rocksdb::DB::Open({}, path, &opened).ok());
    const std::unique_ptr<rocksdb::DB> db(opened);
    change(*db);
}

/// Makes three threads that ask and four that are finished.
void fillThreads(const std::string& path) {
    Graph graph;
    graph.addNode("ask", [](const State& state, sg::Runtime& rt) -> Update {
        return state.foo == "asks" ? bar(sg::interrupt<std::string>(rt, "?")) : bar("ask");
    });
    graph.addEdge(sg::START, "ask");
    const App app = graph.compile({.checkpointer = std::make_shared<sg::RocksDBSaver>(path)});
    for (int i = 0; i < 7; ++i) {
        const std::string word = i % 2 == 0 ? "ends" : "asks";
        app.invoke({sg::set(&State::foo, word)}, {.thread_id = std::to_string(i)});
    }
}

std::vector<std::string> unfinishedIn(sg::BaseCheckpointSaver& saver) {
    std::vector<std::string> names;
    for (const auto& thread : saver.unfinishedThreads()) names.push_back(thread.thread_id);
    return names;
}

}  // namespace

TEST_CASE("of a status with more threads than fit in memory the rows are read") {
    using sg::Status;
    stategraph::checkpoint::OpenThreads open;
    open.begin();
    const auto add = [&](const std::string& name, unsigned n, Status status) {
        open.add(name, {.since = kit::nthId(n), .status = status});
    };
    const auto names = [&](Status status) {
        std::vector<std::string> found;
        sg::Statuses known;
        for (const auto& thread : open.named(status, {}, 3, known)) found.push_back(thread.place.thread_id);
        return known.has(status) ? found : std::vector<std::string>{"not known"};
    };
    for (unsigned i = 0; i < stategraph::checkpoint::OpenThreads::threads_max; ++i)
        add(std::to_string(i), i, Status::interrupted);
    add("runs", 1, Status::in_flight);
    CHECK(open.count(Status::interrupted) == stategraph::checkpoint::OpenThreads::threads_max);
    CHECK(names(Status::interrupted) == std::vector<std::string>{"0", "1", "2"});
    CHECK_FALSE(open.mayHave(Status::interrupted, "runs"));
    add("one more", 1, Status::interrupted);
    CHECK_FALSE(open.count(Status::interrupted));
    CHECK(names(Status::interrupted) == std::vector<std::string>{"not known"});
    CHECK_FALSE(open.newest(Status::interrupted, {}, 3));
    CHECK(open.mayHave(Status::interrupted, "runs"));
    open.remove("1", sg::Statuses::open());
    add("2", 2, Status::interrupted);
    CHECK(names(Status::interrupted) == std::vector<std::string>{"not known"});
    CHECK(names(Status::in_flight) == std::vector<std::string>{"runs"});
}

TEST_CASE("threads of which there are too many in memory are found in their rows") {
    const TemporaryFolder folder;
    const std::string path = (folder / "db").string();
    using sg::Status;
    fillThreads(path);
    // Rows from a program that has left more of them than this one keeps in memory.
    const unsigned many = stategraph::checkpoint::OpenThreads::threads_max;
    changeRows(path, [&](rocksdb::DB& db) {
        rocksdb::WriteBatch batch;
        for (unsigned i = 0; i < many; ++i) {
            const std::string name = "waits " + std::to_string(i);
            const stategraph::checkpoint::IndexPlace place{kit::nthId(i + 1), 0, Status::interrupted};
            REQUIRE(
                batch.Put(stategraph::checkpoint::openKey(place.status, name), stategraph::checkpoint::openValue(place))
                    .ok());
            REQUIRE(batch.Put(stategraph::checkpoint::newestKey(place.status, place.since, name), "").ok());
        }
        REQUIRE(db.Write({}, &batch).ok());
    });
    sg::RocksDBSaver saver(path);
    CHECK((*saver.countThreads(1'000'000))[Status::interrupted] == many + 3);
    CHECK(kit::openNames(saver, 50'000, Status::interrupted).size() == many + 3);
    CHECK(kit::newestOf(saver, Status::interrupted, 50'000).size() == many + 3);
    const auto page = saver.openThreads({.statuses = Status::interrupted, .limit = 4});
    REQUIRE(page->size() == 4);
    CHECK(page->at(0).place.thread_id == "1");
    CHECK(page->at(3).place.thread_id == "waits 0");
    // The thread moves between its rows as before.
    const auto head = saver.list({.thread_id = "1", .checkpoint_ns = ""})[0].id;
    kit::putOutlook(saver, {"1"}, head, {Status::failed, {}});
    CHECK(kit::openNames(saver, 5, Status::failed) == std::vector<std::string>{"1"});
    CHECK((*saver.countThreads(1'000'000))[Status::interrupted] == many + 2);
    saver.deleteThread("3");
    CHECK((*saver.countThreads(1'000'000))[Status::interrupted] == many + 1);
}

TEST_CASE("a thread that changes its status is in every list of open threads once") {
    using sg::Status;
    {
        sg::checkpoint::OpenThreads threads;
        threads.begin();
        threads.add("a", {kit::nthId(1), 0, Status::interrupted});
        threads.add("a", {kit::nthId(2), 0, Status::failed});  // and its first row is still there
        sg::Statuses known;
        CHECK(threads.named(sg::Statuses::open(), {}, 10, known).size() == 2);
        CHECK((known == sg::Statuses::open()));
    }
    const TemporaryFolder folder;
    sg::RocksDBSaver saver(folder.path());
    kit::putLine(saver, {"t"}, 1);
    std::atomic<bool> is_over = false;
    std::thread writer([&] {
        for (int i = 0; i < 3'000; ++i) {
            const auto status = i % 2 == 0 ? Status::interrupted : Status::failed;
            saver.put({.log = {"t"}, .expected_head = kit::nthId(1), .commits = {}, .writes = {}, .outlook = {status}});
        }
        is_over = true;
    });
    std::size_t lists = 0;
    std::size_t wrong = 0;
    for (; !is_over || lists == 0; ++lists) wrong += saver.openThreads({})->size() != 1 ? 1 : 0;
    writer.join();
    CAPTURE(lists);
    CHECK(wrong == 0);
}

TEST_CASE("the first thread to wake is found where many before it have woken, and where an earlier one falls asleep") {
    const TemporaryFolder folder;
    sg::RocksDBSaver saver((folder / "db").string());
    for (unsigned i = 0; i < 200; ++i)
        kit::putIndexed(saver, {std::to_string(i)}, 1, kit::sleepsFor(1000 + static_cast<std::int64_t>(i)));
    const auto first = [&] { return saver.dueThreads({.limit = 1})->at(0).thread_id; };
    for (unsigned i = 0; i < 199; ++i) {
        CHECK(first() == std::to_string(i));
        kit::putOutlook(saver, {std::to_string(i)}, kit::nthId(1), kit::says_finished);
    }
    CHECK(first() == "199");
    kit::putOutlook(saver, {"7"}, kit::nthId(1), kit::sleepsFor(3));
    CHECK(first() == "7");
    kit::putOutlook(saver, {"8"}, kit::nthId(1), kit::sleepsFor(5));
    CHECK(first() == "7");
    kit::putOutlook(saver, {"7"}, kit::nthId(1), {});
    CHECK(first() == "8");
}

TEST_CASE("rows of an index that make no sense stop nobody") {
    const TemporaryFolder folder;
    const std::string path = (folder / "db").string();
    fillThreads(path);
    changeRows(path, [](rocksdb::DB& db) {
        for (const char* key : {"D", "Djunk", "a", "a\x7f", "ai", "aijunk", "b", "bi", "bf", "bfjunk", "bx"})
            REQUIRE(db.Put({}, key, "junk").ok());
        using sg::Status;
        for (const Status status : {Status::in_flight, Status::sleeping})
            REQUIRE(db.Put({}, stategraph::checkpoint::openKey(status, "nobody"), "x").ok());
        REQUIRE(db.Put({}, stategraph::checkpoint::openKey(Status::interrupted, "1"), "x").ok());
        REQUIRE(db.Put({}, stategraph::checkpoint::dueKey(1, "nobody"), "").ok());
    });
    const auto saver = std::make_shared<sg::RocksDBSaver>(path);
    CHECK(unfinishedIn(*saver) == std::vector<std::string>{"1", "3", "5"});
    CHECK(saver->newestThreads({.limit = 100})->size() == 7);
    CHECK(saver->unfinishedThreads({.reason = sg::Status::sleeping}).empty());
    CHECK_NOTHROW((void)saver->dueThreads({}));
    CHECK_NOTHROW((void)saver->countThreads(100));
    saver->deleteThread("1");
    CHECK(unfinishedIn(*saver) == std::vector<std::string>{"3", "5"});
}
