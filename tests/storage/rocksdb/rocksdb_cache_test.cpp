#include <fstream>
#include <memory>
#include <string>

#include <doctest/doctest.h>

#include <rocksdb/db.h>

#include <stategraph/error.hpp>
#include <stategraph/rocksdb_cache.hpp>
#include <stategraph/rocksdb_saver.hpp>

#include "tests/support/temporary_folder.hpp"

// Folders that are not a cache, and damaged ones.
namespace sg = stategraph;

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
