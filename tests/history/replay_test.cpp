#include <doctest/doctest.h>
#include <stategraph/stategraph.hpp>

#include "tests/support/graphs.hpp"
#include "tests/support/history_graphs.hpp"
#include "tests/support/history_savers.hpp"

// Runs that begin at a checkpoint: what runs again, what is written, and that the past stays as it was.
namespace sg = stategraph;
using namespace history;

namespace {

using graphs::Log;

auto logging(Log& log, std::string name) {
    return [&log, name](const Line&) -> sg::Update<Line> {
        log.add(name);
        return says(name);
    };
}

LineGraph chain(Log& log) {
    LineGraph graph;
    std::string from = sg::START;
    for (const char* name : {"a", "b", "c"}) {
        graph.addNode(name, logging(log, name)).addEdge(from, name);
        from = name;
    }
    return graph;
}

// a → ask → z
LineGraph asker(Log& log) {
    LineGraph graph;
    graph.addNode("a", logging(log, "a")).addNode("ask", asking("ask")).addNode("z", logging(log, "z"));
    return graph.addEdge(sg::START, "a").addEdge("a", "ask").addEdge("ask", "z");
}

sg::RunConfig at(const sg::SnapshotData& snapshot) { return snapshot.config; }

}  // namespace

TEST_CASE("a replay runs everything after its checkpoint again, and leaves the past bit for bit as it was") {
    onBothSavers([](const SharedSaver& saver) {
        Log log;
        const LineApp app = chain(log).compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        const auto past = pastOf(app, {.thread_id = "t"});
        const std::vector<Words> runs = {{"a", "b", "c"}, {"a", "b", "c"}, {"b", "c"}, {"c"}};
        for (std::size_t i = 0; i < runs.size(); ++i) {
            CAPTURE(i);
            const Bytes before = bytesOf(*saver);
            const std::size_t length = historyOf(app, {.thread_id = "t"}).size();
            log.take();
            const auto result = app.invoke(sg::RESUME, at(past[i]));
            CHECK(log.take() == runs[i]);
            CHECK(result.values.v == Words{"i", "a", "b", "c"});
            CHECK(keeps(bytesOf(*saver), before));

            const auto now = pastOf(app, {.thread_id = "t"});
            const std::size_t own = i == 0 ? 5 : 5 - i;  // the fork, and each superstep after it
            REQUIRE(now.size() == length + own);
            const auto& fork = now[length];
            CHECK((fork.source == sg::Source::fork));
            CHECK(fork.step == past[i].step + 1);
            CHECK(fork.parent_config == past[i].config);
            CHECK(fork.values.v == past[i].values.v);
            CHECK(fork.next == past[i].next);
            CHECK(fork.tasks[0].id != past[i].tasks[0].id);
            for (std::size_t n = length + 1; n < now.size(); ++n) {
                CHECK((now[n].source == sg::Source::loop));
                CHECK(now[n].step == now[n - 1].step + 1);
                CHECK(now[n].parent_config == now[n - 1].config);
            }
            CHECK(app.getState({.thread_id = "t"}).config == result.config);
        }
        // The first branch reads as ever.
        for (std::size_t i = 0; i < past.size(); ++i) {
            const auto now = app.getState(past[i].config);
            CHECK(now.values.v == past[i].values.v);
            CHECK(now.next == past[i].next);
            if (i + 1 < past.size()) CHECK(now.tasks[0].id == past[i].tasks[0].id);
        }
    });
}

TEST_CASE("a replay at a finished head runs and writes nothing") {
    // quirk 16
    onBothSavers([](const SharedSaver& saver) {
        Log log;
        const LineApp app = chain(log).compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        log.take();
        const Bytes before = bytesOf(*saver);
        const auto head = app.getState({.thread_id = "t"});
        for (const sg::RunConfig& config : {at(head), sg::RunConfig{.thread_id = "t"}}) {
            const auto result = app.invoke(sg::RESUME, config);
            CHECK((result.status == sg::Status::done));
            CHECK(result.values.v == Words{"i", "a", "b", "c"});
            CHECK(result.config == head.config);
        }
        CHECK(log.take().empty());
        CHECK(bytesOf(*saver) == before);
    });
}

TEST_CASE("a replay from before an interrupt asks again, each time; the fork's own answer completes it") {
    onBothSavers([](const SharedSaver& saver) {
        Log log;
        const LineApp app = asker(log).compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        CHECK(app.invoke(sg::Command<>{.resume = "yes"}, {.thread_id = "t"}).values.v ==
              Words{"i", "a", "ask:yes", "z"});
        const auto past = pastOf(app, {.thread_id = "t"});
        const Bytes before = bytesOf(*saver);
        // Before the node, and at it: the answer was dropped on the way.
        for (const std::size_t i : {1U, 2U, 2U, 1U}) {
            CAPTURE(i);
            log.take();
            const auto asked = app.invoke(sg::RESUME, at(past[i]));
            CHECK((asked.status == sg::Status::interrupted));
            REQUIRE(asked.interrupts.size() == 1);
            CHECK(asked.interrupts[0].value == sg::Value("qask"));
            CHECK(log.take() == (i == 1 ? Words{"a"} : Words{}));
            CHECK(app.getState({.thread_id = "t"}).interrupts() == asked.interrupts);
        }
        const auto done = app.invoke(sg::Command<>{.resume = "no"}, {.thread_id = "t"});
        CHECK(done.values.v == Words{"i", "a", "ask:no", "z"});
        CHECK(keeps(bytesOf(*saver), before));
        CHECK(app.getState(past.back().config).values.v == Words{"i", "a", "ask:yes", "z"});
    });
}

TEST_CASE("answers are kept at the head, and dropped by travelling to the same checkpoint later") {
    onBothSavers([](const SharedSaver& saver) {
        LineGraph graph;
        graph.addNode("ask", [](const Line&, sg::Runtime& runtime) -> sg::Update<Line> {
            const auto first = sg::interrupt<std::string>(runtime, "first?");
            return says(first + sg::interrupt<std::string>(runtime, "second?"));
        });
        const LineApp app = graph.addEdge(sg::START, "ask").compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        app.invoke(sg::Command<>{.resume = "1"}, {.thread_id = "t"});
        const auto head = app.getState({.thread_id = "t"});
        const auto again = app.invoke(sg::RESUME, at(head));
        REQUIRE(again.interrupts.size() == 1);
        CHECK(again.interrupts[0].value == sg::Value("second?"));
        CHECK(app.getState({.thread_id = "t"}).config == head.config);  // no fork
        CHECK(app.invoke(sg::Command<>{.resume = "2"}, at(head)).values.v == Words{"i", "12"});

        const auto travelled = app.invoke(sg::RESUME, at(head));
        REQUIRE(travelled.interrupts.size() == 1);
        CHECK(travelled.interrupts[0].value == sg::Value("first?"));
    });
}

TEST_CASE("a replay between two questions of two nodes keeps the first answer, which is in the state") {
    onBothSavers([](const SharedSaver& saver) {
        LineGraph graph;
        graph.addNode("p", asking("p")).addNode("q", asking("q")).addEdge(sg::START, "p").addEdge("p", "q");
        const LineApp app = graph.compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        app.invoke(sg::Command<>{.resume = "1"}, {.thread_id = "t"});
        app.invoke(sg::Command<>{.resume = "2"}, {.thread_id = "t"});
        const auto past = pastOf(app, {.thread_id = "t"});
        const auto asked = app.invoke(sg::RESUME, at(past[2]));
        REQUIRE(asked.interrupts.size() == 1);
        CHECK(asked.interrupts[0].value == sg::Value("qq"));
        CHECK(app.invoke(sg::Command<>{.resume = "3"}, {.thread_id = "t"}).values.v == Words{"i", "p:1", "q:3"});
    });
}

TEST_CASE("an explicit checkpoint runs finished siblings again, but not if it is the head") {
    // quirk 27
    onBothSavers([](const SharedSaver& saver) {
        Log log;
        LineGraph graph;
        graph.addNode("a", logging(log, "a")).addNode("p", asking("p"));
        const LineApp app = graph.addEdge(sg::START, "a").addEdge(sg::START, "p").compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        const auto head = app.getState({.thread_id = "t"});
        CHECK(log.take() == Words{"a"});
        app.invoke(sg::RESUME, {.thread_id = "t"});
        CHECK(log.take().empty());
        app.invoke(sg::RESUME, at(head));
        CHECK(log.take().empty());
        CHECK(app.invoke(sg::Command<>{.resume = "1"}, {.thread_id = "t"}).values.v == Words{"i", "a", "p:1"});
        CHECK(log.take().empty());
        app.invoke(sg::RESUME, at(head));
        CHECK(log.take() == Words{"a"});
    });
}

TEST_CASE("a subgraph under a replay begins afresh, and earlier nodes of its parent do not run") {
    onBothSavers([](const SharedSaver& saver) {
        Log log;
        LineGraph outer;
        outer.addNode("first", logging(log, "first"))
            .addNode(
                "inner", asker(log).compile(), [](const Line&) -> sg::Update<Line> { return {}; },
                [](const Line& inner) -> sg::Update<Line> { return {sg::add(&Line::v, inner.v)}; })
            .addEdge(sg::START, "first")
            .addEdge("first", "inner");
        const LineApp app = outer.compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        app.invoke(sg::Command<>{.resume = "yes"}, {.thread_id = "t"});
        const auto past = pastOf(app, {.thread_id = "t"});
        const Bytes before = bytesOf(*saver);
        log.take();
        CHECK((app.invoke(sg::RESUME, at(past[2])).status == sg::Status::interrupted));
        CHECK(log.take() == Words{"a"});
        CHECK(app.invoke(sg::Command<>{.resume = "no"}, {.thread_id = "t"}).values.v ==
              Words{"i", "first", "a", "ask:no", "z"});
        CHECK(log.take() == Words{"z"});
        CHECK(keeps(bytesOf(*saver), before));
    });
}

TEST_CASE("a subgraph with a log of its own sees under a replay what it had then") {
    onBothSavers([](const SharedSaver& saver) {
        LineGraph outer;
        outer
            .addNode(
                "inner", chainOf({"x"}).compile({.checkpointer = sg::PER_THREAD}),
                [](const Line&) -> sg::Update<Line> { return {}; },
                [](const Line& inner) -> sg::Update<Line> { return says(std::to_string(inner.v.size())); })
            .addEdge(sg::START, "inner");
        const LineApp app = outer.compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        app.invoke(says("j"), {.thread_id = "t"});
        CHECK(app.invoke(says("k"), {.thread_id = "t"}).values.v == Words{"i", "1", "j", "2", "k", "3"});
        const auto past = pastOf(app, {.thread_id = "t"});
        CHECK(past[4].next == Words{"inner"});
        CHECK(app.invoke(sg::RESUME, at(past[4])).values.v == Words{"i", "1", "j", "2"});
        CHECK(app.invoke(says("l"), {.thread_id = "t"}).values.v == Words{"i", "1", "j", "2", "l", "3"});
    });
}

TEST_CASE("a checkpoint that does not exist is an error, with input too, and starts nothing") {
    // quirk 15
    onBothSavers([](const SharedSaver& saver) {
        Log log;
        const LineApp app = chain(log).compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        app.invoke(says("i"), {.thread_id = "u"});
        const std::string foreign = app.getState({.thread_id = "u"}).config.checkpoint_id.toString();
        log.take();
        const Bytes before = bytesOf(*saver);
        for (const std::string& id : {std::string("01900000-0000-7000-8000-000000000001"), foreign}) {
            for (const char* thread : {"t", "new"}) {
                const sg::RunConfig config{.thread_id = thread, .checkpoint_id = id};
                const Words parts{id, "'" + std::string(thread) + "'"};
                CHECK(
                    mentions(errorOf<sg::InvalidArgumentError>([&] { return app.invoke(says("x"), config); }), parts));
                CHECK(
                    mentions(errorOf<sg::InvalidArgumentError>([&] { return app.invoke(sg::RESUME, config); }), parts));
                CHECK(mentions(
                    errorOf<sg::InvalidArgumentError>([&] { return app.invoke(sg::Command<>{.resume = "x"}, config); }),
                    parts));
            }
        }
        CHECK(log.take().empty());
        CHECK(bytesOf(*saver) == before);
    });
}
