#include <doctest/doctest.h>

#include <stategraph/stategraph.hpp>
#include <stategraph/stream_hub.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// The mode `messages` of graphs inside: readers of their events receive each message once.
namespace sg = stategraph;
using namespace std::chrono_literals;
using Strings = std::vector<std::string>;
using sg::StreamMode;

namespace {

struct Chat {
    std::vector<sg::Message> messages = {};
    static constexpr auto channels() { return sg::channels(sg::channel("messages", &Chat::messages, sg::addMessages)); }
};
using ChatGraph = sg::StateGraph<Chat>;
using ChatApp = sg::CompiledGraph<Chat>;

sg::Update<Chat> says(const std::string& role, const std::string& text, const std::string& id) {
    return {sg::add(&Chat::messages, std::vector<sg::Message>{{role, text, id}})};
}

// "parts" emits and writes "hello", then "whole" writes "bye", then "ask" writes the answer.
ChatApp talking() {
    ChatGraph graph;
    graph.addNode("parts", [](const Chat&, sg::Runtime& runtime) {
        runtime.emitMessage(sg::Message{"assistant", "hel", "1"});
        return says("assistant", "hello", "1");
    });
    graph.addNode("whole", [](const Chat&) { return says("assistant", "bye", "2"); });
    graph.addNode("ask", [](const Chat&, sg::Runtime& runtime) {
        return says("user", sg::interrupt<std::string>(runtime, "well?"), "3");
    });
    graph.addEdge(sg::START, "parts").addEdge("parts", "whole").addEdge("whole", "ask");
    return graph.compile();
}

// The node `sub`, then one that says "end".
ChatApp closing(ChatGraph& graph, const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    graph.addNode("end", [](const Chat&) { return says("assistant", "end", "4"); });
    graph.addEdge(sg::START, "sub").addEdge("sub", "end");
    return graph.compile({.checkpointer = saver});
}

// "sub whole hello"
std::string brief(const sg::StreamEvent& event) {
    const std::string json = event.data.toJson();
    const auto content = json.find("\"content\":\"") + 11;
    return event.node + (graphs::contains(json, "\"delta\":true") ? " part " : " whole ") +
           json.substr(content, json.find('"', content) - content);
}

Strings take(sg::Subscription& subscription) {
    Strings all;
    while (const auto event = subscription.next(0ms)) all.push_back(brief(*event));
    return all;
}

// Runs a thread with each driver up to a question of a graph inside, and then with the answer. Both kinds of
// subscribers of the thread must receive what is given here.
struct Expected {
    Strings inside = {}, inside_resumed = {};    // of readers of events of subgraphs
    Strings outside = {}, outside_resumed = {};  // of the others
};
void check(const ChatApp& app, const Expected& expected) {
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        sg::StreamHub hub(app);
        auto inside = hub.subscribe(driver.name, {.modes = StreamMode::messages, .subgraphs = true});
        auto outside = hub.subscribe(driver.name, {.modes = StreamMode::messages});
        const sg::RunConfig config{.thread_id = driver.name, .hub = &hub};
        const auto asked = driver.run(app, says("user", "hi", "0"), config);
        REQUIRE(asked.what() == "");
        REQUIRE((asked.status == sg::Status::interrupted));
        CHECK(take(inside) == expected.inside);
        CHECK(take(outside) == expected.outside);
        const auto done = driver.run(app, sg::resume("yes"), config);
        REQUIRE(done.what() == "");
        CHECK(take(inside) == expected.inside_resumed);
        CHECK(take(outside) == expected.outside_resumed);
    }
}

}  // namespace

TEST_CASE("a message of a subgraph is reported once, by its own task, to readers of events of subgraphs") {
    savers::onEach([](savers::Store& store) {
        ChatGraph graph;
        graph.addNode("sub", talking());
        check(closing(graph, store.open()),
              {.inside = {"parts part hel", "whole whole bye"},
               .inside_resumed = {"ask whole yes", "end whole end"},
               .outside_resumed = {"sub whole hello", "sub whole bye", "sub whole yes", "end whole end"}});
    });
}

TEST_CASE("a message of a subgraph inside a subgraph is reported once, too") {
    ChatGraph middle;
    middle.addNode("inner", talking()).addEdge(sg::START, "inner");
    ChatGraph graph;
    graph.addNode("sub", middle.compile());
    check(closing(graph, std::make_shared<sg::MemorySaver>()),
          {.inside = {"parts part hel", "whole whole bye"},
           .inside_resumed = {"ask whole yes", "end whole end"},
           .outside_resumed = {"sub whole hello", "sub whole bye", "sub whole yes", "end whole end"}});
}

TEST_CASE("a message that a node converts from what a subgraph returns is a new message of that node") {
    ChatGraph graph;
    graph.addNode(
        "sub", talking(), [](const Chat& chat) { return sg::Update<Chat>(sg::add(&Chat::messages, chat.messages)); },
        [](const Chat& inner) {
            sg::Message last = inner.messages.back();
            last.id = "new";
            return sg::Update<Chat>(
                sg::add(&Chat::messages, std::vector<sg::Message>{inner.messages.at(1), std::move(last)}));
        });
    check(closing(graph, std::make_shared<sg::MemorySaver>()),
          {.inside = {"parts part hel", "whole whole bye"},
           .inside_resumed = {"ask whole yes", "sub whole yes", "end whole end"},
           .outside_resumed = {"sub whole hello", "sub whole yes", "end whole end"}});
}

TEST_CASE("a message of a graph that a node calls is reported once, also if the call is not made again") {
    savers::onEach([](savers::Store& store) {
        const ChatApp inner = talking();
        const ChatApp short_inner = [] {
            ChatGraph graph;
            graph.addNode("first", [](const Chat&) { return says("assistant", "first", "5"); });
            return graph.addEdge(sg::START, "first").compile();
        }();
        ChatGraph graph;
        graph.addNode("sub", [&](const Chat& chat, sg::Runtime& runtime) {
            const Chat first = runtime.invoke(short_inner, sg::Update<Chat>(), "first");
            const Chat asked = runtime.invoke(inner, {sg::add(&Chat::messages, chat.messages)}, "asked");
            return sg::Update<Chat>{sg::add(&Chat::messages, first.messages), sg::add(&Chat::messages, asked.messages)};
        });
        check(closing(graph, store.open()), {.inside = {"first whole first", "parts part hel", "whole whole bye"},
                                             .inside_resumed = {"ask whole yes", "end whole end"},
                                             .outside_resumed = {"sub whole first", "sub whole hello", "sub whole bye",
                                                                 "sub whole yes", "end whole end"}});
    });
}

TEST_CASE("a stream reports a message of a subgraph once, with its events or without") {
    ChatGraph graph;
    graph.addNode("sub", talking());
    const ChatApp app = closing(graph, std::make_shared<sg::MemorySaver>());
    for (const bool subgraphs : {true, false}) {
        CAPTURE(subgraphs);
        Strings all;
        const sg::RunConfig config{.thread_id = subgraphs ? "inside" : "outside"};
        const sg::StreamOptions options{.modes = StreamMode::messages, .subgraphs = subgraphs};
        const auto add = [&](const sg::StreamEvent& event) { all.push_back(brief(event)); };
        app.stream(says("user", "hi", "0"), config, options, add);
        app.stream(sg::resume("yes"), config, options, add);
        CHECK(all == (subgraphs ? Strings{"parts part hel", "whole whole bye", "ask whole yes", "end whole end"}
                                : Strings{"sub whole hello", "sub whole bye", "sub whole yes", "end whole end"}));
    }
}
