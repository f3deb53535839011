// What clients of LangGraph's server rely on, beyond the recorded conversations.
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include <stategraph/json.hpp>
#include <stategraph/langgraph/api.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/memory_store.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/langgraph/served_app.hpp"
#include "tests/serve/client.hpp"
#include "tests/support/gate.hpp"

namespace {

namespace json = boost::json;
namespace sg = stategraph;
using gates::Gate;
using langgraph_tests::App;
using langgraph_tests::eventsIn;
using langgraph_tests::makeApp;
using langgraph_tests::patient;
using langgraph_tests::Served;

sg::serve::ServerOptions ownedByUsers() {
    sg::serve::ServerOptions options;
    options.owned = true;
    options.authorize = [](const sg::serve::RequestView& asked) -> sg::serve::Admission {
        const std::string user(asked.header("x-user"));
        if (user.empty()) return {};
        return sg::serve::Identity{.name = user};
    };
    return options;
}

constexpr const char* ada = "x-user: ada\r\n";
constexpr const char* bob = "x-user: bob\r\n";

}  // namespace

TEST_CASE("a thread of another user does not exist, in any request") {
    const Served served(makeApp(std::make_shared<sg::MemorySaver>()), ownedByUsers());
    const std::string thread = served.newThread(ada);
    const std::string run = "/threads/" + thread + "/runs";
    CHECK(served.ask("POST", run + "/wait", R"({"assistant_id": "app", "input": {"name": "x"}})", ada).status == 200);
    const std::string id = Served::textOf(served.get(run, ada).at(0), "run_id");
    const std::pair<const char*, std::string> requests[] = {
        {"GET", "/threads/" + thread},
        {"PATCH", "/threads/" + thread},
        {"DELETE", "/threads/" + thread},
        {"POST", "/threads/" + thread + "/copy"},
        {"GET", "/threads/" + thread + "/state"},
        {"POST", "/threads/" + thread + "/state"},
        {"POST", "/threads/" + thread + "/state/checkpoint"},
        {"GET", "/threads/" + thread + "/history"},
        {"POST", "/threads/" + thread + "/history"},
        {"GET", run},
        {"GET", run + "/" + id},
        {"DELETE", run + "/" + id},
        {"GET", run + "/" + id + "/join"},
        {"GET", run + "/" + id + "/stream"},
        {"POST", run + "/" + id + "/cancel"},
        {"POST", run},
        {"POST", run + "/wait"},
        {"POST", run + "/stream"},
    };
    for (const auto& [method, target] : requests) {
        CAPTURE(method);
        CAPTURE(target);
        const std::string_view body =
            std::string_view(method) == "GET" ? "" : R"({"assistant_id": "app", "input": {"name": "y"}})";
        CHECK(served.ask(method, target, body, bob).status == 404);
        CHECK(served.ask(method, target, body).status == 401);
    }
    CHECK(json::parse(served.ask("POST", "/threads/search", "{}", bob).body).as_array().empty());
    CHECK(json::parse(served.ask("POST", "/threads/search", "{}", ada).body).as_array().size() == 1);
    CHECK(served.ask("PUT", "/store/items", R"({"namespace": ["a"], "key": "k", "value": {}})", ada).status == 403);
    CHECK(served.ask("POST", "/threads", R"({"thread_id": ")" + thread + R"(", "if_exists": "do_nothing"})", bob)
              .status == 409);
}

TEST_CASE("the text of an exception stays in the process") {
    const Served served(makeApp(std::make_shared<sg::MemorySaver>()), {.log = [](std::string_view) {}});
    const std::string thread = served.newThread();
    const std::string body = R"({"assistant_id": "app", "input": {"name": "bad"}})";
    const std::string waited = served.ask("POST", "/threads/" + thread + "/runs/wait", body).body;
    CHECK(waited.find("__error__") != std::string::npos);
    CHECK(waited.find("swordfish") == std::string::npos);
    const client::Response streamed =
        served.ask("POST", "/threads/" + thread + "/runs/stream",
                   R"({"assistant_id": "app", "input": {"name": "bad"}, "stream_mode": ["tasks", "debug", "values"]})");
    CHECK(streamed.body.find("event: error") != std::string::npos);
    CHECK(streamed.body.find("swordfish") == std::string::npos);
    CHECK(served.ask("GET", "/threads/" + thread + "/state").body.find("swordfish") == std::string::npos);
    CHECK(Served::textOf(served.get("/threads/" + thread), "status") == "error");
}

TEST_CASE("runs of a thread begin one after the other, and what waits is listed, cancelled and refused") {
    const auto gate = std::make_shared<Gate>();
    const Served served(makeApp(std::make_shared<sg::MemorySaver>(), gate));
    const std::string thread = served.newThread();
    const std::string runs = "/threads/" + thread + "/runs";
    const auto create = [&](const std::string& name, const std::string& strategy) {
        return served.ask("POST", runs,
                          R"({"assistant_id": "app", "multitask_strategy": ")" + strategy +
                              R"(", "input": {"name": ")" + name + R"("}})");
    };
    const std::string one = Served::textOf(json::parse(create("one", "enqueue").body), "run_id");
    const std::string two = Served::textOf(json::parse(create("two", "enqueue").body), "run_id");
    const std::string three = Served::textOf(json::parse(create("three", "enqueue").body), "run_id");
    CHECK(create("four", "reject").status == 409);
    CHECK(Served::textOf(served.get("/threads/" + thread), "status") == "busy");
    CHECK(served.get(runs + "?status=pending").as_array().size() == 2);
    CHECK(served.ask("POST", runs + "/" + two + "/cancel?wait=1").status == 204);
    CHECK(Served::textOf(served.get(runs + "/" + two), "status") == "interrupted");
    CHECK(served.ask("DELETE", "/threads/" + thread).status == 409);
    gate->open();
    const json::value last = served.join(thread, three);
    CHECK(json::serialize(last.at("log")) == R"(["first one","work one","first three","work three"])");
    CHECK(Served::textOf(served.get(runs + "/" + one), "status") == "success");
    CHECK(Served::textOf(served.get("/threads/" + thread), "status") == "idle");
}

TEST_CASE("every reader of a run gets all of its events, from any number on") {
    const Served served(makeApp(std::make_shared<sg::MemorySaver>()));
    const std::string thread = served.newThread();
    const client::Response first =
        served.ask("POST", "/threads/" + thread + "/runs/stream", R"({"assistant_id": "app", "input": {"name": "x"}})");
    const std::string location = first.headers.at("location");
    CHECK(location == first.headers.at("content-location") + "/stream");
    const std::string whole = eventsIn(first.body);
    CHECK(eventsIn(served.ask("GET", location).body) == whole);
    const std::string after = eventsIn(served.ask("GET", location, {}, "Last-Event-ID: 0\r\n").body);
    CHECK(after == whole.substr(whole.find("\n\n") + 2));
    CHECK(eventsIn(served.ask("GET", location, {}, "Last-Event-ID: -1\r\n").body) == whole);
}

TEST_CASE("the records of the server are not among the items of the store") {
    const Served served(makeApp(std::make_shared<sg::MemorySaver>()));
    (void)served.newThread();
    CHECK(served.ask("PUT", "/store/items", R"({"namespace": ["a"], "key": "k", "value": {"b": 1}})").status == 204);
    const json::value found = json::parse(served.ask("POST", "/store/items/search", "{}").body);
    CHECK(found.at("items").as_array().size() == 1);
    CHECK(json::parse(served.ask("POST", "/store/namespaces", "{}").body) == json::parse(R"({"namespaces": [["a"]]})"));
    CHECK(served.ask("POST", "/store/items/search", R"({"namespace_prefix": ["langgraph-api"]})").status == 422);
    CHECK(served.ask("GET", "/store/items?namespace=langgraph-api.threads&key=k").status == 422);
}

TEST_CASE("bodies of any type are read as JSON, and pages of allowed origins read all answers") {
    const Served served(makeApp(std::make_shared<sg::MemorySaver>()), {.origins = {"https://smith.example"}});
    CHECK(served.ask("POST", "/threads/search", "{}", "Content-Type: text/plain\r\n").status == 200);
    const client::Response asked =
        served.ask("OPTIONS", "/threads", {},
                   "Origin: https://smith.example\r\nAccess-Control-Request-Headers: x-api-key\r\n"
                   "Access-Control-Request-Private-Network: true\r\n");
    CHECK(asked.status == 204);
    CHECK(asked.headers.at("access-control-allow-headers") == "x-api-key");
    CHECK(asked.headers.at("access-control-allow-methods").find("DELETE") != std::string::npos);
    CHECK(asked.headers.at("access-control-allow-private-network") == "true");
    const client::Response answered = served.ask("GET", "/ok", {}, "Origin: https://smith.example\r\n");
    CHECK(answered.headers.at("access-control-expose-headers").find("content-location") != std::string::npos);
}

TEST_CASE("a request that makes no sense is refused with the path of what is wrong") {
    const Served served(makeApp(std::make_shared<sg::MemorySaver>()));
    const std::string wait = "/threads/" + served.newThread() + "/runs/wait";
    const auto detail = [&](const char* body) {
        const client::Response refused = served.ask("POST", wait, body);
        CHECK(refused.status == 422);
        return Served::textOf(json::parse(refused.body), "detail");
    };
    CHECK(detail(R"({"input": {}})") == "assistant_id: is required");
    CHECK(detail(R"({"assistant_id": "app", "input": {"nmae": "x"}})") ==
          "input.nmae: the graph 'app' has no such channel");
    CHECK(detail(R"({"assistant_id": "app", "stream_mode": "colours"})") == "stream_mode: there is no mode 'colours'");
    CHECK(detail(R"({"assistant_id": "app", "config": {"recursion_limit": 0}})") ==
          "config.recursion_limit: must be a whole number from 1 to 1000000");
    CHECK(detail(R"({"assistant_id": "app", "interrupt_before": ["x"]})") ==
          "interrupt_before: the graph has no node 'x'");
    CHECK(detail(R"({"assistant_id": "app", "metadata": {"": 1}})") ==
          "metadata: has a member without a name, or config.configurable has");
    const std::string long_one =
        R"({"assistant_id": "app", "config": {"configurable": {"a": ")" + std::string(17 * 1024, 'x') + R"("}}})";
    CHECK(detail(long_one.c_str()).starts_with("metadata: has more than 16 KiB"));
    CHECK(detail(R"({"assistant_id": "app", "webhook": "http://x"})") == "webhook: this server sends no webhooks");
}

namespace {

/// A conversation as C++ types.
struct Conversation {
    std::vector<sg::Message> messages = {};
    int turns = 0;
    static constexpr auto channels() {
        return sg::channels(sg::channel("messages", &Conversation::messages, sg::addMessages),
                            sg::channel("turns", &Conversation::turns, sg::sum));
    }
};

struct Taste {
    std::string color = {};
    static constexpr auto fields() { return sg::fields(sg::field("color", &Taste::color)); }
};

sg::CompiledGraph<Conversation> makeConversation() {
    sg::StateGraph<Conversation> graph;
    graph.addNode("answer", [](const Conversation& state, sg::Runtime& runtime) -> sg::Update<Conversation> {
        const std::string text = state.messages.back().content + " in " + runtime.context<Taste>().color;
        return {sg::add<&Conversation::messages>(sg::Message{.role = "assistant", .content = text, .id = "a"}),
                sg::add<&Conversation::turns>(1)};
    });
    graph.addEdge(sg::START, "answer").addEdge("answer", sg::END);
    return graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
}

}  // namespace

TEST_CASE("a graph of C++ types reads messages and a context of clients, and refuses what does not fit") {
    sg::serve::Server server(patient());
    sg::langgraph::serve(
        server, {{"talk", sg::langgraph::graph(makeConversation(), {.prepare = sg::langgraph::contextAs<Taste>()})}},
        {.store = std::make_shared<sg::MemoryStore>()});
    const auto wait = [&](const char* body) {
        client::Connection connection(server.port());
        connection.request("POST", "/runs/wait", body);
        return connection.read();
    };
    const client::Response said = wait(
        R"({"assistant_id": "talk", "context": {"color": "red"},
            "input": {"messages": [{"type": "human", "content": [{"type": "text", "text": "hi"}], "id": "h"}]}})");
    CHECK(json::parse(said.body) == json::parse(R"({"turns": 1, "messages": [
        {"type": "human", "content": "hi", "id": "h", "additional_kwargs": {}, "response_metadata": {}},
        {"type": "ai", "content": "hi in red", "id": "a", "additional_kwargs": {}, "response_metadata": {},
         "tool_calls": [], "invalid_tool_calls": []}]})"));
    const client::Response picture = wait(
        R"({"assistant_id": "talk", "context": {"color": "red"},
            "input": {"messages": [{"type": "human", "content": [{"type": "image", "url": "x"}]}]}})");
    CHECK(picture.status == 422);
    CHECK(picture.body.find("messages[0].content") != std::string::npos);
    const client::Response colorless =
        wait(R"({"assistant_id": "talk", "context": {"color": 5}, "input": {"messages": ["hi"]}})");
    CHECK(colorless.status == 422);
    CHECK(colorless.body.find("color") != std::string::npos);
    CHECK(wait(R"({"assistant_id": "talk", "context": {"color": "red"}, "input": {"turns": "many"}})").status == 422);
}

TEST_CASE("a client that has used up its runs is refused until it may begin another one") {
    const Served served(makeApp(std::make_shared<sg::MemorySaver>()),
                        {.per_client = {.runs = {.per_second = 1e-6, .burst = 1}}});
    const std::string body = R"({"assistant_id": "app", "input": {"name": "x"}})";
    CHECK(served.ask("POST", "/runs/wait", body).status == 200);
    const client::Response refused = served.ask("POST", "/runs/wait", body);
    CHECK(refused.status == 429);
    CHECK(refused.headers.contains("retry-after"));
    CHECK(served.ask("POST", "/threads", "{}").status == 200);
}

TEST_CASE("nobody gets a thread that another user has begun through another door, by naming it first") {
    const App app = makeApp(std::make_shared<sg::MemorySaver>());
    const Served served(app, ownedByUsers());
    const std::string thread = "01890a5d-ac96-774b-bcce-b302099a8057";
    app.invoke(sg::Update<sg::JsonState>::of({{"name", "x"}}),
               {.thread_id = thread, .metadata = sg::Metadata{{sg::serve::owner_key, sg::Value("ada")}}});
    const std::string body = R"({"thread_id": ")" + thread + R"(", "if_exists": "do_nothing"})";
    const char* const run = R"({"assistant_id": "app", "input": {"name": "y"}, "if_not_exists": "create"})";
    CHECK(served.ask("POST", "/threads", body, bob).status == 409);
    CHECK(served.ask("POST", "/threads/" + thread + "/runs/wait", run, bob).status == 404);
    CHECK(served.ask("POST", "/threads", body, ada).status == 200);
    CHECK(served.ask("POST", "/threads/" + thread + "/runs/wait", run, ada).status == 200);
}

TEST_CASE("of a batch with a run that makes no sense none is begun") {
    const Served served(makeApp(std::make_shared<sg::MemorySaver>()));
    const std::string good = R"({"assistant_id": "app", "input": {"name": "x"}, "on_completion": "keep"})";
    CHECK(served.ask("POST", "/runs/batch", "[" + good + R"(, {"assistant_id": "nobody"}])").status == 404);
    CHECK(json::parse(served.ask("POST", "/threads/search", "{}").body).as_array().empty());
    CHECK(served.ask("POST", "/runs/batch", "[" + good + ", " + good + "]").status == 200);
    CHECK(json::parse(served.ask("POST", "/threads/search", "{}").body).as_array().size() == 2);
}

TEST_CASE("a client beyond its streams begins no run whose events it would not get") {
    const auto gate = std::make_shared<Gate>();
    const Served served(makeApp(std::make_shared<sg::MemorySaver>(), gate), {.per_client = {.streams_max = 1}});
    const std::string thread = served.newThread();
    const std::string body = R"({"assistant_id": "app", "input": {"name": "x"}})";
    client::Connection first(served.server.port());
    first.request("POST", "/runs/stream", body);
    CHECK(first.head().status == 200);
    for (const char* const way : {"stream", "wait"}) {
        const client::Response refused = served.ask("POST", "/threads/" + thread + "/runs/" + way, body);
        CHECK(refused.status == 429);
        CHECK(refused.headers.contains("retry-after"));
    }
    CHECK(served.get("/threads/" + thread + "/runs").as_array().empty());
    gate->open();
}

TEST_CASE("a search of the whole store finds the items of all namespaces of clients in their order, page by page") {
    const Served served(makeApp(std::make_shared<sg::MemorySaver>()));
    for (const char* const label : {"a", "m", "z"}) {
        (void)served.newThread();
        for (int i = 0; i < 2; ++i)
            served.store->put({label, "inner"}, std::to_string(i), sg::Value(json::object{{"n", i}}));
    }
    std::string found;
    for (int offset = 0; offset < 8; ++offset) {
        const std::string body = R"({"limit": 1, "offset": )" + std::to_string(offset) + "}";
        const json::value page = json::parse(served.ask("POST", "/store/items/search", body).body);
        for (const json::value& each : page.at("items").as_array())
            found += json::value_to<std::string>(each.at("namespace").at(0)) + Served::textOf(each, "key") + " ";
    }
    CHECK(found == "a0 a1 m0 m1 z0 z1 ");
    CHECK(json::parse(served.ask("POST", "/store/namespaces", R"({"limit": 2, "offset": 1})").body) ==
          json::parse(R"({"namespaces": [["m", "inner"], ["z", "inner"]]})"));
}

TEST_CASE("a search returns parts of threads under names of the client, and the members that it selects") {
    const Served served(makeApp(std::make_shared<sg::MemorySaver>()));
    const std::string thread = served.newThread();
    const std::string path = "/threads/" + thread;
    CHECK(served.ask("POST", path + "/runs/wait", R"({"assistant_id": "app", "input": {"name": "x"}})").status == 200);
    const std::string wanted =
        R"({"select": ["thread_id"], "extract": {"last": "values.log[-1]", "first": "values.log[0]",
        "none": "values.log[2]", "before": "values.log[-3]", "deep": "values.name.deep", "graph": "metadata.graph_id"}})";
    const json::value found = json::parse(served.ask("POST", "/threads/search", wanted).body);
    CHECK(found ==
          json::parse(R"([{"thread_id": ")" + thread + R"(", "extracted": {"last": "work x", "first": "first x",
        "none": null, "before": null, "deep": null, "graph": "app"}}])"));
    for (const char* const wrong : {"", ".values", "values.", "values[", "values[x]", "values[1", "values[1]log"}) {
        CAPTURE(wrong);
        const json::object body{{"extract", {{"name", wrong}}}};
        CHECK(served.ask("POST", "/threads/search", json::serialize(body)).status == 422);
    }
    json::object many;
    for (int i = 0; i < 11; ++i) many[std::to_string(i)] = "values";
    CHECK(served.ask("POST", "/threads/search", json::serialize(json::object{{"extract", many}})).status == 422);
}

TEST_CASE("a state and a history have the members that a client selects, also single values") {
    const Served served(makeApp(std::make_shared<sg::MemorySaver>()));
    const std::string path = "/threads/" + served.newThread();
    CHECK(served.ask("POST", path + "/runs/wait", R"({"assistant_id": "app", "input": {"name": "x"}})").status == 200);
    const json::value expected = json::parse(R"({"next": [], "values": {"name": "x"}})");
    CHECK(served.get(path + "/state?select=next&select=values.name&select=values.none") == expected);
    const std::string select = R"({"checkpoint": {}, "limit": 1, "select": ["values.name", "next"]})";
    CHECK(json::parse(served.ask("POST", path + "/state/checkpoint", select).body) == expected);
    CHECK(json::parse(served.ask("POST", path + "/history", select).body) == json::array{expected});
    CHECK(served.get(path + "/state?select=values.name&select=values").at("values").as_object().size() == 2);
}
