#include <chrono>
#include <stdexcept>

#include <doctest/doctest.h>

#include <stategraph/codec_std.hpp>
#include <stategraph/json.hpp>

#include "tests/run/cached_nodes.hpp"
#include "tests/support/caches.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// Nodes whose results are reused for tasks with the same input.
using namespace graphs;
using namespace std::chrono_literals;
using namespace cached_nodes;

TEST_CASE("a cached node runs once for an input, and its result is used by every run and thread") {
    caches::onEach([](const std::shared_ptr<sg::BaseCache>& cache, ManualClock&) {
        savers::onEach([&](savers::Store& store) {
            cache->clear();
            for (const auto durability : {sg::Durability::async, sg::Durability::sync, sg::Durability::exit}) {
                Log log;
                const App app = line(log, {.cache = {}}).compile({.checkpointer = store.open(), .cache = cache});
                const std::string prefix = std::to_string(static_cast<int>(durability));
                const auto run = [&](const std::string& thread, const std::string& text) {
                    const auto result = app.invoke(foo(text), {.thread_id = prefix + thread, .durability = durability});
                    CHECK(result.values.bar == Strings{"a", "after"});
                    CHECK(app.getState({.thread_id = prefix + thread}).values.bar == Strings{"a", "after"});
                };
                run("1", prefix + "x");
                run("2", prefix + "x");
                run("3", prefix + "y");
                CHECK(log.take() == Strings{"a", "after", "after", "a", "after"});
            }
        });
    });
}

TEST_CASE("a hit is an update marked as cached, and has no end of a task") {
    Log log;
    const App app = line(log, {.cache = {}}).compile({.cache = newCache()});
    CHECK(updatesOf(app, foo("x")) == Strings{R"({"a":{"bar":["a"]}})", R"({"after":{"bar":["after"]}})"});
    CHECK(updatesOf(app, foo("x")) ==
          Strings{R"({"a":{"bar":["a"]},"__metadata__":{"cached":true}})", R"({"after":{"bar":["after"]}})"});
    Strings ends;
    app.stream(foo("x"), {}, {.modes = {sg::StreamMode::tasks}}, [&](const sg::StreamEvent& event) {
        ends.push_back(event.node + (contains(event.data.toJson(), "\"result\"") ? " ends" : " starts"));
    });
    CHECK(ends == Strings{"a starts", "after starts", "after ends"});
}

TEST_CASE("without a cache, and for nodes without a policy, every task runs") {
    Log log;
    line(log, {.cache = {}}).compile().invoke(foo("x"));
    const App app = line(log, {}).compile({.cache = newCache()});
    app.invoke(foo("x"));
    app.invoke(foo("x"));
    CHECK(log.count("a") == 3);
}

TEST_CASE("a result is forgotten when its time is over") {
    caches::onEach([](const std::shared_ptr<sg::BaseCache>& cache, ManualClock& clock) {
        Log log;
        const App app = line(log, {.cache = {.ttl = 100ms}}).compile({.cache = cache});
        app.invoke(foo("x"));
        clock.passMs(99);
        app.invoke(foo("x"));
        CHECK(log.count("a") == 1);
        clock.passMs(1);
        app.invoke(foo("x"));
        app.invoke(foo("x"));
        CHECK(log.count("a") == 2);
    });
}

TEST_CASE("where a Command leads is part of the result, Sends too; routers are asked each time") {
    Log log;
    int visits = 0;
    Graph graph;
    graph.addNode("a",
                  [&log](const State&) -> Command {
                      log.add("a");
                      return {.update = bar("a"), .go_to = {sg::Target("b"), sg::Send("w", 7)}};
                  },
                  {.cache = {}, .ends = {"b", "w"}});
    graph.addNode("b", appends("b")).addNode("c", appends("c"));
    graph.addNode("w", [](const int& number) -> Update { return bar(std::to_string(number)); });
    graph.addEdge(sg::START, "a").addConditionalEdges("a", [&visits](const State& state) {
        CHECK(state.bar == Strings{"a"});
        return std::string(++visits == 2 ? "c" : sg::END);
    });
    const App app = graph.compile({.cache = newCache()});
    CHECK(app.invoke(foo("x")).values.bar == Strings{"a", "b", "7"});
    CHECK(app.invoke(foo("x")).values.bar == Strings{"a", "b", "c", "7"});
    CHECK(app.invoke(foo("x")).values.bar == Strings{"a", "b", "7"});
    CHECK(log.count("a") == 1);
}

TEST_CASE("only successes are kept, and a later one is") {
    Log log;
    int failures = 1;
    Graph graph;
    graph.addNode("a",
                  [&](const State&) -> Update {
                      log.add("a");
                      if (failures-- > 0) throw std::runtime_error("not yet");
                      return bar("a");
                  },
                  {.cache = {}});
    graph.addEdge(sg::START, "a");
    const App app = graph.compile({.cache = newCache()});
    CHECK_THROWS_AS(app.invoke(foo("x")), sg::NodeError);
    app.invoke(foo("x"));
    app.invoke(foo("x"));
    CHECK(log.count("a") == 2);
}

TEST_CASE("what the node wrote and no channel takes is not kept") {
    Log log;
    const auto cache = newCache();
    Graph graph;
    graph.addNode("a",
                  [&log](const State&) -> Command {
                      log.add("a");
                      return {.go_to = {"nowhere"}};
                  },
                  {.cache = {}});
    graph.addEdge(sg::START, "a");
    for (int i = 0; i < 2; ++i)
        CHECK_THROWS_AS(graph.compile({.cache = cache}).invoke(foo("x")), sg::InvalidUpdateError);
    CHECK(log.count("a") == 2);
    CHECK(cache->entries() == 0);
}

TEST_CASE("an answer to an interrupt is nobody else's: what was made of it is not kept") {
    Log log;
    Graph graph;
    graph.addNode("ask", asks(log, "ask"), {.cache = {}}).addEdge(sg::START, "ask");
    const auto cache = newCache();
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>(), .cache = cache});
    for (const std::string thread : {"1", "2"}) {
        CHECK((app.invoke(foo("x"), {.thread_id = thread}).status == sg::Status::interrupted));
        CHECK(app.invoke(sg::Command<>{.resume = thread}, {.thread_id = thread}).values.bar ==
              Strings{"ask:" + thread});
    }
    CHECK(cache->entries() == 0);
}

TEST_CASE("a result with writes that are never stored is not kept") {
    struct Scratch {
        std::string note = {};
        Strings bar = {};
        static constexpr auto channels() {
            return sg::channels(sg::channel("note", &Scratch::note, sg::untracked),
                                sg::channel("bar", &Scratch::bar, sg::append));
        }
    };
    const auto cache = newCache();
    sg::StateGraph<Scratch> graph;
    graph.addNode("a", [](const Scratch&) -> sg::Update<Scratch> { return {sg::set(&Scratch::note, "n")}; },
                  {.cache = {}});
    graph.addNode("b",
                  [](const Scratch& state) -> sg::Update<Scratch> { return {sg::add(&Scratch::bar, state.note)}; });
    graph.addEdge(sg::START, "a").addEdge("a", "b");
    for (int i = 0; i < 2; ++i)
        CHECK(graph.compile({.cache = cache}).invoke(sg::Update<Scratch>{}).values.bar == Strings{"n"});
    CHECK(cache->entries() == 0);
}

TEST_CASE("a message that the node left without an id gets another one with each hit") {
    struct Chat {
        std::vector<sg::Message> messages = {};
        int turns = 0;
        static constexpr auto channels() {
            return sg::channels(sg::channel("messages", &Chat::messages, sg::addMessages),
                                sg::channel("turns", &Chat::turns, sg::sum));
        }
    };
    Log log;
    sg::StateGraph<Chat> graph;
    graph.addNode(
        "say",
        [&log](const Chat&) -> sg::Update<Chat> {
            log.add("say");
            return {sg::add(&Chat::messages, sg::Message{.role = "ai", .content = "hello"}), sg::add(&Chat::turns, 1)};
        },
        {.cache = {.key = [](const Chat&) { return 1; }}});
    graph.addEdge(sg::START, "say").addConditionalEdges("say", [](const Chat& chat) {
        return std::string(chat.turns < 3 ? "say" : sg::END);
    });
    CHECK(graph.compile({.cache = newCache()}).invoke(sg::Update<Chat>{}).values.messages.size() == 3);
    CHECK(log.count("say") == 1);
}

TEST_CASE("clearCache forgets the nodes that it names, or all") {
    caches::onEach([](const std::shared_ptr<sg::BaseCache>& cache, ManualClock&) {
        Log log;
        Graph graph;
        for (const char* name : {"b", "c"})
            graph.addNode(name, appends(log, name), {.cache = {}}).addEdge(sg::START, name);
        graph.addNode("d", appends(log, "d")).addEdge(sg::START, "d");
        const App app = graph.compile({.cache = cache});
        const auto ran = [&] {
            app.invoke(foo("x"));
            return log.takeSorted();
        };
        CHECK(ran() == Strings{"b", "c", "d"});
        CHECK(ran() == Strings{"d"});
        app.clearCache({"b"});
        CHECK(ran() == Strings{"b", "d"});
        app.clearCache();
        CHECK(ran() == Strings{"b", "c", "d"});
        app.clearCache({"*"});
        CHECK(ran() == Strings{"b", "c", "d"});
        CHECK(contains(thrown<sg::InvalidArgumentError>([&] {
                           app.clearCache({"b", "nobody"});
                       }).message(),
                       "'nobody'"));
        CHECK(contains(thrown<sg::InvalidArgumentError>([&] { app.clearCache({"d"}); }).message(), "'d'"));
        CHECK(ran() == Strings{"d"});
        CHECK_THROWS_AS(graph.compile().clearCache(), sg::InvalidArgumentError);
    });
}

TEST_CASE("a subgraph is cached as a node, and nodes inside it use the cache of the graph around") {
    Log log;
    Graph inner;
    inner.addNode("in", appends(log, "in"), {.cache = {}}).addEdge(sg::START, "in");
    const auto with = [&](const sg::NodeOptions& options) {
        Graph graph;
        graph.addNode("sub", inner.compile(), options).addEdge(sg::START, "sub");
        return graph;
    };
    {
        const App app =
            with({.cache = {}}).compile({.checkpointer = std::make_shared<sg::MemorySaver>(), .cache = newCache()});
        for (const char* thread : {"1", "2"})
            CHECK(app.invoke(foo("x"), {.thread_id = thread}).values.bar == Strings{"in"});
        CHECK(log.take() == Strings{"in"});
    }
    const App app = with({}).compile({.cache = newCache()});
    for (int i = 0; i < 2; ++i) CHECK(app.invoke(foo("x")).values.bar == Strings{"in"});
    CHECK(log.take() == Strings{"in"});
    app.clearCache();
    CHECK(app.invoke(foo("x")).values.bar == Strings{"in"});
    CHECK(log.take() == Strings{"in"});
    // The node's own cache has precedence.
    const auto own = newCache();
    Graph outer;
    outer.addNode("sub", inner.compile({.cache = own})).addEdge(sg::START, "sub");
    outer.compile({.cache = newCache()}).invoke(foo("x"));
    CHECK(own->entries() == 1);
}

TEST_CASE("a graph over JSON is cached too, by its channels, by a payload, and by a key of its own") {
    const sg::JsonSchema schema = [] {
        sg::JsonSchema made;
        made.channel("question").channel("answers", sg::JsonReducer::append());
        return made;
    }();
    Log log;
    for (const bool with_key : {false, true}) {
        sg::CachePolicy policy;
        if (with_key)
            policy.key = [](const boost::json::value& input) { return std::string(input.at("question").as_string()); };
        sg::StateGraph<sg::JsonState> graph(schema);
        graph.addNode("a",
                      [&log](const sg::JsonState& state) -> sg::Update<sg::JsonState> {
                          log.add("a");
                          return {sg::write("answers", "to " + std::string(state["question"].as_string()))};
                      },
                      {.cache = policy});
        graph.addConditionalEdges(
            sg::START,
            [](const sg::JsonState& state) {
                return sg::Send("a", boost::json::value(boost::json::object{{"question", state["question"]}}));
            },
            {"a"});
        graph.addEdge(sg::START, "a");
        const auto app = graph.compile({.cache = newCache()});
        const auto input = [] { return sg::Update<sg::JsonState>{sg::write("question", "why")}; };
        const boost::json::array answers{"to why", "to why"};
        CHECK(app.invoke(input(), {.max_concurrency = 1}).values["answers"] == answers);
        const std::size_t first = log.take().size();
        CHECK(first == (with_key ? 1 : 2));  // with that key, the Send's payload and the state count as one input
        CHECK(app.invoke(input()).values["answers"] == answers);
        CHECK(log.take().empty());
    }
}

TEST_CASE("many tasks with few inputs, at once and in whatever order: the state is as without a cache") {
    const auto make = [](const std::shared_ptr<sg::BaseCache>& cache) {
        Graph graph;
        graph.addNode(
            "split",
            [](const State&) -> Command {
                Command command;
                for (int i = 0; i < 200; ++i) command.go_to.add(sg::Send("w", i % 5));
                return command;
            },
            leadsTo({"w"}));
        graph.addNode("w",
                      [](const int& number) -> Update {
                          return {sg::add(&State::bar, std::to_string(number)), sg::add(&State::n, number)};
                      },
                      {.cache = {}});
        graph.addEdge(sg::START, "split");
        return graph.compile({.cache = cache});
    };
    const State plain = make({}).invoke(Update{}).values;
    const App cached = make(newCache());
    for (int i = 0; i < 5; ++i) CHECK(cached.invoke(Update{}).values == plain);
}
