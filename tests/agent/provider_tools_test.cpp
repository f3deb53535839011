#include <doctest/doctest.h>

#include <stategraph/error.hpp>

#include "tests/agent/tools.hpp"
#include "tests/support/drivers.hpp"

using namespace tools;
using Kind = model::ProviderPartKind;

namespace {

model::ProviderPart part(Kind kind) { return {kind, "anthropic", "s1", "web_search", R"({"input":{"query":"tea"}})"}; }

model::Message paused() {
    model::Message message = model::assistant("I search.");
    message.content.emplace_back(part(Kind::call));
    message.finish_reason = model::FinishReason::paused;
    return message;
}

agent::Options options(std::vector<model::Message> answers) {
    return {.model = model::scripted(std::move(answers)),
            .tools = {agent::providerTool("web_search", R"({"type":"w","name":"web_search"})")},
            .compile = stored()};
}

std::string faultOf(agent::Tool tool) {
    try {
        const agent::Agent made({.model = model::scripted(std::vector<model::Message>{}), .tools = {std::move(tool)}});
    } catch (const sg::InvalidGraphError& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("an answer that the provider's tools interrupted is continued, and counts as a step") {
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        const agent::Agent helper(options({paused(), paused(), model::assistant("Tea.")}));
        const auto ran = driver.run(helper.graph(), agent::said("?"), {.thread_id = "t"});
        CHECK(ran.values.text() == "Tea.");
        CHECK(ran.values.steps == 3);
        CHECK(ran.values.stop_reason == "stop");
        CHECK(ran.values.messages.size() == 4);
    }
}

TEST_CASE("a provider that never finishes its tools is stopped by the budget") {
    const std::vector<model::Message> answers(10, paused());
    const agent::Agent helper(options(answers));
    const auto ended = helper.graph().invoke(agent::said("?"), {.thread_id = "t"});
    CHECK(ended.values.steps == 5);
    CHECK(ended.values.stop_reason == "max-steps");

    agent::Options answering = options(answers);
    answering.at_limit = agent::AtLimit::answer;
    const auto asked = agent::Agent(answering).graph().invoke(agent::said("?"), {.thread_id = "t"});
    CHECK(asked.values.steps == 6);  // once more, and the turn ends after that
    CHECK(asked.values.stop_reason == "max-steps");

    agent::Options searching = options(answers);
    searching.stop_when = {agent::hasToolCall("web_search")};
    const auto searched = agent::Agent(searching).graph().invoke(agent::said("?"), {.thread_id = "t"});
    CHECK(searched.values.stop_reason == "tool-called");
}

TEST_CASE("a model that calls a provider's tool as a function gets a result that says so, and nobody is asked") {
    agent::Options given = options({model::assistant({call("c", "x", "web_search")}), model::assistant("done")});
    given.approval = [](std::string_view, const sg::Value&) { return true; };
    const auto ended = agent::Agent(given).graph().invoke(agent::said("?"), {.thread_id = "t"});
    CHECK(ended.values.stop_reason == "stop");
    REQUIRE(results(ended.values).size() == 1);
    CHECK(results(ended.values)[0].find("executed by the provider") != std::string::npos);
}

TEST_CASE("what a provider's tool does is a piece of the stream, whole, under the answer's id") {
    model::Message answer = model::assistant("Tea.");
    answer.content.emplace_back(part(Kind::call));
    answer.content.emplace_back(part(Kind::result));
    const agent::Agent helper(options({answer}));
    std::vector<agent::Piece> pieces;
    const auto note = [&](const sg::StreamEvent& event) {
        const auto told = event.data.as<std::map<std::string, sg::Value>>();
        if (!told.at("delta").as<bool>()) return;
        auto piece = told.at("message").as<agent::Piece>();
        if (!piece.provider.empty()) pieces.push_back(std::move(piece));
    };
    helper.graph().stream(agent::said("?"), {.thread_id = "t"}, {.modes = sg::StreamMode::messages}, note);
    REQUIRE(pieces.size() == 2);
    CHECK((pieces[0].provider == std::vector{part(Kind::call)}));
    CHECK((pieces[1].provider == std::vector{part(Kind::result)}));
    const auto state = helper.graph().getState({.thread_id = "t"});
    CHECK(pieces[0].id == state.values.messages.back().id);
    CHECK((state.values.messages.back().content == answer.content));
}

TEST_CASE("declarations that make no sense are faults of the agent") {
    CHECK(faultOf(agent::providerTool("a", R"({"type":"w","name":"a"})")).empty());
    CHECK(faultOf(agent::providerTool("a", R"({"web_search_options":{}})")).empty());
    CHECK(faultOf(agent::providerTool("a", R"({"type":"w","name":"b"})")).find("give both the same") !=
          std::string::npos);
    for (const char* const wrong : {"", "[]", "null", "{", "7"}) {
        CAPTURE(wrong);
        CHECK(faultOf(agent::providerTool("a", wrong)).find("not a JSON object") != std::string::npos);
    }
    agent::Tool both = work(std::make_shared<Ledger>());
    both.description.provider = R"({"type":"w"})";
    CHECK(faultOf(both).find("takes no function") != std::string::npos);
}
