// NOT WITH: sanitize=thread
#include <chrono>
#include <set>
#include <sstream>

#include <doctest/doctest.h>

#include <stategraph/ndjson.hpp>

#include "tests/support/fixed_ids.hpp"
#include "tests/support/graphs.hpp"

// Events as lines of JSON, and back.
using namespace graphs;
using namespace std::chrono_literals;
using sg::StreamMode;

namespace {

sg::StreamEvent event(StreamMode mode, std::string node, sg::Value data, std::vector<std::string> ns = {}) {
    return {.mode = mode,
            .ns = std::move(ns),
            .node = std::move(node),
            .step = 3,
            .data = std::move(data),
            .interrupts = {},
            .time = {}};
}

std::string written(const sg::StreamEvent& event, sg::NdjsonOptions options = {}) {
    std::ostringstream out;
    sg::NdjsonWriter(out, std::move(options)).write(event);
    return out.str();
}

std::string whyNot(const std::string& text, sg::NdjsonReaderOptions options = {}) {
    std::istringstream in(text);
    sg::NdjsonReader reader(in, std::move(options));
    return thrown<sg::WrongTypeError>([&] {
               while (reader.next()) {
               }
           })
        .message();
}

}  // namespace

TEST_CASE("an event is one line, whatever is in it") {
    CHECK(written(event(StreamMode::custom, "a", "two\nlines \"quoted\"")) ==
          "{\"ns\":[],\"data\":\"two\\nlines \\\"quoted\\\"\",\"mode\":\"custom\",\"node\":\"a\",\"step\":3}\n");
    sg::HubEvent hub_event;
    hub_event.mode = StreamMode::updates;
    hub_event.durable = true;
    hub_event.position = sg::StreamPosition(7, 2);
    hub_event.interrupts.push_back({sg::TaskId(1, 2), 0, "why?"});
    std::ostringstream out;
    sg::NdjsonWriter writer(out);
    CHECK(writer.write(hub_event));
    CHECK(
        out.str() ==
        "{\"ns\":[],\"data\":null,\"mode\":\"updates\",\"node\":\"\",\"step\":0,\"durable\":true,\"position\":\"7-2\","
        "\"interrupts\":[{\"id\":\"00000000000000010000000000000002\",\"index\":0,\"value\":\"why?\"}]}\n");
}

TEST_CASE("the writer filters by mode, node and namespace, renames fields and leaves some out") {
    const sg::StreamEvent inner = event(StreamMode::updates, "x", 1, {"sub:0001", "deep:0002"});
    CHECK(written(inner, {.modes = StreamMode::values}).empty());
    CHECK(!written(inner, {.modes = {StreamMode::values, StreamMode::updates}}).empty());
    CHECK(written(inner, {.nodes = {"y", "z"}}).empty());
    CHECK(!written(inner, {.nodes = {"y", "x"}}).empty());
    CHECK(written(inner, {.namespaces = Strings{""}}).empty());
    CHECK(written(inner, {.namespaces = Strings{"su"}}).empty());
    CHECK(!written(inner, {.namespaces = Strings{"sub"}}).empty());
    CHECK(!written(inner, {.namespaces = Strings{"sub:0001|deep"}}).empty());
    CHECK(!written(event(StreamMode::updates, "x", 1), {.namespaces = Strings{""}}).empty());
    CHECK(written(event(StreamMode::updates, "x", 1), {.namespaces = Strings{"sub"}}).empty());
    CHECK(written(inner, {.rename = {{"data", "payload"}, {"node", "data"}}, .omit = {"ns", "step"}}) ==
          "{\"payload\":1,\"mode\":\"updates\",\"data\":\"x\"}\n");
    std::ostringstream out;
    CHECK_THROWS_AS(sg::NdjsonWriter(out, {.rename = {{"dta", "x"}}}), sg::InvalidArgumentError);
    CHECK_THROWS_AS(sg::NdjsonWriter(out, {.rename = {{"data", "node"}}}), sg::InvalidArgumentError);
    CHECK_THROWS_AS(sg::NdjsonWriter(out, {.omit = {"dta"}}), sg::InvalidArgumentError);
}

TEST_CASE("an output that fails is an error, not silence") {
    std::ostringstream out;
    out.setstate(std::ios::badbit);
    sg::NdjsonWriter writer(out);
    CHECK_THROWS_AS(writer.write(event(StreamMode::custom, "a", 1)), sg::SaverError);
}

TEST_CASE("a run's events come back from the file as they were, renamed or not") {
    Graph graph;
    graph.addNode("a", [](const State&, sg::Runtime& runtime) -> Update {
        runtime.write(std::string("wörld"));
        return {sg::add(&State::bar, sg::interrupt<std::string>(runtime, "why?"))};
    });
    graph.addNode("b", [](const State&, sg::Runtime& runtime) -> Update {
        return {sg::add(&State::bar, sg::interrupt<std::string>(runtime, "reason", "and why?"))};
    });
    graph.addEdge(sg::START, "a").addEdge(sg::START, "b");
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>(), .ids = FixedIds::make()});
    for (const bool renames : {false, true}) {
        const std::vector<std::pair<std::string, std::string>> rename =
            renames ? std::vector<std::pair<std::string, std::string>>{{"mode", "type"}, {"position", "id"}}
                    : std::vector<std::pair<std::string, std::string>>{};
        sg::StreamHub hub(app);
        const sg::ThreadId thread = renames ? "renamed" : "plain";
        auto subscription = hub.subscribe(
            thread, {.modes = {StreamMode::values, StreamMode::updates, StreamMode::custom, StreamMode::tasks}});
        app.invoke(bar("i"), {.thread_id = thread, .hub = &hub});
        std::stringstream file;
        sg::NdjsonWriter writer(file, {.rename = rename});
        std::vector<sg::HubEvent> events;
        while (const auto got = subscription.next(0ms)) {
            writer.write(*got);
            events.push_back(*got);
        }
        REQUIRE(events.size() >= 4);
        CHECK(writer.lines() == events.size());
        sg::NdjsonReader reader(file, {.rename = rename});
        std::set<std::string> keys;
        for (const sg::HubEvent& expected : events) {
            const auto read = reader.next();
            REQUIRE(read);
            CHECK((read->mode == expected.mode));
            CHECK(read->ns == expected.ns);
            CHECK(read->node == expected.node);
            CHECK(read->step == expected.step);
            CHECK(read->data.toJson() == expected.data.toJson());
            CHECK(read->durable == expected.durable);
            CHECK((read->position == expected.position));
            CHECK((read->interrupts == expected.interrupts));
            for (const sg::Interrupt& question : read->interrupts) keys.insert(question.key);
        }
        CHECK(keys == std::set<std::string>{"", "reason"});
        CHECK(!reader.next());
        CHECK(reader.line() == events.size());
    }
}

TEST_CASE("the reader passes over blank lines, unknown fields and what is missing, and takes any line end") {
    std::istringstream in(
        "\n{\"mode\":\"custom\",\"trace\":{\"x\":[1]},\"data\":{\"k\":9007199254740993}}\r\n  "
        "\r\n{\"mode\":\"values\"}");
    sg::NdjsonReader reader(in);
    const auto first = reader.next();
    REQUIRE(first);
    CHECK(first->data.toJson() == R"({"k":9007199254740993})");
    CHECK(reader.line() == 2);
    const auto second = reader.next();
    REQUIRE(second);
    CHECK((second->mode == StreamMode::values));
    CHECK(second->data.isNull());
    CHECK(reader.line() == 4);
    CHECK(!reader.next());
    CHECK(!reader.next());
}

TEST_CASE("a bad line is named by its number and its fault, and the next one can be read") {
    const std::string good = "{\"mode\":\"custom\"}\n";
    for (const auto& [line, fault] : std::vector<std::pair<std::string, std::string>>{
             {"{\"mode\":\"cus", "not JSON"},
             {"[1]", "not an object"},
             {"{}", "no field 'mode'"},
             {"{\"mode\":1}", "'mode' is not a text"},
             {"{\"mode\":\"other\"}", "no mode 'other'"},
             {"{\"mode\":\"custom\",\"ns\":[1]}", "'ns' is not"},
             {"{\"mode\":\"custom\",\"ns\":\"x\"}", "'ns' is not"},
             {"{\"mode\":\"custom\",\"node\":1}", "'node' is not"},
             {"{\"mode\":\"custom\",\"step\":\"1\"}", "'step' is not"},
             {"{\"mode\":\"custom\",\"durable\":1}", "'durable' is not"},
             {"{\"mode\":\"custom\",\"position\":7}", "'position' is not"},
             {"{\"mode\":\"custom\",\"position\":\"x\"}", "not a position in a stream"},
             {"{\"mode\":\"custom\",\"interrupts\":[{}]}", "'interrupts' is not"},
             {"{\"mode\":\"custom\",\"interrupts\":[{\"id\":\"zz\",\"index\":0}]}", "line 2"},
             {"{\"mode\":\"custom\",\"interrupts\":[{\"id\":\"" + std::string(32, '0') +
                  "\",\"index\":0,\"value\":1,\"key\":2}]}",
              "'interrupts' is not"},
             {"{\"mode\":\"custom\",\"data\":" + std::string(600, '[') + std::string(600, ']') + "}", "not JSON"},
             {"{\"mode\":\"custom\",\"data\":\"" + std::string(3000, 'x') + "\"}", "longer than 2000 bytes"}}) {
        INFO(line.substr(0, 60));
        const std::string why = whyNot(good + line + "\n", {.line_bytes_max = 2000});
        CHECK(contains(why, "line 2"));
        CHECK(contains(why, fault));
        std::istringstream in(good + line + "\n" + good);
        sg::NdjsonReader reader(in, {.line_bytes_max = 2000});
        CHECK(reader.next());
        CHECK_THROWS_AS(reader.next(), sg::WrongTypeError);
        CHECK(reader.next());
        CHECK(reader.line() == 3);
    }
    std::istringstream in;
    CHECK_THROWS_AS(sg::NdjsonReader(in, {.line_bytes_max = 0}), sg::InvalidArgumentError);
}

TEST_CASE("a time that no clock holds is the first or the last that one does") {
    using Moment = std::chrono::system_clock::time_point;
    std::istringstream in(
        "{\"mode\":\"custom\",\"time\":9223372036854775807}\n"
        "{\"mode\":\"custom\",\"time\":-9223372036854775808}\n");
    sg::NdjsonReader reader(in);
    CHECK(Moment::max() - reader.next()->time < std::chrono::milliseconds(1));
    CHECK(reader.next()->time - Moment::min() < std::chrono::milliseconds(1));
}
