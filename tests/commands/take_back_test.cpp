#include <stategraph/take_back.hpp>

#include <memory>
#include <string>
#include <vector>

#include <stategraph/error.hpp>

#include "tests/commands/threads.hpp"

// Runs that are taken back.
using namespace graphs;
using namespace commands_test;

namespace {

const sg::Metadata one{{"run_id", sg::Value("one")}};
const sg::Metadata two{{"run_id", sg::Value("two")}};
const sg::Metadata three{{"run_id", sg::Value("three")}};

sg::RunConfig of(const sg::Metadata& run) { return {.thread_id = "t", .max_concurrency = 1, .metadata = run}; }

// A graph with subgraphs that live for one task and with the thread, Sends, and many steps.
App visiting(const Saver& saver) {
    Graph inner;
    inner.addNode("deep", appends("deep")).addEdge(sg::START, "deep");
    Graph graph;
    graph.addNode("a", appends("a"));
    graph.addNode("sub", inner.compile());
    graph.addNode("kept", inner.compile({.checkpointer = sg::PER_THREAD}));
    graph.addNode("sent", [](const std::string& payload) { return bar(payload); });
    graph.addEdge(sg::START, "a").addEdge("a", "sub").addEdge("sub", "kept");
    graph.addConditionalEdges("kept",
                              [](const State&) {
                                  return std::vector<sg::Send>{{"sent", std::string("p")}, {"sent", std::string("q")}};
                              },
                              {"sent"});
    return graph.compile({.checkpointer = saver, .ids = FixedIds::make()});
}

std::vector<std::string> statesOf(const App& app) {
    std::vector<std::string> states;
    for (const auto& each : app.getStateHistory({.thread_id = "t"}))
        states.push_back(std::to_string(each.step) + sg::toJson(each.values_as_cbor));
    return states;
}

}  // namespace

TEST_CASE("a run that is taken back leaves nothing: all rows of the thread and its status are as before") {
    onSavers([](const Saver& saver) {
        const App app = visiting(saver);
        app.invoke(bar("i"), of(one));
        const Rows before = rowsOf(*saver, "t");
        const auto states = statesOf(app);
        const auto again = app.invoke(bar("again"), of(two));
        CHECK(rowsOf(*saver, "t").size() > before.size());
        CHECK(sg::takeBack(*saver, "t", {.metadata = two}) > 5);
        CHECK(differences(before, rowsOf(*saver, "t")) == "");
        CHECK(statesOf(app) == states);
        CHECK(reasonOf(*saver, "t") == "done");
        CHECK(sg::takeBack(*saver, "t", {.metadata = two}) == 0);
        const auto after = app.invoke(bar("again"), of(three));
        CHECK(after.values == again.values);
    });
}

TEST_CASE("a run that answered questions is taken back: they are open again, and the results of other tasks are gone") {
    onSavers([](const Saver& saver) {
        const auto mends = std::make_shared<bool>(false);
        const App app = askingApp(saver, mends);
        try {
            app.invoke(bar("i"), of(one));
        } catch (const sg::NodeError&) {
        }
        const std::string reason = reasonOf(*saver, "t");
        const auto before = sg::markThread(*saver, "t");
        const Rows rows = rowsOf(*saver, "t");
        const auto open = app.getState({.thread_id = "t"}, {.subgraphs = true}).interrupts();
        REQUIRE(open.size() == 6);
        const auto states = statesOf(app);
        *mends = true;
        std::vector<sg::Answer> answers;
        for (const auto& each : open) answers.push_back({each.id, std::string("yes")});
        app.invoke(Command{.answers = answers}, of(two));
        CHECK(differences(rows, rowsOf(*saver, "t")) != "");
        sg::takeBack(*saver, "t", {.metadata = two, .before = before});
        Rows after = rowsOf(*saver, "t");
        // The note of how the last run left the checkpoint says nothing now, where there was none.
        std::erase_if(after, [&](const auto& row) { return row.first.ends_with(" run") && !rows.contains(row.first); });
        CHECK(differences(rows, after) == "");
        CHECK(statesOf(app) == states);
        CHECK(reasonOf(*saver, "t") == reason);
        CHECK(app.getState({.thread_id = "t"}, {.subgraphs = true}).interrupts().size() == open.size());
        const auto outcome = app.invoke(Command{.answers = answers}, of(three));
        CHECK(outcome.interrupts.size() + outcome.values.bar.size() > 0);
    });
}

TEST_CASE("a run between others is taken back: what came after it reads as before") {
    onSavers([](const Saver& saver) {
        const App app = visiting(saver);
        for (const auto& run : {one, two, three}) app.invoke(bar(run.front().value.as<std::string>()), of(run));
        const auto newest = app.getState({.thread_id = "t"});
        const std::size_t count = statesOf(app).size();
        CHECK(sg::takeBack(*saver, "t", {.metadata = two}) > 5);
        const auto now = app.getState({.thread_id = "t"});
        CHECK(now.config == newest.config);
        CHECK(now.values == newest.values);
        CHECK(statesOf(app).size() < count);
        for (const auto& each : app.getStateHistory({.thread_id = "t"}))
            CHECK(static_cast<const sg::Metadata&>(each.metadata) != two);
        CHECK(app.invoke(bar("on"), of(two)).values.bar.size() > newest.values.bar.size());
    });
}

TEST_CASE("a thread in which nothing is left is deleted, and a run that stored nothing has nothing to take back") {
    onSavers([](const Saver& saver) {
        const App app = visiting(saver);
        app.invoke(bar("i"), of(one));
        CHECK(sg::takeBack(*saver, "t", {.metadata = two}) == 0);
        CHECK(sg::takeBack(*saver, "t", {.metadata = one}) > 5);
        CHECK(saver->list({.thread_id = "t"}).empty());
        const auto newest = saver->newestThreads({});
        if (newest) CHECK(newest->empty());
        CHECK(sg::takeBack(*saver, "t", {.metadata = one}) == 0);
        CHECK(sg::markThread(*saver, "t").empty());
    });
}

TEST_CASE("a run under way is not taken back, and a run must be named") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    Graph graph;
    graph.addNode("a", [saver](const State&) -> Update {
        CHECK_THROWS_AS(sg::takeBack(*saver, "t", {.metadata = one}), sg::ThreadBusyError);
        return bar("a");
    });
    graph.addEdge(sg::START, "a");
    const App app = graph.compile({.checkpointer = saver});
    CHECK(app.invoke(bar("i"), of(one)).values.bar.size() == 2);
    CHECK_THROWS_AS(sg::takeBack(*saver, "t", {}), sg::InvalidArgumentError);
}
