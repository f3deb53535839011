#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/messages.hpp>

#include "tests/agent/tools.hpp"

using namespace tools;
using Texts = std::vector<std::string>;

namespace {

const std::vector<model::Message>& script() {
    static const std::vector<model::Message> messages{model::assistant({{{}, "c1", "work", R"({"what":"dig"})"}}),
                                                      model::assistant("I have dug.")};
    return messages;
}

Texts heard(agent::Options options) {
    const auto ledger = std::make_shared<Ledger>();
    options.model = model::scripted(script());
    options.tools = {work(ledger)};
    Texts pieces;
    const auto result =
        agent::Agent(std::move(options)).say("Dig!", {}, [&](std::string_view piece) { pieces.emplace_back(piece); });
    CHECK(result.values.text() == "I have dug.");
    CHECK(ledger->count("dig") == 1);
    return pieces;
}

struct Chat {
    std::vector<sg::Message> messages = {};
    static constexpr auto channels() { return sg::channels(sg::channel("messages", &Chat::messages, sg::addMessages)); }
};

}  // namespace

TEST_CASE("who says something hears the answer piece by piece, and neither calls nor results") {
    CHECK(heard({}) == Texts{"I", " have", " dug."});
}

TEST_CASE("who says something hears an answer that middleware holds when it is whole") {
    const auto hold = agent::beforeModel([](agent::ModelCall& call) { call.is_held = true; });
    CHECK(heard({.middleware = {hold}}) == Texts{"I have dug."});
}

TEST_CASE("what the listener of an answer throws fails the run") {
    const agent::Agent helper({.model = model::scripted({model::assistant("Hello.")})});
    const auto refuse = [](std::string_view) { throw std::runtime_error("the line is dead"); };
    CHECK_THROWS(helper.say("Hello?", {}, refuse));
}

TEST_CASE("of the messages of a graph of one's own, those of the assistant have a text") {
    sg::StateGraph<Chat> graph;
    graph.addNode("answer", [](const Chat&, sg::Runtime& runtime) {
        runtime.emitMessage(sg::Message{"assistant", "Hel", "1"});
        runtime.emitMessage(sg::Message{"user", "Hello?", "2"});
        runtime.emitMessage(sg::Value("no message"));
        return sg::Update<Chat>{sg::add(&Chat::messages, sg::Message{"assistant", "Hello.", "1"})};
    });
    graph.addEdge(sg::START, "answer").addEdge("answer", sg::END);
    Texts pieces;
    const auto hear = [&](const sg::StreamEvent& event) {
        if (const auto piece = agent::textIn(event)) pieces.push_back(*piece);
    };
    graph.compile().stream(sg::Update<Chat>{}, {}, {.modes = {sg::StreamMode::messages, sg::StreamMode::updates}},
                           hear);
    CHECK(pieces == Texts{"Hel"});
}
