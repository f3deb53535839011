#include <chrono>
#include <memory>
#include <random>
#include <thread>

#include <doctest/doctest.h>

#include <stategraph/fork.hpp>
#include <stategraph/raw_edit.hpp>
#include <stategraph/stream_hub.hpp>

#include "tests/support/fixed_ids.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"
#include "tests/support/seed.hpp"

// Subscribers of a thread: which events they receive, in which order, and each exactly once.
using namespace graphs;
using namespace std::chrono_literals;
using sg::OnFull;
using sg::StreamMode;

namespace {

const sg::StreamModes durable_modes = {StreamMode::values, StreamMode::updates, StreamMode::checkpoints};

/// Two nodes at once, one that asks, and an end.
App askingGraph(const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    Graph graph;
    graph.addNode("a", appends("a")).addNode("b", appends("b")).addNode("end", appends("end"));
    graph.addNode("ask", [](const State&, sg::Runtime& runtime) -> Update {
        return {sg::add(&State::bar, sg::interrupt<std::string>(runtime, "name?"))};
    });
    graph.addEdge(sg::START, "a").addEdge(sg::START, "b").addEdge({"a", "b"}, "ask").addEdge("ask", "end");
    return graph.compile({.checkpointer = saver});
}

struct Got {
    std::string what;
    sg::StreamPosition position;
    bool durable;
};

std::string brief(const sg::HubEvent& event) {
    return std::string(toString(event.mode)) + " " + event.node + " " + event.data.toJson();
}

/// Takes all events that are available without waiting.
std::vector<Got> take(sg::Subscription& subscription) {
    std::vector<Got> all;
    while (const auto event = subscription.next(0ms)) all.push_back({brief(*event), event->position, event->durable});
    return all;
}
Strings texts(const std::vector<Got>& all) {
    Strings what;
    for (const Got& each : all) what.push_back(each.what);
    return what;
}
Strings durable(const std::vector<Got>& all) {
    Strings what;
    for (const Got& each : all) {
        if (each.durable) what.push_back(each.what);
    }
    return what;
}

}  // namespace

TEST_CASE("a subscriber receives the updates and values of a run, and its open question once") {
    savers::onEach([](savers::Store& store) {
        const App app = askingGraph(store.open());
        sg::StreamHub hub(app);
        auto subscription = hub.subscribe("t", {.modes = {StreamMode::values, StreamMode::updates}});
        app.invoke(bar("i"), {.thread_id = "t", .hub = &hub});
        CHECK(texts(take(subscription)) == Strings{R"(values  {"n":0,"bar":["i"]})", R"(updates a {"a":{"bar":["a"]}})",
                                                   R"(updates b {"b":{"bar":["b"]}})",
                                                   R"(values  {"n":0,"bar":["i","a","b"]})",
                                                   R"(updates ask {"__interrupt__":["name?"]})"});
        CHECK(take(subscription).empty());
        app.invoke(Command{.resume = "Ada"}, {.thread_id = "t", .hub = &hub});
        CHECK(texts(take(subscription)) ==
              Strings{R"(updates ask {"ask":{"bar":["Ada"]}})", R"(values  {"n":0,"bar":["i","a","b","Ada"]})",
                      R"(updates end {"end":{"bar":["end"]}})", R"(values  {"n":0,"bar":["i","a","b","Ada","end"]})"});
        CHECK(hub.subscribers() == 1);
    });
}

TEST_CASE(
    "a subscriber that begins again from any event gets each later one exactly once, across interrupt, resume and "
    "restart") {
    savers::onEach([](savers::Store& store) {
        std::vector<Got> first;
        {
            const App app = askingGraph(store.open());
            sg::StreamHub hub(app);
            auto live = hub.subscribe("t", {.from = sg::StreamPosition(), .modes = durable_modes});
            app.invoke(bar("i"), {.thread_id = "t", .hub = &hub});
            first = take(live);
        }
        // Stands for another process: a new saver object, a new graph, a new hub.
        const App app = askingGraph(store.open());
        sg::StreamHub hub(app);
        std::vector<sg::Subscription> early;  // they follow the rest of the thread
        for (const Got& got : first)
            early.push_back(hub.subscribe("t", {.from = got.position, .modes = durable_modes}));
        app.invoke(Command{.resume = "Ada"}, {.thread_id = "t", .hub = &hub});

        auto all_over = hub.subscribe("t", {.from = sg::StreamPosition(), .modes = durable_modes});
        const std::vector<Got> everything = take(all_over);
        const Strings all = durable(everything);
        REQUIRE(all.size() == everything.size());  // no question is open any longer
        REQUIRE(all.size() > durable(first).size());
        CHECK(Strings(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(durable(first).size())) == durable(first));
        for (std::size_t i = 0; i < everything.size(); ++i) {
            if (i > 0) CHECK((everything[i - 1].position < everything[i].position));
            auto again = hub.subscribe(
                "t", {.from = sg::StreamPosition::parse(everything[i].position.toString()), .modes = durable_modes});
            CHECK(texts(take(again)) == Strings(all.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.end()));
        }
        std::size_t told = 0;
        for (std::size_t i = 0; i < first.size(); ++i) {
            told += first[i].durable;
            CHECK(durable(take(early[i])) == Strings(all.begin() + static_cast<std::ptrdiff_t>(told), all.end()));
        }
    });
}

TEST_CASE("random disconnections while runs continue lose nothing and double nothing") {
    savers::onEach([](savers::Store& store) {
        const unsigned seed = tests::seed();
        INFO("seed " << seed);
        std::mt19937 random(seed);
        Graph graph;
        graph.addNode(
            "a", [](const State& state) -> Update { return {sg::add(&State::bar, std::to_string(state.bar.size()))}; });
        graph.addEdge(sg::START, "a").addConditionalEdges("a", [](const State& state) {
            return state.bar.size() % 40 != 0 ? "a" : sg::END;
        });
        const App app = graph.compile({.checkpointer = store.open()});
        sg::StreamHub hub(app);
        std::thread runs([&] {
            for (int i = 0; i < 3; ++i) app.invoke(bar("in"), {.thread_id = "t", .recursion_limit = 100, .hub = &hub});
        });
        Strings got;
        sg::StreamPosition from;
        for (bool over = false; !over;) {
            auto subscription = hub.subscribe("t", {.from = from, .modes = {StreamMode::updates, StreamMode::values}});
            for (unsigned left = random() % 7; left > 0 && !over; --left) {
                const auto event = subscription.next(5min);
                REQUIRE(event);
                got.push_back(brief(*event));
                from = event->position;
                over = event->data.toJson().find("\"119\"") != std::string::npos && event->mode == StreamMode::values;
            }
        }
        runs.join();
        auto all_over =
            hub.subscribe("t", {.from = sg::StreamPosition(), .modes = {StreamMode::updates, StreamMode::values}});
        const Strings all = texts(take(all_over));
        CHECK(got == all);
        CHECK(all.size() == 117 + 120);  // an update for each task; values also for each input
    });
}

TEST_CASE("a position is the checkpoint's number and survives a prune; what was pruned is not reported") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        Graph graph;
        graph.addNode("a", appends("a")).addNode("b", appends("b")).addNode("c", appends("c"));
        graph.addEdge(sg::START, "a").addEdge("a", "b").addEdge("b", "c");
        const App app = graph.compile({.checkpointer = saver, .ids = FixedIds::make()});
        const auto result = app.invoke(bar("i"), {.thread_id = "t"});
        sg::StreamHub hub(app);
        auto before = hub.subscribe("t", {.from = sg::StreamPosition(), .modes = durable_modes});
        const auto all = take(before);
        CHECK(all.back().position.sequence == sg::StreamPosition(result.config.checkpoint_id).sequence);
        saver->prune({.thread_id = "t", .keep_last = 2});
        auto after = hub.subscribe("t", {.from = sg::StreamPosition(), .modes = durable_modes});
        const auto kept = take(after);
        REQUIRE(kept.size() >= 3);
        REQUIRE(kept.size() < all.size());
        for (std::size_t i = 1; i <= 3; ++i) {
            CHECK(kept[kept.size() - i].what == all[all.size() - i].what);
            CHECK((kept[kept.size() - i].position == all[all.size() - i].position));
        }
        // With a clock that stands still, ids are as close as possible: the id after n is n + 1.
        auto from_n = hub.subscribe("t", {.from = all.back().position.sequence - 1, .modes = durable_modes});
        for (const Got& got : take(from_n)) CHECK(got.position.sequence == all.back().position.sequence);
    });
}

TEST_CASE("several subscribers get the same, each at its own pace, and none without subscribing to the thread") {
    savers::onEach([](savers::Store& store) {
        const App app = askingGraph(store.open());
        sg::StreamHub hub(app);
        auto fast = hub.subscribe("t", {.modes = durable_modes});
        auto slow = hub.subscribe("t", {.modes = durable_modes, .capacity = 1});
        auto other = hub.subscribe("u", {.modes = durable_modes});
        app.invoke(bar("i"), {.thread_id = "t", .hub = &hub});
        const Strings at_once = texts(take(fast));
        app.invoke(Command{.resume = "Ada"}, {.thread_id = "t", .hub = &hub});
        Strings all = durable(take(fast));
        const Strings slowly = texts(take(slow));
        // When it reads the log, the question is no longer open.
        CHECK(slowly.size() == at_once.size() - 1 + all.size());
        CHECK(take(other).empty());
    });
}

TEST_CASE("a fork's events follow those of the branch it left, by the order of the log") {
    savers::onEach([](savers::Store& store) {
        const App app = askingGraph(store.open());
        sg::StreamHub hub(app);
        app.invoke(bar("i"), {.thread_id = "t"});
        const auto done = app.invoke(Command{.resume = "Ada"}, {.thread_id = "t"});
        auto follows = hub.subscribe("t", {.modes = StreamMode::updates});
        std::vector<sg::Config> configs;
        for (const auto& snapshot : app.getStateHistory({.thread_id = "t"})) {
            if (snapshot.next == Strings{"ask"}) configs.push_back(snapshot.config);
        }
        REQUIRE(configs.size() == 1);
        sg::RunConfig again = configs.front();
        again.hub = &hub;
        CHECK((app.invoke(sg::RESUME, again).status == sg::Status::interrupted));
        CHECK(texts(take(follows)) == Strings{R"(updates ask {"__interrupt__":["name?"]})"});
        app.invoke(Command{.resume = "Bob"}, {.thread_id = "t", .hub = &hub});
        CHECK(durable(take(follows)) ==
              Strings{R"(updates ask {"ask":{"bar":["Bob"]}})", R"(updates end {"end":{"bar":["end"]}})"});
    });
}

TEST_CASE("a fork reports no values, whether the log holds it as a change or a prune has stored it whole") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const App app = askingGraph(saver);
        sg::StreamHub hub(app);
        const auto asked = app.invoke(bar("i"), {.thread_id = "t"}).config;
        app.invoke(Command{.resume = "Ada"}, {.thread_id = "t"});
        const sg::StreamPosition end(app.getState({.thread_id = "t"}).config.checkpoint_id);
        (void)sg::fork(*saver, asked);
        const auto read = [&](StreamMode mode) {
            auto follows = hub.subscribe("t", {.from = end, .modes = mode, .until = sg::Until::idle});
            return texts(take(follows)).size();
        };
        for (const bool is_whole : {false, true}) {
            CAPTURE(is_whole);
            if (is_whole) saver->prune({.thread_id = "t", .keep_last = 1});
            CHECK(read(StreamMode::checkpoints) == 1);
            CHECK(read(StreamMode::values) == 0);
        }
        (void)sg::editRaw(*saver, {.thread_id = "t"}, {{"bar", sg::Value(Strings{"raw"})}});
        CHECK(read(StreamMode::values) == 1);
        saver->prune({.thread_id = "t", .keep_last = 1});
        CHECK(read(StreamMode::values) == 1);
    });
}

TEST_CASE("an edit, and another process's run, are seen after notify or by polling") {
    savers::onEach([](savers::Store& store) {
        const App app = askingGraph(store.open());
        sg::StreamHub hub(app);
        app.invoke(bar("i"), {.thread_id = "t"});
        auto told = hub.subscribe("t", {.modes = StreamMode::values});
        auto polls = hub.subscribe("t", {.modes = StreamMode::values, .poll = 1ms});
        take(told);
        take(polls);
        app.updateState({.thread_id = "t"}, {sg::set(&State::foo, std::string("edited"))}, {.as_node = "a"});
        CHECK(take(told).empty());
        const auto polled = polls.next(5min);
        REQUIRE(polled);
        CHECK(contains(polled->data.toJson(), "edited"));
        hub.notify("t");
        REQUIRE(take(told).size() == 1);
    });
}

TEST_CASE("with durability exit, what the run stored is reported, at its end") {
    savers::onEach([](savers::Store& store) {
        const App app = askingGraph(store.open());
        sg::StreamHub hub(app);
        auto live = hub.subscribe("t", {.modes = durable_modes});
        app.invoke(bar("i"), {.thread_id = "t", .durability = sg::Durability::exit, .hub = &hub});
        const auto got = take(live);
        REQUIRE(got.size() == 3);
        CHECK(got[0].what == R"(values  {"n":0,"bar":["i","a","b"]})");
        CHECK(got[1].what.starts_with("checkpoints"));
        CHECK(got[2].what == R"(updates ask {"__interrupt__":["name?"]})");
        auto again = hub.subscribe("t", {.from = sg::StreamPosition(), .modes = durable_modes});
        CHECK(texts(take(again)) == texts(got));
    });
}

TEST_CASE("custom events come between the durable ones where they happened, and are not reported again") {
    savers::onEach([](savers::Store& store) {
        Graph graph;
        for (const char* name : {"a", "b"}) {
            graph.addNode(name, [name = std::string(name)](const State&, sg::Runtime& runtime) -> Update {
                runtime.write("in " + name);
                return bar(name);
            });
        }
        graph.addEdge(sg::START, "a").addEdge("a", "b");
        const App app = graph.compile({.checkpointer = store.open()});
        sg::StreamHub hub(app);
        auto live = hub.subscribe("t", {.modes = {StreamMode::updates, StreamMode::custom}});
        app.invoke(bar("i"), {.thread_id = "t", .hub = &hub});
        const auto got = take(live);
        CHECK(texts(got) == Strings{"custom a \"in a\"", R"(updates a {"a":{"bar":["a"]}})", "custom b \"in b\"",
                                    R"(updates b {"b":{"bar":["b"]}})"});
        REQUIRE(got.size() == 4);
        CHECK(!got[2].durable);
        CHECK((got[2].position.sequence == got[1].position.sequence));
        auto again = hub.subscribe("t", {.from = got[2].position, .modes = {StreamMode::updates, StreamMode::custom}});
        CHECK(texts(take(again)) == Strings{R"(updates b {"b":{"bar":["b"]}})"});
    });
}

TEST_CASE("without a saver all modes are reported live, and a place in the past is refused") {
    Graph graph;
    graph.addNode("a", appends("a")).addEdge(sg::START, "a");
    const App app = graph.compile();
    sg::StreamHub hub(app);
    auto live = hub.subscribe("t", {.modes = {StreamMode::updates, StreamMode::values}});
    app.invoke(bar("i"), {.thread_id = "t", .hub = &hub});
    const auto got = take(live);
    CHECK(texts(got) == Strings{R"(values  {"n":0,"bar":["i"]})", R"(updates a {"a":{"bar":["a"]}})",
                                R"(values  {"n":0,"bar":["i","a"]})"});
    CHECK(durable(got).empty());
    CHECK_THROWS_AS(hub.subscribe("t", {.from = sg::StreamPosition()}), sg::MissingCheckpointerError);
    CHECK_THROWS_AS(app.invoke(bar("i"), {.hub = &hub}), sg::InvalidArgumentError);
}

TEST_CASE("subgraphs' events are reported where they are asked for, as ephemeral ones") {
    Graph inner;
    inner.addNode("x", appends("x")).addEdge(sg::START, "x");
    Graph graph;
    graph.addNode("sub", inner.compile()).addEdge(sg::START, "sub");
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    sg::StreamHub hub(app);
    auto all = hub.subscribe("t", {.modes = StreamMode::updates, .subgraphs = true});
    auto root = hub.subscribe("t", {.modes = StreamMode::updates});
    app.invoke(bar("i"), {.thread_id = "t", .hub = &hub});
    const auto got = take(all);
    REQUIRE(got.size() == 2);
    CHECK(got[0].what == R"(updates x {"x":{"bar":["x"]}})");
    CHECK(!got[0].durable);
    CHECK(got[1].durable);
    CHECK(take(root).size() == 1);
}

TEST_CASE("when a hub is destroyed, its subscriptions give what there is and end, also while a reader waits") {
    const auto app = askingGraph(std::make_shared<sg::MemorySaver>());
    auto hub = std::make_unique<sg::StreamHub>(app);
    auto reads_later = hub->subscribe("t", {.modes = StreamMode::values});
    auto waits = hub->subscribe("t", {.modes = StreamMode::values});
    auto polls = hub->subscribe("t", {.modes = StreamMode::values, .poll = 1ms});
    app.invoke({}, {.thread_id = "t", .hub = hub.get()});
    Strings received;
    std::thread reader([&] {
        while (const auto event = waits.next()) received.push_back(brief(*event));
    });
    hub.reset();
    reader.join();
    CHECK(waits.isClosed());
    CHECK(received.size() > 1);
    CHECK(texts(take(reads_later)) == received);
    CHECK(reads_later.isClosed());
    CHECK(texts(take(polls)) == received);
    CHECK_FALSE(polls.isClosed());
}

TEST_CASE("a hub refuses what it cannot serve") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const App app = askingGraph(saver);
    sg::StreamHub hub(app);
    CHECK_THROWS_AS(hub.subscribe(sg::ThreadId()), sg::InvalidArgumentError);
    CHECK_THROWS_AS(hub.subscribe("t", {.capacity = 0}), sg::InvalidArgumentError);
    CHECK_THROWS_AS(hub.subscribe("t", {.capacity_bytes = 0}), sg::InvalidArgumentError);
    CHECK_THROWS_AS(hub.subscribe("t", {.poll = -1ms}), sg::InvalidArgumentError);
    const App other = askingGraph(std::make_shared<sg::MemorySaver>());
    CHECK_THROWS_AS(other.invoke(bar("i"), {.thread_id = "t", .hub = &hub}), sg::InvalidArgumentError);
    const App twin = askingGraph(saver);  // the same graph, compiled again
    CHECK((twin.invoke(bar("i"), {.thread_id = "t", .hub = &hub}).status == sg::Status::interrupted));
    for (const char* bad : {"", "x", "-1", "5-", "5-x", "5-1x", "99999999999999999999", "5 "}) {
        CHECK_THROWS_AS(sg::StreamPosition::parse(bad), sg::InvalidArgumentError);
    }
    CHECK((sg::StreamPosition::parse("5-7") == sg::StreamPosition(5, 7)));
    CHECK((sg::StreamPosition::parse("5") == sg::StreamPosition(5)));
}
