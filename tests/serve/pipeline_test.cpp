#include <doctest/doctest.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>

#include <stategraph/serve/agent_endpoint.hpp>
#include <stategraph/serve/server.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/agent/tools.hpp"
#include "tests/serve/client.hpp"
#include "tests/support/gate.hpp"

// Several agents in one graph that share one response.

using namespace tools;
namespace serve = stategraph::serve;
namespace json = boost::json;
using namespace std::chrono_literals;

// Not in an unnamed namespace: coroutines that the server's templates instantiate with it have external names.
namespace piped {

struct State {
    std::string request = {};
    std::vector<std::string> said = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel<&State::request>(), sg::channel<&State::said>(sg::append));
    }
};

}  // namespace piped

namespace {

using piped::State;

/// Says "one " and, once the gate is open, "two".
class GatedModel final : public model::Model {
public:
    explicit GatedModel(std::shared_ptr<gates::Gate> gate) : gate_(std::move(gate)) {}
    sg::Task<model::Reply> ask(model::Request, const model::Asking& asking) const override {
        asking.tell({.text = "one "});
        const bool is_read = gate_->wait();
        asking.tell({.text = "two"});
        model::Reply reply;
        reply.message = model::assistant(is_read ? "one two" : "nobody read it in time");
        co_return reply;
    }

private:
    std::shared_ptr<gates::Gate> gate_;
};

/// Reports no pieces of its answers, or of one answer only before it breaks off.
class SilentModel final : public model::Model {
public:
    explicit SilentModel(bool breaks) : breaks_(breaks) {}
    sg::Task<model::Reply> ask(model::Request request, const model::Asking& asking) const override {
        if (breaks_.exchange(false)) {
            asking.tell({.text = "I dr"});
            throw model::ModelError("overloaded", {.status = 503, .is_retryable = true});
        }
        model::Reply reply;
        reply.message = model::assistant("All is done.");
        if (request.messages.size() == 1) {
            reply.message = model::assistant({call("c1", "dig")});
            reply.message.content = {model::Reasoning{"hm", ""}, model::Text{"I "}, model::Text{"dig."}};
        }
        co_return reply;
    }

private:
    mutable std::atomic<bool> breaks_;
};

std::string text(const json::object& object, std::string_view member) {
    const json::value* const found = object.if_contains(member);
    return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

void addAgent(sg::StateGraph<State>& graph, const std::string& name, std::shared_ptr<const model::Model> model) {
    const agent::Agent step({.model = std::move(model)});
    graph.addNode(
        name, step.graph(), [](const State& state) { return agent::said(state.request); },
        [](const agent::State& inner) -> sg::Update<State> { return {sg::add<&State::said>(inner.text())}; });
}

void addTo(serve::Server& server, const sg::StateGraph<State>& graph) {
    serve::EndpointOptions options;
    options.protocols = {serve::stepEvents()};
    server.add("steps", serve::endpoint(graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()}),
                                        std::move(options)));
}

/// Serves an agent that calls `inner` once as its tool, and reports updates alone.
std::shared_ptr<serve::Endpoint> asking(const agent::Agent& inner) {
    const model::ToolCall ask{{}, "o1", "research", R"({"request":"look"})"};
    const agent::Agent helper({.model = model::scripted({model::assistant({ask}), model::assistant("thanks")}),
                               .tools = {agent::agentTool("research", {.description = "Looks things up"}, inner)},
                               .compile = stored()});
    serve::EndpointOptions options;
    options.protocols = {serve::ownEvents(sg::StreamMode::updates)};
    return serve::endpoint(helper, std::move(options));
}

}  // namespace

TEST_CASE("a text reaches the client while the model still writes it, and one step's end does not end the response") {
    const auto gate = std::make_shared<gates::Gate>();
    sg::StateGraph<State> graph;
    addAgent(graph, "first", std::make_shared<const GatedModel>(gate));
    addAgent(graph, "second", model::scripted({model::assistant("three")}));
    addAgent(graph, "third", model::scripted({model::assistant("four")}));
    graph.addEdge(sg::START, "first").addEdge("first", "second").addEdge("second", "third").addEdge("third", sg::END);
    serve::Server server;
    addTo(server, graph);

    client::Connection connection(server.port());
    connection.request("POST", "/steps/t/start", R"({"input":{"request":"go"}})");
    client::Response response = connection.head();
    CHECK(response.status == 200);
    while (response.body.find("one ") == std::string::npos) response.body += connection.chunk();
    CHECK(response.body.find("two") == std::string::npos);  // not said so far
    gate->open();
    for (std::string piece = connection.chunk(); !piece.empty(); piece = connection.chunk()) response.body += piece;

    std::map<std::string, std::string> texts;
    std::vector<std::string> order;
    const auto lines = response.objects();
    for (const json::object& line : lines) {
        if (text(line, "event") != "text-chunk") continue;
        texts[text(line, "stepName")] += text(line, "text");
        if (order.empty() || order.back() != text(line, "stepName")) order.push_back(text(line, "stepName"));
    }
    CHECK(texts == std::map<std::string, std::string>{{"first", "one two"}, {"second", "three"}, {"third", "four"}});
    CHECK(order == std::vector<std::string>{"first", "second", "third"});
    CHECK(text(lines.back(), "status") == "done");
    const json::value state = json::parse(client::get(server.port(), "/steps/t/state").body);
    CHECK(state.at("values").at("said") == json::array{"one two", "three", "four"});
}

TEST_CASE(
    "an answer of which the model reports no pieces reaches the client whole and once, also from a graph inside") {
    const auto answered = [](bool breaks, const std::string& protocol) {
        agent::Options helper{.model = std::make_shared<const SilentModel>(breaks),
                              .tools = {work(std::make_shared<Ledger>())}};
        helper.retry = sg::RetryPolicy{.max_attempts = 2, .initial_interval = 1ms};
        // The messages of the agent are written again by the graph around it.
        sg::StateGraph<agent::State> graph;
        graph.addNode("agent", agent::Agent(helper).graph());
        graph.addNode("bye",
                      [](const agent::State&) { return sg::add<&agent::State::messages>(model::assistant("Bye.")); });
        graph.addEdge(sg::START, "agent").addEdge("agent", "bye").addEdge("bye", sg::END);
        serve::EndpointOptions options;
        options.protocols = {serve::uiMessages({.resets_steps = true}),
                             serve::stepEvents({.tools = {{"work", "working"}}})};
        serve::Server server;
        server.add("a", serve::endpoint(graph.compile(stored()), options));
        return client::post(server.port(), "/a/t/start?protocol=" + protocol,
                            R"({"input":{"messages":[{"role":"user","content":[{"type":"text","text":"go"}]}]}})")
            .objects();
    };
    for (const bool breaks : {false, true}) {
        CAPTURE(breaks);
        std::string shown;
        for (const json::object& line : answered(breaks, "ui")) {
            const std::string type = text(line, "type");
            if (type == "start-step" || type == "reset-step" || type == "tool-input-available") shown += type + " ";
            if (type == "text-start" || type == "reasoning-start") shown += type.substr(0, type.find('-')) + ":";
            if (type.ends_with("-delta")) shown += text(line, "delta");
            if (type.ends_with("-end")) shown += " ";
        }
        CHECK(shown == std::string(breaks ? "start-step text:I drreset-step " : "start-step ") +
                           "reasoning:hm text:I dig. tool-input-available start-step text:All is done. "
                           "start-step text:Bye. ");
        shown.clear();
        for (const json::object& line : answered(breaks, "steps"))
            shown += text(line, "event") + " " + text(line, "stepName") + ": " + text(line, "text") + "; ";
        CHECK(shown == std::string(breaks ? "text-chunk agent: I dr; " : "") +
                           "text-chunk agent: I ; text-chunk agent: dig.; tool-call agent: {\"what\":\"dig\"}; "
                           "text-chunk agent: All is done.; text-chunk bye: Bye.; finish : ; ");
    }
}

TEST_CASE("the messages of an agent that is a node are reported once, and those of earlier turns not again") {
    model::Message first = model::assistant({call("c1", "dig")});
    first.content.emplace_back(model::Text{"I dig."});
    agent::ToolOptions gated;
    gated.approval = true;
    const agent::Agent helper(
        {.model = model::scripted({first, model::assistant("Done."), model::assistant({call("c2", "burn", "gated")}),
                                   model::assistant("All is done.")}),
         .tools = {work(std::make_shared<Ledger>()), work(std::make_shared<Ledger>(), "gated", gated)}});
    sg::StateGraph<agent::State> inside;
    inside.addNode("agent", helper.graph()).addEdge(sg::START, "agent").addEdge("agent", sg::END);
    sg::StateGraph<agent::State> graph;
    graph.addNode("inside", inside.compile()).addEdge(sg::START, "inside").addEdge("inside", sg::END);
    serve::EndpointOptions options;
    options.protocols = {serve::uiMessages(), serve::stepEvents({.tools = {{"work", "working"}, {"gated", "gated"}}})};
    serve::Server server;
    server.add("a", serve::endpoint(graph.compile(stored()), options));
    const std::string go = R"({"input":{"messages":[{"role":"user","content":[{"type":"text","text":"go"}]}]}})";
    for (const std::string protocol : {"ui", "steps"}) {
        CAPTURE(protocol);
        const auto shown = [&](const std::string& operation, const std::string& body) {
            const std::string target = "/a/" + protocol + "/" + operation + "?again=1&protocol=" + protocol;
            std::string all;
            for (const json::object& line : client::post(server.port(), target, body).objects()) {
                all += text(line, "delta") + (text(line, "event") == "text-chunk" ? text(line, "text") : "");
                const std::string type = text(line, "type") + text(line, "event");
                if (type == "tool-input-available" || type == "tool-call") all += "[" + text(line, "toolName") + "]";
                if (type.starts_with("tool-output")) all += "[" + text(line, "output") + "]";
                if (type == "start-step") all += "/";
            }
            return all;
        };
        const bool is_ui = protocol == "ui";
        CHECK(shown("start", go) == (is_ui ? "/I dig.[work][did dig]/Done." : "I dig.[working]Done."));
        CHECK(shown("start", go) == (is_ui ? "/[gated]" : "[gated]"));
        CHECK(shown("resume", R"({"resume":{"approved":true}})") ==
              (is_ui ? "[did burn]/All is done." : "All is done."));
    }
}

TEST_CASE("a message that a node makes from what its graph returned is reported, and what it only passes on is not") {
    sg::StateGraph<agent::State> graph;
    graph.addNode(
        "agent",
        agent::Agent({.model = model::scripted({model::assistant({call("c1", "dig")}), model::assistant("It is dug.")}),
                      .tools = {work(std::make_shared<Ledger>())}})
            .graph(),
        [](const agent::State& state) { return sg::add<&agent::State::messages>(state.messages); },
        [](const agent::State& inner) {
            model::Message made = model::assistant({{"own", "p", "work", R"({"what":"sow"})"}});
            made.content.emplace_back(model::Text{"In short: " + inner.text()});
            std::vector<model::Message> all = inner.messages;
            all.push_back(std::move(made));
            return sg::Update<agent::State>{sg::add<&agent::State::messages>(std::move(all))};
        });
    graph.addEdge(sg::START, "agent").addEdge("agent", sg::END);
    serve::EndpointOptions options;
    options.protocols = {serve::uiMessages(), serve::stepEvents({.tools = {{"work", "working"}}})};
    serve::Server server;
    server.add("a", serve::endpoint(graph.compile(stored()), options));
    const auto shown = [&](const std::string& protocol) {
        std::string all;
        const std::string go = R"({"input":{"messages":[{"role":"user","content":[{"type":"text","text":"go"}]}]}})";
        const std::string target = "/a/" + protocol + "/start?protocol=" + protocol;
        for (const json::object& line : client::post(server.port(), target, go).objects()) {
            const std::string type = text(line, "type") + text(line, "event");
            all += text(line, "delta") + (type == "text-chunk" ? text(line, "text") : "");
            if (type == "tool-input-available") all += json::serialize(line.at("input"));
            if (type == "tool-call") all += text(line, "text");
            if (type == "start-step") all += "/";
        }
        return all;
    };
    CHECK(shown("ui") == R"(/{"what":"dig"}/It is dug./In short: It is dug.{"what":"sow"})");
    CHECK(shown("steps") == R"({"what":"dig"}It is dug.In short: It is dug.{"what":"sow"})");
}

TEST_CASE("the texts of steps that run at the same time are distinguished by the steps' names") {
    sg::StateGraph<State> graph;
    addAgent(graph, "left", model::scripted({model::assistant("an answer on the left")}));
    addAgent(graph, "right", model::scripted({model::assistant("another one on the right")}));
    graph.addEdge(sg::START, "left").addEdge(sg::START, "right").addEdge("left", sg::END).addEdge("right", sg::END);
    serve::Server server;
    addTo(server, graph);
    std::map<std::string, std::string> texts;
    for (const json::object& line :
         client::post(server.port(), "/steps/t/start", R"({"input":{"request":"go"}})").objects()) {
        if (text(line, "event") == "text-chunk") texts[text(line, "stepName")] += text(line, "text");
    }
    CHECK(texts ==
          std::map<std::string, std::string>{{"left", "an answer on the left"}, {"right", "another one on the right"}});
}

TEST_CASE("a step that fails is an error line and the end of the response") {
    sg::StateGraph<State> graph;
    addAgent(graph, "first", model::scripted({model::assistant("fine")}));
    addAgent(graph, "second", model::scripted([](const model::Request&) -> model::Message {
                 throw model::ModelError("the provider is on fire", {.status = 400});
             }));
    graph.addEdge(sg::START, "first").addEdge("first", "second").addEdge("second", sg::END);
    serve::Server server;
    addTo(server, graph);
    const auto lines = client::post(server.port(), "/steps/t/start", R"({"input":{"request":"go"}})").objects();
    REQUIRE(lines.size() >= 3);
    CHECK(text(lines.front(), "event") == "text-chunk");
    const json::object& error = lines[lines.size() - 2];
    CHECK(text(error, "event") == "error");
    CHECK(text(error, "message").starts_with("The run failed; error "));
    CHECK(text(lines.back(), "event") == "finish");
    CHECK(text(lines.back(), "status") == "failed");
}

TEST_CASE("a client that comes when the turn is over gets the calls, their results and the end") {
    const auto ledger = std::make_shared<Ledger>();
    const agent::Agent helper(
        {.model = model::scripted({model::assistant({call("c1", "dig")}), model::assistant("It is done.")}),
         .tools = {work(ledger)},
         .compile = stored()});
    serve::EndpointOptions options;
    options.protocols = {serve::uiMessages(), serve::ownEvents(), serve::stepEvents({.tools = {{"work", "working"}}})};
    serve::Server server;
    server.add("helper", serve::endpoint(helper, std::move(options)));
    client::post(server.port(), "/helper/t/start", R"({"text":"go"})");
    SUBCASE("as the AI SDK reads it") {
        const auto late = client::get(server.port(), "/helper/t/events?from=0");
        CHECK(late.body.find("tool-input-available") != std::string::npos);
        CHECK(late.body.find("did dig") != std::string::npos);
        CHECK(late.body.find(R"("type":"finish")") != std::string::npos);
        CHECK(late.body.ends_with("data: [DONE]\n\n"));
    }
    SUBCASE("as events") {
        const auto late = client::get(server.port(), "/helper/t/events?from=0&protocol=events").objects();
        std::string everything;
        for (const json::object& line : late) everything += json::serialize(line);
        CHECK(everything.find("It is done.") != std::string::npos);
        CHECK(everything.find("did dig") != std::string::npos);
    }
    SUBCASE("as steps") {
        const auto late = client::get(server.port(), "/helper/t/events?from=0&protocol=steps").objects();
        REQUIRE(!late.empty());
        CHECK(text(late.front(), "event") == "tool-call");
        CHECK(text(late.back(), "event") == "finish");
    }
}

TEST_CASE("a client that comes when the turn is over gets what sub-agents did, once from any place within") {
    const auto ledger = std::make_shared<Ledger>();
    const agent::Agent inner(
        {.model = model::scripted({model::assistant({call("i1", "deep")}), model::assistant("found it")}),
         .tools = {work(ledger)}});
    serve::Server server;
    server.add("helper", asking(inner));
    client::post(server.port(), "/helper/t/start", R"({"text":"go"})");
    const auto all = client::get(server.port(), "/helper/t/events?from=0").objects();
    std::vector<std::string> positions;
    std::size_t inside = 0;
    for (const json::object& line : all) {
        positions.push_back(text(line, "position"));
        inside += !line.at("ns").as_array().empty();
    }
    CHECK(inside >= 3);  // the model, the tool, and the model again
    REQUIRE(positions.size() > inside);
    for (std::size_t i = 0; i < positions.size(); ++i) {
        CAPTURE(positions[i]);
        const auto rest =
            client::get(server.port(), "/helper/t/events", "Last-Event-ID: " + positions[i] + "\r\n").objects();
        REQUIRE(rest.size() == positions.size() - i - 1);
        for (std::size_t j = 0; j < rest.size(); ++j) CHECK(rest[j] == all[i + 1 + j]);
        CHECK(client::get(server.port(), "/helper/t/events?from=" + positions[i]).objects().size() == rest.size());
    }
}

TEST_CASE("a response to a decision inside a sub-agent has what happened since, and not what the response before had") {
    const auto ledger = std::make_shared<Ledger>();
    agent::ToolOptions gated;
    gated.approval = true;
    const agent::Agent inner(
        {.model = model::scripted({model::assistant({call("i0", "first", "free")}),
                                   model::assistant({call("i1", "deep", "gated")}), model::assistant("found it")}),
         .tools = {work(ledger, "free"), work(ledger, "gated", gated)}});
    serve::Server server;
    server.add("helper", asking(inner));
    const auto before = client::post(server.port(), "/helper/t/start", R"({"text":"go"})");
    CHECK(before.body.find("did first") != std::string::npos);
    const auto after = client::post(server.port(), "/helper/t/decide", R"({"call_id":"i1","approved":true})");
    CHECK(after.body.find("did deep") != std::string::npos);
    CHECK(after.body.find("thanks") != std::string::npos);
    CHECK(after.body.find("did first") == std::string::npos);
    const auto late = client::get(server.port(), "/helper/t/events?from=0");
    CHECK(late.body.find("did first") != std::string::npos);
}
