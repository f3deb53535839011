#include <sstream>
#include <stdexcept>

#include <doctest/doctest.h>
#include <stategraph/stategraph.hpp>

#include "tests/support/history_graphs.hpp"
#include "tests/support/history_savers.hpp"

// getState: what it shows of a thread, at its head and at a checkpoint. What it shows of subgraphs is in
// subgraph_state_test.cpp.
namespace sg = stategraph;
using namespace history;

namespace {

struct Broken : std::runtime_error {
    Broken() : std::runtime_error("two is broken") {}
};

// START → one, two (which fails as long as `broken`) → z.
LineGraph fanWithFailure(const std::shared_ptr<bool>& broken) {
    LineGraph graph;
    graph.addNode("one", saying("one"))
        .addNode("two",
                 [broken](const Line&) -> sg::Update<Line> {
                     if (*broken) throw Broken();
                     return says("two");
                 })
        .addNode("z", saying("z"))
        .addEdge(sg::START, "one")
        .addEdge(sg::START, "two")
        .addEdge(Words{"one", "two"}, "z");
    return graph;
}

struct Word {
    std::string word = {};
    std::vector<std::string> v = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("word", &Word::word), sg::channel("v", &Word::v, sg::append));
    }
};

}  // namespace

TEST_CASE("the newest state shows what finished siblings wrote, a checkpoint only what it holds") {
    onBothSavers([](const SharedSaver& saver) {
        const auto broken = std::make_shared<bool>(true);
        const LineApp app = fanWithFailure(broken).compile({.checkpointer = saver});
        errorOf<sg::NodeError>([&] { return app.invoke(says("i"), {.thread_id = "t"}); });

        const auto latest = app.getState({.thread_id = "t"});
        CHECK(latest.values.v == Words{"i", "one"});
        CHECK(latest.next == Words{"two"});
        REQUIRE(latest.tasks.size() == 2);
        CHECK(latest.tasks[0].finished);
        CHECK(latest.tasks[0].result.toJson() == R"({"v":["one"]})");
        CHECK(!latest.tasks[0].error);
        CHECK(!latest.tasks[1].finished);
        CHECK(latest.tasks[1].error == "two is broken");
        CHECK(latest.tasks[1].result.isNull());

        const auto stored = app.getState(latest.config);
        CHECK(stored.config == latest.config);
        CHECK(stored.values.v == Words{"i"});
        CHECK(stored.next == Words{"one", "two"});
        REQUIRE(stored.tasks.size() == 2);
        CHECK(stored.tasks[0].id == latest.tasks[0].id);
        CHECK(stored.tasks[1].error == "two is broken");
    });
}

TEST_CASE("\"tasks that failed or paused and later finished\": history shows both the error and the result") {
    onBothSavers([](const SharedSaver& saver) {
        const auto broken = std::make_shared<bool>(true);
        const LineApp app = fanWithFailure(broken).compile({.checkpointer = saver});
        errorOf<sg::NodeError>([&] { return app.invoke(says("i"), {.thread_id = "t"}); });
        *broken = false;
        CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).values.v == Words{"i", "one", "two", "z"});
        const auto past = pastOf(app, {.thread_id = "t"});
        REQUIRE(past.size() == 4);
        CHECK(past[1].next == Words{"one", "two"});
        const auto& task = taskOf(past[1], "two");
        CHECK(task.error == "two is broken");
        CHECK(task.result.toJson() == R"({"v":["two"]})");
        CHECK(task.finished);
    });
}

TEST_CASE("a lone task that paused and later finished shows the interrupt and the result too") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app =
            LineGraph().addNode("ask", asking("ask")).addEdge(sg::START, "ask").compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        const auto waiting = app.getState({.thread_id = "t"});
        CHECK(waiting.next == Words{"ask"});
        REQUIRE(waiting.interrupts().size() == 1);
        CHECK(waiting.interrupts()[0].value == sg::Value("qask"));
        CHECK(waiting.interrupts()[0].id == waiting.tasks[0].id);

        app.invoke(sg::Command<>{.resume = "yes"}, {.thread_id = "t"});
        const auto past = pastOf(app, {.thread_id = "t"});
        REQUIRE(past.size() == 3);
        const auto& task = taskOf(past[1], "ask");
        REQUIRE(task.interrupts.size() == 1);
        CHECK(task.interrupts[0].value == sg::Value("qask"));
        CHECK(task.open_interrupts.empty());
        CHECK(task.result.toJson() == R"({"v":["ask:yes"]})");
    });
}

TEST_CASE("\"a partial resume\": the waiting task stays in next, and the answered one keeps its question") {
    // quirk 2, quirk 11
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = LineGraph()
                                .addNode("p", asking("p"))
                                .addNode("q", asking("q"))
                                .addEdge(sg::START, "p")
                                .addEdge(sg::START, "q")
                                .compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        auto state = app.getState({.thread_id = "t"});
        CHECK(state.interrupts().size() == 2);
        const sg::TaskId first = taskOf(state, "p").id;
        app.invoke(sg::Command<>{.answers = {{first, "1"}}}, {.thread_id = "t"});

        state = app.getState({.thread_id = "t"});
        CHECK(state.next == Words{"q"});
        CHECK(state.values.v == Words{"i", "p:1"});
        CHECK(taskOf(state, "p").interrupts.size() == 1);
        CHECK(taskOf(state, "p").open_interrupts.empty());
        CHECK(taskOf(state, "q").open_interrupts.size() == 1);
        CHECK(state.interrupts().size() == 1);
    });
}

TEST_CASE("after the first of two questions in one node is answered, the node is next and only the second is open") {
    // quirk 2
    onBothSavers([](const SharedSaver& saver) {
        LineGraph graph;
        graph
            .addNode("ask",
                     [](const Line&, sg::Runtime& runtime) -> sg::Update<Line> {
                         const auto a = sg::interrupt<std::string>(runtime, "first?");
                         const auto b = sg::interrupt<std::string>(runtime, "second?");
                         return says(a + b);
                     })
            .addEdge(sg::START, "ask");
        const LineApp app = graph.compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        app.invoke(sg::Command<>{.resume = "1"}, {.thread_id = "t"});
        const auto state = app.getState({.thread_id = "t"});
        CHECK(state.next == Words{"ask"});
        REQUIRE(state.interrupts().size() == 1);
        CHECK(state.interrupts()[0].value == sg::Value("second?"));
        CHECK(state.interrupts()[0].index == 1);
        CHECK(app.invoke(sg::Command<>{.resume = "2"}, {.thread_id = "t"}).values.v == Words{"i", "12"});
    });
}

TEST_CASE("a result shows several writes to a channel, overwrites and clears as such") {
    onBothSavers([](const SharedSaver& saver) {
        sg::StateGraph<Word> graph;
        graph
            .addNode("several",
                     [](const Word&) -> sg::Update<Word> {
                         return {sg::add(&Word::v, "x"), sg::set(&Word::word, "w"), sg::add(&Word::v, {"y", "z"})};
                     })
            .addNode("over", [](const Word&) -> sg::Update<Word> { return {sg::overwrite(&Word::v, {"only"})}; })
            .addNode("clear", [](const Word&) -> sg::Update<Word> { return {sg::clear(&Word::word)}; })
            .addNode("nothing", [](const Word&) -> sg::Update<Word> { return {}; })
            .addEdge(sg::START, "several")
            .addEdge("several", "over")
            .addEdge("over", "clear")
            .addEdge("clear", "nothing");
        const auto app = graph.compile({.checkpointer = saver});
        app.invoke({sg::set(&Word::word, "i")}, {.thread_id = "t"});
        const auto past = pastOf(app, {.thread_id = "t"});
        REQUIRE(past.size() == 6);
        CHECK(past[1].tasks[0].result.toJson() == R"({"v":{"$writes":[["x"],["y","z"]]},"word":"w"})");
        CHECK(past[2].tasks[0].result.toJson() == R"({"v":{"__overwrite__":["only"]}})");
        CHECK(past[3].tasks[0].result.toJson() == R"({"word":{"__clear__":true}})");
        CHECK(past[3].isSet(&Word::word));
        CHECK(!past[4].isSet(&Word::word));
        CHECK(past[4].valuesAsJson() == R"({"v":["only"]})");
        CHECK(past[4].tasks[0].result.isNull());
        CHECK(past[4].tasks[0].finished);
    });
}

TEST_CASE("the tasks of Sends are listed after the others, by their place, and know their ids") {
    onBothSavers([](const SharedSaver& saver) {
        const auto ids = std::make_shared<std::vector<sg::TaskId>>();
        LineGraph graph;
        graph.addNode("a", saying("a"))
            .addNode("zz", saying("zz"))
            .addNode("b",
                     [ids](const std::string& word, sg::Runtime& runtime) -> sg::Update<Line> {
                         if (word == "1") throw std::runtime_error("not this one");
                         ids->push_back(runtime.taskId());
                         return says(word);
                     })
            .addEdge(sg::START, "a")
            .addEdge("a", "zz")
            .addConditionalEdges("a", [](const Line&) {
                return std::vector<sg::Send>{{"b", "0"}, {"b", "1"}};
            });
        const LineApp app = graph.compile({.checkpointer = saver});
        errorOf<sg::NodeError>([&] { return app.invoke(says("i"), {.thread_id = "t", .max_concurrency = 1}); });
        const auto state = app.getState({.thread_id = "t"});
        REQUIRE(state.tasks.size() == 3);
        CHECK(state.tasks[0].path == "pull:zz");
        CHECK(state.tasks[1].path == "push:0000000000");
        CHECK(state.tasks[2].path == "push:0000000001");
        CHECK(state.tasks[1].id == ids->at(0));
        CHECK(state.tasks[1].result.toJson() == R"({"v":["0"]})");
        CHECK(state.tasks[2].error == "not this one");
        CHECK(state.next == Words{"b"});
        CHECK(state.values.v == Words{"i", "a", "zz", "0"});
    });
}

TEST_CASE("\"reading state of a superstep whose writes conflict\": the stored values and the tasks' errors") {
    onBothSavers([](const SharedSaver& saver) {
        sg::StateGraph<Word> graph;
        for (const char* name : {"x", "y"}) {
            graph.addNode(name, [name](const Word&) -> sg::Update<Word> { return {sg::set(&Word::word, name)}; })
                .addEdge(sg::START, name);
        }
        graph.addNode("other", [](const Word&) -> sg::Update<Word> { return {sg::add(&Word::v, "o")}; })
            .addEdge(sg::START, "other");
        const auto app = graph.compile({.checkpointer = saver});
        const auto said = errorOf<sg::InvalidUpdateError>(
            [&] { return app.invoke({sg::set(&Word::word, "i")}, {.thread_id = "t"}); });
        CHECK(mentions(said, {"'word'", "'x'", "'y'"}));
        const auto state = app.getState({.thread_id = "t"});
        CHECK(state.valuesAsJson() == R"({"word":"i","v":[]})");
        CHECK(state.next == Words{"other", "x", "y"});
        CHECK(!taskOf(state, "other").error);
        REQUIRE(taskOf(state, "x").error);
        CHECK(mentions(*taskOf(state, "x").error, {"'word'", "2 values"}));
        CHECK(taskOf(state, "y").error == taskOf(state, "x").error);
        CHECK(app.getState(state.config).values.word == "i");
        CHECK(historyOf(app, {.thread_id = "t"}).size() == 2);
    });
}

TEST_CASE("a thread without checkpoints has a state that says so") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = chainOf({"a"}).compile({.checkpointer = saver});
        const auto state = app.getState({.thread_id = "none"});
        CHECK(!state.config.checkpoint_id);
        CHECK(!state.parent_config);
        CHECK(state.next.empty());
        CHECK(state.tasks.empty());
        CHECK(state.values.v.empty());
        CHECK(!state.isSet(&Line::v));
        CHECK(state.valuesAsJson() == "{}");
        CHECK(state.createdAt().empty());
        CHECK(historyOf(app, {.thread_id = "none"}).empty());
    });
}

TEST_CASE("reading changes nothing in the saver") {
    onBothSavers([](const SharedSaver& saver) {
        const auto broken = std::make_shared<bool>(true);
        const LineApp app = fanWithFailure(broken).compile({.checkpointer = saver});
        errorOf<sg::NodeError>([&] { return app.invoke(says("i"), {.thread_id = "t"}); });
        const Bytes before = bytesOf(*saver);
        const auto state = app.getState({.thread_id = "t"}, {.subgraphs = true});
        app.getState(state.config);
        historyOf(app, {.thread_id = "t"});
        app.getState({.thread_id = "u"});
        CHECK(bytesOf(*saver) == before);
    });
}

TEST_CASE("a snapshot prints as one line, and as JSON with all that it has") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = chainOf({"a"}).compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t", .metadata = {{"user", "u1"}}});
        const auto past = pastOf(app, {.thread_id = "t"});
        std::ostringstream out;
        out << past[1];
        CHECK(out.str() == R"(step 0 (loop) {"v":["i"]} next [a] )" + past[1].config.checkpoint_id.toString());
        CHECK(mentions(sg::toJson(past[1]), {R"("metadata":{)", R"("user":"u1")", R"("next":["a"])", R"("step":0)",
                                             R"("path":"pull:a")", R"("result":{"v":["a"]})"}));
    });
}
