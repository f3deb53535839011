// NOT WITH: sanitize=thread
#include <doctest/doctest.h>

#include <stategraph/codec_std.hpp>
#include <stategraph/json.hpp>

#include "tests/run/cached_nodes.hpp"
#include "tests/support/caches.hpp"
#include "tests/support/graphs.hpp"

// Cache entries that are damaged or do not fit, and caches that fail.
using namespace graphs;
using namespace std::chrono_literals;
using namespace cached_nodes;

TEST_CASE("a damaged entry counts as none, is removed, and is made anew") {
    Log log;
    const auto cache = std::make_shared<caches::MeddlingCache>();
    const App app = line(log, {.cache = {}}).compile({.cache = cache});
    app.invoke(foo("x"));
    REQUIRE(cache->entries().size() == 1);
    const auto damages = {+[](std::string& value) { value.back() = static_cast<char>(value.back() ^ 1); },
                          +[](std::string& value) { value.resize(value.size() / 2); },
                          +[](std::string& value) { value.clear(); }, +[](std::string& value) { value += "more"; },
                          +[](std::string& value) { value.assign(100, '\xFF'); }};
    int runs = 1;
    for (const auto damage : damages) {
        CAPTURE(runs);
        cache->damage = damage;
        CHECK(app.invoke(foo("x")).values.bar == Strings{"a", "after"});
        CHECK(log.count("a") == static_cast<std::size_t>(++runs));
        CHECK(cache->removed() == runs - 1);
        cache->damage = nullptr;
        app.invoke(foo("x"));
        CHECK(log.count("a") == static_cast<std::size_t>(runs));
    }
}

TEST_CASE("no byte of an entry can be changed without its being found out") {
    Log log;
    const auto cache = std::make_shared<caches::MeddlingCache>();
    const App app = line(log, {.cache = {}}).compile({.cache = cache});
    app.invoke(foo("x"));
    const std::size_t size = cache->entries().front().value.size();
    static std::size_t at = 0;
    for (at = 0; at < size; ++at) {
        cache->damage = [](std::string& value) { value[at] = static_cast<char>(value[at] ^ 0x10); };
        REQUIRE(app.invoke(foo("x")).values.bar == Strings{"a", "after"});
        REQUIRE(log.count("a") == at + 2);
    }
}

TEST_CASE("an entry of another input under the same hash is not taken") {
    Log log;
    const auto cache = std::make_shared<caches::MeddlingCache>();
    const App app =
        line(log, {.cache = {.key = [](const State& state) { return state.foo; }}}).compile({.cache = cache});
    app.invoke(foo("x"));
    app.invoke(foo("y"));
    const auto entries = cache->entries();
    REQUIRE(entries.size() == 2);
    cache->set(entries[0].ns, entries[0].key, entries[1].value, {});  // as if x and y had the same hash
    app.invoke(foo("x"));
    CHECK(log.count("a") == 3);
}

TEST_CASE("a cache that fails never fails a run") {
    Log log;
    const auto cache = std::make_shared<caches::MeddlingCache>();
    const App app = line(log, {.cache = {}}).compile({.cache = cache});
    cache->fails = true;
    for (int i = 0; i < 2; ++i) CHECK(app.invoke(foo("x")).values.bar == Strings{"a", "after"});
    CHECK(log.count("a") == 2);
}

TEST_CASE("an entry that leads to a node which is gone, or takes another payload now, counts as none") {
    Log log;
    const auto cache = newCache();
    const auto make = [&](bool sends_text) {
        Graph graph;
        graph.addNode("a",
                      [&log, sends_text](const State&) -> Command {
                          log.add("a");
                          return {.go_to = {sends_text ? sg::Send("w", "seven") : sg::Send("w", 7)}};
                      },
                      {.cache = {}, .ends = {"w"}});
        if (sends_text) {
            graph.addNode("w", [](const std::string& text) -> Update { return bar(text); });
        } else {
            graph.addNode("w", [](const int& number) -> Update { return bar(std::to_string(number)); });
        }
        graph.addEdge(sg::START, "a");
        return graph.compile({.cache = cache});
    };
    CHECK(make(false).invoke(foo("x")).values.bar == Strings{"7"});
    CHECK(make(true).invoke(foo("x")).values.bar == Strings{"seven"});
    CHECK(log.count("a") == 2);
}
