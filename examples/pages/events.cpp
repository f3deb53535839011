// What docs/streams.md, async.md and partial_json.md show: subscriptions, coroutines, answers that are still being
// written.
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

// [begin await]
#include <stategraph/async.hpp>

// [end await]
// [begin await on asio]
#include <stategraph/asio.hpp>

// [end await on asio]
#include <stategraph/json.hpp>
#include <stategraph/partial.hpp>
#include <stategraph/partial_display.hpp>
#include <stategraph/partial_json.hpp>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;
namespace asio = boost::asio;

struct State {
    std::string prompt = {};
    std::string text = {};
    static constexpr auto channels() { return sg::channels<&State::prompt, &State::text>(); }
};

struct Model {
    sg::Task<std::string> complete(std::string prompt) const { co_return "on " + prompt + ": yes"; }
};

sg::CompiledGraph<State> makeApp() {
    const Model model;
    sg::StateGraph<State> graph;
    // [begin coroutine]
    graph.addNode("ask", [model](const State& state, sg::Runtime& runtime) -> sg::Task<sg::Update<State>> {
        std::string text = co_await model.complete(state.prompt);
        runtime.emitMessage(sg::Message{"assistant", text, "m1"});
        co_return {sg::set<&State::text>(text)};
    });
    // [end coroutine]
    graph.addEdge(sg::START, "ask").addEdge("ask", sg::END);
    return graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
}
const sg::Update<State> input = {sg::set<&State::prompt>("owls")};

void send(const sg::StreamEvent& event, const std::string& position) {
    std::cout << toString(event.mode) << (position.empty() ? "" : " with a position") << "\n";
}

void stream(const sg::CompiledGraph<State>& app) {
    // [begin stream]
    auto events = app.stream({sg::set<&State::prompt>("owls")}, {.thread_id = "owls"},
                             {.modes = {sg::StreamMode::updates, sg::StreamMode::runs}});
    for (const sg::StreamEvent& event : events)
        std::cout << toString(event.mode) << " " << event.node << " " << event.data << "\n";
    std::cout << events.outcome().values << "\n";  // the Result that invoke would have returned
    // [end stream]
}

void subscribe(const sg::CompiledGraph<State>& app) {
    // [begin subscribe]
    sg::StreamHub hub(app);  // one for a compiled graph
    auto subscription = hub.subscribe(
        "thread", {.modes = {sg::StreamMode::updates, sg::StreamMode::messages}, .until = sg::Until::run_end});
    std::jthread run([&] { app.invoke(input, {.thread_id = "thread", .hub = &hub}); });
    while (const auto event = subscription.next()) send(*event, event->position.toString());  // ends with the run
    // [end subscribe]
}

// [begin await]
sg::Task<> follow(sg::Subscription& subscription) {
    while (const auto event = co_await subscription.asyncNext()) send(*event, event->position.toString());
}
// [end await]

// [begin await on asio]
asio::awaitable<void> followOn(asio::any_io_executor executor, sg::Subscription& subscription) {
    while (const auto event = co_await sg::asyncNextOn(executor, subscription))
        send(*event, event->position.toString());
}
// [end await on asio]

// [begin stream on asio]
asio::awaitable<void> watch(asio::any_io_executor executor, const sg::CompiledGraph<State>& app) {
    auto events = sg::asyncStreamOn(executor, app, {sg::set<&State::prompt>("tea")}, {.thread_id = "1"},
                                    {.modes = sg::StreamMode::messages});
    while (auto event = co_await events.next()) std::cout << event->data << "\n";
}
// [end stream on asio]

void awaitEvents(const sg::CompiledGraph<State>& app) {
    sg::StreamHub hub(app);
    auto first = hub.subscribe("a", {.modes = sg::StreamMode::updates, .until = sg::Until::run_end});
    auto second = hub.subscribe("b", {.modes = sg::StreamMode::updates, .until = sg::Until::run_end});
    app.invoke(input, {.thread_id = "a", .hub = &hub});
    app.invoke(input, {.thread_id = "b", .hub = &hub});
    sg::syncWait(follow(first));
    asio::io_context io;
    asio::co_spawn(io, followOn(io.get_executor(), second), asio::detached);
    io.run();
    asio::io_context other;
    asio::co_spawn(other, watch(other.get_executor(), app), asio::detached);
    other.run();
}

// [begin report]
struct Report {
    std::string title = {};
    std::vector<std::string> findings = {};
    int confidence = 0;
    static constexpr auto fields() { return sg::fields<&Report::title, &Report::findings, &Report::confidence>(); }
};
// [end report]

void show(const std::string& text) { std::cout << "  " << text << "\n"; }

void showPartialAnswers() {
    const std::vector<std::string_view> stream = {"{\"title\": \"Tea", " is hot\", \"findings\": [], \"confi",
                                                  "dence\": 97}"};
    // [begin report]

    sg::Partial<Report> report({.clean = true});  // #include <stategraph/partial.hpp>
    for (const auto& delta : stream) {
        report.feed(delta);
        show(std::string(report.text<&Report::title>()));  // grows with the text
        if (const auto confidence = report.get<&Report::confidence>()) show(std::to_string(*confidence));
    }
    if (const auto whole = report.complete()) show("complete: " + whole->title);  // a Report
    // [end report]
    // [begin json]
    sg::PartialJson json;  // #include <stategraph/partial_json.hpp> and <stategraph/json.hpp>
    for (const auto& delta : stream) {
        json.feed(delta);
        if (json.hasValue()) show(boost::json::serialize(json.value()));
    }
    // [end json]
    // [begin display]
    sg::PartialDisplay display;
    for (const auto& delta : stream) display.replace("report", delta);  // a text: one accumulator for each name
    display.append("search", boost::json::value{{"query", "tea"}});     // an event, such as a tool call
    for (std::size_t i = 0; i < display.size(); ++i)
        show(std::string(display[i].name) + ": " + boost::json::serialize(display[i].value));
    // [end display]
}

int main() {
    const auto app = makeApp();
    stream(app);
    subscribe(app);
    awaitEvents(app);
    showPartialAnswers();
}
