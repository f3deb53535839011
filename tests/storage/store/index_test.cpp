#include <stategraph/store.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <stategraph/json.hpp>

#include "storage/store/paths.hpp"
#include "tests/checkpoint/bytes.hpp"
#include "tests/storage/store/stores.hpp"

namespace stategraph {
namespace {

using namespace under_test;
using Names = std::vector<std::string>;

/// Texts have the form "x,y", from which their vectors are computed.
std::vector<float> vectorOf(const std::string& text) {
    const std::size_t comma = text.find(',');
    if (comma == std::string::npos) return {0, 0};
    return {std::stof(text), std::stof(text.substr(comma + 1))};
}

struct Calls {
    std::vector<Names> texts;
};

StoreOptions indexed(Names fields, const std::shared_ptr<Calls>& calls = std::make_shared<Calls>()) {
    StoreOptions options;
    options.index = IndexConfig{.dims = 2,
                                .embed =
                                    [calls](std::span<const std::string> texts) {
                                        calls->texts.emplace_back(texts.begin(), texts.end());
                                        std::vector<std::vector<float>> out;
                                        for (const auto& text : texts) out.push_back(vectorOf(text));
                                        return out;
                                    },
                                .fields = std::move(fields)};
    return options;
}

StoreOptions broken(EmbedFunction embed) {
    StoreOptions options;
    options.index = IndexConfig{.dims = 2, .embed = std::move(embed)};
    return options;
}

Names textsAt(std::string_view path, const Value& value) {
    Names out;
    stores::collectTexts(stores::parsePath(path), value, 256, out);
    return out;
}

TEST_CASE("a search with a query ranks by the cosine of the nearest vector, ties by name") {
    onEach(indexed({"at"}), [](Home& home) {
        BaseStore& store = home.store();
        store.put({"p"}, "east", Doc{{"at", "1,0"}});
        store.put({"p"}, "far east", Doc{{"at", "100,0"}});
        store.put({"p"}, "north", Doc{{"at", "0,2"}});
        store.put({"p"}, "west", Doc{{"at", "-1,0"}});
        store.put({"p"}, "both", Doc{{"at", "1,1"}});
        store.put({"q"}, "elsewhere", Doc{{"at", "1,0"}});
        store.put({"p"}, "a nowhere", Doc{{"at", Value()}});
        home.reopen();
        const auto found = home.store().search({.namespace_prefix = {"p"}, .query = "3,0"});
        CHECK(namesOf(found) == Names{"p/east", "p/far east", "p/both", "p/north", "p/west", "p/a nowhere"});
        CHECK(found[0].score == doctest::Approx(1.0));
        CHECK(found[2].score == doctest::Approx(std::sqrt(0.5)));
        CHECK(found[3].score == doctest::Approx(0.0));
        CHECK(found[4].score == doctest::Approx(-1.0));
        CHECK(!found[5].score.has_value());
        CHECK(namesOf(home.store().search({.namespace_prefix = {"p"}, .query = "0,1", .limit = 2, .offset = 1})) ==
              Names{"p/both", "p/east"});
        CHECK(namesOf(home.store().search({.namespace_prefix = {"p"}, .query = "3,0", .limit = 2, .offset = 5})) ==
              Names{"p/a nowhere"});
        CHECK(namesOf(home.store().search(
                  {.namespace_prefix = {"p"}, .filter = where("at").ne("1,0"), .query = "1,0", .limit = 1})) ==
              Names{"p/far east"});
        CHECK(home.store().search({.namespace_prefix = {"r"}, .query = "1,0"}).empty());
    });
}

TEST_CASE("the top k are exactly those that the slow way finds, for vectors of any size") {
    const std::uint64_t seed = tests::seed();
    CAPTURE(seed);
    for (const std::size_t dims : {1U, 3U, 4U, 7U, 64U}) {
        std::map<std::string, std::vector<float>> vectors;
        StoreOptions options;
        options.index = IndexConfig{.dims = dims,
                                    .embed =
                                        [&](std::span<const std::string> texts) {
                                            std::vector<std::vector<float>> out;
                                            for (const auto& text : texts) out.push_back(vectors.at(text));
                                            return out;
                                        },
                                    .fields = {"t[*]"}};
        onEach(options, [&](Home& home) {
            bytes::Random random(seed + dims);
            const auto make = [&](const std::string& text) {
                std::vector<float> vector(dims);
                for (float& each : vector) each = static_cast<float>(random.below(2001)) / 1000.0F - 1.0F;
                vectors[text] = vector;
                return text;
            };
            const auto cosineOf = [&](const std::string& a, const std::string& b) {
                long double product = 0, aa = 0, bb = 0;
                for (std::size_t i = 0; i < dims; ++i) {
                    const long double x = vectors.at(a)[i], y = vectors.at(b)[i];
                    product += x * y;
                    aa += x * x;
                    bb += y * y;
                }
                return aa > 0 && bb > 0 ? static_cast<double>(product / (std::sqrt(aa) * std::sqrt(bb))) : 0.0;
            };
            const std::string query = make("query");
            std::vector<std::pair<double, std::string>> expected;
            for (int i = 0; i < 60; ++i) {
                Names texts;
                double best = -2;
                for (std::size_t j = 0; j <= random.below(3); ++j) {
                    texts.push_back(make(std::to_string(i) + "-" + std::to_string(j)));
                    best = std::max(best, cosineOf(query, texts.back()));
                }
                home.store().put({"p"}, std::to_string(i), Doc{{"t", texts}});
                expected.emplace_back(-best, std::to_string(i));
            }
            std::sort(expected.begin(), expected.end());
            const auto found = home.store().search({.query = query, .limit = 12});
            REQUIRE(found.size() == 12);
            for (std::size_t i = 0; i < found.size(); ++i) {
                CHECK(found[i].score == doctest::Approx(-expected[i].first));
                if (dims > 1)
                    // With one dimension all scores are 1 or -1, except for the last bit.
                    CHECK(found[i].key == expected[i].second);
            }
        });
    }
}

TEST_CASE("an overwrite replaces an item's vectors, and a removal takes them away") {
    onEach(indexed({"at"}), [](Home& home) {
        BaseStore& store = home.store();
        store.put({"p"}, "k", Doc{{"at", "1,0"}});
        store.put({"p"}, "k", Doc{{"at", "0,1"}});
        CHECK(store.search({.query = "1,0"}).at(0).score == doctest::Approx(0.0));
        store.put({"p"}, "k", Doc{});
        CHECK(!store.search({.query = "1,0"}).at(0).score.has_value());
        store.put({"p"}, "k", Doc{{"at", "1,0"}});
        store.remove({"p"}, "k");
        CHECK(store.search({.query = "1,0"}).empty());
    });
}

TEST_CASE("a put may say what of it is indexed: other paths, or nothing") {
    const auto calls = std::make_shared<Calls>();
    onEach(indexed({"title"}, calls), [&](Home& home) {
        BaseStore& store = home.store();
        calls->texts.clear();
        const Value value = parseJson(R"({"title": "1,0", "parts": [{"at": "0,1"}, {"at": "-1,0"}, {}]})");
        store.put({"p"}, "default", value);
        store.put({"p"}, "none", value, {.index = Names{}});
        store.put({"p"}, "parts", value, {.index = Names{"parts[*].at"}});
        CHECK(calls->texts == std::vector<Names>{{"1,0"}, {"0,1", "-1,0"}});
        const auto found = store.search({.query = "-1,0"});
        CHECK(namesOf(found) == Names{"p/parts", "p/default", "p/none"});
        CHECK(found[0].score == doctest::Approx(1.0));
        CHECK(!found[2].score.has_value());
    });
}

TEST_CASE("a batch embeds all its texts in one call, and of puts to one item only the last") {
    const auto calls = std::make_shared<Calls>();
    onEach(indexed({"at"}, calls), [&](Home& home) {
        calls->texts.clear();
        home.store().batch({PutOp{{"p"}, "a", Value(Doc{{"at", "1,0"}}), {}}, SearchQuery{.query = "5,5"},
                            PutOp{{"p"}, "b", Value(Doc{{"at", "2,0"}}), {}},
                            PutOp{{"p"}, "a", Value(Doc{{"at", "3,0"}}), {}}});
        CHECK(calls->texts == std::vector<Names>{{"5,5", "3,0", "2,0"}});
        home.store().put({"p"}, "c", Doc{});
        home.store().get({"p"}, "c");
        CHECK(calls->texts.size() == 1);
    });
}

TEST_CASE("an embed function that answers wrongly leaves the store as it was") {
    const auto put = [](Home& home) { home.store().put({"p"}, "k", Doc{{"at", "1,0"}}); };
    const auto refused = [&](EmbedFunction embed, const std::string& part) {
        onEach(broken(std::move(embed)), [&](Home& home) {
            CHECK(has(messageOf<InvalidArgumentError>([&] { put(home); }), part));
            CHECK(home.store().search({}).empty());
        });
    };
    using Vectors = std::vector<std::vector<float>>;
    refused(
        [](std::span<const std::string>) {
            return Vectors{{1, 2, 3}};
        },
        "a vector of 3 numbers, and the index has dims 2");
    refused([](std::span<const std::string>) { return Vectors{{1}}; }, "a vector of 1 numbers");
    refused([](std::span<const std::string>) { return Vectors{}; }, "0 vectors for 1 texts");
    refused(
        [](std::span<const std::string>) {
            return Vectors{{1, std::numeric_limits<float>::infinity()}};
        },
        "not finite");
    refused(
        [](std::span<const std::string>) {
            return Vectors{{1, std::numeric_limits<float>::quiet_NaN()}};
        },
        "not finite");
    onEach(broken([](std::span<const std::string>) -> Vectors { throw std::runtime_error("no network"); }),
           [&](Home& home) {
               CHECK_THROWS_WITH_AS(put(home), "no network", std::runtime_error);
               CHECK(home.store().search({}).empty());
           });
}

TEST_CASE("a query or paths to index need a store with an index") {
    onEach([](Home& home) {
        BaseStore& store = home.store();
        CHECK(has(messageOf<InvalidArgumentError>([&] { store.search({.query = "x"}); }), "the store has no index"));
        CHECK(has(messageOf<InvalidArgumentError>([&] { store.put({"p"}, "k", Doc{}, {.index = Names{"at"}}); }),
                  "the store has no index"));
        store.put({"p"}, "k", Doc{}, {.index = Names{}});
        CHECK(store.get({"p"}, "k").has_value());
    });
}

TEST_CASE("an item has a limit of texts") {
    onEach(indexed({"t[*]"}), [](Home& home) {
        home.store().put({"p"}, "k", Doc{{"t", std::vector<std::string>(store_limits::vectors_max, "1,0")}});
        CHECK(home.store().search({.query = "1,0"}).at(0).score == doctest::Approx(1.0));
        const Value more = Doc{{"t", std::vector<std::string>(store_limits::vectors_max + 1, "1,0")}};
        CHECK(
            has(messageOf<InvalidArgumentError>([&] { home.store().put({"p"}, "k2", more); }), "more than 256 texts"));
    });
}

TEST_CASE("paths lead to the texts of a value") {
    const Value value = parseJson(
        R"({"a": {"b": "text", "n": 1, "t": true, "x": null, "l": ["p", "q", {"r": "s"}]}, "m": [["1", "2"], ["3"]]})");
    CHECK(textsAt("a.b", value) == Names{"text"});
    CHECK(textsAt("a.n", value) == Names{"1"});
    CHECK(textsAt("a.t", value) == Names{"true"});
    CHECK(textsAt("a.x", value).empty());
    CHECK(textsAt("a.none.b", value).empty());
    CHECK(textsAt("a.l[0]", value) == Names{"p"});
    CHECK(textsAt("a.l[-1].r", value) == Names{"s"});
    CHECK(textsAt("a.l[-1]", value) == Names{R"({"r":"s"})"});
    CHECK(textsAt("a.l[3]", value).empty());
    CHECK(textsAt("a.l[-4]", value).empty());
    CHECK(textsAt("a.b[0]", value).empty());
    CHECK(textsAt("a.l[*]", value) == Names{"p", "q", R"({"r":"s"})"});
    CHECK(textsAt("a.l[*].r", value) == Names{"s"});
    CHECK(textsAt("m[*][*]", value) == Names{"1", "2", "3"});
    CHECK(textsAt("m[*][1]", value) == Names{"2"});
    CHECK(textsAt("*[0]", value) == Names{R"(["1","2"])"});
    CHECK(textsAt("a.l", value) == Names{R"(["p","q",{"r":"s"}])"});
    CHECK(textsAt("$", parseJson(R"({"a": 1})")) == Names{R"({"a":1})"});
}

TEST_CASE("a path that is none is refused") {
    for (const char* const path : {"", ".", "a.", ".a", "a..b", "a[", "a]", "a[]", "a[x]", "a[1", "a[1]b", "a.$", "$.a",
                                   "{x,y}", "a[+1]", "a[99999999999999999999]", "a[1 ]"}) {
        CAPTURE(path);
        CHECK(has(messageOf<InvalidArgumentError>([&] { (void)stores::parsePath(path); }),
                  "the index path '" + std::string(path) + "'"));
    }
    std::string deep = "a";
    for (int i = 0; i < 64; ++i) deep += ".a";
    CHECK_THROWS_AS((void)stores::parsePath(deep), InvalidArgumentError);
    onEach(indexed({"at"}), [](Home& home) {
        CHECK_THROWS_AS(home.store().put({"p"}, "k", Doc{}, {.index = Names{"a["}}), InvalidArgumentError);
    });
}

}  // namespace
}  // namespace stategraph
