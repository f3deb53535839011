#include <stategraph/store.hpp>

#include <limits>

#include "tests/storage/store/stores.hpp"

namespace stategraph {
namespace {

using namespace under_test;
using Names = std::vector<std::string>;

TEST_CASE("a store within a namespace can neither name nor list nor find what is outside") {
    onEach([](Home& home) {
        const auto a = storeWithin(home.share(), {"tenants", "a"});
        const auto b = storeWithin(home.share(), {"tenants", "b"});
        a->put({"notes"}, "k", Doc{{"of", "a"}});
        b->put({"notes"}, "k", Doc{{"of", "b"}});
        b->put({"notes", "deep"}, "k2", Doc{{"of", "b"}});
        home.store().put({"notes"}, "k", Doc{{"of", "all"}});
        home.store().put({"tenants", "ab"}, "k", Doc{});

        CHECK(a->get({"notes"}, "k")->value == Value(Doc{{"of", "a"}}));
        CHECK(a->get({"notes"}, "k")->ns == StoreNamespace{"notes"});
        CHECK(!a->get({"tenants", "b", "notes"}, "k"));
        CHECK(namesOf(a->search({})) == Names{"notes/k"});
        CHECK(namesOf(b->search({.limit = 100})) == Names{"notes/k", "notes.deep/k2"});
        CHECK(a->search({.namespace_prefix = {"b"}}).empty());
        CHECK(a->search({.filter = where("of").eq("b")}).empty());
        for (const StoreNamespace& any : std::vector<StoreNamespace>{{}, {"*"}, {"*", "*"}}) {
            CHECK(namesOf(b->listNamespaces({.prefix = any})).size() == (any.size() < 2 ? 2 : 1));
            CHECK(namesOf(a->listNamespaces({.prefix = any})).size() == (any.size() < 2 ? 1 : 0));
        }
        CHECK(a->listNamespaces({.suffix = {"a", "notes"}}).empty());
        CHECK(a->listNamespaces({.suffix = {"*", "notes"}}).empty());
        CHECK(namesOf(b->listNamespaces({.suffix = {"notes", "deep"}})) == Names{"notes.deep"});
        CHECK(namesOf(b->listNamespaces({.max_depth = 1})) == Names{"notes"});
        CHECK(namesOf(b->listNamespaces({.max_depth = std::numeric_limits<std::size_t>::max()})).size() == 2);
        a->remove({"notes"}, "k");
        CHECK(a->search({}).empty());
        CHECK(b->search({}).size() == 2);
        CHECK(home.store().search({}).size() == 4);
        CHECK_THROWS_AS(a->put({}, "k", Doc{}), InvalidArgumentError);
        CHECK_THROWS_AS(a->put({"x.y"}, "k", Doc{}), InvalidArgumentError);
    });
}

TEST_CASE("a store within one is within both, and batches go through") {
    onEach([](Home& home) {
        const auto inner = storeWithin(storeWithin(home.share(), {"a"}), {"b", "c"});
        const auto results =
            inner->batch({PutOp{{"n"}, "k", Value(Doc{}), {}}, SearchQuery{}, GetOp{{"n"}, "k", {}}, NamespaceQuery{}});
        CHECK(results.size() == 4);
        CHECK(home.store().get({"a", "b", "c", "n"}, "k").has_value());
        CHECK(namesOf(inner->listNamespaces()) == Names{"n"});
    });
}

TEST_CASE("a namespace that could mean others is refused") {
    const auto store = std::make_shared<MemoryStore>();
    CHECK_THROWS_AS((void)storeWithin(nullptr, {"a"}), InvalidArgumentError);
    CHECK_THROWS_AS((void)storeWithin(store, {}), InvalidArgumentError);
    CHECK_THROWS_AS((void)storeWithin(store, {"a", "*"}), InvalidArgumentError);
    CHECK_THROWS_AS((void)storeWithin(store, {"a.b"}), InvalidArgumentError);
    CHECK_THROWS_AS((void)storeWithin(store, {""}), InvalidArgumentError);
}

}  // namespace
}  // namespace stategraph
