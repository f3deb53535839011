#include <doctest/doctest.h>

#include <algorithm>

#include <stategraph/error.hpp>
#include <stategraph/json.hpp>
#include <stategraph/serve/agent_endpoint.hpp>
#include <stategraph/serve/server.hpp>
#include <stategraph/serve/wire_types.hpp>

#include "tests/agent/tools.hpp"
#include "tests/serve/client.hpp"

using namespace tools;
namespace serve = stategraph::serve;
namespace json = boost::json;

namespace {

bool hasType(const json::value& value, std::string_view type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_bool();
    return type == "integer" && value.is_int64();
}

/// Supports only the keywords that these schemas use, and fails for any other keyword.
bool fits(const json::value& value, const json::value& schema) {
    for (const auto& [keyword, rule] : schema.as_object()) {
        const auto fitsOne = [&](const json::value& each) { return fits(value, each); };
        const auto isValue = [&](const json::value& each) { return each == value; };
        bool is_fine = keyword == "required" || keyword == "additionalProperties";
        if (keyword == "const") is_fine = rule == value;
        if (keyword == "enum") is_fine = std::any_of(rule.as_array().begin(), rule.as_array().end(), isValue);
        if (keyword == "type") is_fine = hasType(value, rule.as_string());
        if (keyword == "oneOf") is_fine = std::count_if(rule.as_array().begin(), rule.as_array().end(), fitsOne) == 1;
        if (keyword == "items") {
            is_fine = value.is_array() && std::all_of(value.get_array().begin(), value.get_array().end(),
                                                      [&](const json::value& each) { return fits(each, rule); });
        }
        if (keyword == "properties") {
            is_fine = value.is_object();
            for (const auto& [name, member] : value.is_object() ? value.get_object() : json::object()) {
                const json::value* const known = rule.as_object().if_contains(name);
                const bool may = known != nullptr || !schema.as_object().contains("additionalProperties");
                is_fine = is_fine && may && (known == nullptr || fits(member, *known));
            }
            for (const json::value& name : schema.at("required").as_array())
                is_fine = is_fine && value.is_object() && value.get_object().contains(name.as_string());
        }
        if (!is_fine) return false;
    }
    return true;
}

struct Yard {
    serve::Server server;
    Yard() {
        agent::ToolOptions gated;
        gated.approval = true;
        model::Message first = model::assistant({call("c1", "dig"), call("c2", "burn", "gated"),
                                                 call("c3", "fell", "gated"), call("c4", "fly", "unknown")});
        first.content.emplace_back(model::Reasoning{"they want a garden", "signature"});
        first.content.emplace_back(model::Text{"I begin."});
        for (const auto kind : {model::ProviderPartKind::call, model::ProviderPartKind::result}) {
            first.content.emplace_back(model::ProviderPart{kind, "anthropic", "s1", "work", R"({"input":{}})"});
        }
        first.content.emplace_back(
            model::ProviderPart{model::ProviderPartKind::source, "openai", "", "", R"({"url":"https://a"})"});
        const auto ledger = std::make_shared<Ledger>();
        const auto failing =
            agent::tool<Job>("fails", {}, [](const Job&) -> std::string { throw std::runtime_error("no"); });
        const agent::Agent garden({.model = model::scripted({first, model::assistant({call("c5", "x", "fails")}),
                                                             model::assistant("All is done.")}),
                                   .tools = {work(ledger), work(ledger, "gated", gated), failing},
                                   .compile = stored()});
        serve::EndpointOptions options;
        options.protocols = {serve::ownEvents(), serve::stepEvents({.tools = {{"work", "gardening"}}}),
                             serve::uiMessages()};
        server.add("garden", serve::endpoint(garden, options));
    }
    json::value schema() const { return json::parse(client::get(server.port(), "/garden/schema").body); }
};

}  // namespace

TEST_CASE("each line that a protocol sends is of one of the types that its schema lists") {
    for (const std::string protocol : {"events", "steps", "ui"}) {
        CAPTURE(protocol);
        Yard yard;
        const json::value schema = yard.schema().at("protocols").at(protocol);
        std::vector<std::string> calls;
        const auto check = [&](const client::Response& response) {
            CHECK(response.status == 200);
            const auto lines = response.objects();
            CHECK(!lines.empty());
            for (const json::object& line : lines) {
                CHECK_MESSAGE(fits(line, schema), json::serialize(line));
                json::object more = line;
                more["unheard_of"] = 1;
                CHECK(!fits(more, schema));
                json::object less = line;
                less.erase(protocol == "ui" ? "type" : protocol == "steps" ? "event" : "mode");
                CHECK(!fits(less, schema));
            }
        };
        check(client::post(yard.server.port(), "/garden/t/start?protocol=" + protocol, R"({"text":"a garden"})"));
        for (const char* decision :
             {R"({"call_id":"c2","approved":false,"reason":"no fire"})", R"({"call_id":"c3","approved":true})"}) {
            check(client::post(yard.server.port(), "/garden/t/decide?protocol=" + protocol, decision));
        }
    }
}

TEST_CASE("what failed at the provider, and a failure that is no text, are errors with their JSON") {
    using Kind = model::ProviderPartKind;
    model::Message first = model::assistant({call("c1", "where", "locate"), call("c2", "x", "liar")});
    const auto add = [&](Kind kind, std::string id, std::string data) {
        first.content.emplace_back(
            model::ProviderPart{kind, "anthropic", std::move(id), "web_search", std::move(data)});
    };
    for (const char* id : {"s1", "s2", "s3"}) add(Kind::call, id, "{}");
    add(Kind::result, "s1", R"({"content":{"type":"web_search_tool_result_error","error_code":"unavailable"}})");
    add(Kind::result, "s2", R"({"is_error":true,"content":[{"type":"text","text":"no"}]})");
    add(Kind::result, "s3", R"({"is_error":false,"content":"fine"})");
    const auto liar = agent::tool<Job>("liar", {}, [](const Job&) -> std::string {
        throw std::runtime_error("The call was not approved by the bank");
    });
    serve::ServerOptions shown;
    shown.show_errors = true;
    serve::Server server(shown);
    serve::EndpointOptions options;
    options.protocols = {serve::uiMessages()};
    server.add("a", serve::endpoint(agent::Agent({.model = model::scripted({first, model::assistant("ok")}),
                                                  .tools = {agent::clientTool<Job>("locate"), liar},
                                                  .compile = stored()}),
                                    options));
    const auto textOf = [](const json::object& line, std::string_view member) {
        const json::value* const found = line.if_contains(member);
        return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
    };
    const auto port = server.port();
    const json::value schema = json::parse(client::get(port, "/a/schema").body).at("protocols").at("ui");
    auto lines = client::post(port, "/a/t/start", R"({"text":"go"})").objects();
    std::string id;
    for (const json::object& line : lines) {
        const bool is_input = textOf(line, "type") == "tool-input-available";
        if (is_input && textOf(line, "toolName") == "locate") id = textOf(line, "toolCallId");
    }
    const json::value failed{{"call_id", id}, {"output", {{"code", 7}}}, {"is_error", true}};
    const auto rest = client::post(port, "/a/t/decide", json::serialize(failed)).objects();
    lines.insert(lines.end(), rest.begin(), rest.end());
    std::vector<std::string> errors;
    for (const json::object& line : lines) {
        CHECK_MESSAGE(fits(line, schema), json::serialize(line));
        CHECK(textOf(line, "type") != "tool-output-denied");
        if (textOf(line, "type") != "tool-output-error") continue;
        errors.push_back((line.contains("providerExecuted") ? "provider: " : "") + textOf(line, "errorText"));
    }
    std::sort(errors.begin(), errors.end());
    errors.erase(std::unique(errors.begin(), errors.end()), errors.end());  // a response repeats results before it
    CHECK(errors == std::vector<std::string>{
                        "Error: The call was not approved by the bank", R"(provider: [{"type":"text","text":"no"}])",
                        R"(provider: {"type":"web_search_tool_result_error","error_code":"unavailable"})",
                        R"({"code":7})"});
}

TEST_CASE("a call of an answer that was cut off is an error, and does not stay open in the page") {
    model::Message cut = model::assistant({call("c1", "dig"), {{}, "c2", "work", R"({"wh)"}});
    cut.finish_reason = model::FinishReason::length;
    serve::Server server;
    serve::EndpointOptions options;
    options.protocols = {serve::uiMessages()};
    server.add("a", serve::endpoint(
                        agent::Agent({.model = model::scripted({cut}), .tools = {work(std::make_shared<Ledger>())}}),
                        options));
    const json::value schema = json::parse(client::get(server.port(), "/a/schema").body).at("protocols").at("ui");
    std::string told;
    for (const json::object& line : client::post(server.port(), "/a/t/start", R"({"text":"go"})").objects()) {
        CHECK_MESSAGE(fits(line, schema), json::serialize(line));
        const json::string& type = line.at("type").as_string();
        if (type != "tool-input-error") continue;
        told += std::string(line.at("toolName").as_string()) + std::string(line.at("input").as_string()) + " ";
    }
    CHECK(told == R"(work{"what":"dig"} work{"wh )");
}

TEST_CASE("an endpoint lists the schemas of its state, its input and its protocols, or declares them in TypeScript") {
    Yard yard;
    const json::value schema = yard.schema();
    CHECK(schema.at("state").at("properties").as_object().contains("messages"));
    CHECK(!schema.at("input").as_object().contains("required"));
    CHECK(schema.at("protocols").as_object().size() == 3);
    const auto declared = client::get(yard.server.port(), "/garden/schema?as=typescript");
    CHECK(declared.status == 200);
    for (const char* each : {"export type State = {", "export type Input = {", "export type Line_steps = {",
                             R"(Array<{ "id": string; "index": number; "value": unknown; "key"?: string }>)",
                             R"({ "event": "text-chunk"; "stepName": string; "text": string })"}) {
        CAPTURE(each);
        CHECK(declared.body.find(each) != std::string::npos);
    }
    CHECK(client::get(yard.server.port(), "/garden/schema?as=cobol").status == 400);
    CHECK(client::get(yard.server.port(), "/nobody/schema").status == 404);
    CHECK(client::post(yard.server.port(), "/garden/schema", "{}").status == 405);
}

TEST_CASE("a type of TypeScript is declared from a JSON Schema") {
    const auto of = [](std::string_view schema) { return serve::typeScript("T", schema); };
    CHECK(of("{}") == "export type T = unknown;\n");
    CHECK(of(R"({"type":"object","properties":{"a":{"type":"integer","minimum":0},"b-c":{"type":["string","null"]}},
                "required":["a"]})") == "export type T = { \"a\": number; \"b-c\"?: string | null };\n");
    CHECK(of(R"({"type":"array","items":{"enum":["x",2]}})") == "export type T = Array<\"x\" | 2>;\n");
    CHECK(of(R"({"type":"object","additionalProperties":{"type":"boolean"}})") ==
          "export type T = Record<string, boolean>;\n");
    CHECK(of(R"({"prefixItems":[{"type":"string"},{}],"type":"array"})") == "export type T = [string, unknown];\n");
    CHECK(of(R"({"$ref":"#/$defs/ns::Node","$defs":{"ns::Node":{"type":"object","properties":{
                "next":{"$ref":"#/$defs/ns::Node"}}}}})") ==
          "export type T = T_ns__Node;\nexport type T_ns__Node = { \"next\"?: T_ns__Node };\n");
    CHECK_THROWS_AS(of("{"), sg::InvalidArgumentError);
    CHECK_THROWS_AS(serve::typeScript("a b", "{}"), sg::InvalidArgumentError);
    std::string deep = "{}";
    for (int i = 0; i < 100; ++i) deep = R"({"items":)" + deep + R"(,"type":"array"})";
    CHECK_THROWS_AS(of(deep), sg::InvalidArgumentError);
}
