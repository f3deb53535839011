// What docs/policies.md, functional.md and subgraphs.md show: retries, caches, handlers; calls in calls; a graph that a
// node calls.
#include <chrono>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <stategraph/functional.hpp>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;
using namespace std::chrono_literals;

struct State {
    std::string text = {};
    std::vector<std::string> log = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel<&State::text>(), sg::channel<&State::log>(sg::append));
    }
};
struct HttpError : std::runtime_error {
    explicit HttpError(int code) : std::runtime_error("HTTP " + std::to_string(code)), status(code) {}
    int status;
};
struct Timeout : std::runtime_error {
    Timeout() : std::runtime_error("no answer") {}
};

int attempts = 0;
sg::Update<State> sendMail(const State&) {
    if (++attempts < 3) throw HttpError(503);
    throw std::runtime_error("the address is wrong");
}
sg::Update<State> translate(const State& state) { return {sg::add<&State::log>(state.text + ", translated")}; }
sg::Update<State> pay(const State&) { return {sg::add<&State::log>("paid")}; }

void tryAgain() {
    sg::StateGraph<State> graph;
    // [begin retry]
    graph.addNode("send", sendMail, {.retry = {.max_attempts = 3, .initial_interval = 2ms}});
    // [end retry]
    graph.addNode("by_hand", [](const State&) -> sg::Update<State> { return {sg::add<&State::log>("by hand")}; });
    // [begin handler]
    const auto by_hand = [](const State&, const sg::NodeFailure& failure) -> sg::Command<State> {
        return {.update = {sg::add<&State::log>(failure.node + ": " + failure.error)}, .go_to = {"by_hand"}};
    };
    graph.onError("send", by_hand, {"by_hand"});
    graph.onError("*", by_hand, {"by_hand"});  // all nodes without one of their own
    // [end handler]
    graph.addEdge(sg::START, "send").addEdge("send", sg::END).addEdge("by_hand", sg::END);
    std::cout << graph.compile().invoke({}).values << " after " << attempts << " attempts\n";
}

sg::RetryPolicy byType() {
    // [begin which]
    sg::RetryPolicy policy{.max_attempts = 3, .retry_on = sg::on<HttpError, Timeout>()};
    policy = {.max_attempts = 5,
              .retry_on = [](const HttpError& error) { return error.status >= 500; },
              .otherwise = {{.max_attempts = 2, .retry_on = sg::on<Timeout>()}}};
    // [end which]
    return policy;
}

void keepResults() {
    sg::StateGraph<State> graph;
    // [begin cache]
    graph.addNode("translate", translate, {.cache = {.key = [](const State& s) { return s.text; }, .ttl = 24h}});
    // [end cache]
    // [begin defaults]
    graph.setNodeDefaults({.retry = {.max_attempts = 3}, .cache = {.ttl = 1min}});
    graph.addNode("pay", pay, {.retry = {}, .cache = {.use = sg::CacheUse::off}});  // neither
    // [end defaults]
    graph.addEdge(sg::START, "translate").addEdge("translate", "pay").addEdge("pay", sg::END);
    // [begin cache]
    const auto cache = std::make_shared<sg::MemoryCache>();
    const auto app = graph.compile({.cache = cache});
    // [end cache]
    app.invoke({sg::set<&State::text>("owl")});
    app.invoke({sg::set<&State::text>("owl")});
    std::cout << "hits: " << cache->stats().hits;
    // [begin cache]
    app.clearCache({"translate"});  // or clearCache() for all, those in subgraphs too
    // [end cache]
    app.invoke({sg::set<&State::text>("owl")});
    std::cout << ", and then " << cache->stats().hits << "; retries of HTTP 500: " << byType().max_attempts << "\n";
}

struct Topic {
    std::string first = {};
    std::string second = {};
    static constexpr auto fields() { return sg::fields<&Topic::first, &Topic::second>(); }
};
std::string findFacts(const std::string& title) { return "facts on " + title; }
std::string findFigures(const std::string& title) { return "figures on " + title; }
std::string compose(const std::string& facts, const std::string& figures) { return facts + ", " + figures + ". "; }

void callsInCalls() {
    const auto saver = std::make_shared<sg::MemorySaver>();
    // [begin calls]
    const auto section = [](sg::Calls& own, const std::string& title) {
        auto facts = own.start("facts", findFacts, title);  // stored under this section's call
        auto figures = own.start("figures", findFigures, title);
        return own.call("write", compose, facts.get(), figures.get());
    };
    const auto both = [section](const Topic& topic, sg::Calls& flow) {
        auto first = flow.start("section", section, topic.first);  // both at once
        auto second = flow.start("section", section, topic.second);
        return first.get() + second.get();
    };
    const auto report = sg::entrypoint("report", both, {.checkpointer = saver});
    // [end calls]
    std::cout << *report.invoke(Topic{"owls", "tea"}, {.thread_id = "1"}).values << "\n";
}

struct Research {
    std::string title = {};
    std::string text = {};
    static constexpr auto channels() { return sg::channels<&Research::title, &Research::text>(); }
};
struct Book {
    std::vector<std::string> titles = {};
    std::vector<std::string> reports = {};
    static constexpr auto channels() { return sg::channels<&Book::titles, &Book::reports>(); }
};

void graphInNode() {
    sg::StateGraph<Research> inner;
    inner.addNode("find", [](const Research& r) -> sg::Update<Research> {
        return {sg::set<&Research::text>("all about " + r.title)};
    });
    inner.addEdge(sg::START, "find").addEdge("find", sg::END);
    sg::StateGraph<Book> graph;
    // [begin graph call]
    const auto research = inner.compile();  // no saver of its own is needed
    graph.addNode("write", [research](const Book& book, sg::Runtime& rt) -> sg::Update<Book> {
        std::vector<std::string> reports;
        for (const std::string& title : book.titles) {
            // The last argument is the call's key.
            reports.push_back(rt.invoke(research, {sg::set<&Research::title>(title)}, title).text);
        }
        return {sg::set<&Book::reports>(reports)};
    });
    // [end graph call]
    graph.addEdge(sg::START, "write").addEdge("write", sg::END);
    std::cout << graph.compile().invoke({sg::set<&Book::titles>(std::vector<std::string>{"owls", "tea"})}).values
              << "\n";
}

int main() {
    tryAgain();
    keepResults();
    callsInCalls();
    graphInNode();
}
