#include <string>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>

#include "mcp/server/offer.hpp"
#include "tests/mcp/serving/served.hpp"

using namespace mcp_serving;

namespace {

namespace json = boost::json;

json::object entryOf(const mcp::Server& server, const std::string& name) {
    const auto page = server.offer()->page({});
    for (const json::value& each : page->at("tools").as_array()) {
        if (each.at("name").as_string() == name) return each.as_object();
    }
    return {};
}

}  // namespace

TEST_CASE("a graph's tool takes the channels of its input, and with a saver also a thread and answers") {
    mcp::Server server;
    server.add("trip", tripGraph(std::make_shared<sg::MemorySaver>()),
               {.description = "Books", .read_only = false, .input_channels = {{"city"}}});
    server.add("stateless", tripGraph(nullptr));
    const json::object trip = entryOf(server, "trip");
    const json::object& properties = trip.at("inputSchema").at("properties").as_object();
    CHECK(properties.size() == 4);
    CHECK(properties.at("city").at("type") == "string");
    CHECK(properties.contains("thread_id"));
    CHECK(properties.contains("resume"));
    CHECK(properties.contains("answers"));
    CHECK(trip.at("description") == "Books");
    CHECK(trip.at("annotations").at("readOnlyHint") == false);
    CHECK(trip.at("outputSchema").at("properties").as_object().contains("log"));
    const json::object stateless = entryOf(server, "stateless");
    CHECK(stateless.at("inputSchema").at("properties").as_object().size() == 2);
}

TEST_CASE("names that clients cannot use, and names that are taken, are refused when a tool is added") {
    mcp::Server server;
    addTools(server);
    CHECK_THROWS_WITH_AS(server.add("add", tripGraph(nullptr)), doctest::Contains("two tools called 'add'"),
                         sg::InvalidArgumentError);
    CHECK_THROWS_AS(server.add("a b", tripGraph(nullptr)), sg::InvalidArgumentError);
    CHECK_THROWS_AS(server.add("", tripGraph(nullptr)), sg::InvalidArgumentError);
    CHECK_THROWS_WITH_AS(server.add(agent::clientTool<Sum>("ask")), doctest::Contains("cannot be served"),
                         sg::InvalidArgumentError);
    CHECK_THROWS_WITH_AS(server.add("trip", tripGraph(nullptr), {.input_channels = {{"town"}}}),
                         doctest::Contains("no input channel 'town'"), sg::InvalidArgumentError);
}

TEST_CASE("a long list of tools has pages, and a cursor that is none is refused") {
    mcp::Server server;
    for (int i = 0; i < 150; ++i)
        server.add(agent::tool<Sum>("tool" + std::to_string(i), {}, [](const Sum& sum) { return sum.a; }));
    const auto first = server.offer()->page({});
    CHECK(first->at("tools").as_array().size() == 100);
    const auto second = server.offer()->page(json::value_to<std::string>(first->at("nextCursor")));
    CHECK(second->at("tools").as_array().size() == 50);
    CHECK_FALSE(second->contains("nextCursor"));
    CHECK_FALSE(server.offer()->page("nobody"));
}
