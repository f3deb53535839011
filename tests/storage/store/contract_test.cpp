#include <stategraph/store.hpp>

#include <algorithm>
#include <chrono>

#include <stategraph/fields.hpp>

#include "tests/storage/store/stores.hpp"

namespace stategraph {
namespace {

using namespace under_test;
using namespace std::chrono_literals;
using Names = std::vector<std::string>;

struct Person {
    std::string name = {};
    int age = 0;
    static constexpr auto fields() {
        return stategraph::fields(field("name", &Person::name), field("age", &Person::age));
    }
};
struct Pet {
    std::vector<int> name = {};
    static constexpr auto fields() { return stategraph::fields(field("name", &Pet::name)); }
};

template <class F>
std::string refused(F f) {
    return messageOf<InvalidArgumentError>(f);
}

TEST_CASE("what is put is found under its namespace and key, and nowhere else") {
    onEach([](Home& home) {
        BaseStore& store = home.store();
        CHECK(!store.get({"users", "alice"}, "name"));
        store.put({"users", "alice"}, "name", Doc{{"first", "Alice"}});
        store.put({"users"}, "alice", Doc{{"first", "other"}});
        home.reopen();
        const auto item = home.store().get({"users", "alice"}, "name");
        REQUIRE(item.has_value());
        CHECK(item->ns == StoreNamespace{"users", "alice"});
        CHECK(item->key == "name");
        CHECK(item->value == Value(Doc{{"first", "Alice"}}));
        CHECK(!home.store().get({"users", "bob"}, "name"));
        CHECK(!home.store().get({"users", "alice", "name"}, "name"));
        CHECK(!home.store().get({"users", "alice"}, "names"));
    });
}

TEST_CASE("an overwrite keeps the time of creation, a removal forgets it") {
    onEach([](Home& home) {
        BaseStore& store = home.store();
        const auto begin = home.clock->now();
        store.put({"a"}, "k", Doc{{"n", 1}});
        home.clock->pass(5);
        store.put({"a"}, "k", Doc{{"n", 2}});
        auto item = store.get({"a"}, "k");
        REQUIRE(item.has_value());
        CHECK(item->created_at == begin);
        CHECK(item->updated_at == begin + 5ms);
        CHECK(item->value == Value(Doc{{"n", 2}}));
        home.clock->now_us -= 1'005'000;  // the clock jumps back
        store.put({"a"}, "k", Doc{{"n", 3}});
        item = store.get({"a"}, "k");
        CHECK(item->created_at == begin);
        CHECK(item->updated_at == begin);
        store.remove({"a"}, "k");
        store.remove({"a"}, "k");
        CHECK(!store.get({"a"}, "k"));
        home.clock->pass(9);
        store.put({"a"}, "k", Doc{});
        CHECK(store.get({"a"}, "k")->created_at == begin - 1s + 9ms);
    });
}

TEST_CASE("structs with a table are values") {
    onEach([](Home& home) {
        home.store().put({"people"}, "1", Person{"Alice", 40});
        const auto person = home.store().get<Person>({"people"}, "1");
        REQUIRE(person.has_value());
        CHECK(person->name == "Alice");
        CHECK(person->age == 40);
        CHECK(!home.store().get<Person>({"people"}, "2"));
        CHECK_THROWS_AS(home.store().get<Pet>({"people"}, "1"), WrongTypeError);
        CHECK(home.store().search({.namespace_prefix = {"people"}}).front().as<Person>().age == 40);
    });
}

TEST_CASE("a namespace that cannot be meant is refused, and the message says why") {
    onEach([](Home& home) {
        BaseStore& store = home.store();
        const Value value = Doc{};
        CHECK(has(refused([&] { store.put({}, "k", value); }), "the namespace is empty"));
        CHECK(has(refused([&] { store.put({"a", ""}, "k", value); }), "a label of the namespace is empty"));
        CHECK(has(refused([&] { store.put({"a.b"}, "k", value); }), "the label 'a.b' has a dot"));
        CHECK(has(refused([&] { store.put({"stategraph"}, "k", value); }), "reserved"));
        CHECK(has(refused([&] { store.put({"langgraph", "x"}, "k", value); }), "reserved"));
        CHECK(has(refused([&] { store.get({"a.b"}, "k"); }), "has a dot"));
        CHECK(has(refused([&] { store.get({}, "k"); }), "the namespace is empty"));
        CHECK(has(refused([&] { store.remove({""}, "k"); }), "is empty"));
        CHECK(has(refused([&] { store.search({.namespace_prefix = {"a.b"}}); }), "has a dot"));
        CHECK(has(refused([&] { store.listNamespaces({.suffix = {""}}); }), "is empty"));
        CHECK(!store.get({"langgraph"}, "k"));
        store.put({"x", "langgraph"}, "k", value);
        CHECK(store.get({"x", "langgraph"}, "k").has_value());
    });
}

TEST_CASE("every size has a limit, and what is just within it is kept") {
    onEach([](Home& home) {
        BaseStore& store = home.store();
        const Value value = Doc{};
        const std::string label(store_limits::label_bytes_max, 'l');
        const std::string key(store_limits::key_bytes_max, 'k');
        const StoreNamespace deep(store_limits::labels_max, label);
        store.put(deep, key, value);
        home.reopen();
        CHECK(home.store().get(deep, key).has_value());
        BaseStore& again = home.store();
        CHECK(again.listNamespaces() == std::vector<StoreNamespace>{deep});
        CHECK(has(refused([&] { again.put({label + "l"}, "k", value); }), "257 bytes; at most 256"));
        CHECK(has(refused([&] { again.put(StoreNamespace(33, "l"), "k", value); }), "33 labels; at most 32"));
        CHECK(has(refused([&] { again.put({"a"}, key + "k", value); }), "the key has 1025 bytes"));
        CHECK(has(refused([&] { again.get({"a"}, ""); }), "the key has 0 bytes"));
        CHECK(has(refused([&] {
                      again.put({"a"}, "k", Doc{{"x", std::string(store_limits::value_bytes_max, 'x')}});
                  }),
                  "the value has"));
        CHECK(has(refused([&] { again.put({"a"}, "k", {}, {.ttl = -1ms}); }), "the value is not a map"));
        CHECK(has(refused([&] { again.put({"a"}, "k", 5); }), "the value is not a map"));
        CHECK(has(refused([&] { again.put({"a"}, "k", std::map<int, int>{{1, 2}}); }), "a key that is not text"));
        CHECK(has(refused([&] { again.put({"a"}, "k", value, {.ttl = -1ms}); }), "ttl is -1 ms"));
        CHECK(has(refused([&] { again.put({"a"}, "k", value, {.ttl = store_limits::ttl_max + 1ms}); }), "ttl is"));
        CHECK(has(refused([&] { again.search({.limit = 0}); }), "limit is 0"));
        CHECK(has(refused([&] { again.search({.limit = store_limits::limit_max + 1}); }), "limit is 10001"));
        CHECK(has(refused([&] { again.listNamespaces({.limit = 0}); }), "limit is 0"));
        CHECK(has(refused([&] { again.listNamespaces({.max_depth = 0}); }), "max_depth is 0"));
        CHECK(has(refused([&] {
                      again.batch(std::vector<StoreOp>(store_limits::batch_max + 1, GetOp{{"a"}, "k", {}}));
                  }),
                  "10001 operations"));
        CHECK(again.batch(std::vector<StoreOp>(store_limits::batch_max, GetOp{{"a"}, "k", {}})).size() ==
              store_limits::batch_max);
        CHECK(again.batch({}).empty());
    });
}

TEST_CASE("a search gives the items below a namespace in the order of namespaces and keys") {
    onEach([](Home& home) {
        BaseStore& store = home.store();
        for (const StoreNamespace& ns :
             std::vector<StoreNamespace>{{"b"}, {"ab"}, {"a", "z"}, {"a"}, {"a", "b", "c"}, {"a", "b"}}) {
            for (const std::string key : {"2", "10", "1"}) store.put(ns, key, Doc{});
        }
        const Names all = {"a/1",   "a/10",   "a/2",   "a.b/1", "a.b/10", "a.b/2", "a.b.c/1", "a.b.c/10", "a.b.c/2",
                           "a.z/1", "a.z/10", "a.z/2", "ab/1",  "ab/10",  "ab/2",  "b/1",     "b/10",     "b/2"};
        CHECK(namesOf(store.search({.limit = 100})) == all);
        CHECK(namesOf(store.search({.namespace_prefix = {"a"}, .limit = 100})) == Names(all.begin(), all.begin() + 12));
        CHECK(namesOf(store.search({.namespace_prefix = {"a", "b"}, .limit = 100})) ==
              Names(all.begin() + 3, all.begin() + 9));
        CHECK(store.search({.namespace_prefix = {"c"}}).empty());
        CHECK(store.search({}).size() == 10);
        Names paged;
        for (std::size_t offset = 0;; offset += 5) {
            const Names page = namesOf(store.search({.limit = 5, .offset = offset}));
            paged.insert(paged.end(), page.begin(), page.end());
            if (page.size() < 5) break;
        }
        CHECK(paged == all);
        CHECK(store.search({.offset = static_cast<std::size_t>(-1)}).empty());
        CHECK(!store.search({}).front().score);
    });
}

TEST_CASE("labels and keys may hold any bytes, and none of them is a pattern") {
    onEach([](Home& home) {
        const Names odd = {std::string(1, '\0'),
                           std::string("\0\0", 2),
                           std::string("\0\x01", 2),
                           std::string("\0\xFF", 2),
                           "\x01",
                           "%",
                           "*",
                           "' OR 1=1 --",
                           "\"",
                           "\\",
                           "a",
                           std::string("a\0", 2),
                           std::string("a\0b", 3),
                           "a*",
                           "a\xFF",
                           "\xFF",
                           "\xFF\xFF",
                           "$ne"};
        for (const auto& label : odd) {
            for (const auto& key : odd) home.store().put({label}, key, Doc{{"label", label}, {"key", key}});
        }
        home.reopen();
        BaseStore& store = home.store();
        std::vector<std::pair<std::string, std::string>> expected;
        for (const auto& label : odd) {
            CHECK(store.search({.namespace_prefix = {label}, .limit = 1000}).size() == odd.size());
            for (const auto& key : odd) {
                expected.emplace_back(label, key);
                const auto item = store.get({label}, key);
                REQUIRE(item.has_value());
                CHECK(item->value == Value(Doc{{"label", label}, {"key", key}}));
            }
        }
        std::sort(expected.begin(), expected.end());
        std::vector<std::pair<std::string, std::string>> found;
        for (const auto& item : store.search({.limit = 1000})) found.emplace_back(item.ns.at(0), item.key);
        CHECK(found == expected);
        CHECK(store.listNamespaces({.limit = 1000}).size() == odd.size());
    });
}

TEST_CASE("namespaces are listed by what they begin and end with, cut to a depth, in order") {
    onEach([](Home& home) {
        BaseStore& store = home.store();
        for (const StoreNamespace& ns : std::vector<StoreNamespace>{{"users", "alice", "notes"},
                                                                    {"users", "bob", "notes"},
                                                                    {"users", "bob", "prefs"},
                                                                    {"teams", "x"},
                                                                    {"users"},
                                                                    {"usersx", "y"}}) {
            store.put(ns, "k1", Doc{});
            store.put(ns, "k2", Doc{});
        }
        const Names all = {"teams.x", "users", "users.alice.notes", "users.bob.notes", "users.bob.prefs", "usersx.y"};
        CHECK(namesOf(store.listNamespaces()) == all);
        CHECK(namesOf(store.listNamespaces({.prefix = {"users"}})) == Names(all.begin() + 1, all.begin() + 5));
        CHECK(namesOf(store.listNamespaces({.suffix = {"notes"}})) == Names{"users.alice.notes", "users.bob.notes"});
        CHECK(namesOf(store.listNamespaces({.prefix = {"users", "*"}, .suffix = {"prefs"}})) ==
              Names{"users.bob.prefs"});
        CHECK(namesOf(store.listNamespaces({.prefix = {"*", "bob"}})) == Names{"users.bob.notes", "users.bob.prefs"});
        CHECK(namesOf(store.listNamespaces({.suffix = {"bob", "*"}})) == Names{"users.bob.notes", "users.bob.prefs"});
        CHECK(namesOf(store.listNamespaces({.max_depth = 1})) == Names{"teams", "users", "usersx"});
        CHECK(namesOf(store.listNamespaces({.max_depth = 2})) ==
              Names{"teams.x", "users", "users.alice", "users.bob", "usersx.y"});
        CHECK(namesOf(store.listNamespaces({.suffix = {"notes"}, .max_depth = 1})) == Names{"users"});
        CHECK(namesOf(store.listNamespaces({.limit = 2, .offset = 3})) == Names{"users.bob.notes", "users.bob.prefs"});
        CHECK(namesOf(store.listNamespaces({.max_depth = 1, .limit = 1, .offset = 2})) == Names{"usersx"});
        store.remove({"teams", "x"}, "k1");
        CHECK(store.listNamespaces().size() == 6);
        store.remove({"teams", "x"}, "k2");
        CHECK(store.listNamespaces().size() == 5);
    });
}

TEST_CASE("a batch reads the store as it was before, and of several puts to one item the last counts") {
    onEach([](Home& home) {
        BaseStore& store = home.store();
        store.put({"a"}, "old", Doc{{"n", 0}});
        const auto results = store.batch({
            PutOp{{"a"}, "new", Value(Doc{{"n", 1}}), {}},
            GetOp{{"a"}, "new", {}},
            PutOp{{"a"}, "new", Value(Doc{{"n", 2}}), {}},
            SearchQuery{.namespace_prefix = {"a"}},
            PutOp{{"a"}, "old", {}, {}},
            GetOp{{"a"}, "old", {}},
            PutOp{{"b"}, "gone", Value(Doc{}), {}},
            PutOp{{"b"}, "gone", {}, {}},
            NamespaceQuery{},
        });
        REQUIRE(results.size() == 9);
        CHECK(!results[1].item);
        CHECK(namesOf(results[3].items) == Names{"a/old"});
        CHECK(results[5].item->value == Value(Doc{{"n", 0}}));
        CHECK(namesOf(results[8].namespaces) == Names{"a"});
        CHECK(store.get({"a"}, "new")->value == Value(Doc{{"n", 2}}));
        CHECK(!store.get({"a"}, "old"));
        CHECK(!store.get({"b"}, "gone"));
    });
}

TEST_CASE("if one operation of a batch is wrong, none is done, and the message says which") {
    onEach([](Home& home) {
        BaseStore& store = home.store();
        const auto message = refused([&] {
            store.batch({PutOp{{"a"}, "k", Value(Doc{}), {}}, PutOp{{"a"}, "k2", Value(1), {}}, GetOp{{"a"}, "k", {}}});
        });
        CHECK(has(message, "operation 2 of 3 in the batch: the value is not a map"));
        const auto no_index = refused([&] {
            store.batch({PutOp{{"a"}, "k", Value(Doc{}), {}}, SearchQuery{.query = "x"}});
        });
        CHECK(has(no_index, "the store has no index"));
        CHECK(store.search({}).empty());
    });
}

TEST_CASE("options that make no sense are refused before anything is made") {
    CHECK(has(refused([] { MemoryStore({.default_ttl = -1ms}); }), "default_ttl is -1 ms"));
    CHECK(has(refused([] { MemoryStore({.index = IndexConfig{}}); }), "dims 0"));
    CHECK(has(refused([] { MemoryStore({.index = IndexConfig{.dims = 3}}); }), "no embed function"));
    const EmbedFunction embed = [](std::span<const std::string>) { return std::vector<std::vector<float>>(); };
    CHECK(has(refused([&] { MemoryStore({.index = IndexConfig{.dims = 3, .embed = embed, .fields = {"a["}}}); }),
              "'a['"));
    CHECK(has(refused([] { MemoryStore({}, {.bytes_max = 0}); }), "bytes_max is 0"));
}

}  // namespace
}  // namespace stategraph
