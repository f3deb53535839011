#include <chrono>

#include <doctest/doctest.h>
#include <stategraph/async.hpp>
#include <stategraph/stategraph.hpp>
#include <stategraph/testing/fault_saver.hpp>

#include "tests/support/graphs.hpp"
#include "tests/support/history_graphs.hpp"
#include "tests/support/history_savers.hpp"

// Runs that begin at a checkpoint of a subgraph.
namespace sg = stategraph;
using namespace history;
using namespace std::chrono_literals;
using graphs::Log;

namespace {

sg::Update<Line> nothing(const Line&) { return {}; }
sg::Update<Line> take(const Line& inner) { return {sg::add(&Line::v, inner.v)}; }

auto logging(Log& log, const std::string& word, const std::string& prefix = {}) {
    return [&log, word, prefix](const Line&) -> sg::Update<Line> {
        log.add(prefix + word);
        return says(word);
    };
}

// START → names one after the other, logged with a prefix.
LineGraph chain(Log& log, const Words& names, const std::string& prefix) {
    LineGraph graph;
    std::string from = sg::START;
    for (const auto& name : names) {
        graph.addNode(name, logging(log, name, prefix)).addEdge(from, name);
        from = name;
    }
    return graph;
}

// START → a → name → z.
LineGraph around(Log& log, const LineApp& inner, const std::string& name, const std::string& prefix = {}) {
    LineGraph graph;
    graph.addNode("a", logging(log, "a", prefix))
        .addNode(name, inner, nothing, take)
        .addNode("z", logging(log, "z", prefix));
    graph.addEdge(sg::START, "a").addEdge("a", name).addEdge(name, "z");
    return graph;
}

// Returns the log of the finished task of a node, from the root's history.
sg::Config logOf(const LineApp& app, const std::string& thread, const std::string& node,
                 const std::string& outer = {}) {
    for (const auto& snapshot : app.getStateHistory({.thread_id = thread, .checkpoint_ns = outer})) {
        for (const auto& task : snapshot.tasks) {
            if (task.name != node) continue;
            return {.thread_id = thread,
                    .checkpoint_ns = (outer.empty() ? "" : outer + "|") + node + ":" + task.id.toString()};
        }
    }
    FAIL("no task of ", node);
    throw 0;
}

// Returns the checkpoint in a log at which `node` is due.
sg::Config before(const LineApp& app, const sg::Config& log, const std::string& node) {
    for (const auto& snapshot : app.getStateHistory(log)) {
        if (snapshot.next == Words{node}) return snapshot.config;
    }
    FAIL("nothing before ", node);
    throw 0;
}

constexpr sg::Durability durabilities[] = {sg::Durability::async, sg::Durability::sync};

}  // namespace

TEST_CASE("a run from a subgraph's checkpoint runs what follows inside, and then what follows around it") {
    onBothSavers([](const SharedSaver& saver) {
        for (const auto durability : durabilities) {
            Log log;
            const std::string thread = durability == sg::Durability::sync ? "s" : "t";
            const LineApp app =
                around(log, chain(log, {"p", "q", "r"}, "inner ").compile(), "sub").compile({.checkpointer = saver});
            app.invoke(says("i"), {.thread_id = thread, .durability = durability});
            const sg::Config config = before(app, logOf(app, thread, "sub"), "q");
            const Bytes past = bytesOf(*saver);
            log.take();

            sg::RunConfig run = config;
            run.durability = durability;
            const auto result = app.invoke(sg::RESUME, run);
            CHECK((result.status == sg::Status::done));
            CHECK(result.values.v == Words{"i", "a", "p", "q", "r", "z"});
            CHECK(log.take() == Words{"inner q", "inner r", "z"});
            CHECK(keeps(bytesOf(*saver), past));

            const auto rows = historyOf(app, {.thread_id = thread});
            CHECK(sourcesOf(rows) == Words{"loop", "loop", "fork", "loop", "loop", "loop", "loop", "input"});
            CHECK(rows[2].next == Words{"sub"});
            const sg::Config inside = logOf(app, thread, "sub");
            CHECK(inside.checkpoint_ns != config.checkpoint_ns);
            const auto branch = pastOf(app, inside);
            CHECK(sourcesOf(branch) == Words{"fork", "loop", "loop"});
            CHECK(branch[0].values.v == Words{"p"});
            CHECK(branch[0].next == Words{"q"});
            CHECK(branch[2].values.v == Words{"p", "q", "r"});

            // The branch can be travelled in as well, and the thread continues from it.
            CHECK(app.invoke(sg::RESUME, branch[1].config).values.v == Words{"i", "a", "p", "q", "r", "z"});
            CHECK(log.take() == Words{"inner r", "z"});
            CHECK(app.invoke(says("j"), {.thread_id = thread}).values.v.size() == 12);
            log.take();
        }
    });
}

TEST_CASE("a run can begin two graphs deep") {
    onBothSavers([](const SharedSaver& saver) {
        Log log;
        const LineApp deep = chain(log, {"p", "q"}, "deep ").compile();
        const LineApp middle = around(log, deep, "inner", "middle ").compile();
        const LineApp app = around(log, middle, "outer").compile({.checkpointer = saver});
        const Words all = app.invoke(says("i"), {.thread_id = "t"}).values.v;
        const sg::Config outer = logOf(app, "t", "outer");
        const sg::Config config = before(app, logOf(app, "t", "inner", outer.checkpoint_ns), "q");
        log.take();
        CHECK(app.invoke(sg::RESUME, config).values.v == all);
        CHECK(log.take() == Words{"deep q", "middle z", "z"});
    });
}

TEST_CASE("a run from an edited checkpoint inside continues with the edit") {
    onBothSavers([](const SharedSaver& saver) {
        Log log;
        const LineApp app =
            around(log, chain(log, {"p", "q", "r"}, "").compile(), "sub").compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        const sg::Config edited =
            app.updateState(before(app, logOf(app, "t", "sub"), "q"), says("edit"), {.as_node = "q"});
        log.take();
        CHECK(app.invoke(sg::RESUME, edited).values.v == Words{"i", "a", "p", "edit", "r", "z"});
        CHECK(log.take() == Words{"r", "z"});
    });
}

TEST_CASE("a log that lives with the thread gets the fork itself") {
    onBothSavers([](const SharedSaver& saver) {
        Log log;
        for (const bool keyed : {false, true}) {
            const std::string thread = keyed ? "k" : "t";
            const auto checkpointer =
                keyed ? sg::perThread([](const Line&) { return std::string("key"); }) : sg::PER_THREAD;
            const LineApp app = around(log, chain(log, {"p", "q"}, "").compile({.checkpointer = checkpointer}), "sub")
                                    .compile({.checkpointer = saver});
            for (int i = 0; i < 2; ++i) app.invoke(says("i"), {.thread_id = thread});
            const sg::Config inside{.thread_id = thread, .checkpoint_ns = keyed ? "sub:=key" : "sub"};
            const auto past = pastOf(app, inside);
            CHECK(stepsOf(past) == std::vector<std::int64_t>{-1, 0, 1, 2, 3, 4, 5, 6});
            REQUIRE(past[2].next == Words{"q"});  // of the first visit
            const Bytes stored = bytesOf(*saver);
            log.take();
            CHECK(app.invoke(sg::RESUME, past[2].config).values.v == Words{"i", "a", "p", "q", "z"});
            CHECK(log.take() == Words{"q", "z"});
            CHECK(keeps(bytesOf(*saver), stored));
            const auto now = pastOf(app, inside);
            CHECK(now.size() == 10);
            CHECK((now[8].source == sg::Source::fork));
            CHECK(now[8].parent_config == past[2].config);
            CHECK(app.getState(inside).values.v == Words{"p", "q"});
        }
    });
}

TEST_CASE("a run from before a question inside asks it again, and the thread takes the answer") {
    onBothSavers([](const SharedSaver& saver) {
        Log log;
        LineGraph inner = chain(log, {"p"}, "");
        inner.addNode("ask", asking("ask")).addNode("r", logging(log, "r")).addEdge("p", "ask").addEdge("ask", "r");
        const LineApp app = around(log, inner.compile(), "sub").compile({.checkpointer = saver});
        CHECK((app.invoke(says("i"), {.thread_id = "t"}).status == sg::Status::interrupted));
        const sg::Config inside = *app.getState({.thread_id = "t"}).tasks.at(0).state_config;
        const sg::Config at_question = app.getState(inside).config;
        app.invoke(sg::Command<>{.resume = "one"}, {.thread_id = "t"});
        for (const sg::Config& config : {before(app, inside, "p"), at_question, at_question}) {
            const auto again = app.invoke(sg::RESUME, config);
            CHECK((again.status == sg::Status::interrupted));
            REQUIRE(again.interrupts.size() == 1);
            CHECK(again.interrupts[0].value == sg::Value("qask"));
            CHECK(app.getState({.thread_id = "t"}, {.subgraphs = true}).tasks.at(0).state->next == Words{"ask"});
            const auto done = app.invoke(sg::Command<>{.resume = "two"}, {.thread_id = "t"});
            CHECK(done.values.v == Words{"i", "a", "p", "ask:two", "r", "z"});
        }
    });
}

TEST_CASE(
    "a run from the newest checkpoint inside a subgraph that waits is a plain RESUME, but for finished siblings") {
    onBothSavers([](const SharedSaver& saver) {
        Log log;
        bool fails = true;
        LineGraph inner = chain(log, {"p"}, "");
        inner.addNode("q", [&](const Line&) -> sg::Update<Line> {
            log.add("q");
            if (fails) throw std::runtime_error("q is broken");
            return says("q");
        });
        inner.addEdge("p", "q");
        const LineApp app = around(log, inner.compile(), "sub").compile({.checkpointer = saver});
        CHECK_THROWS_AS(app.invoke(says("i"), {.thread_id = "t"}), sg::NodeError);
        fails = false;
        const sg::Config inside = *app.getState({.thread_id = "t"}).tasks.at(0).state_config;
        log.take();
        CHECK(app.invoke(sg::RESUME, app.getState(inside).config).values.v == Words{"i", "a", "p", "q", "z"});
        CHECK(log.take() == Words{"q", "z"});
        CHECK(sourcesOf(pastOf(app, inside)) == Words{"input", "loop", "loop", "loop"});
        CHECK(sourcesOf(pastOf(app, {.thread_id = "t"})) == Words{"input", "loop", "loop", "loop", "loop"});
    });
}

TEST_CASE("siblings of the way run again, other visits of the same subgraph from their beginning") {
    onBothSavers([](const SharedSaver& saver) {
        Log log;
        LineGraph inner;
        for (const char* name : {"p", "q"}) {
            inner.addNode(name, [&log, name](const Line& line) -> sg::Update<Line> {
                log.add(line.v.front() + name);
                return says(line.v.front() + name);
            });
        }
        inner.addEdge(sg::START, "p").addEdge("p", "q");
        LineGraph graph;
        graph.addNode("sub", inner.compile()).addNode("beside", logging(log, "beside")).addEdge(sg::START, "beside");
        graph.addConditionalEdges(
            sg::START,
            [](const Line&) {
                return std::vector{sg::Send("sub", Line{.v = {"1"}}), sg::Send("sub", Line{.v = {"2"}})};
            },
            {"sub"});
        const LineApp app = graph.compile({.checkpointer = saver});
        const Words all = app.invoke(sg::Update<Line>{}, {.thread_id = "t"}).values.v;
        sg::Config second;
        for (const auto& snapshot : app.getStateHistory({.thread_id = "t"})) {
            for (const auto& task : snapshot.tasks) {
                if (task.name == "sub") second = {.thread_id = "t", .checkpoint_ns = "sub:" + task.id.toString()};
            }
        }
        log.take();
        CHECK(app.invoke(sg::RESUME, before(app, second, "q")).values.v == all);
        CHECK(log.takeSorted() == Words{"1p", "1q", "2q", "beside"});
    });
}

TEST_CASE("an attempt after one that failed inside continues where that one stopped, not where the run began") {
    onBothSavers([](const SharedSaver& saver) {
        Log log;
        int failures = 0;
        LineGraph inner = chain(log, {"p", "q"}, "");
        inner.addNode("r", [&](const Line&) -> sg::Update<Line> {
            log.add("r");
            if (failures-- > 0) throw std::runtime_error("r is broken");
            return says("r");
        });
        inner.addEdge("q", "r");
        LineGraph graph;
        graph.addNode("sub", inner.compile(), nothing, take, {.retry = {.max_attempts = 2, .initial_interval = 0ms}})
            .addEdge(sg::START, "sub");
        const LineApp app = graph.compile({.checkpointer = saver});
        app.invoke(sg::Update<Line>{}, {.thread_id = "t"});
        const sg::Config config = before(app, logOf(app, "t", "sub"), "q");
        log.take();
        failures = 1;
        CHECK(app.invoke(sg::RESUME, config).values.v == Words{"p", "q", "r"});
        CHECK(log.take() == Words{"q", "r", "r"});
    });
}

TEST_CASE("awaited and streamed runs begin inside too") {
    onBothSavers([](const SharedSaver& saver) {
        Log log;
        const LineApp app = around(log, chain(log, {"p", "q"}, "").compile(), "sub").compile({.checkpointer = saver});
        const Words all = app.invoke(says("i"), {.thread_id = "t"}).values.v;
        const sg::Config config = before(app, logOf(app, "t", "sub"), "q");
        log.take();
        CHECK(sg::syncWait(app.asyncInvoke(sg::RESUME, config)).values.v == all);
        CHECK(log.take() == Words{"q", "z"});
        for ([[maybe_unused]] const auto& event : app.stream(sg::RESUME, config, {.modes = {sg::StreamMode::values}})) {
        }
        CHECK(log.take() == Words{"q", "z"});
    });
}

TEST_CASE("what cannot be begun inside a subgraph is refused before anything is written") {
    onBothSavers([](const SharedSaver& saver) {
        Log log;
        const LineApp app = around(log, chain(log, {"p", "q"}, "").compile(), "sub").compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        const sg::Config inside = logOf(app, "t", "sub");
        const sg::Config config = before(app, inside, "q");
        const Bytes stored = bytesOf(*saver);
        log.take();
        const auto refuses = [&](auto input, const sg::RunConfig& run, const Words& parts) {
            CHECK(mentions(errorOf<sg::InvalidArgumentError>([&] { return app.invoke(input, run); }), parts));
        };
        refuses(sg::RESUME, inside, {"sub:", "which of its checkpoints"});
        refuses(says("j"), config, {"RESUME"});
        refuses(sg::Command<>{.resume = "x"}, config, {"RESUME"});
        sg::Config gone = config;
        gone.checkpoint_id = app.getState({.thread_id = "t"}).config.checkpoint_id;
        refuses(sg::RESUME, gone, {gone.checkpoint_id.toString(), "sub:"});
        gone = config;
        gone.checkpoint_ns = "nobody:" + std::string(36, '0');
        refuses(sg::RESUME, gone, {"nobody"});

        const LineApp changed =
            around(log, chain(log, {"p", "other"}, "").compile(), "sub").compile({.checkpointer = saver});
        CHECK(mentions(errorOf<sg::InvalidArgumentError>([&] { return changed.invoke(sg::RESUME, config); }), {"'q'"}));
        CHECK_THROWS_AS(around(log, chain(log, {"p", "q"}, "").compile(), "sub")
                            .compile()
                            .invoke(sg::RESUME, sg::RunConfig(config)),
                        sg::MissingCheckpointerError);
        CHECK(bytesOf(*saver) == stored);
        CHECK(log.take().empty());
    });
}

TEST_CASE("a checkpoint inside whose graph around it was pruned says so") {
    onBothSavers([](const SharedSaver& saver) {
        Log log;
        const LineApp app = around(log, chain(log, {"p", "q"}, "").compile({.checkpointer = sg::PER_THREAD}), "sub")
                                .compile({.checkpointer = saver});
        for (int i = 0; i < 3; ++i) app.invoke(says("i"), {.thread_id = "t"});
        saver->prune({.thread_id = "t", .keep_last = 2});
        const auto rows = historyOf(app, {.thread_id = "t", .checkpoint_ns = "sub"});
        REQUIRE(!rows.empty());
        CHECK(mentions(errorOf<sg::InvalidArgumentError>([&] { return app.invoke(sg::RESUME, rows.front().config); }),
                       {"pruned"}));
    });
}

TEST_CASE("from every checkpoint of every log of a thread a run comes to the same end") {
    onBothSavers([](const SharedSaver& saver) {
        Log log;
        for (const bool lives_on : {false, true}) {
            const std::string thread = lives_on ? "l" : "t";
            const sg::Checkpointer deepest =
                lives_on ? sg::perThread([](const Line&) { return std::string("k"); }) : sg::Checkpointer();
            const LineApp middle =
                around(log, chain(log, {"p", "q", "r"}, "").compile({.checkpointer = deepest}), "inner").compile();
            const LineApp app = around(log, middle, "outer").compile({.checkpointer = saver});
            const Words all = app.invoke(says("i"), {.thread_id = thread}).values.v;
            std::vector<sg::Config> places;
            for (const auto& row : saver->list({.thread_id = thread})) {
                places.push_back({.thread_id = thread, .checkpoint_id = row.id, .checkpoint_ns = row.checkpoint_ns});
            }
            CHECK(places.size() == 5 + 5 + 5);
            for (const auto& place : places) {
                INFO("from ", place.checkpoint_id.toString(), " of '", std::string(place.checkpoint_ns), "'");
                const auto result = app.invoke(sg::RESUME, place);
                CHECK((result.status == sg::Status::done));
                CHECK(result.values.v == all);
                CHECK(app.getState({.thread_id = thread}).values.v == all);
            }
        }
    });
}

TEST_CASE(
    "a saver that fails at any call of a run from inside loses nothing: the run can be made again, or the thread "
    "resumed") {
    for (const bool goes_on : {false, true}) {
        for (std::size_t nth = 1;; ++nth) {
            INFO("call ", nth);
            Log log;
            const auto faulty = std::make_shared<sg::testing::FaultSaver>(std::make_shared<sg::MemorySaver>());
            const LineApp app =
                around(log, chain(log, {"p", "q", "r"}, "").compile(), "sub").compile({.checkpointer = faulty});
            const Words all = app.invoke(says("i"), {.thread_id = "t"}).values.v;
            const sg::Config config = before(app, logOf(app, "t", "sub"), "q");
            const Bytes past = bytesOf(*faulty);
            faulty->arm({.fail_at = nth});
            bool failed = false;
            try {
                const Words values = app.invoke(sg::RESUME, config).values.v;
                CHECK(values == all);
            } catch (const sg::SaverError&) {
                failed = true;
            }
            const bool was_reached = faulty->failures() > 0;
            faulty->disarm();
            CHECK(keeps(bytesOf(*faulty), past));
            if (failed)
                CHECK(app.invoke(sg::RESUME, goes_on ? sg::RunConfig{.thread_id = "t"} : sg::RunConfig(config))
                          .values.v == all);
            CHECK(app.getState({.thread_id = "t"}).values.v == all);
            CHECK(app.getState({.thread_id = "t"}).next.empty());
            if (!was_reached) break;
        }
    }
}
