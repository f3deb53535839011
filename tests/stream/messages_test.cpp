#include <chrono>
#include <stdexcept>

#include <doctest/doctest.h>

#include <stategraph/stream_hub.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

using namespace std::chrono_literals;

// The mode `messages`: parts that nodes emit, and messages that nodes write.
namespace sg = stategraph;
using Strings = std::vector<std::string>;
using sg::StreamMode;

namespace {

struct Chat {
    std::vector<sg::Message> messages = {};
    int n = 0;
    static constexpr auto channels() {
        return sg::channels(sg::channel("messages", &Chat::messages, sg::addMessages),
                            sg::channel("n", &Chat::n, sg::sum));
    }
};
using Messages = std::vector<sg::Message>;

sg::Update<Chat> says(Messages messages) { return {sg::add(&Chat::messages, std::move(messages))}; }

// "talk 1 part hello", "talk 1 whole hello"
std::string brief(const sg::StreamEvent& event) {
    struct Data {
        bool delta = false;
        int attempt = 0;
        sg::Message message = {};
        std::string task_id = {};
        static constexpr auto fields() {
            return sg::fields(sg::field("delta", &Data::delta), sg::field("attempt", &Data::attempt),
                              sg::field("message", &Data::message), sg::field("task_id", &Data::task_id));
        }
    };
    const Data data = event.data.as<Data>();
    CHECK(data.task_id.size() == 32);
    return event.node + " " + std::to_string(data.attempt) + (data.delta ? " part " : " whole ") + data.message.content;
}

Strings streamed(const sg::CompiledGraph<Chat>& app, sg::Update<Chat> input, const sg::RunConfig& config = {},
                 bool subgraphs = false) {
    Strings all;
    for (const auto& event :
         app.stream(std::move(input), config, {.modes = StreamMode::messages, .subgraphs = subgraphs})) {
        all.push_back(brief(event));
    }
    return all;
}

}  // namespace

TEST_CASE("parts of messages are streamed with node, task and attempt; the whole message is not reported again") {
    sg::StateGraph<Chat> graph;
    graph.addNode("talk", [](const Chat&, sg::Runtime& runtime) {
        for (const char* part : {"Hel", "lo"}) runtime.emitMessage(sg::Message{"assistant", part, "m"});
        return says({{"assistant", "Hello", "m"}, {"assistant", "Bye", "m2"}});
    });
    graph.addEdge(sg::START, "talk");
    const Strings expected{"talk 1 part Hel", "talk 1 part lo", "talk 1 whole Bye"};
    CHECK(streamed(graph.compile(), says({{"user", "hi", "u"}})) == expected);
    // With a time limit the node runs on a separate thread.
    CHECK(streamed(graph.compile(), says({{"user", "hi", "u"}}), {.timeout = 10min}) == expected);
}

TEST_CASE("messages that were in the state before, removals and repetitions are not reported") {
    sg::StateGraph<Chat> graph;
    graph.addNode("edit", [](const Chat&) {
        return says({{"user", "changed", "u"},
                     sg::removeMessage("old"),
                     {"assistant", "new", "a"},
                     {"assistant", "newer", "a"}});
    });
    graph.addEdge(sg::START, "edit");
    CHECK(streamed(graph.compile(), says({{"user", "hi", "u"}, {"user", "old", "old"}})) ==
          Strings{"edit 1 whole new"});
}

TEST_CASE("messages without ids get theirs before they are reported, and parts may do without") {
    sg::StateGraph<Chat> graph;
    graph.addNode("talk", [](const Chat&, sg::Runtime& runtime) {
        runtime.emitMessage(sg::Message{"assistant", "part", ""});
        return says({{"assistant", "one", ""}, {"assistant", "two", ""}});
    });
    graph.addEdge(sg::START, "talk");
    CHECK(streamed(graph.compile(), {}) == Strings{"talk 1 part part", "talk 1 whole one", "talk 1 whole two"});
}

TEST_CASE("every attempt reports its own parts") {
    sg::StateGraph<Chat> graph;
    graph.addNode("talk",
                  [](const Chat&, sg::Runtime& runtime) {
                      runtime.emitMessage(sg::Message{"assistant", "try", "m"});
                      if (runtime.attempt() == 1) throw std::runtime_error("again");
                      return says({{"assistant", "done", "m"}});
                  },
                  {.retry = {.max_attempts = 2, .initial_interval = 0ms}});
    graph.addEdge(sg::START, "talk");
    CHECK(streamed(graph.compile(), {}) == Strings{"talk 1 part try", "talk 2 part try"});
}

TEST_CASE("a message of which only an attempt that failed reported parts is reported whole, in every driver") {
    sg::StateGraph<Chat> graph;
    graph.addNode("talk",
                  [](const Chat&, sg::Runtime& runtime) {
                      if (runtime.attempt() < 3) runtime.emitMessage(sg::Message{"assistant", "try", "m"});
                      if (runtime.attempt() < 3) throw std::runtime_error("again");
                      return says({{"assistant", "done", "m"}});
                  },
                  {.retry = {.max_attempts = 3, .initial_interval = 0ms}});
    graph.addEdge(sg::START, "talk");
    const auto app = graph.compile();
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        sg::StreamHub hub(app);
        auto told = hub.subscribe(driver.name, {.modes = StreamMode::messages, .until = sg::Until::run_end});
        REQUIRE(driver.run(app, sg::Update<Chat>{}, {.thread_id = driver.name, .hub = &hub}).what() == "");
        Strings all;
        while (const auto event = told.next(1min)) all.push_back(brief(*event));
        CHECK(all == Strings{"talk 1 part try", "talk 2 part try", "talk 3 whole done"});
    }
}

TEST_CASE("tasks that run at once keep their messages apart, and those of subgraphs are reported where asked for") {
    sg::StateGraph<Chat> inner;
    inner.addNode("deep", [](const Chat&, sg::Runtime& runtime) {
        runtime.emitMessage(sg::Message{"assistant", "in", "deep"});
        return says({{"assistant", "inside", "deep"}});
    });
    inner.addEdge(sg::START, "deep");
    sg::StateGraph<Chat> graph;
    const auto talks = [](std::string id) {
        return [id](const Chat&, sg::Runtime& runtime) {
            if (id == "x") runtime.emitMessage(sg::Message{"assistant", "part", "shared"});
            return says({{"assistant", "whole of " + id, "shared" + (id == "x" ? std::string() : id)}});
        };
    };
    graph.addNode("x", talks("x")).addNode("y", talks("y")).addNode("sub", inner.compile());
    graph.addEdge(sg::START, "x").addEdge(sg::START, "y").addEdge({"x", "y"}, "sub");
    const auto app = graph.compile();
    // Tasks run one at a time, so that their order is known.
    CHECK(streamed(app, {}, {.max_concurrency = 1}) ==
          Strings{"x 1 part part", "y 1 whole whole of y", "sub 1 whole inside"});
    CHECK(streamed(app, {}, {.max_concurrency = 1}, true) ==
          Strings{"x 1 part part", "y 1 whole whole of y", "deep 1 part in"});
}

TEST_CASE("a node may emit without anybody listening, and what it emits is not stored") {
    savers::onEach([](savers::Store& store) {
        sg::StateGraph<Chat> graph;
        graph.addNode("talk", [](const Chat&, sg::Runtime& runtime) {
            for (int i = 0; i < 3000; ++i)
                runtime.emitMessage(sg::Message{"assistant", "part", "m" + std::to_string(i)});
            return says({{"assistant", "whole", "m2999"}, {"assistant", "other", "m0"}});
        });
        graph.addEdge(sg::START, "talk");
        const auto app = graph.compile({.checkpointer = store.open()});
        CHECK(app.invoke({}, {.thread_id = "quiet"}).values.messages.size() == 2);
        const Strings all = streamed(app, {}, {.thread_id = "t"});
        REQUIRE(all.size() == 3001);
        // After that many ids the stream has forgotten that it emitted parts.
        CHECK(all.back() == "talk 1 whole other");
        sg::StreamHub hub(app);
        auto later = hub.subscribe("t", {.from = sg::StreamPosition(), .modes = StreamMode::messages});
        CHECK(!later.next(0ms));
    });
}

TEST_CASE("a value that is no message can be emitted as well") {
    sg::StateGraph<Chat> graph;
    graph.addNode("talk", [](const Chat&, sg::Runtime& runtime) -> sg::Update<Chat> {
        runtime.emitMessage("token");
        runtime.emitMessage(std::vector<int>{1, 2});
        return {sg::add(&Chat::n, 1)};
    });
    graph.addEdge(sg::START, "talk");
    Strings all;
    graph.compile().stream(sg::Update<Chat>{}, {}, {.modes = StreamMode::messages},
                           [&](const sg::StreamEvent& event) { all.push_back(event.data.toJson().substr(0, 48)); });
    REQUIRE(all.size() == 2);
    CHECK(all[0].find(R"("message":"token")") != std::string::npos);
    CHECK(all[1].find(R"("message":[1,2])") != std::string::npos);
}
