#include <algorithm>
#include <functional>

#include <doctest/doctest.h>

#include "tests/stream/inner_events.hpp"
#include "tests/support/savers.hpp"

// What subscribers read in the log of graphs inside: everything once, in an order that depends on nothing but the log.
using namespace inner_events;

TEST_CASE("a late reader receives what graphs inside did before the superstep's own events, in the order of tasks") {
    savers::onEach([](savers::Store& store) {
        {
            const App app = nested(store.open());
            app.invoke(bar("i"), {.thread_id = "t"});
        }
        const App app = nested(store.open());  // another process
        CHECK(texts(late(app)) ==
              Strings{R"(b|updates m1 {"m1":{"bar":["m1"]}})", R"(b|leaf|updates l1 {"l1":{"bar":["l1"]}})",
                      R"(b|leaf|updates l2 {"l2":{"bar":["l2"]}})", R"(b|updates leaf {"leaf":{"bar":["=2"]}})",
                      R"(b|updates m2 {"m2":{"bar":["m2"]}})", R"(c|updates c1 {"c1":{"bar":["c1"]}})",
                      R"(updates a {"a":{"bar":["a"]}})", R"(updates b {"b":{"bar":["=3"]}})",
                      R"(updates c {"c":{"bar":["=1"]}})", R"(updates end {"end":{"bar":["end"]}})"});
        const auto values = texts(late(app, StreamMode::values));
        REQUIRE(values.size() == 9);
        CHECK(values[2] == R"(b|leaf|values  {"n":0,"bar":["l1"]})");
        // A subscriber without subgraphs gets only the root's events, with the positions that they always had.
        sg::StreamHub hub(app);
        auto root = hub.subscribe("t", {.from = sg::StreamPosition(), .modes = durable_modes});
        const auto of_root = take(root);
        const auto without = only(late(app, durable_modes), [](const Got& got) { return !got.inside; });
        CHECK(wholes(of_root) == wholes(without));
        for (std::size_t i = 0; i < of_root.size(); ++i) CHECK((of_root[i].position == without[i].position));
    });
}

TEST_CASE("events of graphs inside have the namespace, the step and the data that the run's own stream gave them") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const App app = nested(saver);
        Strings told;
        app.stream(bar("i"), {.thread_id = "t"}, {.modes = durable_modes, .subgraphs = true},
                   [&](const sg::StreamEvent& event) { told.push_back(std::to_string(event.step) + toJson(event)); });
        Strings read = wholes(late(app, durable_modes));
        std::sort(read.begin(), read.end());
        std::sort(told.begin(), told.end());
        CHECK(read == told);
        // A hub that has no graph says the same: nothing here is kept from the graph around.
        Strings alone = wholes(late(saver, durable_modes));
        std::sort(alone.begin(), alone.end());
        CHECK(alone == told);
    });
}

TEST_CASE("a reader that begins again from any event of a graph inside receives each one after it exactly once") {
    savers::onEach([](savers::Store& store) {
        std::vector<Got> all;
        {
            const App app = nested(store.open());
            app.invoke(bar("i"), {.thread_id = "t"});
            app.invoke(bar("again"), {.thread_id = "t"});
            all = late(app, durable_modes);
        }
        REQUIRE(all.size() > 40);
        const Strings whole = wholes(all);
        const App app = nested(store.open());
        for (std::size_t i = 0; i < all.size(); ++i) {
            CAPTURE(all[i].position.toString());
            if (i > 0) CHECK((all[i - 1].position < all[i].position));
            CHECK(all[i].durable);
            const auto at = sg::StreamPosition::parse(all[i].position.toString());
            CHECK((at == all[i].position));
            const Strings rest = wholes(late(app, durable_modes, at));
            CHECK(rest == Strings(whole.begin() + static_cast<std::ptrdiff_t>(i) + 1, whole.end()));
        }
        // The place of a subset of the modes is the same.
        for (const Got& got : late(app)) {
            const auto same = [&](const Got& each) { return each.position == got.position; };
            CHECK(std::find_if(all.begin(), all.end(), same)->whole == got.whole);
        }
    });
}

TEST_CASE("a subscriber gets each event of a graph inside once: as it happens, and not again from the log") {
    savers::onEach([](savers::Store& store) {
        const App app = nested(store.open());
        sg::StreamHub hub(app);
        auto live = hub.subscribe("t", {.modes = durable_modes, .subgraphs = true});
        app.invoke(bar("i"), {.thread_id = "t", .hub = &hub});
        const auto got = take(live);
        for (const Got& each : got) CHECK(each.durable == !each.inside);
        Strings received = wholes(got);
        Strings read = wholes(late(app, durable_modes));
        std::sort(received.begin(), received.end());
        std::sort(read.begin(), read.end());
        CHECK(received == read);
        CHECK(live.dropped() == 0);
    });
}

TEST_CASE("events of graphs inside that were dropped, or happened before a subscription began, come from the log") {
    savers::onEach([](savers::Store& store) {
        std::function<void()> halfway = [] {};
        Graph inner = chain({"one"});
        inner.addNode("two", [&](const State&) -> Update {
            halfway();
            return {sg::add(&State::bar, std::string("two"))};
        });
        inner.addNode("three", appends("three")).addEdge("one", "two").addEdge("two", "three");
        Graph graph;
        graph.addNode("sub", inner.compile(), none, gives).addEdge(sg::START, "sub");
        const App app = graph.compile({.checkpointer = store.open()});
        sg::StreamHub hub(app);
        auto slow = hub.subscribe("t", {.subgraphs = true, .capacity = 1});
        std::optional<sg::Subscription> joins;
        halfway = [&] { joins.emplace(hub.subscribe("t", {.subgraphs = true})); };
        app.invoke(bar("i"), {.thread_id = "t", .hub = &hub});
        const Strings all = texts(late(app));
        REQUIRE(all.size() == 4);
        const auto slowly = take(slow);
        CHECK(slow.dropped() == 2);
        CHECK(texts(slowly) == all);
        CHECK(texts(only(slowly, [](const Got& got) { return got.durable; })) == Strings(all.begin() + 1, all.end()));
        Strings joined = texts(take(*joins));
        REQUIRE(joined.size() == 4);
        CHECK(joined[2] == all[0]);  // what it missed comes with the commit
        CHECK(joined[3] == all[3]);
        std::sort(joined.begin(), joined.end());
        Strings sorted = all;
        std::sort(sorted.begin(), sorted.end());
        CHECK(joined == sorted);
    });
}

TEST_CASE("a result that a resumed run emits again does not count as that of another task of its node") {
    for (std::size_t capacity = 1; capacity <= 12; ++capacity) {
        CAPTURE(capacity);
        Graph inner;
        inner.addNode("w", [](const int& n, sg::Runtime& runtime) -> Update {
            if (n == 2) return bar(sg::interrupt<std::string>(runtime, "name?"));
            return bar("one");
        });
        inner.addConditionalEdges(sg::START,
                                  [](const State&) {
                                      return std::vector<sg::Send>{sg::Send("w", 1), sg::Send("w", 2)};
                                  },
                                  {"w"});
        Graph graph;
        graph.addNode("sub", inner.compile(), none, gives).addEdge(sg::START, "sub");
        const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
        sg::StreamHub hub(app);
        auto slow = hub.subscribe("t", {.modes = StreamMode::updates, .subgraphs = true, .capacity = capacity});
        const sg::RunConfig config{.thread_id = "t", .hub = &hub};
        const auto asked = app.invoke(bar("i"), config);
        REQUIRE(asked.interrupts.size() == 1);
        app.invoke(sg::Command<>{.resume = sg::Value("two")}, config);
        const Strings got = texts(take(slow));
        for (const char* const each : {R"("one")", R"("two")"})
            CHECK_MESSAGE(
                std::ranges::any_of(got, [&](const std::string& text) { return text.find(each) != text.npos; }), each);
    }
}

TEST_CASE("a position inside is text and back, in the order of events, and what is no position is refused") {
    using Inside = sg::StreamPosition::Inside;
    const sg::StreamPosition place(7, std::vector<Inside>{{0, 0, 5}, {12, 3, 6}}, 2);
    CHECK(place.toString() == "7/0.0.5/12.3.6-2");
    CHECK((sg::StreamPosition::parse("7/0.0.5/12.3.6-2") == place));
    CHECK((sg::StreamPosition::parse("7/0.0.5") == sg::StreamPosition(7, std::vector<Inside>{{0, 0, 5}})));
    const char* const ascending[] = {"6",       "7/0.0.5/12.3.6-2", "7/0.0.5/12.3.6", "7/0.0.5/13.0.6-0", "7/0.0.5-0",
                                     "7/0.0.5", "7/0.0.6-0",        "7/0.1.2",        "7/1.0.1-9",        "7-0",
                                     "7",       "8/0.0.1"};
    for (std::size_t i = 0; i < std::size(ascending); ++i) {
        for (std::size_t j = 0; j < std::size(ascending); ++j) {
            const auto order = sg::StreamPosition::parse(ascending[i]) <=> sg::StreamPosition::parse(ascending[j]);
            CHECK((order == (i <=> j)));
        }
    }
    for (const char* bad : {"7/", "7/1", "7/1.2", "7/1.2.", "7/1.2.3/", "7/-1.2.3", "7/1.2.-3", "7/1.2.3-", "7/1.2.3.4",
                            "/1.2.3", "7/4294967296.0.1", "7/0.0.99999999999999999999", "7 /1.2.3"}) {
        CHECK_THROWS_AS(sg::StreamPosition::parse(bad), sg::InvalidArgumentError);
    }
    std::string deep = "7";
    for (std::size_t i = 0; i < sg::StreamPosition::depth_max; ++i) deep += "/0.0.1";
    CHECK(sg::StreamPosition::parse(deep).inside().size() == sg::StreamPosition::depth_max);
    CHECK_THROWS_AS(sg::StreamPosition::parse(deep + "/0.0.1"), sg::InvalidArgumentError);
    CHECK_THROWS_AS(sg::StreamPosition(7, std::vector<Inside>(sg::StreamPosition::depth_max + 1)),
                    sg::InvalidArgumentError);
}
