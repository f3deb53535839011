// Small recipes, for docs/how_to/recipes.md: each function is one, and prints what it shows.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <stategraph/json.hpp>
#include <stategraph/messages.hpp>
#include <stategraph/ndjson.hpp>
#include <stategraph/rocksdb_saver.hpp>
#include <stategraph/rocksdb_store.hpp>
#include <stategraph/shared_list.hpp>
#include <stategraph/spans.hpp>
#include <stategraph/stategraph.hpp>
#include <stategraph/store_cache.hpp>
#include <stategraph/stream_hub.hpp>

namespace sg = stategraph;

// [begin reducer]
constexpr auto longest =
    sg::reduce("longest", [](const std::string& a, const std::string& b) { return a.size() < b.size() ? b : a; });

struct State {
    std::string best = {};
    std::vector<std::string> log = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel<&State::best>(longest), sg::channel<&State::log>(sg::append));
    }
};
// [end reducer]

auto says(std::string text) {
    return [text](const State&) -> sg::Update<State> {
        return {sg::add<&State::log>(text), sg::add<&State::best>(text)};
    };
}

void joinAndDefer() {
    // [begin join]
    sg::StateGraph<State> graph;
    graph.addNode("left", says("left")).addNode("right", says("right")).addNode("slow", says("slower"));
    graph.addEdge(sg::START, "left").addEdge(sg::START, "right").addEdge("right", "slow");
    graph.addNode("both", says("both"));
    graph.addEdge({"left", "slow"}, "both");               // once, when both have finished
    graph.addNode("last", says("last"), {.defer = true});  // only when nothing else is due
    graph.addEdge("left", "last").addEdge("both", sg::END).addEdge("last", sg::END);
    std::cout << graph.compile().invoke({}).values << "\n";
    // [end join]
}

void limits() {
    // [begin limit]
    sg::StateGraph<State> graph;
    graph.addNode("think",
                  [](const State&, sg::Runtime& runtime) -> sg::Command<State> {
                      // Another round costs two supersteps here: `check`, and `think` again.
                      if (runtime.remainingSteps() <= 2)
                          return {.update = {sg::add<&State::log>("enough")}, .go_to = {sg::END}};
                      return {.update = {sg::add<&State::log>("thought")}, .go_to = {"check"}};
                  },
                  {.ends = {"check", sg::END}});
    graph.addNode("check", says("checked")).addEdge(sg::START, "think").addEdge("check", "think");
    std::cout << graph.compile().invoke({}, {.recursion_limit = 6}).values << "\n";
    // [end limit]
}

void breakpoints() {
    // [begin breakpoint]
    sg::StateGraph<State> graph;
    graph.addNode("a", says("a")).addNode("b", says("b"));
    graph.addEdge(sg::START, "a").addEdge("a", "b").addEdge("b", sg::END);
    const auto app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    const auto stopped = app.invoke({}, {.thread_id = "1", .interrupt_before = {"b"}});
    std::cout << stopped.status << ", next: " << app.getState({.thread_id = "1"}).next.at(0) << "\n";
    std::cout << app.invoke(sg::RESUME, {.thread_id = "1"}).status << "\n";
    // [end breakpoint]
}

void context() {
    // [begin context]
    struct Services {
        std::string user;  // also connections, clients, settings: shared, never stored
    };
    sg::StateGraph<State> graph;
    graph.addNode("greet", [](const State&, sg::Runtime& runtime) -> sg::Update<State> {
        return {sg::add<&State::log>("hello " + runtime.context<Services>().user)};
    });
    graph.addEdge(sg::START, "greet").addEdge("greet", sg::END);
    std::cout << graph.compile().invoke({}, {.context = Services{"Ada"}}).values << "\n";
    // [end context]
}

// [begin chat]
struct Chat {
    std::vector<sg::Message> messages = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&Chat::messages>(sg::addMessages)); }
};

sg::CompiledGraph<Chat> makeChat() {
    sg::StateGraph<Chat> graph;
    graph.addNode("answer", [](const Chat&, sg::Runtime& runtime) -> sg::Update<Chat> {
        for (const char* token : {"Hel", "lo"}) runtime.emitMessage(sg::Message{"assistant", token, "m1"});
        return {sg::add<&Chat::messages>(sg::Message{"assistant", "Hello", "m1"})};  // the same id
    });
    graph.addEdge(sg::START, "answer").addEdge("answer", sg::END);
    return graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
}
// [end chat]

void streams() {
    const auto chat = makeChat();
    const sg::Update<Chat> input{sg::add<&Chat::messages>(sg::Message{"user", "Hi", "m0"})};
    // [begin tokens]
    for (const auto& event : chat.stream(input, {.thread_id = "1"}, {.modes = sg::StreamMode::messages}))
        std::cout << sg::toJson(event) << "\n";  // one line of JSON, as a string
    // [end tokens]

    // [begin subscribe]
    sg::StreamHub hub(chat);
    auto subscription = hub.subscribe("2", {.modes = sg::StreamMode::runs, .until = sg::Until::run_end});
    std::jthread run([&] { chat.invoke(input, {.thread_id = "2", .hub = &hub}); });
    while (const auto event = subscription.next()) {  // ends with the run
        if (const auto end = sg::endOf(*event)) std::cout << "the run is " << toString(end->ending) << "\n";
    }
    // [end subscribe]
}

void json() {
    // [begin json state]
    sg::JsonSchema schema;  // channels that are named at run time
    schema.channel("topic").channel("log", sg::JsonReducer::append());
    sg::StateGraph<sg::JsonState> graph(schema);
    graph.addNode("note", [](const sg::JsonState& state) -> sg::Update<sg::JsonState> {
        return {sg::write("log", "about " + std::string(state.at("topic").as_string()))};
    });
    graph.addEdge(sg::START, "note").addEdge("note", sg::END);
    std::cout << graph.compile().invoke({sg::write("topic", "owls")}).values << "\n";
    // [end json state]
}

void cacheAndSpans() {
    std::ostringstream spans;
    // [begin cache]
    sg::StateGraph<State> graph;
    graph.addNode("ask", says("asked"), {.cache = {.key = [](const State&) { return std::string("always"); }}});
    graph.addEdge(sg::START, "ask").addEdge("ask", sg::END);
    const auto cache = std::make_shared<sg::StoreCache>(std::make_shared<sg::RocksDBStore>("cache"));
    // [end cache]
    // [begin spans]
    const auto exporter = std::make_shared<sg::OtlpJsonExporter>(spans, "my service");  // lines for OpenTelemetry
    const auto app = graph.compile({.observer = std::make_shared<sg::SpanObserver>(exporter), .cache = cache});
    // [end spans]
    app.invoke({});
    app.invoke({});
    const std::string text = spans.str();
    std::cout << "cache hits: " << cache->stats().hits
              << ", lines of spans: " << (std::count(text.begin(), text.end(), '\n') > 0 ? "some" : "none") << "\n";
}

void readers() {
    sg::StateGraph<State> graph;
    graph.addNode("ask", [](const State&, sg::Runtime& runtime) -> sg::Update<State> {
        return {sg::add<&State::log>(sg::interrupt<std::string>(runtime, "Who?"))};
    });
    graph.addEdge(sg::START, "ask").addEdge("ask", sg::END);
    const auto saver = std::make_shared<sg::RocksDBSaver>("threads");
    const auto app = graph.compile({.checkpointer = saver});
    app.invoke({}, {.thread_id = "1"});
    // [begin read only]
    sg::RocksDBSaver reader("threads", {.read_only = true, .follow = true});  // another process may be writing
    for (const auto& thread : reader.unfinishedThreads())
        std::cout << thread.thread_id << " is " << toString(thread.reason) << "\n";
    // [end read only]
    // [begin busy]
    app.invoke(sg::resume("Ada"), {.thread_id = "1", .on_busy = sg::OnBusy::wait});  // after a run that is under way
    // [end busy]
    // [begin only new]
    const auto handle = [&app](const std::string& request) {
        try {
            app.invoke({}, {.thread_id = request, .only_new = true});
        } catch (const sg::ConcurrentUpdateError&) {
            std::cout << request << " was received before\n";  // by this program or another one
        }
    };
    handle("request 17");
    handle("request 17");
    // [end only new]
    // [begin draw]
    const std::string drawing = app.toMermaid();
    // [end draw]
    std::cout << "the drawing has " << std::count(drawing.begin(), drawing.end(), '\n') << " lines\n";
}

// [begin shared list]
struct LongChat {
    sg::SharedList<sg::Message> messages = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&LongChat::messages>(sg::addMessages)); }
};
// [end shared list]

void sharedList() {
    sg::StateGraph<LongChat> graph;
    graph
        .addNode("answer",
                 [](const LongChat&) -> sg::Update<LongChat> {
                     return {sg::add<&LongChat::messages>(sg::Message{.role = "ai", .content = "hello"})};
                 })
        .addEdge(sg::START, "answer")
        .addEdge("answer", sg::END);
    const auto result = graph.compile().invoke({});
    std::cout << "a shared list of " << result.values.messages.size() << " message\n";
}

int main() {
    joinAndDefer();
    limits();
    breakpoints();
    context();
    streams();
    json();
    cacheAndSpans();
    readers();
    sharedList();
}
