#include <stategraph/rocksdb_store.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <rocksdb/db.h>

#include <stategraph/rocksdb_saver.hpp>

#include "storage/store/keys.hpp"
#include "tests/checkpoint/bytes.hpp"
#include "tests/storage/store/stores.hpp"
#include "tests/support/temporary_folder.hpp"

namespace stategraph {
namespace {

namespace fs = std::filesystem;
using namespace under_test;
using namespace std::chrono_literals;
using Names = std::vector<std::string>;

/// The rows themselves, while no store has the database open.
class RawRows {
public:
    explicit RawRows(const std::string& path) {
        rocksdb::DB* opened = nullptr;
        REQUIRE(rocksdb::DB::Open(rocksdb::Options(), path, &opened).ok());
        db_.reset(opened);
    }
    std::string get(const std::string& key) {
        std::string value;
        REQUIRE(db_->Get({}, key, &value).ok());
        return value;
    }
    void put(const std::string& key, const std::string& value) { REQUIRE(db_->Put({}, key, value).ok()); }
    void remove(const std::string& key) { REQUIRE(db_->Delete({}, key).ok()); }
    std::size_t count() {
        std::size_t count = 0;
        const std::unique_ptr<rocksdb::Iterator> rows(db_->NewIterator({}));
        for (rows->SeekToFirst(); rows->Valid(); rows->Next()) ++count;
        return count;
    }

private:
    std::unique_ptr<rocksdb::DB> db_;
};

std::string itemKey(const StoreNamespace& ns, const std::string& key) {
    return stores::rowKey(stores::Table::items, stores::itemName(ns, key));
}

StoreOptions indexed(std::size_t dims) {
    StoreOptions options;
    options.index = IndexConfig{.dims = dims, .embed = [dims](std::span<const std::string> texts) {
                                    return std::vector<std::vector<float>>(texts.size(), std::vector<float>(dims, 1));
                                }};
    return options;
}

TEST_CASE("a RocksDB store is there after its process was killed: every put that returned") {
    TemporaryFolder folder;
    RocksDBStore store((folder / "db").string());
    for (int i = 0; i < 200; ++i) {
        store.batch({PutOp{{"a"}, std::to_string(i), Value(Doc{{"i", i}}), {.ttl = 0ms}},
                     PutOp{{"b"}, std::to_string(i), Value(Doc{{"i", i}}), {}}});
        if (i % 50 != 7) continue;
        // A killed process leaves what the operating system has of its files.
        const fs::path copy = folder / ("copy" + std::to_string(i));
        fs::copy(folder / "db", copy, fs::copy_options::recursive);
        RocksDBStore again(copy.string());
        CHECK(again.search({.namespace_prefix = {"a"}, .limit = 1000}).size() == static_cast<std::size_t>(i) + 1);
        CHECK(again.search({.namespace_prefix = {"b"}, .limit = 1000}).size() == static_cast<std::size_t>(i) + 1);
    }
}

TEST_CASE("a log torn at any place by the end of the machine leaves a beginning of the batches, each as a whole") {
    TemporaryFolder folder;
    const fs::path whole = folder / "whole";
    {
        RocksDBStore store((folder / "db").string(), {}, {.sync = true});
        for (int i = 0; i < 20; ++i)
            store.batch(
                {PutOp{{"a"}, std::to_string(i), Value(Doc{}), {}}, PutOp{{"b"}, std::to_string(i), Value(Doc{}), {}}});
        fs::copy(folder / "db", whole, fs::copy_options::recursive);
    }
    fs::path log;
    for (const auto& entry : fs::directory_iterator(whole)) {
        if (entry.path().extension() == ".log" && entry.file_size() > 0) log = entry.path();
    }
    REQUIRE(!log.empty());
    const auto size = fs::file_size(log);
    std::size_t most = 0;
    for (std::uintmax_t cut = size; cut > 0; cut -= std::min<std::uintmax_t>(cut, size / 12 + 1)) {
        CAPTURE(cut);
        const fs::path copy = folder / "torn";
        fs::remove_all(copy);
        fs::copy(whole, copy, fs::copy_options::recursive);
        fs::resize_file(copy / log.filename(), cut);
        try {
            RocksDBStore store(copy.string());
            const std::size_t kept = store.search({.namespace_prefix = {"a"}, .limit = 100}).size();
            CHECK(store.search({.namespace_prefix = {"b"}, .limit = 100}).size() == kept);
            most = std::max(most, kept);
        } catch (const StoreError& error) {
            CHECK(has(error.message(), "torn"));  // refused as a whole; the error names the path
        }
    }
    CHECK(most == 20);
}

TEST_CASE("a damaged item is an error that names it, the others stay readable, and removing it is the cure") {
    TemporaryFolder folder;
    const std::string path = (folder / "db").string();
    {
        RocksDBStore store(path, indexed(2));
        for (const char* const key : {"1", "2", "3"}) store.put({"users", "alice"}, key, Doc{{"k", key}}, {.ttl = 1h});
    }
    {
        RawRows rows(path);
        std::string bytes = rows.get(itemKey({"users", "alice"}, "2"));
        bytes.back() = static_cast<char>(bytes.back() ^ 1);
        rows.put(itemKey({"users", "alice"}, "2"), bytes);
    }
    {
        StoreOptions options = indexed(2);
        options.clock = std::make_shared<StoreClock>();
        std::static_pointer_cast<StoreClock>(options.clock)->now_us = IdSource::system().now().time_since_epoch() / 1us;
        RocksDBStore store(path, options);
        const std::string named = "the item '2' in namespace 'users.alice' is damaged";
        CHECK(has(messageOf<CorruptStoreError>([&] { store.get({"users", "alice"}, "2"); }), named));
        CHECK(namesOf(store.search({})) == Names{"users.alice/1", "users.alice/3"});
        CHECK(namesOf(store.search({.query = "x"})) == Names{"users.alice/1", "users.alice/3"});
        CHECK(store.get({"users", "alice"}, "1", false).has_value());
        CHECK(store.get({"users", "alice"}, "3", false).has_value());
        CHECK(namesOf(store.search({.limit = 1})) == Names{"users.alice/1"});
        std::static_pointer_cast<StoreClock>(options.clock)->pass(7'200'000);
        CHECK(store.sweep() == 2);
        CHECK(store.sweep() == 0);
        CHECK(has(messageOf<CorruptStoreError>([&] {
                      store.get({"users", "alice"}, "2");
                  }),
                  named));  // the sweep has not removed them
        CHECK(store.listNamespaces() == std::vector<StoreNamespace>{{"users", "alice"}});
        store.remove({"users", "alice"}, "2");
        CHECK(!store.get({"users", "alice"}, "2"));
        CHECK(store.search({.query = "x"}).empty());
        store.put({"users", "alice"}, "2", Doc{}, {.ttl = 0ms});
        store.remove({"users", "alice"}, "2");
    }
    CHECK(RawRows(path).count() == 1);  // the row of the format
}

TEST_CASE("rows that were swapped, vectors that are gone and keys that are none are errors") {
    TemporaryFolder folder;
    const std::string path = (folder / "db").string();
    const std::string a = itemKey({"n"}, "a");
    const std::string b = itemKey({"n"}, "b");
    {
        RocksDBStore store(path, indexed(2));
        store.put({"n"}, "a", Doc{{"x", 1}});
        store.put({"n"}, "b", Doc{{"x", 2}});
    }
    {
        RawRows rows(path);
        const std::string bytes = rows.get(a);
        rows.put(a, rows.get(b));
        rows.put(b, bytes);
    }
    {
        RocksDBStore store(path, indexed(2));
        CHECK_THROWS_AS(store.get({"n"}, "a"), CorruptStoreError);
        CHECK_THROWS_AS(store.get({"n"}, "b"), CorruptStoreError);
        store.remove({"n"}, "a");
        store.remove({"n"}, "b");
        store.put({"n"}, "a", Doc{{"x", 1}});
    }
    RawRows(path).remove("v" + a.substr(1));
    {
        RocksDBStore store(path, indexed(2));
        const StoreOp search = SearchQuery{.query = "x"};
        const auto result = store.batch(std::span(&search, 1));
        CHECK(result[0].items.empty());
        REQUIRE(result[0].damaged.size() == 1);
        CHECK(result[0].damaged[0].key == "a");
        CHECK(has(result[0].damaged[0].why, "its vectors are missing"));
        CHECK(store.get({"n"}, "a").has_value());
        store.put({"n"}, "a", Doc{{"x", 1}});
        CHECK(store.search({.query = "x"}).size() == 1);
    }
    {
        RawRows rows(path);
        rows.put(
            "i\x01"
            "no name",
            "x");
        rows.put("e", "");
        rows.put("e\x01", "");
    }
    RocksDBStore store(path, indexed(2));
    const auto listed = store.batch({NamespaceQuery{}, SearchQuery{}});
    CHECK(listed[0].namespaces == std::vector<StoreNamespace>{{"n"}});
    CHECK(listed[1].items.size() == 1);
    for (const auto& each : listed) {
        REQUIRE(each.damaged.size() == 1);
        CHECK(has(each.damaged[0].why, "\\x01no name"));
    }
    CHECK(store.get({"n"}, "a").has_value());
    store.put({"n"}, "c", Doc{});
    CHECK(store.sweep() == 0);
}

TEST_CASE("vectors of an index with other dims are an error that says what to do") {
    TemporaryFolder folder;
    const std::string path = (folder / "db").string();
    { RocksDBStore(path, indexed(2)).put({"n"}, "a", Doc{{"x", 1}}); }
    RocksDBStore store(path, indexed(3));
    CHECK(has(messageOf<StoreError>([&] { store.search({.query = "x"}); }),
              "vectors of 2 numbers, and the index of 3; put it again"));
    CHECK(store.search({}).size() == 1);
    store.put({"n"}, "a", Doc{{"x", 1}});
    CHECK(store.search({.query = "x"}).size() == 1);
}

TEST_CASE("every way that a RocksDB store cannot be opened has its message") {
    TemporaryFolder folder;
    const std::string path = (folder / "db").string();
    const auto refused = [](const std::string& where, const RocksDBStoreOptions& options = {}) {
        return messageOf<StoreError>([&] { RocksDBStore(where, {}, options); });
    };
    CHECK(has(refused(path, {.create_if_missing = false}), "there is none"));
    CHECK(has(refused(path, {.read_only = true}), "there is none"));
    CHECK_THROWS_AS(RocksDBStore(path, {.default_ttl = -5ms}), InvalidArgumentError);
    CHECK(!fs::exists(path));
    {
        RocksDBStore store(path);
        CHECK(has(refused(path), "this process has it open already"));
    }
    { const RocksDBSaver saver((folder / "saver").string()); }
    CHECK(has(refused((folder / "saver").string()), "it is a database of something else"));
    CHECK_THROWS_AS(RocksDBSaver((folder / "db").string()), SaverError);
    RawRows(path).put(std::string(stores::format_key), "2");
    CHECK(has(messageOf<CorruptStoreError>([&] { RocksDBStore{path}; }), "has format 2, newer than this library's 1"));
    RawRows(path).put(std::string(stores::format_key), "x");
    CHECK(has(messageOf<CorruptStoreError>([&] { RocksDBStore{path}; }), "damaged"));
    std::ofstream(folder / "file") << "text";
    CHECK(has(refused((folder / "file").string()), "it is a file"));
}

TEST_CASE("a read-only RocksDB store reads, refreshes nothing and refuses to write") {
    TemporaryFolder folder;
    const std::string path = (folder / "db").string();
    StoreOptions options;
    const auto clock = std::make_shared<StoreClock>();
    options.clock = clock;
    { RocksDBStore(path, options).put({"n"}, "a", Doc{}, {.ttl = 10ms}); }
    RocksDBStore store(path, options, {.read_only = true});
    RocksDBStore second(path, options, {.read_only = true});
    clock->pass(9);
    CHECK(store.get({"n"}, "a").has_value());
    CHECK(second.search({}).size() == 1);
    CHECK(has(messageOf<StoreError>([&] { store.put({"n"}, "a", Doc{}); }), "open read_only"));
    CHECK(has(messageOf<StoreError>([&] { store.remove({"n"}, "a"); }), "open read_only"));
    CHECK(has(messageOf<StoreError>([&] { store.sweep(); }), "open read_only"));
    clock->pass(1);
    CHECK(!store.get({"n"}, "a"));
}

}  // namespace
}  // namespace stategraph
