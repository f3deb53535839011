#pragma once
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/interrupt.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/agent/tools.hpp"
#include "tests/support/gate.hpp"

// An agent and a graph that clients of the protocol "ag-ui" talk to.
namespace ag_ui {

namespace agent = stategraph::agent;
namespace model = stategraph::model;
namespace sg = stategraph;

/// An agent that asks before it burns something. Its model waits for the gate, if there is one.
inline agent::Agent gardener(const std::shared_ptr<tools::Ledger>& ledger,
                             const std::shared_ptr<gates::Gate>& gate = nullptr) {
    const auto reply = [gate](const model::Request& request) {
        const model::Message& last = request.messages.back();
        if (gate) (void)gate->wait();
        if (last.role == model::Role::tool) return model::assistant("All is done.");
        if (last.text() == "fail") throw std::runtime_error("the secret is swordfish");
        if (last.text() == "look") return model::assistant({tools::call("c9", "here", "look")});
        if (last.text() != "burn it") return model::assistant("I hear: " + last.text());
        model::Message first = model::assistant({tools::call("c1", "dig"), tools::call("c2", "burn", "gated")});
        first.content.emplace_back(model::Reasoning{"they want fire", "signature"});
        first.content.emplace_back(model::Text{"I begin."});
        return first;
    };
    return agent::Agent({.model = model::scripted(reply),
                         .tools = {tools::work(ledger), tools::work(ledger, "gated", tools::gated()),
                                   agent::clientTool<tools::Job>("look")},
                         .compile = tools::stored()});
}

/// A graph whose state has messages and more.
struct Talk {
    std::vector<sg::Message> messages = {};
    std::vector<std::string> log = {};
    std::string tone = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("messages", &Talk::messages, sg::addMessages),
                            sg::channel("log", &Talk::log, sg::append), sg::channel("tone", &Talk::tone));
    }
};

inline sg::CompiledGraph<Talk> talking() {
    sg::StateGraph<Talk> graph;
    graph.addNode("hear", [](const Talk& talk) -> sg::Update<Talk> {
        return {sg::add(&Talk::log, talk.tone + ":" + talk.messages.back().content)};
    });
    graph.addNode("reply", [](const Talk& talk, sg::Runtime& runtime) -> sg::Update<Talk> {
        if (talk.messages.back().content == "ask")
            return {sg::add(&Talk::messages,
                            sg::Message{"assistant", sg::interrupt<std::string>(runtime, "which", "Which one?")})};
        return {sg::add(&Talk::messages, sg::Message{"assistant", "heard " + std::to_string(talk.log.size())})};
    });
    graph.addEdge(sg::START, "hear").addEdge("hear", "reply").addEdge("reply", sg::END);
    return graph.compile(tools::stored());
}

}  // namespace ag_ui
