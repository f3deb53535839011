#include <doctest/doctest.h>

#include <stategraph/schema.hpp>

#include "tests/agent/tools.hpp"

using namespace tools;

TEST_CASE("a tool with a schema from outside is checked by it, and the model learns which member is wrong") {
    const std::string schema = R"({"type": "object", "required": ["city"], "properties": {
        "city": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "default": 3}}})";
    const auto seen = std::make_shared<Ledger>();
    agent::ToolOptions options;
    options.parameters = schema;
    options.check = sg::schemaCheck(schema);
    const agent::Agent helper(
        {.model = model::scripted({model::assistant({{{}, "c1", "weather", R"({"city":"Rome"})"},
                                                     {{}, "c2", "weather", R"({"city":"Rome","days":0})"},
                                                     {{}, "c3", "weather", "{}"}}),
                                   model::assistant("done")}),
         .tools = {agent::tool<sg::Value>("weather", options,
                                          [seen](const sg::Value& arguments) { seen->note(arguments.toJson()); })},
         .compile = stored()});
    const auto told = results(helper.say("go", {.thread_id = "t"}).values);
    REQUIRE(told.size() == 3);
    CHECK(told[1].find("$[days]") != std::string::npos);
    CHECK(told[2].find("city") != std::string::npos);
    CHECK(seen->count(R"({"city":"Rome","days":3})") == 1);
}
