#include <doctest/doctest.h>
#include <stategraph/stategraph.hpp>

#include "tests/support/history_graphs.hpp"
#include "tests/support/history_savers.hpp"

// updateState: as which node the state is edited. What an edit does to what was due is in edit_schedule_test.cpp.
namespace sg = stategraph;
using namespace history;

namespace {

const sg::Config T{.thread_id = "t"};

std::string ambiguous(const LineApp& app, const SharedSaver& saver) {
    const Bytes before = bytesOf(*saver);
    const std::string said = errorOf<sg::InvalidUpdateError>([&] { return app.updateState(T, says("x")); });
    CHECK(bytesOf(*saver) == before);
    return said;
}

}  // namespace

TEST_CASE("an edit as a node goes through the reducers, and the node's edges fire") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = chainOf({"a", "b", "c"}).compile({.checkpointer = saver, .interrupt_before = {"b"}});
        app.invoke(says("i"), {.thread_id = "t"});
        const auto before = app.getState(T);
        const sg::Config edited = app.updateState(T, says("x"), {.as_node = "b"});
        const auto state = app.getState(T);
        CHECK(state.config == edited);
        CHECK((state.source == sg::Source::update));
        CHECK(state.step == before.step + 1);
        CHECK(state.parent_config == before.config);
        CHECK(state.values.v == Words{"i", "a", "x"});
        CHECK(state.next == Words{"c"});
        CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).values.v == Words{"i", "a", "x", "c"});
        // An edit is not shown as the result of the task that it replaced.
        CHECK(app.getState(before.config).tasks[0].result.isNull());
    });
}

TEST_CASE("without as_node it is the node that ran last") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = chainOf({"a", "b", "c"}).compile({.checkpointer = saver, .interrupt_after = {"a", "b"}});
        app.invoke(says("i"), {.thread_id = "t"});
        app.updateState(T, says("x"));
        CHECK(app.getState(T).next == Words{"b"});
        app.invoke(sg::RESUME, {.thread_id = "t"});
        app.updateState(T, says("y"));
        CHECK(app.getState(T).next == Words{"c"});
        CHECK(app.getState(T).values.v == Words{"i", "a", "x", "b", "y"});
        // Edits do not count as the node that ran last.
        app.updateState(T, says("z"), {.as_node = "a"});
        CHECK(app.getState(T).next == Words{"b"});
        app.updateState(T, says("z"));
        CHECK(app.getState(T).next == Words{"c"});
    });
}

TEST_CASE("without as_node on a fresh thread it is START, at step 0") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = chainOf({"a"}).compile({.checkpointer = saver});
        app.updateState(T, says("x"));
        const auto state = app.getState(T);
        CHECK(state.step == 0);
        CHECK((state.source == sg::Source::update));
        CHECK(!state.parent_config);
        CHECK(state.next == Words{"a"});
        CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).values.v == Words{"x", "a"});
        CHECK(stepsOf(pastOf(app, T)) == std::vector<std::int64_t>{0, 1});
    });
}

TEST_CASE("a fresh thread may be edited as any node") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = chainOf({"a", "b"}).compile({.checkpointer = saver});
        app.updateState(T, says("x"), {.as_node = "a"});
        CHECK(app.getState(T).step == 0);
        CHECK(app.getState(T).next == Words{"b"});
        CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).values.v == Words{"x", "b"});
    });
}

TEST_CASE("on a thread where only START ran it is START again") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = chainOf({"a"}).compile({.checkpointer = saver, .interrupt_before = {"a"}});
        app.invoke(says("i"), {.thread_id = "t"});
        app.updateState(T, says("x"));
        CHECK(app.getState(T).next == Words{"a"});
        CHECK(app.getState(T).values.v == Words{"i", "x"});
    });
}

TEST_CASE("after parallel nodes it is ambiguous, and the error asks for as_node") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = fanOf({"a", "b"}).compile({.checkpointer = saver, .interrupt_before = {"z"}});
        app.invoke(says("i"), {.thread_id = "t"});
        CHECK(mentions(ambiguous(app, saver), {"ambiguous", "as_node"}));
        app.updateState(T, says("x"), {.as_node = "a"});
        CHECK(app.getState(T).next == Words{"z"});
    });
}

TEST_CASE("\"as_node left out after a superstep of Sends\": an error that asks for it") {
    onBothSavers([](const SharedSaver& saver) {
        LineGraph graph;
        graph.addNode("a", saying("a"))
            .addNode("b", [](const std::string& word) -> sg::Update<Line> { return says(word); })
            .addNode("z", saying("z"))
            .addEdge(sg::START, "a")
            .addEdge("b", "z")
            .addConditionalEdges("a", [](const Line&) {
                return std::vector<sg::Send>{{"b", "0"}};
            });
        const LineApp app = graph.compile({.checkpointer = saver, .interrupt_after = {"b"}});
        app.invoke(says("i"), {.thread_id = "t"});
        CHECK(app.getState(T).values.v == Words{"i", "a", "0"});
        CHECK(mentions(ambiguous(app, saver), {"ambiguous", "as_node"}));
        app.updateState(T, says("x"), {.as_node = "b"});
        CHECK(app.getState(T).next == Words{"z"});
    });
}

TEST_CASE("a node that does not exist is an error that names it, and nothing is written") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = chainOf({"a"}).compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        const Bytes before = bytesOf(*saver);
        const auto said =
            errorOf<sg::InvalidUpdateError>([&] { return app.updateState(T, says("x"), {.as_node = "nobody"}); });
        CHECK(mentions(said, {"'nobody'", "as_node"}));
        CHECK(bytesOf(*saver) == before);
    });
}

TEST_CASE("as END nothing is due any more; it can write nothing") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = chainOf({"a", "b"}).compile({.checkpointer = saver, .interrupt_before = {"b"}});
        app.invoke(says("i"), {.thread_id = "t"});
        const Bytes before = bytesOf(*saver);
        errorOf<sg::InvalidUpdateError>([&] { return app.updateState(T, says("x"), {.as_node = sg::END}); });
        CHECK(bytesOf(*saver) == before);
        app.updateState(T, {}, {.as_node = sg::END});
        const auto state = app.getState(T);
        CHECK(state.next.empty());
        CHECK(state.tasks.empty());
        CHECK((state.source == sg::Source::update));
        CHECK(state.values.v == Words{"i", "a"});
        CHECK((app.invoke(sg::RESUME, {.thread_id = "t"}).status == sg::Status::done));
        CHECK(app.invoke(says("j"), {.thread_id = "t", .interrupt_before = sg::NodeNames::none()}).values.v ==
              Words{"i", "a", "j", "a", "b"});
    });
}

TEST_CASE("as START the graph begins again with the edit, past what was due") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = chainOf({"a", "b"}).compile({.checkpointer = saver, .interrupt_before = {"b"}});
        app.invoke(says("i"), {.thread_id = "t"});
        app.updateState(T, says("x"), {.as_node = sg::START});
        CHECK(app.getState(T).next == Words{"a"});
        CHECK(app.getState(T).values.v == Words{"i", "a", "x"});
    });
}

TEST_CASE("at an old checkpoint an edit makes a branch, and the past stays") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = chainOf({"a", "b"}).compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        const auto past = pastOf(app, T);
        const Bytes before = bytesOf(*saver);
        const auto edited = app.updateState(past[1].config, says("x"), {.as_node = "a"});
        const auto state = app.getState(T);
        CHECK(state.config == edited);
        CHECK(state.parent_config == past[1].config);
        CHECK(state.step == past[1].step + 1);
        CHECK(state.values.v == Words{"i", "x"});
        CHECK(keeps(bytesOf(*saver), before));
        // The node is inferred: the one that had run last at that checkpoint.
        CHECK(app.getState(app.updateState(past[2].config, says("y"))).next == Words{"b"});
    });
}

TEST_CASE("an edit as a node with routers goes where they say, given the state with the edit") {
    onBothSavers([](const SharedSaver& saver) {
        LineGraph graph;
        graph.addNode("a", saying("a"))
            .addNode("left", saying("left"))
            .addNode("right", saying("right"))
            .addNode("each", [](const std::string& word) -> sg::Update<Line> { return says(word); })
            .addEdge(sg::START, "a")
            .addConditionalEdges("a", [](const Line& line) -> sg::Targets {
                if (line.v.back() == "send") return {sg::Send("each", "1"), sg::Send("each", "2")};
                return {line.v.back() == "l" ? "left" : "right"};
            });
        const LineApp app = graph.compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        app.updateState(T, says("l"), {.as_node = "a"});
        CHECK(app.getState(T).next == Words{"left"});
        app.updateState(T, says("r"), {.as_node = "a"});
        CHECK(app.getState(T).next == Words{"right"});
        app.updateState(T, says("send"), {.as_node = "a"});
        CHECK(app.getState(T).next == Words{"each", "each"});
        CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).values.v ==
              Words{"i", "a", "right", "l", "r", "send", "1", "2"});
    });
}

TEST_CASE("several edits make a checkpoint for each superstep") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = fanOf({"a", "b"}).compile({.checkpointer = saver});
        const sg::Config last =
            app.bulkUpdateState(T, {{{.values = says("i"), .as_node = sg::START}},
                                    {{.values = says("1"), .as_node = "a"}, {.values = says("2"), .as_node = "b"}},
                                    {{.values = says("3"), .as_node = "z"}}});
        const auto past = pastOf(app, T);
        REQUIRE(past.size() == 3);
        CHECK(past[2].config == last);
        CHECK(stepsOf(past) == std::vector<std::int64_t>{0, 1, 2});
        CHECK(past[0].next == Words{"a", "b"});
        CHECK(past[1].next == Words{"z"});
        CHECK(past[2].next.empty());
        CHECK(past[2].values.v == Words{"i", "1", "2", "3"});
        CHECK(past[1].parent_config == past[0].config);
        CHECK(past[2].parent_config == past[1].config);
        // The tasks that the edits replace show what was written in their names.
        REQUIRE(past[0].tasks.size() == 2);
        CHECK(past[0].tasks[0].result.toJson() == R"({"v":["1"]})");
        CHECK(past[0].tasks[1].result.toJson() == R"({"v":["2"]})");
        CHECK(past[0].tasks[1].finished);
        CHECK(past[1].tasks.at(0).result.toJson() == R"({"v":["3"]})");
    });
}

TEST_CASE("several edits that make no sense are refused, each with a reason") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = chainOf({"a"}).compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        const Bytes before = bytesOf(*saver);
        CHECK(mentions(errorOf<sg::InvalidArgumentError>([&] { return app.bulkUpdateState(T, {}); }), {"supersteps"}));
        CHECK(mentions(errorOf<sg::InvalidArgumentError>([&] { return app.bulkUpdateState(T, {{}}); }),
                       {"without updates"}));
        CHECK(mentions(
            errorOf<sg::InvalidUpdateError>([&] {
                return app.bulkUpdateState(T, {{{.values = says("1"), .as_node = "a"}, {.values = says("2")}}});
            }),
            {"as_node"}));
        errorOf<sg::InvalidUpdateError>([&] {
            return app.bulkUpdateState(T, {{{.values = says("1"), .as_node = "a"}, {.as_node = sg::END}}});
        });
        CHECK(bytesOf(*saver) == before);
    });
}
