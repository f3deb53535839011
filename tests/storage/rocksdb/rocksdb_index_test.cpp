#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <rocksdb/db.h>

#include <stategraph/rocksdb_saver.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

#include "storage/rocksdb/rocksdb_keys.hpp"
#include "storage/rocksdb/rocksdb_open_threads.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/without_index.hpp"

// Databases of the first version of the grammar, which have no index of threads.
using namespace graphs;
namespace kit = stategraph::testing;

namespace {

/// Changes the rows of a database that nobody has open.
template <class F>
void changeRows(const std::string& path, F change) {
    rocksdb::DB* opened = nullptr;
    REQUIRE(rocksdb::DB::Open({}, path, &opened).ok());
    const std::unique_ptr<rocksdb::DB> db(opened);
    change(*db);
}

/// As a program of the first version would have left it.
void forgetIndex(const std::string& path) {
    changeRows(path, [](rocksdb::DB& db) {
        for (const char* prefix : {"a", "b"}) {
            const std::unique_ptr<rocksdb::Iterator> rows(db.NewIterator({}));
            for (rows->Seek(prefix); rows->Valid() && rows->key().starts_with(prefix); rows->Next())
                REQUIRE(db.Delete({}, rows->key()).ok());
        }
        REQUIRE(db.Put({}, std::string(stategraph::checkpoint::format_key), "1").ok());
    });
}

/// Three threads that ask and four that are finished.
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

TEST_CASE("a database without an index of threads gets one when it is opened to be written to") {
    const TemporaryFolder folder;
    const std::string path = (folder / "db").string();
    const std::vector<std::string> asking{"1", "3", "5"};
    fillThreads(path);
    forgetIndex(path);
    {
        sg::RocksDBSaver saver(path, {.read_only = true});
        CHECK_FALSE(saver.openThreads({}, 10));
        CHECK_FALSE(saver.newestThreads({}));
        CHECK_FALSE(saver.countThreads(10));
        CHECK(unfinishedIn(saver) == asking);
    }
    {
        sg::RocksDBSaver saver(path);
        CHECK(saver.countThreads(10)->open == 7);  // nobody has looked yet
        CHECK(unfinishedIn(saver) == asking);
        CHECK(saver.countThreads(10)->open == 3);
        CHECK(saver.countThreads(10)->finished == 4);
    }
    sg::RocksDBSaver saver(path, {.read_only = true});
    CHECK(*saver.openThreads({}, 10) == asking);
    CHECK(unfinishedIn(saver) == asking);
    CHECK(saver.newestThreads({})->size() == 7);
}

TEST_CASE("an index that was begun by a process that died is made anew") {
    const TemporaryFolder folder;
    const std::string path = (folder / "db").string();
    fillThreads(path);
    forgetIndex(path);
    changeRows(path, [](rocksdb::DB& db) {
        const auto place = stategraph::checkpoint::newestKey(true, kit::nthId(1), "1");
        REQUIRE(db.Put({}, place, "").ok());
        REQUIRE(db.Put({}, stategraph::checkpoint::openKey("2"), std::string(16, '\1')).ok());
        REQUIRE(db.Put({}, stategraph::checkpoint::openKey("gone"), std::string(16, '\1')).ok());
    });
    sg::RocksDBSaver saver(path);
    CHECK(saver.newestThreads({})->size() == 7);
    CHECK(saver.openThreads({}, 10)->size() == 7);
    CHECK(unfinishedIn(saver) == std::vector<std::string>{"1", "3", "5"});
}

TEST_CASE("of more open threads than fit in memory the rows are read") {
    stategraph::checkpoint::OpenThreads open;
    open.begin();
    for (unsigned i = 0; i < stategraph::checkpoint::OpenThreads::threads_max; ++i)
        open.add(std::to_string(i), kit::nthId(i));
    CHECK(open.size() == stategraph::checkpoint::OpenThreads::threads_max);
    CHECK(open.names({}, 3) == std::vector<std::string>{"0", "1", "2"});
    open.add("one more", kit::nthId(1));
    CHECK_FALSE(open.size());
    CHECK_FALSE(open.names({}, 3));
    CHECK_FALSE(open.newest({}, 3));
    open.remove("1");
    open.add("2", kit::nthId(2));
    CHECK_FALSE(open.names({}, 3));
}

TEST_CASE("rows of an index that make no sense stop nobody") {
    const TemporaryFolder folder;
    const std::string path = (folder / "db").string();
    fillThreads(path);
    changeRows(path, [](rocksdb::DB& db) {
        for (const char* key : {"a", "a\x7f", "ajunk", "b", "bo", "bf", "bfjunk", "bx"})
            REQUIRE(db.Put({}, key, "junk").ok());
        REQUIRE(db.Put({}, stategraph::checkpoint::openKey("nobody"), "x").ok());
        REQUIRE(db.Put({}, stategraph::checkpoint::openKey("1"), "x").ok());
    });
    const auto saver = std::make_shared<sg::RocksDBSaver>(path);
    CHECK(unfinishedIn(*saver) == std::vector<std::string>{"1", "3", "5"});
    CHECK(saver->newestThreads({.limit = 100})->size() == 7);
    CHECK_NOTHROW((void)saver->countThreads(100));
    saver->deleteThread("1");
    CHECK(unfinishedIn(*saver) == std::vector<std::string>{"3", "5"});
}
