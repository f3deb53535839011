#include <chrono>
#include <fstream>
#include <memory>
#include <string>

#include <doctest/doctest.h>

#include <rocksdb/db.h>

#include <stategraph/error.hpp>
#include <stategraph/rocksdb_cache.hpp>
#include <stategraph/rocksdb_saver.hpp>

#include "tests/support/manual_clock.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace std::chrono_literals;

// The cache on disk: what outlives the process, its limit, and folders of something else.
namespace sg = stategraph;

TEST_CASE("a cache on disk is there when it is opened again, with the times of its entries") {
    const TemporaryFolder folder;
    const auto clock = ManualClock::make();
    std::uint64_t bytes = 0;
    {
        sg::RocksDBCache cache((folder / "c").string(), {.clock = clock});
        cache.set("n", "k", "value", {});
        cache.set("n", "short", "s", 10ms);
        bytes = cache.storedBytes();
        CHECK(bytes > 0);
    }
    clock->passMs(10);
    sg::RocksDBCache cache((folder / "c").string(), {.clock = clock});
    CHECK(cache.storedBytes() == bytes);
    CHECK(cache.get("n", "k") == "value");
    CHECK_FALSE(cache.get("n", "short"));
    CHECK(cache.storedBytes() < bytes);
    cache.remove("n", "k");
    CHECK(cache.storedBytes() == 0);
}

TEST_CASE("on disk the entries written longest ago make room, and the limit holds after opening too") {
    const TemporaryFolder folder;
    const std::string value(1000, 'x');
    for (int round = 0; round < 2; ++round) {
        sg::RocksDBCache cache((folder / "c").string(), {.bytes_max = 10'000});
        for (int i = 0; i < 50; ++i) {
            cache.set("n", std::to_string(i), value, {});
            REQUIRE(cache.storedBytes() <= 10'000);
            REQUIRE(cache.get("n", std::to_string(i)) == value);
        }
        CHECK_FALSE(cache.get("n", "0"));
        CHECK(cache.get("n", "48"));
        cache.set("n", "49", std::string(9'500, 'x'), {});
        CHECK_FALSE(cache.get("n", "49"));
    }
    sg::RocksDBCache cache((folder / "c").string());
    CHECK(cache.get("n", "48"));
    cache.clear("n");
    CHECK(cache.storedBytes() == 0);
}

TEST_CASE("writing an entry again neither counts it twice nor makes it the oldest") {
    const TemporaryFolder folder;
    sg::RocksDBCache cache((folder / "c").string(), {.bytes_max = 5'000});
    const std::string value(1000, 'x');
    cache.set("n", "1", value, {});
    const auto once = cache.storedBytes();
    cache.set("n", "2", value, {});
    for (int i = 0; i < 10; ++i) cache.set("n", "1", value, {});
    CHECK(cache.storedBytes() == 2 * once);
    cache.set("n", "3", value, {});
    cache.set("n", "4", value, {});
    cache.set("n", "5", value, {});
    CHECK_FALSE(cache.get("n", "2"));
    CHECK(cache.get("n", "5"));
}

TEST_CASE("an entry whose row was damaged is none, and goes") {
    const TemporaryFolder folder;
    const std::string path = (folder / "c").string();
    std::string row;
    {
        sg::RocksDBCache cache(path);
        cache.set("n", "k", "value", {});
    }
    {
        rocksdb::DB* opened = nullptr;
        REQUIRE(rocksdb::DB::Open({}, path, &opened).ok());
        const std::unique_ptr<rocksdb::DB> db(opened);
        const std::unique_ptr<rocksdb::Iterator> rows(db->NewIterator({}));
        for (rows->Seek("e"); rows->Valid() && rows->key().starts_with("e"); rows->Next()) row = rows->key().ToString();
        REQUIRE(db->Put({}, row, "short").ok());
    }
    sg::RocksDBCache cache(path);
    CHECK_FALSE(cache.get("n", "k"));
    cache.set("n", "k", "new", {});
    CHECK(cache.get("n", "k") == "new");
}

TEST_CASE("a saver's folder is no cache, a cache's no saver, and one process has it once") {
    const TemporaryFolder folder;
    { sg::RocksDBSaver saver((folder / "saver").string()); }
    CHECK_THROWS_AS(sg::RocksDBCache((folder / "saver").string()), sg::SaverError);
    sg::RocksDBCache cache((folder / "cache").string());
    CHECK_THROWS_AS(sg::RocksDBCache((folder / "cache").string()), sg::SaverError);
    CHECK_THROWS_AS(sg::RocksDBCache((folder / "other").string(), {.bytes_max = 0}), sg::InvalidArgumentError);
    {
        sg::RocksDBCache second((folder / "second").string());
        second.set("n", "k", "v", {});
    }
    CHECK_THROWS_AS(sg::RocksDBSaver((folder / "second").string()), sg::SaverError);
    std::ofstream(folder / "file") << "x";
    CHECK_THROWS_AS(sg::RocksDBCache((folder / "file").string()), sg::SaverError);
}
