#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/observer.hpp>
#include <stategraph/spans.hpp>

#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// Runs as spans of OpenTelemetry.
using namespace graphs;
using namespace std::chrono_literals;

namespace {

class Spans final : public sg::SpanExporter {
public:
    void take(sg::Span&& span) override {
        const std::lock_guard lock(mutex_);
        all.push_back(std::move(span));
    }
    std::vector<sg::Span> all;
    const sg::Span* find(const std::string& name) const {
        const auto found =
            std::find_if(all.begin(), all.end(), [&](const sg::Span& span) { return span.name == name; });
        return found == all.end() ? nullptr : &*found;
    }

private:
    std::mutex mutex_;
};

}  // namespace

TEST_CASE("runs are spans: the run's, below it supersteps, tasks, and what runs inside them") {
    Graph plain;
    plain.addNode("x", appends("x")).addEdge(sg::START, "x");
    Graph graph;
    graph.addNode("sub", plain.compile()).addEdge(sg::START, "sub").addEdge("sub", "bad");
    graph.addNode("bad", [](const State&) -> Update { throw std::runtime_error("broken"); });
    const auto spans = std::make_shared<Spans>();
    sg::SpanObserver observer(spans);
    CHECK_THROWS_AS(graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()})
                        .invoke(bar("i"), {.thread_id = "t", .observer = &observer}),
                    sg::NodeError);
    std::map<sg::SpanId, const sg::Span*> by_id;
    for (const auto& span : spans->all) {
        CHECK(by_id.emplace(span.span_id, &span).second);
        CHECK((span.trace_id == spans->all.front().trace_id));
        CHECK(span.end >= span.start);
    }
    const auto path = [&](const sg::Span* span) {
        std::string text;
        for (; span != nullptr; span = span->parent_span_id ? by_id.at(*span->parent_span_id) : nullptr)
            text = "/" + span->name + text;
        return text;
    };
    CHECK(path(spans->find("x")) == "/run/superstep 1/sub/run/superstep 1/x");
    CHECK(path(spans->find("bad")) == "/run/superstep 2/bad");
    CHECK(spans->find("bad")->failed);
    CHECK(spans->find("bad")->message == "broken");
    CHECK(!spans->find("x")->failed);
    const sg::Span& run = spans->all.back();
    CHECK(run.name == "run");
    CHECK(!run.parent_span_id);
    CHECK(run.failed);
    CHECK((run.attributes.front() == std::pair<std::string, sg::Value>{"stategraph.thread_id", "t"}));
    REQUIRE(spans->find("superstep 1") != nullptr);
    CHECK(observer.dropped() == 0);
}

TEST_CASE("spans go below a given parent, carry retries and questions, and are limited") {
    const sg::SpanParent parent{{1, 2, 3}, {4, 5}};
    const auto spans = std::make_shared<Spans>();
    sg::SpanObserver observer(spans, {.parent = parent});
    Graph graph;
    graph.addNode("ask",
                  [](const State&, sg::Runtime& runtime) -> Update {
                      if (runtime.attempt() == 1) throw std::runtime_error("again");
                      return {sg::add(&State::bar, sg::interrupt<std::string>(runtime, "?"))};
                  },
                  {.retry = {.max_attempts = 2, .initial_interval = 0ms}});
    graph.addEdge(sg::START, "ask");
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    app.invoke(bar("i"), {.thread_id = "t", .observer = &observer});
    const sg::Span& run = spans->all.back();
    CHECK((run.trace_id == parent.trace_id));
    CHECK((*run.parent_span_id == parent.span_id));
    Strings events;
    for (const auto& span : spans->all) {
        for (const auto& event : span.events) events.push_back(span.name + " " + event.name);
    }
    CHECK(events == Strings{"superstep 0 checkpoint", "ask interrupt", "superstep 1 retry", "run checkpoint"});

    sg::SpanObserver small(spans, {.open_max = 1, .events_max = 1});
    spans->all.clear();
    app.invoke(bar("i"), {.thread_id = "u", .observer = &small});
    CHECK(spans->all.size() == 1);
    CHECK(small.dropped() > 4);
    CHECK_THROWS_AS(sg::SpanObserver(spans, {.open_max = 0}), sg::InvalidArgumentError);
}

TEST_CASE("what a node says of itself and its work is in the spans of its run and its task, and below") {
    const auto spans = std::make_shared<Spans>();
    sg::SpanObserver observer(spans);
    sg::SpanObserver curious(spans, {.content = true});
    std::vector<sg::Interest> interests;
    Graph graph;
    graph.addNode("ask", [&](const State&, sg::Runtime& runtime) -> Update {
        interests.push_back(sg::interestIn(runtime));
        const std::vector<sg::SpanAttribute> facts{{"k", sg::Value(1)}};
        sg::describeRun(runtime, "a visit", facts);
        sg::describeTask(runtime, "a question", facts);
        sg::describeTask(runtime, {}, std::vector<sg::SpanAttribute>{{"k", sg::Value(2)}});
        sg::reportOperation(runtime, {.name = "a call", .is_remote = true, .duration = 3ms, .error = "no"});
        return {};
    });
    graph.addEdge(sg::START, "ask");
    const App app = graph.compile();
    app.invoke(bar("i"), {.observer = &observer});
    app.invoke(bar("i"), {});
    const auto named = [&](const std::string& name) -> const sg::Span& {
        const auto found = std::ranges::find(spans->all, name, &sg::Span::name);
        REQUIRE(found != spans->all.end());
        return *found;
    };
    const sg::Span& task = named("a question");
    const auto fact = std::ranges::find(task.attributes, "k", &sg::SpanAttribute::first);
    REQUIRE(fact != task.attributes.end());
    CHECK(fact->second == sg::Value(2));
    CHECK(!named("a visit").parent_span_id);
    const sg::Span& call = named("a call");
    CHECK((*call.parent_span_id == task.span_id));
    CHECK((call.trace_id == task.trace_id));
    CHECK(call.is_remote);
    CHECK(call.failed);
    CHECK(call.message == "no");
    CHECK(call.end - call.start == 3ms);
    CHECK(!task.is_remote);
    app.invoke(bar("i"), {.observer = &curious});
    CHECK((interests == std::vector{sg::Interest::facts, sg::Interest::none, sg::Interest::content}));
}

TEST_CASE("spans are written as OTLP/JSON, a line each") {
    std::ostringstream out;
    sg::OtlpJsonExporter exporter(out, "shop");
    sg::Span span;
    span.trace_id = {0xAB, 1};
    span.span_id = {2};
    span.name = "a \"node\"";
    span.start = std::chrono::system_clock::time_point(1'700'000'000s);
    span.end = span.start + 5ns;
    span.attributes = {{"t", "text"}, {"i", -7}, {"d", 0.5}, {"b", true}, {"l", std::vector<int>{1}}};
    span.events = {{"retry", std::chrono::system_clock::time_point(6ns), {}}};
    span.failed = true;
    span.message = "broken";
    exporter.take(sg::Span(span));
    CHECK(
        out.str() ==
        R"({"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]},"scopeSpans":[{"scope":{"name":"stategraph"},"spans":[)"
        R"({"traceId":"ab010000000000000000000000000000","spanId":"0200000000000000","name":"a \"node\"","kind":1,"startTimeUnixNano":"1700000000000000000","endTimeUnixNano":"1700000000000000005",)"
        R"("attributes":[{"key":"t","value":{"stringValue":"text"}},{"key":"i","value":{"intValue":"-7"}},{"key":"d","value":{"doubleValue":0.5}},{"key":"b","value":{"boolValue":true}},{"key":"l","value":{"arrayValue":{"values":[{"intValue":"1"}]}}}],)"
        R"("events":[{"timeUnixNano":"6","name":"retry","attributes":[]}],"status":{"code":2,"message":"broken"}}]}]}]})"
        "\n");
    out.setstate(std::ios::badbit);
    CHECK_THROWS_AS(exporter.take(std::move(span)), sg::SaverError);
}
