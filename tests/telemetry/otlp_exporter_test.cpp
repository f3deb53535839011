#include <stategraph/telemetry/otlp_exporter.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include <stategraph/agent/agent.hpp>
#include <stategraph/error.hpp>
#include <stategraph/model/scripted_model.hpp>

#include "tests/support/scripted_server.hpp"
#include "tests/support/until.hpp"

// Spans and metrics at a collector: a server in this process, which keeps what it was sent.
namespace {

namespace sg = stategraph;
namespace agent = stategraph::agent;
namespace json = boost::json;
namespace model = stategraph::model;
namespace telemetry = stategraph::telemetry;
using namespace std::chrono_literals;
using patience::until;
using Peer = ScriptedServer::Peer;

std::string answer(int status, const std::string& body, const std::string& headers = {}) {
    return "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Type: application/json\r\n" + headers +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}
const std::string taken = answer(200, "{}");

/// Answers each request of a connection with this.
ScriptedServer::Script answers(std::string bytes) {
    return [bytes = std::move(bytes)](Peer& peer) {
        while (!peer.request().empty()) peer.send(bytes);
    };
}

/// Nothing is sent without a flush, and no limit expires on a machine that pauses.
telemetry::OtlpOptions patientFor(const ScriptedServer& server) {
    telemetry::OtlpOptions options{.endpoint = server.url(), .service_name = "shop"};
    options.interval = 1h;
    options.metrics_interval = 1h;
    options.flush_limit = 5min;
    options.http.connect_limit = 5min;
    options.http.idle_limit = 5min;
    options.http.total_limit = 10min;
    return options;
}

/// The bodies that were sent to a path.
std::vector<json::object> sentTo(const ScriptedServer& server, const std::string& path) {
    std::vector<json::object> bodies;
    for (const std::string& request : server.requests()) {
        if (!request.starts_with("POST " + path + " ")) continue;
        bodies.push_back(json::parse(request.substr(request.find("\r\n\r\n") + 4)).as_object());
    }
    return bodies;
}

std::vector<json::object> spansIn(const std::vector<json::object>& bodies) {
    std::vector<json::object> spans;
    for (const json::object& body : bodies) {
        for (const json::value& span : body.at("resourceSpans").at(0).at("scopeSpans").at(0).at("spans").as_array())
            spans.push_back(span.as_object());
    }
    return spans;
}

const json::object* spanNamed(const std::vector<json::object>& spans, const std::string& name) {
    for (const json::object& span : spans) {
        if (span.at("name") == json::value(name)) return &span;
    }
    return nullptr;
}

/// The value of an attribute as JSON text; empty if there is none.
std::string attribute(const json::object& of, const std::string& name) {
    for (const json::value& each : of.at("attributes").as_array()) {
        if (each.at("key") == json::value(name)) return json::serialize(each.at("value"));
    }
    return {};
}

struct City {
    std::string name = {};
    static constexpr auto fields() { return sg::fields(sg::field("name", &City::name)); }
};

/// An agent that calls a tool once, and whose answers say what they cost.
agent::Agent weatherAgent(const std::shared_ptr<sg::Observer>& observer) {
    model::Message asks = model::assistant({{{}, "c1", "weather", R"({"name":"Bonn"})"}});
    asks.finish_reason = model::FinishReason::tool_calls;
    asks.usage = model::Usage{.input_tokens = 100, .output_tokens = 10, .cached_tokens = 40, .cache_write_tokens = 7};
    model::Message says = model::assistant("It rains.");
    says.finish_reason = model::FinishReason::stop;
    says.usage = model::Usage{.input_tokens = 200, .output_tokens = 20, .reasoning_tokens = 5};
    return agent::Agent(
        {.model = model::scripted({asks, says}),
         .instructions = "Be brief.",
         .tools = {agent::tool<City>("weather", {.description = "The weather"}, [](const City&) { return "rain"; })},
         .prices = {{"scripted", {.input = 10, .output = 100, .cache_read = 1}}},
         .name = "forecaster",
         .compile = {.observer = observer}});
}

sg::Span spanOf(const std::string& name) {
    sg::Span span;
    span.trace_id = {1};
    span.span_id = {2};
    span.name = name;
    return span;
}

}  // namespace

TEST_CASE("a turn of an agent reaches a collector as spans of OpenTelemetry's conventions for generative AI") {
    ScriptedServer collector(answers(taken));
    const auto exporter = std::make_shared<telemetry::OtlpExporter>(patientFor(collector));
    std::string text;
    SUBCASE("without what was said") {}
    SUBCASE("with what was said, if that is asked for") { text = "Weather in Bonn?"; }
    const auto observer =
        std::make_shared<sg::SpanObserver>(exporter, sg::SpanObserverOptions{.content = !text.empty()});
    const agent::Agent forecaster = weatherAgent(observer);
    forecaster.say("Weather in Bonn?", {.thread_id = "t1"});
    CHECK(exporter->flush(5min));
    CHECK(exporter->counts().dropped == 0);
    CHECK(exporter->counts().failed_requests == 0);

    const auto bodies = sentTo(collector, "/v1/traces");
    REQUIRE(!bodies.empty());
    CHECK(json::serialize(bodies[0].at("resourceSpans").at(0).at("resource")) ==
          R"({"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]})");
    const auto spans = spansIn(bodies);
    CHECK(exporter->counts().sent == spans.size());
    const json::object* const run = spanNamed(spans, "invoke_agent forecaster");
    REQUIRE(run != nullptr);
    CHECK(attribute(*run, "gen_ai.operation.name") == R"({"stringValue":"invoke_agent"})");
    CHECK(attribute(*run, "gen_ai.agent.name") == R"({"stringValue":"forecaster"})");
    const json::object* const chat = spanNamed(spans, "chat scripted");
    REQUIRE(chat != nullptr);
    CHECK(chat->at("kind") == 3);
    CHECK(chat->at("traceId") == run->at("traceId"));
    CHECK(attribute(*chat, "gen_ai.operation.name") == R"({"stringValue":"chat"})");
    CHECK(attribute(*chat, "gen_ai.provider.name") == R"({"stringValue":"stategraph"})");
    CHECK(attribute(*chat, "gen_ai.request.model") == R"({"stringValue":"scripted"})");
    CHECK(attribute(*chat, "gen_ai.usage.input_tokens") == R"({"intValue":"100"})");
    CHECK(attribute(*chat, "gen_ai.usage.output_tokens") == R"({"intValue":"10"})");
    CHECK(attribute(*chat, "gen_ai.usage.cache_read.input_tokens") == R"({"intValue":"40"})");
    CHECK(attribute(*chat, "gen_ai.usage.cache_creation.input_tokens") == R"({"intValue":"7"})");
    // 53 uncached and 7 written at 10, 40 read at 1, 10 written by the model at 100, by million
    CHECK(attribute(*chat, "gen_ai.usage.cost") == R"({"doubleValue":1.64E-3})");
    CHECK(attribute(*chat, "gen_ai.response.finish_reasons") ==
          R"({"arrayValue":{"values":[{"stringValue":"tool_call"}]}})");
    const json::object* const tool = spanNamed(spans, "execute_tool weather");
    REQUIRE(tool != nullptr);
    CHECK(attribute(*tool, "gen_ai.tool.name") == R"({"stringValue":"weather"})");
    CHECK(attribute(*tool, "gen_ai.tool.type") == R"({"stringValue":"function"})");
    CHECK(!attribute(*tool, "gen_ai.tool.call.id").empty());
    CHECK(attribute(*tool, "error.type").empty());

    const bool has_content = !text.empty();
    CHECK(attribute(*chat, "gen_ai.input.messages").empty() != has_content);
    CHECK(attribute(*tool, "gen_ai.tool.call.arguments").empty() != has_content);
    if (!has_content) {
        for (const std::string& request : collector.requests()) CHECK(request.find("Bonn") == std::string::npos);
        return;
    }
    const auto inside = [](const std::string& value) {
        return json::parse(json::parse(value).at("stringValue").as_string());
    };
    const json::value input = inside(attribute(*chat, "gen_ai.input.messages"));
    CHECK(input.at(0).at("role") == "user");
    CHECK(json::serialize(input.at(0).at("parts")) == R"([{"type":"text","content":"Weather in Bonn?"}])");
    CHECK(inside(attribute(*chat, "gen_ai.output.messages")).at(0).at("parts").at(0).at("type") == "tool_call");
    CHECK(inside(attribute(*chat, "gen_ai.system_instructions")).at(0).at("content") == "Be brief.");
    CHECK(attribute(*tool, "gen_ai.tool.call.result") == R"({"stringValue":"rain"})");
}

TEST_CASE("calls of models are counted in histograms of tokens and durations") {
    ScriptedServer collector(answers(taken));
    const auto exporter = std::make_shared<telemetry::OtlpExporter>(patientFor(collector));
    weatherAgent(std::make_shared<sg::SpanObserver>(exporter)).say("Weather?");
    CHECK(exporter->flush(5min));
    const auto bodies = sentTo(collector, "/v1/metrics");
    REQUIRE(bodies.size() == 1);
    const json::array& metrics =
        bodies[0].at("resourceMetrics").at(0).at("scopeMetrics").at(0).at("metrics").as_array();
    REQUIRE(metrics.size() == 2);
    CHECK(metrics[0].at("name") == "gen_ai.client.token.usage");
    CHECK(metrics[0].at("unit") == "{token}");
    const json::object& histogram = metrics[0].at("histogram").as_object();
    CHECK(histogram.at("aggregationTemporality") == 2);
    const json::array& points = histogram.at("dataPoints").as_array();
    REQUIRE(points.size() == 2);
    for (const json::value& each : points) {
        const json::object& point = each.as_object();
        const bool is_input = attribute(point, "gen_ai.token.type") == R"({"stringValue":"input"})";
        CHECK(point.at("count") == "2");
        CHECK(point.at("sum").to_number<double>() == (is_input ? 300 : 30));
        CHECK(point.at("min").to_number<double>() == (is_input ? 100 : 10));
        CHECK(point.at("bucketCounts").as_array().size() == point.at("explicitBounds").as_array().size() + 1);
        // 100 and 200 are between 64 and 256; 10 is between 4 and 16, and 20 between 16 and 64.
        CHECK(point.at("bucketCounts").at(is_input ? 4 : 2) == (is_input ? "2" : "1"));
    }
    CHECK(metrics[1].at("name") == "gen_ai.client.operation.duration");
    CHECK(metrics[1].at("histogram").at("dataPoints").at(0).at("count") == "2");
}

TEST_CASE("a collector that is busy gets the spans again, when it says so, and each once") {
    int status = 503;
    SUBCASE("503") {}
    SUBCASE("429") { status = 429; }
    std::atomic<int> refusals = 2;
    ScriptedServer collector([&](Peer& peer) {
        while (!peer.request().empty()) peer.send(refusals-- > 0 ? answer(status, "{}", "Retry-After: 0\r\n") : taken);
    });
    telemetry::OtlpExporter exporter(patientFor(collector));
    exporter.take(spanOf("a"));
    CHECK(exporter.flush(5min));
    CHECK(exporter.counts().sent == 1);
    CHECK(exporter.counts().failed_requests == 0);
    CHECK(spansIn(sentTo(collector, "/v1/traces")).size() == 3);  // of one body, sent three times
}

TEST_CASE("what a collector refuses for good is dropped, counted and not sent again") {
    ScriptedServer collector(answers(answer(400, R"({"message":"bad spans"})")));
    telemetry::OtlpExporter exporter(patientFor(collector));
    exporter.take(spanOf("a"));
    CHECK(exporter.flush(5min));
    const telemetry::OtlpCounts counts = exporter.counts();
    CHECK(counts.sent == 0);
    CHECK(counts.dropped == 1);
    CHECK(counts.failed_requests == 1);
    CHECK(counts.last_error.find("the collector at ") == 0);
    CHECK(counts.last_error.find("bad spans") != std::string::npos);
    CHECK(collector.requests().size() == 1);
}

TEST_CASE("spans that a collector refuses of a request that it takes are counted") {
    ScriptedServer collector(answers(answer(200, R"({"partialSuccess":{"rejectedSpans":"1"}})")));
    telemetry::OtlpExporter exporter(patientFor(collector));
    exporter.take(spanOf("a"));
    exporter.take(spanOf("b"));
    CHECK(exporter.flush(5min));
    CHECK(exporter.counts().sent == 1);
    CHECK(exporter.counts().dropped == 1);
}

TEST_CASE("a collector that does not answer blocks no run, and spans beyond the limits are dropped and counted") {
    ScriptedServer collector([](Peer& peer) {
        (void)peer.request();
        peer.waitForEnd(5min);
    });
    telemetry::OtlpOptions options = patientFor(collector);
    options.spans_max = 3;
    options.batch_max = 1;
    options.flush_limit = 0ms;
    telemetry::OtlpExporter exporter(options);
    exporter.take(spanOf("first"));
    until([&] { return collector.requests().size() == 1; });
    for (int i = 0; i < 10; ++i) exporter.take(spanOf("more"));
    CHECK(exporter.counts().dropped == 7);
    CHECK(!exporter.flush(1ms));
    sg::Span long_one = spanOf("long");
    long_one.attributes.emplace_back("text", sg::Value(std::string(1000, 'x')));
    options.bytes_max = 500;
    telemetry::OtlpExporter narrow(options);
    narrow.take(std::move(long_one));
    CHECK(narrow.counts().dropped == 1);
}

TEST_CASE("an exporter that ends sends what it has, and one without a collector gives up in time") {
    ScriptedServer collector(answers(taken));
    { telemetry::OtlpExporter(patientFor(collector)).take(spanOf("last")); }
    const auto spans = spansIn(sentTo(collector, "/v1/traces"));
    REQUIRE(spans.size() == 1);
    CHECK(spans[0].at("name") == "last");

    telemetry::OtlpOptions nowhere{.endpoint = "http://127.0.0.1:1", .flush_limit = 1ms};
    telemetry::OtlpExporter(nowhere).take(spanOf("lost"));
}

TEST_CASE("options that make no sense are refused") {
    CHECK_THROWS_AS(telemetry::OtlpExporter({.batch_max = 0}), sg::InvalidArgumentError);
    CHECK_THROWS_AS(telemetry::OtlpExporter({.interval = 0ms}), sg::InvalidArgumentError);
    CHECK_THROWS_AS(telemetry::OtlpExporter({.endpoint = "nowhere"}), sg::InvalidArgumentError);
}
