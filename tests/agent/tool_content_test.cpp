#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <stategraph/async.hpp>
#include <stategraph/error.hpp>

#include "tests/agent/tools.hpp"
#include "tests/support/drivers.hpp"

// Tools that give the model something other than what is stored.
using namespace tools;

namespace {

const model::File picture{.media_type = "image/png", .data = "cG5n"};

/// Calls the tool "look" once, and then answers.
std::shared_ptr<const model::Model> looking() {
    return model::scripted({model::assistant({call("c1", "sky", "look")}), model::assistant("seen")});
}

model::ToolOutput seen(const std::string& what) {
    return {.output = sg::Value(std::map<std::string, std::string>{{"of", what}}),
            .content = {model::Text{"the " + what}, picture}};
}

agent::Tool looks(agent::ToolOptions options = {}) {
    return agent::tool<Job>("look", std::move(options), [](const Job& job) { return seen(job.what); });
}

model::Message resultIn(const agent::State& state) {
    for (const model::Message& message : state.messages) {
        if (message.result) return message;
    }
    FAIL("no result");
    return {};
}

model::Message resultOf(agent::Tool tool, agent::Options options = {}) {
    options.model = looking();
    options.tools = {std::move(tool)};
    options.compile = stored();
    return resultIn(agent::Agent(std::move(options)).say("go", {.thread_id = "t"}).values);
}

}  // namespace

TEST_CASE("what a tool shows the model is its message's content, and what it returns is stored, in every driver") {
    const agent::Tool awaited =
        agent::tool<Job>("look", {}, [](const Job& job) -> sg::Task<model::ToolOutput> { co_return seen(job.what); });
    agent::ToolOptions own_node;
    own_node.retry = sg::RetryPolicy{};
    for (const agent::Tool& tool : {looks(), awaited, looks(own_node)}) {
        for (const drivers::Driver& driver : drivers::crossed()) {
            CAPTURE(driver.name);
            const agent::Agent helper({.model = looking(), .tools = {tool}, .compile = stored()});
            REQUIRE(driver.run(helper.graph(), agent::said("go"), {.thread_id = "t"}).what() == "");
            const model::Message result = resultIn(helper.graph().getState({.thread_id = "t"}).values);
            CHECK(result.result->text() == R"({"of":"sky"})");
            CHECK(result.content == std::vector<model::Part>{model::Text{"the sky"}, picture});
        }
    }
}

TEST_CASE("a result without an output of its own is stored as its texts, with a line for each file") {
    const model::Message result = resultOf(agent::tool<Job>("look", {}, [](const Job&) {
        return model::ToolOutput{.content = {model::Text{"blue"}, picture}};
    }));
    CHECK(result.result->text() == "blue\n[image/png]");
}

TEST_CASE("content has limits: texts are cut, and files that are too large are named") {
    agent::ToolOptions options{.result_max = 64, .files_max = 10};
    const model::Message result = resultOf(agent::tool<Job>("look", options, [](const Job&) {
        return model::ToolOutput{.content = {model::Text{std::string(50, 'a')}, model::Text{std::string(50, 'b')},
                                             model::Text{"c"}, picture,
                                             model::File{.media_type = "image/jpeg", .data = "1234567"}}};
    }));
    REQUIRE(result.content.size() == 4);
    CHECK(std::get<model::Text>(result.content[0]).text == std::string(50, 'a'));
    CHECK(
        std::get<model::Text>(result.content[1])
            .text.starts_with(std::string(14, 'b') + "\n[The result was cut: these are the first 14 of its 50 bytes."));
    CHECK((result.content[2] == model::Part(picture)));
    CHECK(std::get<model::Text>(result.content[3]).text ==
          "[A file of the type image/jpeg was left out: it has 7 bytes, and of this result 6 more are allowed.]");
}

TEST_CASE("a tool's own function decides what the model receives of a value, also of one that a client gave") {
    const auto toModel = [](const sg::Value& returned) {
        return model::ToolOutput{sg::Value("a screenshot"),
                                 {model::File{.media_type = "image/png", .data = returned.as<std::string>()}}};
    };
    agent::ToolOptions options;
    options.to_model = toModel;
    const model::Message plain = resultOf(agent::tool<Job>("look", options, [](const Job&) { return "cG5n"; }));
    CHECK(plain.result->text() == "a screenshot");
    CHECK(plain.content == std::vector<model::Part>{picture});

    const agent::Agent helper(
        {.model = looking(), .tools = {agent::clientTool<Job>("look", options)}, .compile = stored()});
    helper.say("go", {.thread_id = "t"});
    const auto end = helper.graph().invoke(helper.give("t", "c1", {.output = sg::Value("cG5n")}), {.thread_id = "t"});
    CHECK(resultIn(end.values).content == std::vector<model::Part>{picture});
}

TEST_CASE("if a tool's function for the model throws, the text is the result, and the turn continues") {
    agent::ToolOptions options;
    options.to_model = [](const sg::Value&) -> model::ToolOutput { throw std::runtime_error("no picture"); };
    const model::Message result = resultOf(agent::tool<Job>("look", options, [](const Job&) { return 1; }));
    CHECK(result.result->is_error);
    CHECK(result.result->text() == "Error: no picture");
    CHECK(result.content.empty());
}

TEST_CASE("a hook around a tool receives the whole value, and may replace it by a plain one") {
    agent::Options options;
    options.middleware = {agent::Middleware{
        .name = "hook", .around_tool = [](const agent::ToolUse&, const agent::NextTool& next) -> sg::Task<sg::Value> {
            auto rest = next();
            const sg::Value value = co_await std::move(rest);
            const bool has_picture = value.as<model::ToolOutput>().content.size() == 2;
            co_return sg::Value(has_picture ? "replaced" : "wrong");
        }}};
    const model::Message result = resultOf(looks(), std::move(options));
    CHECK(result.result->text() == "replaced");
    CHECK(result.content.empty());
}

TEST_CASE("options of providers pass from a tool to its declaration") {
    const sg::Value extra = sg::parseJson(R"({"anthropic":{"cache_control":{"type":"ephemeral"}}})");
    sg::Value sent;
    agent::ToolOptions options;
    options.extra = extra;
    const agent::Agent helper({.model = model::scripted([&](const model::Request& request) {
                                   sent = request.tools[0].extra;
                                   return model::assistant("ok");
                               }),
                               .tools = {looks(options)}});
    helper.say("go");
    CHECK(sent == extra);
}
