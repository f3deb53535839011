#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>
#include <stategraph/stream_hub.hpp>

#include "tests/support/graphs.hpp"

// Parts of messages that wait for a slow subscriber are joined (OnFull::coalesce).
using namespace graphs;
using namespace std::chrono_literals;
using sg::OnFull;
using sg::StreamMode;

namespace {

sg::RunConfig config(sg::StreamHub& hub) { return {.thread_id = "t", .hub = &hub}; }

}  // namespace

TEST_CASE("coalesce joins the parts of a message, each task's with its own") {
    Graph graph;
    graph.addNode("a", [](const State&, sg::Runtime& runtime) -> Update {
        for (int i = 0; i < 20; ++i) {
            runtime.emitMessage(sg::Message{.role = "assistant", .content = std::to_string(i % 10), .id = "m1"});
            runtime.emitMessage(sg::Message{.role = "assistant", .content = ".", .id = "m2"});
        }
        return bar("a");
    });
    graph.addEdge(sg::START, "a");
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    sg::StreamHub hub(app);
    auto slow = hub.subscribe("t", {.modes = StreamMode::messages, .capacity = 2, .on_full = OnFull::coalesce});
    app.invoke(bar("i"), config(hub));
    CHECK(slow.dropped() == 0);
    std::vector<std::string> contents;
    while (const auto event = slow.next(0ms)) {
        const std::string text = event->data.toJson();
        const auto at = text.find("\"content\":\"") + 11;
        contents.push_back(text.substr(at, text.find('"', at) - at));
    }
    CHECK(contents == Strings{"01234567890123456789", "...................."});
}

TEST_CASE("coalesce joins no part that has more than its text") {
    Graph graph;
    graph.addNode("a", [](const State&, sg::Runtime& runtime) -> Update {
        runtime.emitMessage(sg::parseJson(R"({"id":"m","content":"a"})"));
        runtime.emitMessage(sg::parseJson(R"({"id":"m","content":"b"})"));
        runtime.emitMessage(sg::parseJson(R"({"id":"m","content":"","tool_calls":[{"name":"dig"}]})"));
        runtime.emitMessage(sg::parseJson(R"({"id":"m","content":"c","reasoning":"because"})"));
        return bar("a");
    });
    graph.addEdge(sg::START, "a");
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    sg::StreamHub hub(app);
    auto slow = hub.subscribe("t", {.modes = StreamMode::messages, .capacity = 3, .on_full = OnFull::coalesce});
    app.invoke(bar("i"), config(hub));
    std::string all;
    while (const auto event = slow.next(0ms)) all += event->data.toJson();
    CHECK(slow.dropped() == 1);
    CHECK(all.find("dig") != std::string::npos);
    CHECK(all.find("because") != std::string::npos);
}

TEST_CASE("coalesce joins twenty thousand parts of a message to one long text, and finds it among the newest events") {
    constexpr std::size_t parts = 20'000;
    const std::string piece(100, 'x');
    Graph graph;
    graph.addNode("a", [&](const State&, sg::Runtime& runtime) -> Update {
        for (int i = 0; i < 60; ++i)
            runtime.emitMessage(sg::Message{.role = "assistant", .content = "?", .id = "other " + std::to_string(i)});
        for (std::size_t i = 0; i < parts; ++i)
            runtime.emitMessage(sg::Message{.role = "assistant", .content = piece, .id = "long"});
        return bar("a");
    });
    graph.addEdge(sg::START, "a");
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    sg::StreamHub hub(app);
    auto slow = hub.subscribe("t", {.modes = StreamMode::messages,
                                    .capacity = 61,
                                    .capacity_bytes = 3 * parts * piece.size(),
                                    .on_full = OnFull::coalesce});
    app.invoke(bar("i"), config(hub));
    CHECK(slow.dropped() == 0);
    std::size_t events = 0;
    std::string last;
    for (; const auto event = slow.next(0ms); ++events) last = event->data.toJson();
    CHECK(events == 61);
    CHECK(last.find(std::string(parts * piece.size(), 'x')) != std::string::npos);
}
