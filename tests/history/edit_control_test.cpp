#include <atomic>

#include <doctest/doctest.h>
#include <stategraph/error.hpp>
#include <stategraph/recover.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/history_graphs.hpp"
#include "tests/support/history_savers.hpp"

// What an edit can say in addition to values: where to go, that it is the input, or that it is a copy. It also checks
// that an edit is not a run.
namespace sg = stategraph;
using namespace history;

namespace {

const sg::Config T{.thread_id = "t"};
using Reasons = std::vector<sg::Status>;

Reasons reasonsOf(sg::BaseCheckpointSaver& saver) {
    Reasons reasons;
    for (const auto& thread : saver.unfinishedThreads()) reasons.push_back(thread.reason);
    return reasons;
}

std::string refused(const LineApp& app, sg::BaseCheckpointSaver& saver, const sg::UpdateOptions& options,
                    const sg::Update<Line>& values = {}) {
    const Bytes before = bytesOf(saver);
    const std::string said = errorOf<sg::InvalidUpdateError>([&] { return app.updateState(T, values, options); });
    CHECK(bytesOf(saver) == before);
    return said;
}

// START → plan → end, and w → end; nothing leads to w by itself.
LineGraph sending() {
    LineGraph graph;
    graph.addNode("plan", saying("plan"), {.ends = {"w"}}).addEdge(sg::START, "plan").addEdge("plan", "end");
    graph.addNode("w", [](const std::string& word) { return says("w" + word); });
    graph.addNode("end", saying("end")).addEdge("w", "end");
    return graph;
}

}  // namespace

TEST_CASE("an edit leads where it says, in addition to its node's edges: names and Sends, as a Command would") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = sending().compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        const auto edited = app.updateState(
            T, says("x"),
            {.as_node = "plan", .go_to = {sg::Send("w", std::string("1")), sg::Send("w", std::string("2"))}});
        const auto state = app.getState(T);
        CHECK(state.config == edited);
        CHECK(state.next == Words{"end", "w", "w"});
        const auto done = app.invoke(sg::RESUME, {.thread_id = "t"});
        CHECK(done.values.v == Words{"i", "plan", "end", "x", "end", "w1", "w2", "end"});
        // By name, and as START too.
        app.updateState(T, says("y"), {.as_node = sg::START, .go_to = "end"});
        CHECK(app.getState(T).next == Words{"end", "plan"});
        // In the updates of a list, each its own.
        app.bulkUpdateState(T, {{{.values = says("z"), .as_node = "end", .go_to = {"plan"}},
                                 {.values = says("q"), .as_node = "w", .go_to = {"plan"}}}});
        CHECK(app.getState(T).next == Words{"end", "plan"});
    });
}

TEST_CASE("an edit that leads to what does not exist, or carries the wrong payload, changes nothing") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = sending().compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        CHECK(mentions(refused(app, *saver, {.as_node = "plan", .go_to = "nobody"}), {"'plan'", "'nobody'"}));
        CHECK(mentions(refused(app, *saver, {.as_node = "plan", .go_to = sg::Send("w", 5)}), {"'w'", "payload"}));
        CHECK(mentions(refused(app, *saver, {.as_node = sg::END, .go_to = "end"}), {"END"}));
        CHECK(mentions(refused(app, *saver, {.as_node = sg::COPY, .go_to = "end"}), {"COPY"}));
        CHECK(mentions(refused(app, *saver, {.as_node = sg::COPY}, says("x")), {"COPY"}));
        CHECK(mentions(refused(app, *saver, {.as_node = sg::INPUT, .go_to = "end"}, says("x")), {"INPUT"}));
        CHECK(mentions(refused(app, *saver, {.as_node = sg::INPUT}), {"INPUT", "values"}));
        CHECK(mentions(errorOf<sg::InvalidUpdateError>(
                           [&] { return app.updateState({.thread_id = "new"}, {}, {.as_node = sg::COPY}); }),
                       {"COPY", "'new'"}));
    });
}

TEST_CASE("as START the values are taken as input, and as INPUT they wait for START, in addition to what was due") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = chainOf({"a", "b"}).compile({.checkpointer = saver, .interrupt_before = {"b"}});
        // On a new thread.
        app.updateState({.thread_id = "new"}, says("i"), {.as_node = sg::INPUT});
        auto state = app.getState({.thread_id = "new"});
        CHECK(state.step == -1);
        CHECK((state.source == sg::Source::input));
        CHECK(state.next == Words{sg::START});
        CHECK(state.values.v.empty());
        CHECK(app.invoke(sg::RESUME, {.thread_id = "new"}).values.v == Words{"i", "a"});
        app.updateState({.thread_id = "other"}, says("i"), {.as_node = sg::START});
        CHECK(app.getState({.thread_id = "other"}).next == Words{"a"});

        app.invoke(says("i"), {.thread_id = "t"});
        const auto before = app.getState(T);
        const auto edited = app.updateState(T, says("j"), {.as_node = sg::INPUT});
        state = app.getState(T);
        CHECK(state.config == edited);
        CHECK(state.parent_config == before.config);
        CHECK(state.step == before.step + 1);
        CHECK((state.source == sg::Source::input));
        CHECK(state.next == Words{sg::START, "b"});
        CHECK(state.values.v == Words{"i", "a"});
        const auto done = app.invoke(sg::RESUME, {.thread_id = "t", .interrupt_before = sg::NodeNames::none()});
        CHECK(done.values.v == Words{"i", "a", "j", "b", "a", "b"});
    });
}

TEST_CASE("as INPUT only what the graph takes as input is accepted") {
    struct In {
        int n = 0;
        static constexpr auto channels() { return sg::channels(sg::channel("n", &In::n)); }
    };
    struct Both {
        int n = 0;
        int m = 0;
        static constexpr auto channels() {
            return sg::channels(sg::channel("n", &Both::n), sg::channel("m", &Both::m));
        }
    };
    const auto saver = std::make_shared<sg::MemorySaver>();
    sg::StateGraph<Both, In, Both> graph;
    graph.addNode("a", [](const Both& state) -> sg::Update<Both> { return {sg::set(&Both::m, state.n + 1)}; })
        .addEdge(sg::START, "a");
    const auto app = graph.compile({.checkpointer = saver});
    CHECK(mentions(errorOf<sg::InvalidUpdateError>(
                       [&] { return app.updateState(T, {sg::set(&Both::m, 1)}, {.as_node = sg::INPUT}); }),
                   {"'m'", "input"}));
    CHECK(saver->list({}).empty());
    app.updateState(T, {sg::set(&Both::n, 1)}, {.as_node = sg::INPUT});
    CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).values.m == 2);
}

TEST_CASE("a copy is a sibling with the same values and tasks, of which nothing is finished or answered") {
    onBothSavers([](const SharedSaver& saver) {
        LineGraph graph;
        graph.addNode("a", saying("a"))
            .addNode("ask", asking("ask"))
            .addNode("ok", saying("ok"))
            .addNode("z", saying("z"));
        graph.addEdge(sg::START, "a").addEdge("a", "ask").addEdge("a", "ok").addEdge({"ask", "ok"}, "z");
        const LineApp app = graph.compile({.checkpointer = saver});
        REQUIRE((app.invoke(says("i"), {.thread_id = "t"}).status == sg::Status::interrupted));
        const auto asked = app.getState(T);
        const Bytes commits = commitsOf(*saver);
        const auto copied = app.updateState(T, {}, {.as_node = sg::COPY});
        const auto state = app.getState(T);
        CHECK(state.config == copied);
        CHECK((state.source == sg::Source::fork));
        CHECK(state.parent_config == asked.parent_config);
        CHECK(state.step == asked.step + 1);
        CHECK(state.values.v == Words{"i", "a"});
        CHECK(state.next == Words{"ask", "ok"});
        CHECK(state.interrupts().empty());
        for (const auto& [key, bytes] : commits) CHECK(commitsOf(*saver).at(key) == bytes);
        // It asks again, and goes its own way.
        const auto again = app.invoke(sg::RESUME, {.thread_id = "t"});
        REQUIRE(again.interrupts.size() == 1);
        CHECK(again.interrupts[0].id != asked.interrupts().at(0).id);
        CHECK(app.invoke(sg::Command<>{.resume = "yes"}, {.thread_id = "t"}).values.v ==
              Words{"i", "a", "ask:yes", "ok", "z"});
        // The first and any other checkpoint can be copied too.
        for (const auto& past : pastOf(app, T)) {
            CAPTURE(past.step);
            app.updateState(past.config, {}, {.as_node = sg::COPY});
            const auto copy = app.getState(T);
            CHECK(copy.values.v == past.values.v);
            CHECK(copy.next == past.next);
            CHECK(copy.parent_config == past.parent_config);
        }
    });
}

TEST_CASE("edits that follow a copy give its tasks their results, of several Sends one each") {
    onBothSavers([](const SharedSaver& saver) {
        LineGraph graph;
        graph.addNode("split",
                      [](const Line&) -> sg::Command<Line> {
                          return {.go_to = {sg::Send("w", std::string("1")), sg::Send("w", std::string("2")), "b"}};
                      },
                      {.ends = {"w", "b"}});
        graph.addEdge(sg::START, "split").addNode("w", [](const std::string& word) { return says("w" + word); });
        graph.addNode("b", saying("b")).addNode("z", saying("z")).addEdge("w", "z").addEdge("b", "z");
        const LineApp app = graph.compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        const auto past = pastOf(app, T);
        const auto& fan = past[2];
        REQUIRE(fan.next == Words{"b", "w", "w"});
        const auto last = app.bulkUpdateState(fan.config, {{{.values = {}, .as_node = sg::COPY}},
                                                           {{says("B"), "b"}, {says("W1"), "w"}, {says("W2"), "w"}}});
        const auto state = app.getState(T);
        CHECK(state.config == last);
        CHECK(state.values.v == Words{"i", "B", "W1", "W2"});
        CHECK(state.next == Words{"z"});
        REQUIRE(state.parent_config);
        const auto copy = app.getState(*state.parent_config);
        CHECK((copy.source == sg::Source::fork));
        REQUIRE(copy.tasks.size() == 3);
        CHECK(copy.tasks[0].result.toJson() == R"({"v":["B"]})");
        CHECK(copy.tasks[1].result.toJson() == R"({"v":["W1"]})");
        CHECK(copy.tasks[2].result.toJson() == R"({"v":["W2"]})");
        CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).values.v == Words{"i", "B", "W1", "W2", "z"});
    });
}

TEST_CASE("a thread that was edited is not in flight, and recover() resumes it only if asked") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = chainOf({"a", "b", "c"}).compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        CHECK(reasonsOf(*saver).empty());
        app.updateState(T, says("x"), {.as_node = "a"});
        CHECK(reasonsOf(*saver) == Reasons{sg::Status::edited});
        CHECK(saver->unfinishedThreads({.reason = sg::Status::edited}).size() == 1);
        CHECK(std::string(sg::toString(sg::Status::edited)) == "edited");
        CHECK(app.recover().empty());
        CHECK(app.getState(T).next == Words{"b"});
        const auto report = app.recover({.edited = true});
        REQUIRE(report.size() == 1);
        CHECK((report[0].status == sg::Status::done));
        CHECK(app.getState(T).values.v == Words{"i", "a", "b", "c", "x", "b", "c"});
        // What was copied, and what waits as input, is edited too; what has nothing to do is not unfinished.
        const auto past = pastOf(app, T);
        app.updateState(past[2].config, {}, {.as_node = sg::COPY});
        CHECK(reasonsOf(*saver) == Reasons{sg::Status::edited});
        app.updateState(T, says("y"), {.as_node = sg::INPUT});
        CHECK(reasonsOf(*saver) == Reasons{sg::Status::edited});
        app.updateState(T, {}, {.as_node = sg::END});
        CHECK(reasonsOf(*saver).empty());
    });
}

TEST_CASE("a run that continues from an edit is in flight from its first superstep on, in every driver") {
    for (const drivers::Driver& driver : drivers::all()) {
        for (const bool by_id : {false, true}) {
            CAPTURE(driver.name);
            CAPTURE(by_id);
            const auto saver = std::make_shared<sg::MemorySaver>();
            Reasons seen;
            LineGraph graph;
            graph.addNode("a", saying("a")).addEdge(sg::START, "a").addEdge("a", "b");
            graph.addNode("b", [&](const Line&) -> sg::Update<Line> {
                for (const auto reason : reasonsOf(*saver)) seen.push_back(reason);
                throw std::runtime_error("down");
            });
            const LineApp app = graph.compile({.checkpointer = saver});
            const auto edited = app.updateState(T, says("x"), {.as_node = "a"});
            const auto outcome =
                driver.run(app, sg::RESUME,
                           {.thread_id = "t", .checkpoint_id = by_id ? edited.checkpoint_id : sg::CheckpointId()});
            CHECK(outcome.failed());
            CHECK(seen == Reasons{sg::Status::in_flight});
            CHECK(reasonsOf(*saver) == Reasons{sg::Status::failed});
        }
    }
}

TEST_CASE("an edit, its copy and its note are one request to the saver") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const LineApp app = chainOf({"a", "b"}).compile({.checkpointer = saver, .interrupt_before = {"b"}});
    app.invoke(says("i"), {.thread_id = "t"});
    const auto edited = app.updateState(T, {}, {.as_node = sg::COPY});
    for (const auto& row : saver->list({.with_writes = true})) {
        if (row.id == edited.checkpoint_id) CHECK(row.writes.size() == 1);
    }
}

TEST_CASE("a copied thread is pruned like others, and stays readable") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = chainOf({"a", "b", "c"}).compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        const auto past = pastOf(app, T);
        app.updateState(past[2].config, {}, {.as_node = sg::COPY});
        saver->prune({.keep_last = 1});
        CHECK(app.getState(T).values.v == past[2].values.v);
        CHECK(app.getState(T).next == past[2].next);
        CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).values.v == Words{"i", "a", "b", "c"});
    });
}
