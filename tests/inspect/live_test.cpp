#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <boost/json.hpp>

#include <stategraph/agent/state.hpp>
#include <stategraph/inspect/server.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/stategraph.hpp>
#include <stategraph/stream_hub.hpp>

#include "inspect/http/live.hpp"
#include "tests/inspect/inspected_api.hpp"
#include "tests/serve/client.hpp"
#include "tests/support/gate.hpp"

// What running tasks report before a checkpoint has it, as the inspector passes it on.
namespace inspected_api::live_texts {

using Parts = std::vector<sg::inspect::LivePart>;

using Work = std::function<void(sg::Runtime&)>;

/// A graph whose node does this work.
App working(const std::shared_ptr<sg::MemorySaver>& saver, Work work) {
    Graph graph;
    graph
        .addNode("write",
                 [work = std::move(work)](const Order&, sg::Runtime& runtime) -> Update {
                     work(runtime);
                     return {sg::add(&Order::notes, std::string("whole"))};
                 })
        .addEdge(sg::START, "write");
    return graph.compile({.checkpointer = saver});
}

sg::Value message(const std::string& id, const std::string& text) {
    return std::map<std::string, std::string>{{"id", id}, {"role", "assistant"}, {"content", text}};
}
Update order() { return Update{sg::set(&Order::topic, std::string("tea"))}; }

/// Everything that a reader gives until nothing waits for it.
std::vector<sg::inspect::LiveView> viewsOf(sg::inspect::LiveReader& reader) {
    std::vector<sg::inspect::LiveView> views;
    while (auto view = reader.next()) views.push_back(*std::move(view));
    return views;
}
std::string textIn(const std::vector<sg::inspect::LiveView>& views) {
    std::string text;
    for (const auto& view : views) {
        if (view.fresh) text.clear();
        for (const auto& part : view.parts) text += part.text;
    }
    return text;
}

/// A reader of a thread of a graph that does some work, and what the reader had during it.
struct Watched {
    explicit Watched(Work work, bool hidden = false)
        : app(working(saver,
                      [this, work = std::move(work)](sg::Runtime& runtime) {
                          work(runtime);
                          during = viewsOf(reader);
                      })),
          hub(std::make_shared<sg::StreamHub>(app)),
          reader({hub}, "t", hidden) {}
    void run() { app.invoke(order(), {.thread_id = "t", .hub = hub.get()}); }

    std::shared_ptr<sg::MemorySaver> saver = std::make_shared<sg::MemorySaver>();
    std::vector<sg::inspect::LiveView> during;
    App app;
    std::shared_ptr<sg::StreamHub> hub;
    sg::inspect::LiveReader reader;
};

/// A server of a graph whose node writes a text and then waits.
struct Served {
    ~Served() { gate.open(); }

    static std::string headers() { return std::string("X-Stategraph-Key: ") + key + "\r\n"; }
    static json::value next(client::Connection& live) {
        std::string text = live.chunk();
        while (!text.starts_with("data: ")) text = live.chunk();
        return json::parse(text.substr(6));
    }
    void follow(client::Connection& live) const {
        CHECK(json::parse(client::get(server.port(), "/api/about", headers()).body).at("live") == true);
        live.request("GET", "/api/threads/t/live", {}, headers() + "Accept: text/event-stream\r\n");
        REQUIRE(live.head().status == 200);
        CHECK(next(live).at("fresh") == true);
    }
    /// The text comes while the node waits, and is void when the run has ended.
    void checkGrowing(client::Connection& live) {
        json::value view = next(live);
        while (view.at("parts").as_array().empty()) view = next(live);
        CHECK(textAt(view, "/parts/0/text") == "growing");
        gate.open();
        do view = next(live);
        while (view.at("fresh") != true);
        CHECK(view.at("parts").as_array().empty());
    }

    gates::Gate gate;
    std::shared_ptr<sg::MemorySaver> saver = std::make_shared<sg::MemorySaver>();
    App app = working(saver, [this](sg::Runtime& runtime) {
        runtime.emitMessage(message("m1", "growing"));
        gate.wait();
    });
    sg::inspect::Server server{saver, {.write = true, .key = key}};
};

TEST_CASE("parts of a message are joined, and the end of the run makes them void") {
    Watched watched([](sg::Runtime& runtime) {
        runtime.emitMessage(message("m1", "The "));
        runtime.emitMessage(message("m1", "answer"));
        runtime.emitMessage(message("m2", "Another"));
    });
    watched.run();
    REQUIRE(watched.during.size() == 1);
    const auto& view = watched.during.front();
    CHECK(view.fresh);
    CHECK(!view.hidden);
    REQUIRE(view.parts.size() == 2);
    CHECK(view.parts[0].text == "The answer");
    CHECK(view.parts[0].bytes == 10);
    CHECK(view.parts[0].message_id == "m1");
    CHECK(view.parts[0].kind == "text");
    CHECK(view.parts[0].node == "write");
    CHECK(view.parts[0].task_id.size() == 32);
    CHECK(view.parts[0].ns.empty());
    CHECK(view.parts[1].text == "Another");
    const auto after = viewsOf(watched.reader);
    REQUIRE(after.size() == 1);
    CHECK(after.front().fresh);
    CHECK(after.front().parts.empty());
    CHECK(!watched.reader.next());
}

TEST_CASE("what the model thinks and calls is distinguished from what it says, and other shapes are shown as JSON") {
    Watched watched([](sg::Runtime& runtime) {
        sg::agent::Piece piece{.id = "m1"};
        piece.reasoning = "hm";
        runtime.emitMessage(piece);
        piece.reasoning.reset();
        piece.calls.push_back({.id = "c1", .provider_id = "", .name = "search", .arguments = R"({"q":1})"});
        runtime.emitMessage(piece);
        runtime.emitMessage(sg::Value("bare"));
        runtime.emitMessage(sg::Value(7));
        runtime.emitMessage(sg::parseJson(R"({"content":[{"type":"text","text":"x"}]})"));
        runtime.emitMessage(sg::parseJson(R"({"id":3,"calls":"odd"})"));
        runtime.emitMessage(sg::parseJson(R"({"calls":[3,{"name":null}]})"));
    });
    watched.run();
    std::vector<std::string> said;
    for (const auto& view : watched.during) {
        for (const auto& part : view.parts) said.push_back(part.kind + ":" + part.text);
    }
    CHECK(said == std::vector<std::string>{"reasoning:hm", R"(call:search {"q":1})",
                                           R"(text:bare7[{"text":"x","type":"text"}])"});
}

TEST_CASE("events of the program are passed on, the newest of each node") {
    Watched watched([](sg::Runtime& runtime) {
        runtime.write(sg::Value("first"));
        runtime.write(sg::parseJson(R"({"done":3})"));
    });
    watched.run();
    REQUIRE(watched.during.size() == 1);
    REQUIRE(watched.during.front().custom.size() == 1);
    CHECK(watched.during.front().custom.front().json == R"({"done":3})");
    CHECK(watched.during.front().custom.front().node == "write");
}

TEST_CASE("a reader that is late never makes the run wait, and loses the newest parts; its memory has a limit") {
    constexpr int count = 5000;
    Watched watched([](sg::Runtime& runtime) {
        // Other tasks' messages in between, so that parts are not joined.
        for (int i = 0; i < count; ++i) runtime.emitMessage(message("m" + std::to_string(i), "x"));
    });
    watched.run();
    std::size_t parts = 0;
    for (const auto& view : watched.during) {
        CHECK(view.parts.size() <= 64);
        parts += view.parts.size();
    }
    REQUIRE(!watched.during.empty());
    CHECK(parts > 0);
    CHECK(parts <= 4096);
    // The beginning of the run is an event too.
    const std::size_t lost = watched.during.back().dropped;
    CHECK(lost + parts >= count);
    CHECK(lost + parts <= count + 1);
    CHECK(watched.during.front().parts.front().message_id == "m0");
}

TEST_CASE("long texts come in several events, and one that is too long keeps its end, in whole characters") {
    std::string text;
    while (text.size() < 200'000) text += "ä";
    Watched watched([&](sg::Runtime& runtime) {
        runtime.emitMessage(message("m1", text + "end"));
        runtime.emitMessage(message("m2", text));
        runtime.emitMessage(message("m3", "next"));
    });
    watched.run();
    Parts parts;
    for (const auto& view : watched.during) parts.insert(parts.end(), view.parts.begin(), view.parts.end());
    REQUIRE(parts.size() == 3);
    CHECK(parts[0].bytes == text.size() + 3);
    CHECK(parts[0].text.size() <= 64'000);
    CHECK(parts[0].text.ends_with("äend"));
    CHECK(parts[0].text.starts_with("ä"));
    CHECK(parts[2].text == "next");
    CHECK(watched.during.size() >= 2);
}

TEST_CASE("where values are hidden, sizes are passed on, and neither texts nor ids nor events") {
    Watched watched(
        [](sg::Runtime& runtime) {
            runtime.emitMessage(message("SECRET1", "SECRET2"));
            runtime.write(sg::parseJson(R"({"SECRET3":"SECRET4"})"));
        },
        true);
    watched.run();
    REQUIRE(watched.during.size() == 1);
    const auto& view = watched.during.front();
    CHECK(view.hidden);
    CHECK(sg::toJson(view).find("SECRET") == std::string::npos);
    REQUIRE(view.parts.size() == 1);
    CHECK(view.parts.front().bytes == 7);
    REQUIRE(view.custom.size() == 1);
    CHECK(view.custom.front().bytes > 0);
}

TEST_CASE("a task that runs again begins its text anew, with its number of attempt") {
    auto attempts = std::make_shared<int>(0);
    const auto saver = std::make_shared<sg::MemorySaver>();
    Graph graph;
    graph
        .addNode("write",
                 [attempts](const Order&, sg::Runtime& runtime) -> Update {
                     runtime.emitMessage(message("m1", "attempt " + std::to_string(++*attempts)));
                     if (*attempts == 1) throw std::runtime_error("not yet");
                     return {};
                 },
                 {.retry = sg::RetryPolicy{.max_attempts = 2, .initial_interval = std::chrono::milliseconds(1)}})
        .addEdge(sg::START, "write");
    const App app = graph.compile({.checkpointer = saver});
    const auto hub = std::make_shared<sg::StreamHub>(app);
    sg::inspect::LiveReader reader({hub}, "t", false);
    // Before the end, which makes all of it void.
    sg::Subscription events = hub->subscribe("t", {.modes = {sg::StreamMode::messages}, .until = sg::Until::run_end});
    app.invoke(order(), {.thread_id = "t", .hub = hub.get()});
    std::vector<int> seen;
    while (const auto event = events.next()) seen.push_back(event->attempt);
    CHECK(seen == std::vector<int>{1, 2});
    CHECK(textIn(viewsOf(reader)).empty());
}

TEST_CASE("the text of a graph inside a graph comes with the tasks around it") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    Parts parts;
    std::unique_ptr<sg::inspect::LiveReader> reader;
    Graph inner;
    inner
        .addNode("think",
                 [&](const Order&, sg::Runtime& runtime) -> Update {
                     runtime.emitMessage(message("m1", "inside"));
                     for (const auto& view : viewsOf(*reader))
                         parts.insert(parts.end(), view.parts.begin(), view.parts.end());
                     return {};
                 })
        .addEdge(sg::START, "think");
    Graph outer;
    outer.addNode("deliberate", inner.compile()).addEdge(sg::START, "deliberate");
    const App app = outer.compile({.checkpointer = saver});
    const auto hub = std::make_shared<sg::StreamHub>(app);
    reader = std::make_unique<sg::inspect::LiveReader>(std::vector{hub}, "t", false);
    app.invoke(order(), {.thread_id = "t", .hub = hub.get()});
    REQUIRE(parts.size() == 1);
    CHECK(parts.front().text == "inside");
    CHECK(parts.front().node == "think");
    REQUIRE(parts.front().ns.size() == 1);
    CHECK(parts.front().ns.front().starts_with("deliberate:"));
}

TEST_CASE("a page that follows a thread is sent the text of a run that the page began") {
    Served served;
    served.server.add("order", served.app);
    client::Connection live(served.server.port());
    served.follow(live);
    client::Connection begun(served.server.port());
    begun.request("POST", "/api/threads/t/run", R"({"input":{"topic":"tea"}})",
                  Served::headers() + "Origin: http://localhost\r\n");
    REQUIRE(begun.head().status == 202);
    served.checkGrowing(live);
}

TEST_CASE("a page that follows a thread is sent the text of a run of the program, by the program's hub") {
    Served served;
    sg::StreamHub hub(served.app);
    served.server.add("order", served.app, hub);
    client::Connection live(served.server.port());
    served.follow(live);
    std::thread run([&] { served.app.invoke(order(), {.thread_id = "t", .hub = &hub}); });
    served.checkGrowing(live);
    run.join();
    served.server.stop();
}

TEST_CASE("a graph without a hub, and a server without graphs, have nothing that is followed live") {
    Store store;
    CHECK(store.ok({{"about"}}).at("live") == false);
    const auto about = store.ok({{"threads", "asks", "live"}});
    CHECK(about.at("graphs").as_array().empty());
    CHECK(about.at("hidden") == false);
    Store hiding({.redact = {"*token*"}});
    hiding.api.add("order", std::make_shared<sg::inspect::detail::GraphOnPage<Order, Order, Order>>(hiding.app));
    const auto hidden = hiding.ok({{"threads", "asks", "live"}});
    CHECK(hidden.at("hidden") == true);
    CHECK(textAt(hidden, "/graphs/0") == "order");
    CHECK(hiding.get({{"threads", "", "live"}}).status == 200);
}

TEST_CASE("a page that follows a thread stays when the program's hub ends first") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const App app = working(saver, [](sg::Runtime&) {});
    auto hub = std::make_shared<sg::StreamHub>(app);
    sg::inspect::LiveReader reader({hub}, "t", false);
    hub.reset();
    CHECK(reader.next());
    CHECK(!reader.next());
}

}  // namespace inspected_api::live_texts
