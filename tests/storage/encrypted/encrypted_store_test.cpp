#include <map>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/encrypted_store.hpp>
#include <stategraph/error.hpp>
#include <stategraph/memory_store.hpp>
#include <stategraph/store_cache.hpp>
#if STATEGRAPH_HAS_ROCKSDB
#include <rocksdb/db.h>
#include <stategraph/rocksdb_store.hpp>
#endif

#include "tests/storage/store/stores.hpp"
#include "tests/support/encryption.hpp"
#include "tests/support/temporary_folder.hpp"

// Stores, and caches on them, with encrypted rows.
namespace sg = stategraph;
using namespace std::chrono_literals;
using encryption::key;
using Doc = std::map<std::string, std::string>;

namespace {

sg::StoreOptions sealed(const sg::EncryptionOptions& keys, bool with_index = false) {
    sg::StoreOptions options;
    options.cipher = sg::encryptRows(keys);
    if (with_index) {
        options.index = sg::IndexConfig{.dims = 2, .embed = [](std::span<const std::string> texts) {
                                            std::vector<std::vector<float>> vectors;
                                            for (const auto& text : texts)
                                                vectors.push_back({static_cast<float>(text.size()), 1.0F});
                                            return vectors;
                                        }};
    }
    return options;
}

std::vector<std::string> keysOf(const std::vector<sg::SearchItem>& items) {
    std::vector<std::string> keys;
    for (const auto& item : items) keys.push_back(item.key);
    return keys;
}

/// A RowCipher that records the rows and does not encrypt them.
class Recorder final : public sg::RowCipher {
public:
    explicit Recorder(std::shared_ptr<sg::RowCipher> inner) : inner_(std::move(inner)) {}
    std::string seal(std::string_view key, std::string_view plain) override {
        auto row = inner_->seal(key, plain);
        rows[std::string(key)] = row;
        return row;
    }
    std::string open(std::string_view key, std::string_view bytes) override {
        const auto other = instead.find(std::string(key));
        return inner_->open(key, other == instead.end() ? bytes : std::string_view(other->second));
    }
    std::map<std::string, std::string> rows;
    std::map<std::string, std::string> instead;

private:
    std::shared_ptr<sg::RowCipher> inner_;
};

}  // namespace

TEST_CASE("a store with a cipher does all that a store does, and keeps no value in the clear") {
    under_test::onEach(sealed(key("k"), true), [](under_test::Home& home) {
        sg::BaseStore& store = home.store();
        store.put({"users", "ada"}, "a", Doc{{"v", "SECRET one"}});
        store.put({"users", "ada"}, "b", Doc{{"v", "SECRET and more"}}, {.ttl = 1000ms});
        store.put({"users", "bob"}, "c", Doc{{"v", "x"}});
        CHECK(store.get<Doc>({"users", "ada"}, "a") == Doc{{"v", "SECRET one"}});
        CHECK(keysOf(store.search({.namespace_prefix = {"users", "ada"}})) == std::vector<std::string>{"a", "b"});
        CHECK(keysOf(store.search({.filter = sg::where("v").eq("x")})) == std::vector<std::string>{"c"});
        CHECK(store.search({.query = "SECRET"}).size() == 3);
        CHECK(store.listNamespaces().size() == 2);
        home.clock->pass(2000);
        CHECK_FALSE(store.get({"users", "ada"}, "b").has_value());
        CHECK(store.sweep() == 1);
        store.remove({"users", "bob"}, "c");
        home.reopen();
        CHECK(keysOf(home.store().search({})) == std::vector<std::string>{"a"});
    });
}

TEST_CASE("no row of a store with a cipher shows a value, and no two are alike") {
    const auto recorder = std::make_shared<Recorder>(sg::encryptRows(key("k")));
    sg::StoreOptions options = sealed(key("k"), true);
    options.cipher = recorder;
    sg::MemoryStore store(options);
    for (int i = 0; i < 20; ++i) store.put({"n"}, "k" + std::to_string(i), Doc{{"v", "SECRET"}});
    std::set<std::string> ends;
    CHECK(recorder->rows.size() == 40);  // items and vectors
    for (const auto& [name, row] : recorder->rows) {
        CHECK(row.find("SECRET") == std::string::npos);
        ends.insert(row.substr(row.size() - 16));
    }
    CHECK(ends.size() == 40);
}

TEST_CASE("an item that was altered, moved, or sealed with another key is damaged, and stops no search") {
    const auto recorder = std::make_shared<Recorder>(sg::encryptRows(key("k")));
    sg::StoreOptions options;
    options.cipher = recorder;
    std::vector<std::string> seen;
    options.on_damaged = [&](const sg::DamagedItem& item) {
        seen.push_back(item.ns.at(0) + "/" + item.key + ": " + item.why);
    };
    sg::MemoryStore store(options);
    for (const char* name : {"a", "b", "c"}) store.put({"n"}, name, Doc{{"v", name}});
    const auto rowOf = [&](std::string_view name) {
        for (const auto& [row_key, row] : recorder->rows) {
            if (row_key.ends_with(name)) return row_key;
        }
        return std::string();
    };
    const std::string at = rowOf("b");
    std::string flipped = recorder->rows[at];
    flipped.back() = static_cast<char>(flipped.back() ^ 1);
    const auto other = sg::encryptRows(key("other", 2))->seal(at, "x");
    const std::vector<std::pair<std::string, std::string>> kinds{
        {flipped, "its authentication failed"},
        {recorder->rows[rowOf("a")], "its authentication failed"},
        {other, "the key 'other', which find_key does not know"},
        {"\x01plain", "it is not encrypted"},
        {"\x02", "cut off"}};
    for (const auto& [row, why] : kinds) {
        CAPTURE(why);
        recorder->instead = {{at, row}};
        seen.clear();
        CHECK(keysOf(store.search({})) == std::vector<std::string>{"a", "c"});
        REQUIRE(seen.size() == 1);
        CAPTURE(seen[0]);
        CHECK(seen[0].starts_with("n/b: "));
        CHECK(seen[0].find("'b'") != std::string::npos);
        if (row.size() > 1) CHECK(seen[0].find(why) != std::string::npos);
        CHECK_THROWS_AS((void)store.get({"n"}, "b"), sg::CorruptStoreError);
        CHECK(store.listNamespaces().size() == 1);
    }
    // A tenant's view uses the tenant's own names.
    const auto within = sg::storeWithin(std::make_shared<sg::MemoryStore>(), {"t"});
    CHECK(within->search({}).empty());
    store.put({"n"}, "b", Doc{{"v", "new"}});
    recorder->instead.clear();
    CHECK(store.get<Doc>({"n"}, "b") == Doc{{"v", "new"}});
}

TEST_CASE("rows under older keys stay readable, and a wrong key opens nothing") {
    encryption::KeyTable keys{.seeds = {{"old", 1}, {"new", 2}}, .current = "old"};
    const auto cipher = sg::encryptRows(keys.options());
    const std::string row = cipher->seal("row", "content");
    keys.current = "new";
    CHECK(cipher->open("row", row) == "content");
    CHECK(cipher->open("row", cipher->seal("row", "")).empty());
    CHECK_THROWS_AS((void)cipher->open("other row", row), sg::WrongTypeError);
    CHECK_THROWS_AS((void)sg::encryptRows(key("old", 9))->open("row", row), sg::WrongTypeError);
    for (std::size_t size = 0; size < row.size(); ++size)
        CHECK_THROWS_AS((void)cipher->open("row", row.substr(0, size)), sg::WrongTypeError);
    CHECK_THROWS_AS((void)sg::encryptRows({}), sg::InvalidArgumentError);
}

TEST_CASE("a cache on a store with a cipher keeps no result in the clear, and one with another key finds none") {
    under_test::onEach(sealed(key("k")), [](under_test::Home& home) {
        sg::StoreCache cache(home.share());
        cache.set("n", "1", "SECRET", {});
        CHECK(cache.get("n", "1") == "SECRET");
    });
#if STATEGRAPH_HAS_ROCKSDB
    const TemporaryFolder folder;
    const std::string path = (folder / "store").string();
    sg::StoreCache(std::make_shared<sg::RocksDBStore>(path, sealed(key("k")))).set("n", "1", "SECRET", {});
    sg::StoreCache other(std::make_shared<sg::RocksDBStore>(path, sealed(key("k", 7))));
    CHECK_THROWS_AS((void)other.get("n", "1"), sg::CorruptStoreError);
    other.set("n", "1", "again", {});
    CHECK(other.get("n", "1") == "again");
#endif
}

TEST_CASE("a store that was filled with a cipher says so when it is opened without one") {
#if STATEGRAPH_HAS_ROCKSDB
    const TemporaryFolder folder;
    const std::string path = (folder / "store").string();
    { sg::RocksDBStore(path, sealed(key("k"))).put({"n"}, "k", Doc{{"v", "x"}}); }
    sg::RocksDBStore store(path);
    CHECK_THROWS_WITH_AS((void)store.get({"n"}, "k"), doctest::Contains("it is encrypted; give the store the cipher"),
                         sg::CorruptStoreError);
    CHECK(store.search({}).empty());
#endif
}
