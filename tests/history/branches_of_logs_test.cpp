#include <atomic>
#include <stdexcept>

#include <doctest/doctest.h>

#include <stategraph/stategraph.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/history_graphs.hpp"
#include "tests/support/history_savers.hpp"
#include "tests/support/savers.hpp"

// Logs that live with the thread (PER_THREAD): which visits a replay, a fork, an edit and a kept checkpoint remember.
namespace sg = stategraph;
using namespace history;

namespace {

const sg::Config T{.thread_id = "t"};

/// START → a → log, which says how long the list of this graph is after each visit.
LineApp counting(const LineGraph& inner, const SharedSaver& saver) {
    LineGraph graph;
    graph.addNode("a", [](const Line&) -> sg::Update<Line> { return {}; });
    graph.addNode(
        "log", inner.compile({.checkpointer = sg::PER_THREAD}), [](const Line&) -> sg::Update<Line> { return {}; },
        [](const Line& log) -> sg::Update<Line> { return says(std::to_string(log.v.size())); });
    graph.addEdge(sg::START, "a").addEdge("a", "log");
    return graph.compile({.checkpointer = saver});
}

/// START → a → log, which remembers its visits and says how many there were before. It asks first if the state says so.
LineApp rememberer(const SharedSaver& saver) {
    LineGraph inner;
    inner.addNode("ask", [](const Line&, sg::Runtime& runtime) -> sg::Update<Line> {
        if (runtime.context<bool>()) (void)sg::interrupt(runtime, "go on?");
        return {};
    });
    inner.addNode("remember", saying("visit")).addEdge(sg::START, "ask").addEdge("ask", "remember");
    return counting(inner, saver);
}

sg::RunConfig calm(const sg::Config& at = T) {
    return {.thread_id = at.thread_id, .checkpoint_id = at.checkpoint_id, .context = std::make_shared<bool>(false)};
}
sg::RunConfig asking(const sg::Config& at = T) {
    return {.thread_id = at.thread_id, .checkpoint_id = at.checkpoint_id, .context = std::make_shared<bool>(true)};
}

/// The same, but it does not ask: it fails after it has remembered, while `fails` is set.
LineApp failingRememberer(const SharedSaver& saver, std::atomic<bool>& fails, std::atomic<int>& visits) {
    LineGraph inner;
    inner.addNode("remember", [&visits](const Line&) -> sg::Update<Line> {
        ++visits;
        return says("visit");
    });
    inner.addNode("shaky", [&fails](const Line&) -> sg::Update<Line> {
        if (fails) throw std::runtime_error("shaky");
        return {};
    });
    inner.addEdge(sg::START, "remember").addEdge("remember", "shaky");
    return counting(inner, saver);
}

constexpr sg::Rewrite rewrites[] = {sg::Rewrite::never, sg::Rewrite::when_it_pays, sg::Rewrite::always};

/// Returns the newest checkpoint, after skipping `skip`, at which the node is due.
sg::Config before(const LineApp& app, const std::string& node, int skip = 0) {
    for (const auto& snapshot : app.getStateHistory(T, {.values = false})) {
        if (snapshot.next == Words{node} && skip-- == 0) return snapshot.config;
    }
    FAIL("no such checkpoint");
    return {};
}

}  // namespace

TEST_CASE("a replay that comes to the log after its first superstep finds what its own branch wrote") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = rememberer(saver);
        for (const drivers::Driver& driver : drivers::all()) {
            CAPTURE(driver.name);
            saver->deleteThread("t");
            for (int i = 0; i < 2; ++i) (void)driver.run(app, sg::Update<Line>{}, calm()).get();
            const sg::Config early = before(app, "a");
            for (int i = 0; i < 2; ++i)
                CHECK(driver.run(app, sg::RESUME, calm(early)).get().values.v == Words{"1", "2"});
            CHECK(driver.run(app, sg::RESUME, calm(before(app, "a", 3))).get().values.v == Words{"1"});
            // The thread's current branch continues from itself.
            CHECK(driver.run(app, sg::Update<Line>{}, calm()).get().values.v == Words{"1", "2"});
        }
    });
}

TEST_CASE("after a pause inside a replay the visit continues, whichever branch visited the log last") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = rememberer(saver);
        for (int i = 0; i < 3; ++i) app.invoke(sg::Update<Line>{}, calm());
        const sg::Config second = before(app, "a", 1);
        REQUIRE((app.invoke(sg::RESUME, asking(second)).status == sg::Status::interrupted));
        const sg::Config paused = app.getState(T).config;
        CHECK(app.getState(T, {.subgraphs = true}).tasks.at(0).state->values_as_cbor.toJson() == R"({"v":["visit"]})");
        // Another branch visits the log meanwhile.
        CHECK(app.invoke(sg::RESUME, calm(before(app, "a", 3))).values.v == Words{"1"});
        const auto answered = app.invoke(sg::Command<Line>{.resume = "yes"}, calm(paused));
        CHECK((answered.status == sg::Status::done));
        CHECK(answered.values.v == Words{"1", "2"});
    });
}

TEST_CASE("an edit of the log is part of the branch it was made on") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = rememberer(saver);
        const sg::Config log{.thread_id = "t", .checkpoint_ns = "log"};
        app.invoke(sg::Update<Line>{}, calm());
        const sg::Config first = before(app, "a");
        app.updateState(log, says("edit"), {.as_node = "remember"});
        CHECK(app.getState(log).values.v == Words{"visit", "edit"});
        CHECK(app.invoke(sg::Update<Line>{}, calm()).values.v == Words{"1", "3"});
        // A branch from before the edit does not contain it. There, the log is as that branch has it, for editors too.
        CHECK(app.invoke(sg::RESUME, calm(first)).values.v == Words{"1"});
        CHECK(app.getState(log).values.v == Words{"visit"});
        app.updateState(log, says("other"), {.as_node = "remember"});
        CHECK(app.getState(log).values.v == Words{"visit", "other"});
        CHECK(app.invoke(sg::Update<Line>{}, calm()).values.v == Words{"1", "3"});
    });
}

TEST_CASE("a kept checkpoint leads to what it led to before a prune, where a subgraph remembers") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = rememberer(saver);
        for (int i = 0; i < 20; ++i) app.invoke(sg::Update<Line>{}, calm());
        const sg::Config at = before(app, "log", 5);
        for (const sg::Rewrite rewrite : {sg::Rewrite::never, sg::Rewrite::when_it_pays, sg::Rewrite::always}) {
            const std::string id = "copy " + std::to_string(static_cast<int>(rewrite));
            saver->copyThread("t", id);
            for (const std::size_t kept : {40, 30})
                (void)saver->prune({.thread_id = id, .keep_last = kept, .rewrite = rewrite});
            const auto values = app.invoke(sg::RESUME, {.thread_id = id,
                                                        .checkpoint_id = at.checkpoint_id,
                                                        .context = std::make_shared<bool>(false)})
                                    .values.v;
            CHECK(values.back() == std::to_string(values.size()));
            const auto next =
                app.invoke(sg::Update<Line>{}, {.thread_id = id, .context = std::make_shared<bool>(false)}).values.v;
            CHECK(next.back() == std::to_string(next.size()));
        }
    });
}

TEST_CASE("a visit that failed is resumed after a prune, whichever branch visited the log last") {
    savers::onEach([](savers::Store& store) {
        const SharedSaver saver = store.open();
        std::atomic<bool> fails = false;
        std::atomic<int> visits = 0;
        const LineApp app = failingRememberer(saver, fails, visits);
        for (int i = 0; i < 2; ++i) app.invoke(sg::Update<Line>{}, {.thread_id = "t"});
        const sg::Config edited = app.updateState(before(app, "log"), says("edit"), {.as_node = "a"});
        fails = true;
        CHECK_THROWS_AS(app.invoke(sg::Update<Line>{}, {.thread_id = "t"}), sg::NodeError);
        // A run from an edit commits no fork, so the thread stays where it is, and the log has another visit.
        CHECK_THROWS_AS(app.invoke(sg::RESUME, edited), sg::NodeError);
        fails = false;
        REQUIRE(app.getState(T).config.checkpoint_id != edited.checkpoint_id);
        for (const sg::Rewrite rewrite : rewrites) {
            for (const drivers::Driver& driver : drivers::all()) {
                CAPTURE(driver.name);
                const std::string id = driver.name + std::to_string(static_cast<int>(rewrite));
                saver->copyThread("t", id);
                (void)saver->prune({.thread_id = id, .keep_last = 1, .rewrite = rewrite});
                visits = 0;
                CHECK(driver.run(app, sg::RESUME, {.thread_id = id}).get().values.v == Words{"1", "edit", "2"});
                CHECK(visits == 0);
            }
        }
    });
}

TEST_CASE("an edit of the log outlives a prune as long as a kept checkpoint continues with it") {
    savers::onEach([](savers::Store& store) {
        const SharedSaver saver = store.open();
        const LineApp app = rememberer(saver);
        for (int i = 0; i < 2; ++i) app.invoke(sg::Update<Line>{}, calm());
        const sg::Config end = app.getState(T).config;
        app.updateState({.thread_id = "t", .checkpoint_ns = "log"}, says("edit"), {.as_node = "remember"});
        CHECK(app.invoke(sg::RESUME, calm(before(app, "a"))).values.v == Words{"1", "2"});
        for (const sg::Rewrite rewrite : rewrites) {
            for (const drivers::Driver& driver : drivers::all()) {
                CAPTURE(driver.name);
                const std::string id = driver.name + std::to_string(static_cast<int>(rewrite));
                saver->copyThread("t", id);
                (void)saver->prune({.thread_id = id, .keep_last = 4, .rewrite = rewrite});
                const auto outcome =
                    driver.run(app, sg::Update<Line>{}, calm({.thread_id = id, .checkpoint_id = end.checkpoint_id}));
                CHECK(outcome.get().values.v == Words{"1", "2", "4"});
            }
        }
    });
}

TEST_CASE("an edit of the log stays with its branch when a prune drops the checkpoints that tell the branch") {
    savers::onEach([](savers::Store& store) {
        const SharedSaver saver = store.open();
        const LineApp app = rememberer(saver);
        app.invoke(sg::Update<Line>{}, calm());
        app.updateState({.thread_id = "t", .checkpoint_ns = "log"}, says("edit"), {.as_node = "remember"});
        saver->copyThread("t", "same branch");
        // Another branch, on which the log was never visited.
        app.updateState(before(app, "a"), {}, {.as_node = "a"});
        for (const sg::Rewrite rewrite : rewrites) {
            for (const drivers::Driver& driver : drivers::all()) {
                CAPTURE(driver.name);
                const std::string id = driver.name + std::to_string(static_cast<int>(rewrite));
                saver->copyThread("t", id);
                saver->copyThread("same branch", id + "'");
                for (const std::string& thread : {id, id + "'"})
                    (void)saver->prune({.thread_id = thread, .keep_last = 1, .rewrite = rewrite});
                CHECK(driver.run(app, sg::RESUME, calm({.thread_id = id})).get().values.v == Words{"1"});
                const auto same = driver.run(app, sg::Update<Line>{}, calm({.thread_id = id + "'"}));
                CHECK(same.get().values.v == Words{"1", "3"});
            }
        }
    });
}
