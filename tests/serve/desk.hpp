#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include <stategraph/async.hpp>
#include <stategraph/serve/agent_endpoint.hpp>
#include <stategraph/serve/server.hpp>
#include <stategraph/stategraph.hpp>

#include "serve/built_message.hpp"
#include "tests/agent/tools.hpp"
#include "tests/serve/client.hpp"
#include "tests/support/gate.hpp"

// Graphs that hold a conversation and have agents inside, and a page of the AI SDK that talks with them.
namespace desk {

namespace sg = stategraph;
namespace agent = stategraph::agent;
namespace model = stategraph::model;
namespace serve = stategraph::serve;
namespace json = boost::json;

struct Desk {
    std::vector<model::Message> messages = {};
    std::string topic = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("messages", &Desk::messages, sg::addMessages),
                            sg::channel("topic", &Desk::topic));
    }
};

/// Notes the conversations that models get, as "ROLE:TEXT" of each message.
struct Heard {
    std::mutex mutex;
    std::vector<std::vector<std::string>> all;
    void note(const model::Request& request) {
        std::vector<std::string> told;
        for (const model::Message& message : request.messages) {
            std::string text = message.role == model::Role::user ? "user:" : "model:";
            for (const model::ToolCall& call : message.calls) text += "[" + call.name + "]";
            told.push_back(message.result ? "tool:" + message.result->text() : text + message.text());
        }
        const std::lock_guard lock(mutex);
        all.push_back(std::move(told));
    }
    std::vector<std::string> last() {
        const std::lock_guard lock(mutex);
        return all.empty() ? std::vector<std::string>() : all.back();
    }
};

/// A model that calls its tools `calls` when the user has spoken, and then says `answer`.
inline std::shared_ptr<const model::Model> caller(std::vector<model::ToolCall> calls, std::string answer,
                                                  std::shared_ptr<Heard> heard = std::make_shared<Heard>(),
                                                  std::shared_ptr<gates::Gate> gate = {}) {
    return model::scripted([=](const model::Request& request) {
        heard->note(request);
        if (request.messages.back().role == model::Role::user && !calls.empty()) {
            model::Message asks = model::assistant(calls);
            asks.content = {model::Reasoning{"hm", ""}, model::Text{"Let me see."}};
            return asks;
        }
        if (gate) gate->wait();
        return model::assistant(answer);
    });
}

inline agent::Agent helper(std::shared_ptr<const model::Model> model, std::vector<agent::Tool> tools) {
    return agent::Agent({.model = std::move(model), .tools = std::move(tools)});
}

/// "route" sets the topic, then the agents are visited one after the other, or at the same time.
inline sg::CompiledGraph<Desk> around(const std::vector<agent::Agent>& agents,
                                      std::shared_ptr<sg::BaseCheckpointSaver> saver, bool at_once = false) {
    sg::StateGraph<Desk> graph;
    graph.addNode("route", [](const Desk& desk) -> sg::Update<Desk> {
        return {sg::set(&Desk::topic, "about " + desk.messages.back().text())};
    });
    graph.addEdge(sg::START, "route");
    std::string before = "route";
    for (std::size_t i = 0; i < agents.size(); ++i) {
        const std::string name = "agent" + std::to_string(i + 1);
        graph.addNode(name, agents[i].graph()).addEdge(before, name);
        if (at_once || i + 1 == agents.size()) graph.addEdge(name, sg::END);
        if (!at_once) before = name;
    }
    return graph.compile(tools::stored(std::move(saver)));
}

inline std::string text(const json::object& object, std::string_view member) {
    const json::value* const found = object.if_contains(member);
    return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

/// Reads messages of a server, as a page that is loaded.
inline client::Response load(std::uint16_t port, const std::string& thread, const std::string& query = "",
                             const std::string& headers = "") {
    return client::get(port, "/desk/" + thread + "/messages" + query, headers);
}

/// A page, which talks with `/desk/chat` about one thread.
class Page {
public:
    explicit Page(std::uint16_t port, std::string thread = "t") : port_(port), thread_(std::move(thread)) {}

    json::array messages = {};

    /// Says something and shows the answer.
    client::Response say(const std::string& id, const std::string& words, const char* trigger = "submit-message") {
        const json::value part{{"type", "text"}, {"text", words}};
        return post({{{"id", id}, {"role", "user"}, {"parts", json::array{part}}}}, trigger);
    }
    /// Sends messages of the page's own form, and shows the answer.
    client::Response post(json::array sent, const char* trigger = "submit-message") {
        const client::Response response = client::post(port_, "/desk/chat", body(sent, trigger));
        if (response.status != 200) return response;
        lines.clear();
        for (const json::object& line : response.objects()) lines.push_back(json::serialize(line));
        const json::object start = response.objects().front();
        json::object answer{{"id", start.contains("messageId") ? start.at("messageId") : json::value()},
                            {"role", "assistant"},
                            {"parts", serve::partsBuiltOf(lines)}};
        const bool continues = text(sent.back().as_object(), "role") == "assistant";
        if (!continues) messages = {sent.back(), std::move(answer)};
        return response;
    }
    std::string body(const json::array& sent, const char* trigger = "submit-message") const {
        return json::serialize(json::value{{"id", thread_}, {"messages", sent}, {"trigger", trigger}});
    }
    /// Replaces what it shows by what the server has.
    void reload() {
        const client::Response response = load(port_, thread_);
        REQUIRE(response.status == 200);
        messages = json::parse(response.body).as_array();
    }
    json::object& last() { return messages.back().as_object(); }
    /// The parts of its last message that are calls in a state.
    std::vector<json::object*> calls(std::string_view state) {
        std::vector<json::object*> found;
        for (json::value& each : last().at("parts").as_array()) {
            if (text(each.as_object(), "state") == state && each.as_object().contains("toolCallId"))
                found.push_back(&each.as_object());
        }
        return found;
    }
    /// Answers all open approvals of its last message, or only the first, and sends them.
    client::Response decide(bool approved, bool all = true) {
        const std::vector<json::object*> open = calls("approval-requested");
        REQUIRE(!open.empty());
        for (json::object* const part : open) {
            if (!all && part != open.front()) continue;
            (*part)["state"] = "approval-responded";
            (*part)["approval"].as_object()["approved"] = approved;
        }
        return post({last()});
    }
    /// "text:…", "TOOL:STATE" and so on of its last message.
    std::vector<std::string> shown() {
        std::vector<std::string> all;
        for (const json::value& each : last().at("parts").as_array()) {
            const json::object& part = each.as_object();
            const std::string type = text(part, "type");
            if (type == "step-start") continue;
            all.push_back(part.contains("toolCallId") ? text(part, "toolName") + ":" + text(part, "state")
                                                      : type + ":" + text(part, "text"));
        }
        return all;
    }

    std::vector<std::string> lines = {};  // of its last response

private:
    std::uint16_t port_;
    std::string thread_;
};

/// A server with one endpoint, "desk".
template <class Served>
std::unique_ptr<serve::Server> serving(const Served& served, serve::ServerOptions options = {},
                                       serve::EndpointOptions more = {.protocols = {serve::uiMessages()}}) {
    auto server = std::make_unique<serve::Server>(std::move(options));
    server->add("desk", serve::endpoint(served, std::move(more)));
    return server;
}

}  // namespace desk
