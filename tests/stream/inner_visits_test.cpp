#include <algorithm>
#include <stdexcept>

#include <doctest/doctest.h>

#include "tests/stream/inner_events.hpp"
#include "tests/support/savers.hpp"

// Which visits of graphs inside, and calls of graphs, readers of the log receive with a superstep.
using namespace inner_events;

namespace {

struct Item {
    std::string key = {};
    Strings bar = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("key", &Item::key), sg::channel("bar", &Item::bar, sg::append));
    }
};

}  // namespace

TEST_CASE("a superstep that several runs took, in several processes, is read once, with all that they did inside") {
    savers::onEach([](savers::Store& store) {
        {
            const App app = asking(store.open());
            app.invoke(bar("i"), {.thread_id = "t"});
            const auto waiting = late(app);  // of the superstep nothing but its question
            REQUIRE(waiting.size() == 1);
            CHECK(!waiting.front().durable);
        }
        const App app = asking(store.open());
        sg::StreamHub hub(app);
        auto live = hub.subscribe("t", {.subgraphs = true});
        CHECK(take(live).size() == 1);  // the open question
        app.invoke(Command{.resume = "Ada"}, {.thread_id = "t", .hub = &hub});
        CHECK(texts(late(app)) == updates_of_asking);
        // What this process did is live, the rest comes from the log.
        const auto got = take(live);
        const auto from_log = only(got, [](const Got& each) { return each.durable && each.inside; });
        CHECK(texts(from_log) == Strings(updates_of_asking.begin(), updates_of_asking.begin() + 2));
    });
}

TEST_CASE(
    "new input reports what it takes along; what it drops, and the visit of a task that ran again, are not reported") {
    savers::onEach([](savers::Store& store) {
        const App app = asking(store.open());
        app.invoke(bar("i"), {.thread_id = "t"});
        app.invoke(bar("other"), {.thread_id = "t"});  // drops the question, and takes along what "other" did
        const auto state = app.getState({.thread_id = "t"});
        app.invoke(sg::RESUME, state.config);  // runs the tasks of this one again
        app.invoke(Command{.resume = "Ada"}, {.thread_id = "t"});
        Strings expected{updates_of_asking[0], updates_of_asking[4]};
        expected.insert(expected.end(), updates_of_asking.begin(), updates_of_asking.end());
        CHECK(texts(late(app)) == expected);
    });
}

TEST_CASE("of a log that lives with the thread each superstep reports its own visit, also after a fork") {
    savers::onEach([](savers::Store& store) {
        Graph graph;
        graph.addNode("sub", chain({"s"}).compile({.checkpointer = sg::PER_THREAD}), none, gives);
        graph.addEdge(sg::START, "sub");
        const App app = graph.compile({.checkpointer = store.open()});
        const auto first = app.invoke(bar("1"), {.thread_id = "t"});
        app.invoke(bar("2"), {.thread_id = "t"});
        app.invoke(bar("3"), first.config);  // another branch, in the log after the second
        const std::string visited = R"(sub|updates s {"s":{"bar":["s"]}})";
        CHECK(texts(late(app)) == Strings{visited, R"(updates sub {"sub":{"bar":["=1"]}})", visited,
                                          R"(updates sub {"sub":{"bar":["=2"]}})", visited,
                                          R"(updates sub {"sub":{"bar":["=2"]}})"});
        CHECK(texts(late(app, StreamMode::values)).size() == 9);
    });
}

TEST_CASE("Sends into subgraphs are reported in the order of the Sends, and of logs with keys in that of their keys") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        for (const bool keyed : {false, true}) {
            sg::StateGraph<Item> inner;
            inner.addNode("work", [](const Item& item) -> sg::Update<Item> { return {sg::add(&Item::bar, item.key)}; });
            inner.addEdge(sg::START, "work");
            sg::CompileOptions options;
            if (keyed) options.checkpointer = sg::perThread(&Item::key);
            Graph graph;
            graph.addNode("sub", inner.compile(options));
            const auto sends = [](const State&) {
                std::vector<sg::Send> all;
                for (const char* key : {"z", "yy", "x"}) all.emplace_back("sub", Item{.key = key});
                return all;
            };
            graph.addConditionalEdges(sg::START, sends, {"sub"});
            const App app = graph.compile({.checkpointer = saver});
            app.invoke(bar("i"), {.thread_id = "t"});
            const auto got = late(app);
            const Strings order = keyed ? Strings{"x", "z", "yy"} : Strings{"z", "yy", "x"};  // shorter keys first
            REQUIRE(got.size() == 6);
            for (std::size_t i = 0; i < order.size(); ++i) {
                CHECK(got[i].what == (keyed ? "sub:=" + order[i] : "sub") + "|updates work {\"work\":{\"bar\":[\"" +
                                         order[i] + "\"]}}");
            }
            for (std::size_t i = 0; i < got.size(); ++i) {
                const Strings all = texts(got);
                CHECK(texts(late(app, StreamMode::updates, got[i].position)) ==
                      Strings(all.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.end()));
            }
            saver->deleteThread("t");
        }
    });
}

TEST_CASE("of graphs that nodes call those that ended are reported, after the task's own visit") {
    savers::onEach([](savers::Store& store) {
        const App inner = chain({"in"}).compile();
        Graph failing = chain({"once"});
        failing.addNode("fails", [](const State&) -> Update { throw std::runtime_error("no"); })
            .addEdge("once", "fails");
        const App fails = failing.compile();
        Graph graph;
        graph.addNode("calls", [&](const State&, sg::Runtime& runtime) -> Update {
            try {
                runtime.invoke(fails, bar("x"), "b fails");
            } catch (const std::exception&) {
                // The node continues without it.
            }
            runtime.invoke(inner, bar("x"), "c|second");
            return {sg::add(&State::bar, "=" + std::to_string(runtime.invoke(inner, bar("x"), "a").bar.size()))};
        });
        graph.addNode("plain", appends("plain")).addEdge(sg::START, "calls").addEdge("calls", "plain");
        const auto saver = store.open();
        const App app = graph.compile({.checkpointer = saver});
        app.invoke(bar("i"), {.thread_id = "t"});
        const Strings wanted = {
            R"(calls|updates in {"in":{"bar":["in"]}})", R"(calls|updates in {"in":{"bar":["in"]}})",
            R"(updates calls {"calls":{"bar":["=2"]}})", R"(updates plain {"plain":{"bar":["plain"]}})"};
        const auto got = late(app);
        CHECK(texts(got) == wanted);
        CHECK(texts(late(saver)) == wanted);
        for (std::size_t i = 0; i < got.size(); ++i) {
            CHECK(texts(late(app, StreamMode::updates, got[i].position)) ==
                  Strings(wanted.begin() + static_cast<std::ptrdiff_t>(i) + 1, wanted.end()));
        }
    });
}

TEST_CASE("what was pruned of graphs inside is skipped, and places within it stay valid") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const App app = nested(saver);
        app.invoke(bar("i"), {.thread_id = "t"});
        app.invoke(bar("again"), {.thread_id = "t"});
        const auto all = late(app, durable_modes);
        saver->prune({.thread_id = "t", .keep_last = 3});
        const auto kept = late(app, durable_modes);
        REQUIRE(!kept.empty());
        REQUIRE(kept.size() < all.size());
        for (std::size_t i = 0; i < all.size(); ++i) {
            // From any place of before, pruned or not: what is left of what came after it.
            const Strings rest = wholes(late(app, durable_modes, all[i].position));
            CHECK(rest == wholes(only(kept, [&](const Got& got) { return got.position > all[i].position; })));
        }
        const auto whole = wholes(all);
        for (const Got& got : kept) CHECK(std::find(whole.begin(), whole.end(), got.whole) != whole.end());
    });
}

TEST_CASE("graphs inside without a log, and runs with durability exit, report nothing durable of the inside") {
    savers::onEach([](savers::Store& store) {
        Graph graph;
        graph.addNode("sub", chain({"s"}).compile({.checkpointer = sg::NO_CHECKPOINTER}), none, gives);
        graph.addEdge(sg::START, "sub");
        const auto saver = store.open();
        const App app = graph.compile({.checkpointer = saver});
        app.invoke(bar("i"), {.thread_id = "t"});
        CHECK(texts(late(app)) == Strings{R"(updates sub {"sub":{"bar":["=1"]}})"});
        CHECK(texts(late(saver)) == texts(late(app)));
        saver->deleteThread("t");
        const App other = nested(saver);
        other.invoke(bar("i"), {.thread_id = "t", .durability = sg::Durability::exit});
        const auto got = late(other, durable_modes);
        CHECK(only(got, [](const Got& each) { return each.inside; }).empty());
    });
}

TEST_CASE("an edit of a past task's log is no event of its superstep") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const App app = asking(saver);
        app.invoke(bar("i"), {.thread_id = "t"});
        const auto state = app.getState({.thread_id = "t"}, {.subgraphs = true});
        REQUIRE(state.tasks.size() == 2);
        const sg::Config inside = *state.tasks[1].state_config;
        app.invoke(Command{.resume = "Ada"}, {.thread_id = "t"});
        const auto before = wholes(late(app, durable_modes));
        app.updateState(inside, Update{sg::add(&State::bar, std::string("edited"))}, {.as_node = "after"});
        CHECK(wholes(late(app, durable_modes)) == before);
    });
}
