#include <doctest/doctest.h>

#include <memory>
#include <string>

#include <boost/json.hpp>

#include <stategraph/serve/agent_endpoint.hpp>
#include <stategraph/serve/server.hpp>

#include "tests/agent/tools.hpp"
#include "tests/serve/client.hpp"

using namespace tools;
namespace serve = stategraph::serve;
namespace json = boost::json;

namespace {

model::Message costing(const char* text, std::int64_t input, std::int64_t output) {
    model::Message message = model::assistant(text);
    message.usage = model::Usage{.input_tokens = input,
                                 .output_tokens = output,
                                 .reasoning_tokens = 3,
                                 .cached_tokens = 4,
                                 .cache_write_tokens = 1};
    return message;
}

/// The member of the last line of the kind that has it.
json::value lastOf(const std::string& body, const char* type, const char* member) {
    json::value found;
    for (std::size_t from = 0; (from = body.find("data: {", from)) != std::string::npos; ++from) {
        const json::object line = json::parse(body.substr(from + 6, body.find('\n', from) - from - 6)).as_object();
        if (line.at("type") == json::value(type)) found = line.at(member);
    }
    return found;
}

}  // namespace

TEST_CASE("a page gets what a turn and its thread have used and cost, also if it comes when the turn is over") {
    const agent::Agent helper({.model = model::scripted({costing("one", 100, 10), costing("two", 200, 20)}),
                               .prices = {{"scripted", {.input = 10, .output = 100, .cache_read = 1}}},
                               .compile = stored()});
    serve::Server server;
    serve::EndpointOptions options;
    options.protocols = {serve::uiMessages(), serve::agUiEvents()};
    server.add("helper", serve::endpoint(helper, options));
    serve::EndpointOptions silent;
    silent.protocols = {serve::uiMessages({.account = false})};
    server.add("silent", serve::endpoint(helper, silent));
    client::post(server.port(), "/helper/t/start?protocol=ui", R"({"text":"a"})");
    const auto second = client::post(server.port(), "/helper/t/start?protocol=ui", R"({"text":"b"})");
    const json::value told = lastOf(second.body, "finish", "messageMetadata");
    CHECK(told.at("status") == "done");
    CHECK(json::serialize(told.at("usage")) ==
          R"({"inputTokens":200,"inputTokenDetails":{"noCacheTokens":195,"cacheReadTokens":4,"cacheWriteTokens":1},)"
          R"("outputTokens":20,"outputTokenDetails":{"textTokens":17,"reasoningTokens":3},"totalTokens":220})");
    CHECK(told.at("threadUsage").at("totalTokens") == 330);
    CHECK(told.at("cost") == "0.003964");
    CHECK(told.at("threadCost") == "0.005928");
    CHECK(!told.as_object().contains("unpricedModels"));

    const auto late = client::get(server.port(), "/helper/t/events?protocol=ui&from=0");
    CHECK(lastOf(late.body, "finish", "messageMetadata") == told);
    const auto ag_ui = client::get(server.port(), "/helper/t/events?protocol=ag-ui&from=0");
    CHECK(lastOf(ag_ui.body, "RUN_FINISHED", "metadata") == told);
    const auto without = client::get(server.port(), "/silent/t/events?protocol=ui&from=0");
    CHECK(lastOf(without.body, "finish", "messageMetadata") == json::value{{"status", "done"}});
}

TEST_CASE("a page of an agent without prices gets tokens alone, and one whose models lack prices gets their names") {
    serve::Server server;
    serve::EndpointOptions options;
    options.protocols = {serve::uiMessages()};
    const auto add = [&](const char* name, model::Prices prices) {
        server.add(name, serve::endpoint(agent::Agent({.model = model::scripted({costing("one", 100, 10)}),
                                                       .prices = std::move(prices),
                                                       .compile = stored()}),
                                         options));
        const auto answer =
            client::post(server.port(), "/" + std::string(name) + "/t/start?protocol=ui", R"({"text":"a"})");
        return lastOf(answer.body, "finish", "messageMetadata");
    };
    const json::value unpriced = add("unpriced", {});
    CHECK(unpriced.at("usage").at("inputTokens") == 100);
    CHECK(!unpriced.as_object().contains("cost"));
    const json::value other = add("other", {{"gpt-5", {.input = 1}}});
    CHECK(other.at("cost") == "0");
    CHECK(json::serialize(other.at("unpricedModels")) == R"(["scripted"])");
}
