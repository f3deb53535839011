#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>
#include <stategraph/observer.hpp>
#include <stategraph/serve/agent_endpoint.hpp>
#include <stategraph/serve/server.hpp>
#include <stategraph/serve/workflow_endpoint.hpp>
#include <stategraph/unfinished.hpp>
#include <stategraph/workflow/workflow.hpp>

#include "tests/agent/tools.hpp"
#include "tests/serve/client.hpp"

// What clients are told of runs: how they stand, what they ask, and nothing that is not theirs.
namespace wf = stategraph::workflow;
namespace serve = stategraph::serve;
namespace json = boost::json;
using namespace tools;

namespace {

struct Note {
    std::string text = {};
    static constexpr auto channels() { return sg::channels<&Note::text>(); }
};

serve::EndpointOptions allProtocols() {
    serve::EndpointOptions options;
    options.protocols = {serve::stepEvents(), serve::uiMessages(), serve::ownEvents()};
    return options;
}

std::string text(const json::object& line, std::string_view member) {
    const json::value* const found = line.if_contains(member);
    return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

/// The lines with this value of a member.
std::vector<json::object> linesWith(const client::Response& response, const char* member, std::string_view value) {
    std::vector<json::object> lines = response.objects();
    std::erase_if(lines, [&](const json::object& line) { return text(line, member) != value; });
    return lines;
}

}  // namespace

TEST_CASE("a served workflow that failed is told as failed in every protocol, and stands so in the store") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto pay = wf::step("pay", [](const int& n) {
        if (n == 1) throw std::runtime_error("the bank is closed");
        return n;
    });
    const auto flow = wf::workflow<int>("orders").then(pay).commit({.checkpointer = saver});
    serve::Server server;
    server.add("orders", serve::endpoint(flow.flow(), allProtocols()));
    for (const std::string protocol : {"steps", "ui", "events"}) {
        CAPTURE(protocol);
        const auto failed =
            client::post(server.port(), "/orders/bad-" + protocol + "/start?protocol=" + protocol, R"({"input":1})");
        CHECK(failed.body.find("The run failed; error ") != std::string::npos);
        CHECK(failed.body.find("the bank is closed") == std::string::npos);
        CHECK(failed.body.find("\"done\"") == std::string::npos);
        const auto good =
            client::post(server.port(), "/orders/good-" + protocol + "/start?protocol=" + protocol, R"({"input":2})");
        CHECK(good.body.find("\"failed\"") == std::string::npos);
        CHECK(good.body.find("\"done\"") != std::string::npos);
    }
    const auto unfinished = saver->unfinishedThreads({});
    REQUIRE(unfinished.size() == 3);
    CHECK((unfinished.front().reason == sg::Status::failed));
    CHECK(unfinished.front().error == "the bank is closed");
    CHECK(unfinished.front().next.empty());
    // Once it has ended well, it is finished.
    CHECK((flow.timeTravel("bad-ui", pay, 2).status == wf::RunStatus::success));
    CHECK(saver->unfinishedThreads({}).size() == 2);
}

TEST_CASE("an observer and a hub are told that a workflow failed or was cancelled by a step") {
    struct Ends : sg::Observer {
        void runEnds(const sg::RunEnd& end) noexcept override { all.push_back(end.ending); }
        std::vector<sg::Status> all;
    } ends;
    const auto step = wf::step("step", [](const int& n, wf::Context& context) {
        if (n == 1) throw std::runtime_error("no");
        if (n == 2) context.cancel();
        return n;
    });
    const auto flow = wf::workflow<int>("w").then(step).commit({.checkpointer = std::make_shared<sg::MemorySaver>()});
    for (const int n : {0, 1, 2}) flow.start(std::to_string(n), n, {.observer = &ends});
    CHECK(ends.all == std::vector{sg::Status::done, sg::Status::failed, sg::Status::cancelled});
}

TEST_CASE("the configuration of an endpoint holds for workflows") {
    const auto step = wf::step("step", [](const int&, wf::Context& context) {
        return context.requestContext<std::string>("tenant").value_or("nobody");
    });
    const auto flow = wf::workflow<int>("w").then(step).commit({.checkpointer = std::make_shared<sg::MemorySaver>()});
    serve::EndpointOptions options;
    options.config.context = wf::Values{{"tenant", sg::Value("ada")}};
    options.config.metadata = {{"region", sg::Value("north")}};
    serve::Server server;
    server.add("w", serve::endpoint(flow.flow(), options));
    CHECK(client::post(server.port(), "/w/1/start", R"({"input":1})").status == 200);
    CHECK(flow.get("1").result == "ada");
    CHECK(flow.get("1").view.metadata.at("region") == sg::Value("north"));
}

TEST_CASE("questions of graphs and workflows are told with their node, kind, text and what they ask about") {
    sg::StateGraph<Note> graph;
    graph.addNode("writes", [](const Note&, sg::Runtime& rt) {
        return sg::set<&Note::text>(sg::interrupt<std::string>(rt, "title", sg::Value("What is the title?")));
    });
    graph.addEdge(sg::START, "writes").addEdge("writes", sg::END);
    const auto pays = wf::step("pays", [](const int& n, wf::Suspending<std::string, int>& context) {
        return context.suspend("Pay " + std::to_string(n) + "?");
    });
    const auto flow = wf::workflow<int>("w")
                          .then(wf::step("inner", wf::workflow<int>("i").then(pays).commit()))
                          .commit({.checkpointer = std::make_shared<sg::MemorySaver>()});
    serve::Server server;
    server.add("g", serve::endpoint(graph.compile(stored()), allProtocols()));
    server.add("w", serve::endpoint(flow.flow(), allProtocols()));
    struct Wanted {
        const char* target;
        const char* body;
        const char* node;
        const char* kind;
        const char* text;
    };
    for (const Wanted& wanted : {Wanted{"/g/", R"({"input":{}})", "writes", "title", "What is the title?"},
                                 Wanted{"/w/", R"({"input":5})", "inner.pays", "step", "Pay 5?"}}) {
        const auto steps =
            linesWith(client::post(server.port(), std::string(wanted.target) + "1/start?protocol=steps", wanted.body),
                      "event", "question");
        REQUIRE(steps.size() == 1);
        CHECK(text(steps[0], "node") == wanted.node);
        CHECK(text(steps[0], "kind") == wanted.kind);
        CHECK(text(steps[0], "text") == wanted.text);
        CHECK(steps[0].at("value") == wanted.text);
        CHECK(text(steps[0], "stepName") == wanted.node);
        const auto ui =
            linesWith(client::post(server.port(), std::string(wanted.target) + "2/start?protocol=ui", wanted.body),
                      "type", "data-question");
        REQUIRE(ui.size() == 1);
        const json::object& data = ui[0].at("data").as_object();
        CHECK(text(data, "node") == wanted.node);
        CHECK(text(data, "kind") == wanted.kind);
        CHECK(text(data, "text") == wanted.text);
    }
}

TEST_CASE("an approval of an agent at the top has the name of its step") {
    agent::ToolOptions gated;
    gated.approval = true;
    const agent::Agent helper({.model = model::scripted({model::assistant({call("c1", "dig")})}),
                               .tools = {work(std::make_shared<Ledger>(), "work", gated)},
                               .compile = stored()});
    serve::Server server;
    server.add("a", serve::endpoint(helper, allProtocols()));
    const auto asked = linesWith(client::post(server.port(), "/a/t/start?protocol=steps", R"({"text":"go"})"), "event",
                                 "tool-call-approval");
    REQUIRE(asked.size() == 1);
    CHECK(text(asked[0], "stepName") == "tool");
}

TEST_CASE("a question is told before the end of its run, to readers of a hub and of a server") {
    sg::StateGraph<Note> graph;
    graph.addNode("asks", [](const Note&, sg::Runtime& rt) {
        return sg::set<&Note::text>(sg::interrupt<std::string>(rt, "ok?"));
    });
    graph.addEdge(sg::START, "asks").addEdge("asks", sg::END);
    const auto app = graph.compile(stored());
    sg::StreamHub hub(app);
    auto events =
        hub.subscribe("1", {.modes = {sg::StreamMode::updates, sg::StreamMode::runs}, .until = sg::Until::run_end});
    app.invoke({}, {.thread_id = "1", .hub = &hub});
    std::vector<std::string> told;
    while (const auto event = events.next())
        told.push_back(sg::isRunEnd(*event) ? "end" : event->interrupts.empty() ? "other" : "question");
    REQUIRE(told.size() >= 2);
    CHECK(told.back() == "end");
    CHECK(told[told.size() - 2] == "question");

    serve::Server server;
    server.add("g", serve::endpoint(app));
    const auto response = client::post(server.port(), "/g/2/start", R"({"input":{}})");
    const auto asked = response.body.find("__interrupt__");
    CHECK(asked < response.body.find("\"event\":\"end\""));
    CHECK(asked != std::string::npos);
}

TEST_CASE("the state of a thread that does not exist is 404") {
    sg::StateGraph<Note> graph;
    graph.addNode("a", [](const Note&) { return sg::set<&Note::text>("x"); });
    graph.addEdge(sg::START, "a").addEdge("a", sg::END);
    const auto flow = wf::workflow<int>("w")
                          .then(wf::step("a", [](const int& n) { return n; }))
                          .commit({.checkpointer = std::make_shared<sg::MemorySaver>()});
    serve::Server server;
    server.add("g", serve::endpoint(graph.compile(stored())));
    server.add("w", serve::endpoint(flow.flow()));
    client::post(server.port(), "/g/1/start", R"({"input":{}})");
    client::post(server.port(), "/w/1/start", R"({"input":1})");
    for (const std::string name : {"g", "w"}) {
        CHECK(client::get(server.port(), "/" + name + "/1/state").status == 200);
        CHECK(client::get(server.port(), "/" + name + "/2/state").status == 404);
    }
}

TEST_CASE("the text of an exception of a handler, or of the authorization, stays in the process") {
    serve::ServerOptions options;
    options.authorize = [](const serve::RequestView& request) -> int {
        if (request.target() == "/h/closed") throw std::runtime_error("secret of the authorization");
        return 0;
    };
    serve::Server server(options);
    server.handle("h", [](const serve::HandlerRequest& request) -> serve::HandlerAnswer {
        if (request.segments.front() == "wrong") throw sg::InvalidArgumentError("there is no such page");
        throw std::runtime_error("secret of the handler");
    });
    for (const char* const target : {"/h/x", "/h/closed"}) {
        const auto failed = client::get(server.port(), target);
        CHECK(failed.status == 500);
        CHECK(failed.body.find("secret") == std::string::npos);
    }
    const auto refused = client::get(server.port(), "/h/wrong");
    CHECK(refused.status == 400);
    CHECK(refused.body.find("there is no such page") != std::string::npos);
}

TEST_CASE("a message that is sent again with its id is the same turn") {
    const auto ledger = std::make_shared<Ledger>();
    const agent::Agent helper({.model = model::scripted({model::assistant({call("c1", "dig")}),
                                                         model::assistant("Done."), model::assistant("Another turn.")}),
                               .tools = {work(ledger)},
                               .compile = stored()});
    serve::Server server;
    server.add("a", serve::endpoint(helper, allProtocols()));
    for (int i = 0; i < 3; ++i)
        CHECK(client::post(server.port(), "/a/t/start", R"({"text":"go","message_id":"m1"})").status == 200);
    CHECK(ledger->count("dig") == 1);
    CHECK(helper.graph().getState({.thread_id = "t"}).values.messages.size() == 4);
    client::post(server.port(), "/a/t/start", R"({"text":"go on","message_id":"m1"})");
    CHECK(helper.graph().getState({.thread_id = "t"}).values.text() == "Another turn.");
}

TEST_CASE("pieces of an answer that broke off are a step of their own for pages that cannot forget them") {
    class Shaky : public model::Model {
    public:
        sg::Task<model::Reply> ask(model::Request, const model::Asking& asking) const override {
            asking.tell({.text = "It "});
            if (++attempts == 1) throw model::ModelError("overloaded", {.status = 503, .is_retryable = true});
            asking.tell({.text = "is."});
            model::Reply reply;
            reply.message = model::assistant("It is.");
            co_return reply;
        }
        mutable int attempts = 0;
    };
    agent::Options options{.model = std::make_shared<const Shaky>()};
    options.retry = sg::RetryPolicy{.max_attempts = 2, .initial_interval = std::chrono::milliseconds(1)};
    options.compile = stored();
    serve::Server server;
    server.add("a", serve::endpoint(agent::Agent(options), allProtocols()));
    std::string told;
    for (const json::object& line :
         client::post(server.port(), "/a/t/start?protocol=ui", R"({"text":"go"})").objects()) {
        const std::string type = text(line, "type");
        if (type.ends_with("-step")) told += type + " ";
        if (type == "text-delta") told += text(line, "delta") + "| ";
    }
    CHECK(told == "start-step It | finish-step start-step It | is.| finish-step ");
}

TEST_CASE("a client that connects after its run has ended gets the thread's status") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    sg::StateGraph<Note> graph;
    graph.addNode("first", [](const Note&) -> sg::Update<Note> { return {}; });
    graph.addNode("work", [](const Note& note, sg::Runtime& runtime) -> sg::Update<Note> {
        if (note.text == "asks") (void)sg::interrupt<int>(runtime, "go on?");
        if (note.text == "sleeps") runtime.sleepUntil(std::chrono::system_clock::now() + std::chrono::hours(1));
        if (note.text == "fails") throw std::runtime_error("the bank is closed");
        return {};
    });
    graph.addEdge(sg::START, "first").addEdge("first", "work");
    const auto app = graph.compile({.checkpointer = saver});
    const auto flow = wf::workflow<int>("orders")
                          .then(wf::step("pay",
                                         [](const int& n) {
                                             if (n == 1) throw std::runtime_error("the bank is closed");
                                             return n;
                                         }))
                          .commit({.checkpointer = saver});
    serve::Server server;
    server.add("g", serve::endpoint(app, allProtocols()));
    server.add("orders", serve::endpoint(flow.flow(), allProtocols()));
    const auto ending = [&](const std::string& thread, const std::string& protocol) {
        const auto late = client::get(server.port(), "/" + thread + "/events?from=0&protocol=" + protocol);
        CAPTURE(late.body);
        CHECK(late.body.find("the bank is closed") == std::string::npos);
        if (protocol == "steps") return text(late.objects().back(), "status");
        const auto finish = linesWith(late, "type", "finish");
        REQUIRE(finish.size() == 1);
        CHECK((linesWith(late, "type", "error").size() == 1) == (thread.find("fail") != std::string::npos));
        return text(finish.at(0).at("messageMetadata").as_object(), "status");
    };
    for (const char* const how : {"asks", "sleeps", "fails", "ends"})
        client::post(server.port(), std::string("/g/") + how + "/start",
                     std::string(R"({"input":{"text":")") + how + "\"}}");
    client::post(server.port(), "/g/gone/start", R"({"input":{"text":"asks"}})");
    CHECK(client::post(server.port(), "/g/gone/cancel", "").status == 200);
    client::post(server.port(), "/orders/failed/start", R"({"input":1})");
    client::post(server.port(), "/orders/good/start", R"({"input":2})");
    for (const std::string protocol : {"steps", "ui"}) {
        CAPTURE(protocol);
        CHECK(ending("g/asks", protocol) == "interrupted");
        CHECK(ending("g/sleeps", protocol) == "sleeping");
        CHECK(ending("g/fails", protocol) == "failed");
        CHECK(ending("g/ends", protocol) == "done");
        CHECK(ending("g/gone", protocol) == "cancelled");
        CHECK(ending("orders/failed", protocol) == "failed");
        CHECK(ending("orders/good", protocol) == "done");
    }
}

TEST_CASE("a client whose connection broke between two lines of one event gets the rest from its last position") {
    const agent::Agent helper({.model = model::scripted({model::assistant({call("c1", "dig"), call("c2", "sow")}),
                                                         model::assistant("It is done.")}),
                               .tools = {work(std::make_shared<Ledger>())},
                               .compile = stored()});
    serve::Server server;
    server.add("helper", serve::endpoint(helper, allProtocols()));
    client::post(server.port(), "/helper/t/start", R"({"text":"go"})");
    const std::string accept = "Accept: text/event-stream\r\n";
    const std::string target = "/helper/t/events?protocol=ui&from=";
    const std::string whole = client::get(server.port(), target + "0", accept).body;
    std::size_t positions = 0;
    for (std::size_t at = whole.find("id: "); at != std::string::npos; at = whole.find("id: ", at + 1), ++positions) {
        const std::size_t end = whole.find('\n', at);
        const std::size_t event_end = whole.find("\n\n", at) + 2;
        const std::string later = client::get(server.port(), target + whole.substr(at + 4, end - at - 4), accept).body;
        CAPTURE(later);
        for (const std::string line : {"\"c1\"", "\"c2\"", "did "}) {
            const auto count = [&](const std::string& text) {
                std::size_t n = 0;
                for (std::size_t i = text.find(line); i != std::string::npos; i = text.find(line, i + 1)) ++n;
                return n;
            };
            CAPTURE(line);
            CHECK(count(later) == count(whole.substr(event_end)));
        }
    }
    CHECK(positions > 0);
}
