#include <atomic>
#include <map>
#include <stdexcept>

#include <doctest/doctest.h>

#include "tests/support/door.hpp"
#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// Threads with pending work: which exist, why they have work, and how they are continued.
using namespace graphs;
using sg::Status;

namespace {

/// Stands for a process that dies: afterwards none of its writes reach the store.
class Mortal final : public Door {
public:
    using Door::Door;
    std::atomic<bool> dead{false};

    void put(const sg::PutRequest& request) override {
        if (dead) throw sg::SaverError("dead");
        Door::put(request);
    }
};

/// What the nodes of `world` currently do.
struct World {
    std::atomic<bool> fails{false};
    std::atomic<bool> dies{false};
    Mortal* mortal = nullptr;
    Log log;
};

// START -> a -> {ask, flaky, ok} -> end (a join).
Graph world(World& w) {
    Graph graph;
    graph.addNode("a", appends(w.log, "a"));
    graph.addNode("ask", [&w](const State& state, sg::Runtime& rt) -> Update {
        w.log.add("ask");
        return state.foo == "asks" ? bar(sg::interrupt<std::string>(rt, "?")) : bar("ask");
    });
    graph.addNode("flaky", [&w](const State&) -> Update {
        w.log.add("flaky");
        if (w.dies) {
            w.mortal->dead = true;
            throw std::runtime_error("dies");
        }
        if (w.fails) throw std::runtime_error("broken");
        return bar("flaky");
    });
    graph.addNode("ok", appends(w.log, "ok")).addNode("end", appends(w.log, "end"));
    graph.addEdge(sg::START, "a");
    for (const char* name : {"ask", "flaky", "ok"}) graph.addEdge("a", name);
    graph.addEdge({"ask", "flaky", "ok"}, "end");
    return graph;
}

std::map<std::string, Status> reasons(sg::BaseCheckpointSaver& saver) {
    std::map<std::string, Status> found;
    for (const auto& thread : saver.unfinishedThreads()) found.emplace(thread.thread_id, thread.reason);
    return found;
}

Status reasonOf(sg::BaseCheckpointSaver& saver, const std::string& thread) {
    const auto all = reasons(saver);
    const auto found = all.find(thread);
    REQUIRE(found != all.end());
    return found->second;
}

Update says(std::string text) { return {sg::set(&State::foo, std::move(text))}; }

}  // namespace

TEST_CASE(
    "what a process that died left of any driver's run is driven on by recover(), and no finished task runs again") {
    savers::onEach([](savers::Store& store) {
        for (const drivers::Driver& driver : drivers::crossed()) {
            CAPTURE(driver.name);
            const auto saver = store.open();
            const auto mortal = std::make_shared<Mortal>(saver);
            World w;
            w.mortal = mortal.get();
            w.dies = true;
            const sg::RunConfig config{
                .thread_id = driver.name, .durability = sg::Durability::sync, .max_concurrency = 1};
            const auto died = driver.run(world(w).compile({.checkpointer = mortal}), says("x"), config);
            CHECK(died.failed());
            w.dies = false;
            CHECK((reasonOf(*saver, driver.name) == Status::in_flight));
            const App app = world(w).compile({.checkpointer = saver});
            (void)app.recover();
            const auto state = app.getState({.thread_id = driver.name});
            CHECK(state.tasks.empty());
            CHECK(state.values.bar == Strings{"a", "ask", "flaky", "ok", "end"});
            CHECK(w.log.count("a") == 1);
            CHECK(w.log.count("ask") == 1);
        }
    });
}

TEST_CASE("unfinished threads are listed with the reason") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const auto mortal = std::make_shared<Mortal>(saver);
        World w;
        w.mortal = mortal.get();
        const App app = world(w).compile({.checkpointer = saver});
        const App doomed = world(w).compile({.checkpointer = mortal});

        app.invoke(says("done"), {.thread_id = "done"});
        app.invoke(says("asks"), {.thread_id = "interrupted"});
        w.fails = true;
        CHECK_THROWS_AS(app.invoke(says("x"), {.thread_id = "failed"}), sg::NodeError);
        CHECK_THROWS_AS(app.invoke(says("asks"), {.thread_id = "failed and asks"}), sg::NodeError);
        w.fails = false;
        w.dies = true;
        CHECK_THROWS(doomed.invoke(says("x"), {.thread_id = "in flight"}));
        w.dies = false;
        app.invoke(says("x"), {.thread_id = "before", .interrupt_before = {"end"}});
        app.invoke(says("x"), {.thread_id = "after", .interrupt_after = {"a"}});
        CHECK_THROWS_AS(app.invoke(says("x"), {.thread_id = "limit", .recursion_limit = 2}), sg::GraphRecursionError);
        app.invoke(says("x"), {.thread_id = "last breakpoint", .interrupt_after = {"end"}});  // nothing is due

        const std::map<std::string, Status> expected{{"interrupted", Status::interrupted},
                                                     {"failed", Status::failed},
                                                     {"failed and asks", Status::failed},
                                                     {"in flight", Status::in_flight},
                                                     {"before", Status::breakpoint},
                                                     {"after", Status::breakpoint},
                                                     {"limit", Status::limit}};
        CHECK((reasons(*saver) == expected));

        for (const auto& thread : saver->unfinishedThreads()) {
            CAPTURE(thread.thread_id);
            CHECK(thread.checkpoint_id == app.getState({.thread_id = thread.thread_id}).config.checkpoint_id);
            CHECK(thread.next == app.getState({.thread_id = thread.thread_id}).next);
            CHECK(thread.interrupts == app.getState({.thread_id = thread.thread_id}).interrupts());
            CHECK(thread.error == (thread.reason == Status::failed ? "broken" : ""));
        }
        CHECK(saver->unfinishedThreads({.reason = Status::breakpoint}).size() == 2);
        const auto first = saver->unfinishedThreads({.limit = 3});
        REQUIRE(first.size() == 3);
        CHECK(saver->unfinishedThreads({.after_thread_id = first.back().thread_id}).size() == 4);
        CHECK_THROWS_AS(saver->unfinishedThreads({.limit = 0}), sg::InvalidArgumentError);
    });
}

TEST_CASE("a thread that was gone on with is in flight again, and stopped again when it stops") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto mortal = std::make_shared<Mortal>(saver);
    World w;
    w.mortal = mortal.get();
    const App app = world(w).compile({.checkpointer = saver});
    const App doomed = world(w).compile({.checkpointer = mortal});
    const auto dieOn = [&](const char* thread) {
        w.dies = true;
        mortal->dead = false;
        CHECK_THROWS(doomed.invoke(sg::RESUME, {.thread_id = thread}));
        w.dies = false;
        CHECK((reasonOf(*saver, thread) == Status::in_flight));
    };

    app.invoke(says("x"), {.thread_id = "breakpoint", .interrupt_before = {"flaky"}});
    CHECK((reasonOf(*saver, "breakpoint") == Status::breakpoint));
    dieOn("breakpoint");

    w.fails = true;
    CHECK_THROWS(app.invoke(says("x"), {.thread_id = "failed"}));
    CHECK((reasonOf(*saver, "failed") == Status::failed));
    w.fails = false;
    dieOn("failed");
    w.fails = true;
    CHECK_THROWS(app.invoke(sg::RESUME, {.thread_id = "failed"}));
    CHECK((reasonOf(*saver, "failed") == Status::failed));
    w.fails = false;

    CHECK_THROWS(app.invoke(says("x"), {.thread_id = "limit", .recursion_limit = 1}));
    CHECK((reasonOf(*saver, "limit") == Status::limit));
    dieOn("limit");

    // The reader abandons a stream, so no failure is recorded.
    app.invoke(says("x"), {.thread_id = "left", .interrupt_before = {"flaky"}});
    {
        auto stream = app.stream(sg::RESUME, {.thread_id = "left"}, {.modes = {sg::StreamMode::values}});
        (void)stream.begin();
    }
    CHECK((reasonOf(*saver, "left") == Status::in_flight));

    const auto report = app.recover();
    CHECK(report.size() == 4 - 1);  // "failed" is not continued automatically
    for (const auto& thread : report) CHECK((thread.status == sg::Status::done));
    CHECK(app.invoke(sg::RESUME, {.thread_id = "failed"}).values.bar.size() == 5);
    CHECK(saver->unfinishedThreads().empty());
}

TEST_CASE("a thread one of whose questions was answered before the process died is in flight") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto mortal = std::make_shared<Mortal>(saver);
    Log log;
    Graph graph;
    bool dies = true;
    graph.addNode("a", [&](const State&, sg::Runtime& rt) -> Update {
        const auto answer = sg::interrupt<std::string>(rt, "a?");
        if (dies) {
            mortal->dead = true;
            throw std::runtime_error("dies");
        }
        return bar(answer);
    });
    graph.addNode("b", asks(log, "b"));
    graph.addEdge(sg::START, "a").addEdge(sg::START, "b");
    const App app = graph.compile({.checkpointer = saver});
    const auto asked = app.invoke(Update{}, {.thread_id = "t"});
    REQUIRE(asked.interrupts.size() == 2);
    CHECK((reasonOf(*saver, "t") == Status::interrupted));
    CHECK_THROWS(graph.compile({.checkpointer = mortal})
                     .invoke(sg::Command<>{.answers = {{asked.interrupts[0].id, "A"}}}, {.thread_id = "t"}));
    CHECK((reasonOf(*saver, "t") == Status::in_flight));
    dies = false;
    const auto report = app.recover();
    REQUIRE(report.size() == 1);
    CHECK((report[0].status == sg::Status::interrupted));
    CHECK((reasonOf(*saver, "t") == Status::interrupted));
    CHECK(app.invoke(sg::Command<>{.resume = "B"}, {.thread_id = "t"}).values.bar == Strings{"A", "b:B"});
}

TEST_CASE("recover drives on every thread that is in flight, and no other") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        World w;
        const App app = world(w).compile({.checkpointer = saver});
        constexpr int count = 60;
        for (int i = 0; i < count; ++i) {
            const auto mortal = std::make_shared<Mortal>(saver);
            w.mortal = mortal.get();
            w.dies = true;
            CHECK_THROWS(
                world(w).compile({.checkpointer = mortal}).invoke(says("x"), {.thread_id = "t" + std::to_string(i)}));
        }
        w.dies = false;
        app.invoke(says("asks"), {.thread_id = "asks"});
        app.invoke(says("x"), {.thread_id = "done"});
        w.log.take();
        const auto report = app.recover({.concurrency = 8});
        CHECK(report.size() == count);
        for (const auto& thread : report) CHECK((thread.status == sg::Status::done));
        CHECK(w.log.count("a") == 0);
        CHECK(w.log.count("flaky") == count);
        CHECK(app.recover().empty());
        CHECK((reasons(*saver) == std::map<std::string, Status>{{"asks", Status::interrupted}}));
    });
}

TEST_CASE("what a recovered thread fails with is reported, and the others continue") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    World w;
    for (const char* thread : {"1", "2", "3"}) {
        const auto mortal = std::make_shared<Mortal>(saver);
        w.mortal = mortal.get();
        w.dies = true;
        CHECK_THROWS(world(w).compile({.checkpointer = mortal}).invoke(says("x"), {.thread_id = thread}));
    }
    w.dies = false;
    w.fails = true;
    const App app = world(w).compile({.checkpointer = saver});
    const auto report = app.recover(
        {.only = [](const sg::UnfinishedThread& thread) { return thread.thread_id != "2"; }, .concurrency = 1});
    REQUIRE(report.size() == 2);
    for (const auto& thread : report) {
        CHECK(!thread.status);
        CHECK(thread.why.find("broken") != std::string::npos);
        CHECK_THROWS_AS(std::rethrow_exception(thread.error), sg::NodeError);
    }
    CHECK_THROWS_AS(app.recover({.concurrency = 0}), sg::InvalidArgumentError);
    CHECK_THROWS_AS(world(w).compile().recover(), sg::MissingCheckpointerError);
}

TEST_CASE("recover leaves threads of other graphs and versions alone, unless an option says otherwise") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto mortal = std::make_shared<Mortal>(saver);
    World w;
    w.mortal = mortal.get();
    w.dies = true;
    CHECK_THROWS(world(w).compile({.checkpointer = mortal}).invoke(says("x"), {.thread_id = "t"}));
    w.dies = false;
    Graph newer = world(w);
    newer.addNode("extra", appends(w.log, "extra")).addEdge("end", "extra");
    const App app = newer.compile({.checkpointer = saver});
    auto report = app.recover();
    REQUIRE(report.size() == 1);
    CHECK(!report[0].status);
    CHECK(report[0].error == nullptr);
    CHECK(report[0].why.find("another graph or version") != std::string::npos);
    report = app.recover({.other_versions = true});
    REQUIRE(report.size() == 1);
    CHECK((report[0].status == sg::Status::done));
    CHECK(app.getState({.thread_id = "t"}).values.bar.back() == "extra");
}

TEST_CASE("a thread with a run under way in this process is not recovered") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    std::optional<App> self;
    sg::RecoverReport report;
    Graph graph;
    graph.addNode("a", [&](const State&) -> Update {
        report = self->recover();
        return bar("a");
    });
    graph.addEdge(sg::START, "a");
    self = graph.compile({.checkpointer = saver});
    self->invoke(Update{}, {.thread_id = "t"});
    REQUIRE(report.size() == 1);
    CHECK(report[0].why.find("under way") != std::string::npos);
}

TEST_CASE("recover() does not execute what waits by now, because another run has continued the thread meanwhile") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        Log log;
        Graph graph;
        graph.addNode("a", appends(log, "a")).addNode("b", [&log](const State& state, sg::Runtime& rt) -> Update {
            log.add("b");
            return state.foo == "asks" ? bar(sg::interrupt<std::string>(rt, "?")) : bar("b");
        });
        graph.addEdge(sg::START, "a").addEdge("a", "b");
        const auto app = graph.compile({.checkpointer = saver});
        app.submit(says("stops"), {.thread_id = "breakpoint"});
        app.submit(says("asks"), {.thread_id = "question"});
        app.submit(says(""), {.thread_id = "done"});
        app.submit(says(""), {.thread_id = "left"});
        sg::RecoverOptions options;
        options.only = [&](const sg::UnfinishedThread& thread) {
            sg::RunConfig config{.thread_id = sg::ThreadId(thread.thread_id)};
            if (thread.thread_id == "breakpoint") config.interrupt_before = sg::NodeNames({"b"});
            if (thread.thread_id != "left") app.invoke(sg::RESUME, config);
            return true;
        };
        log.take();
        const auto report = app.recover(options);
        REQUIRE(report.size() == 4);
        for (const auto& thread : report) {
            CAPTURE(thread.thread_id);
            CHECK(thread.error == nullptr);
            CHECK(thread.status.has_value() == (thread.thread_id == "left"));
            if (!thread.status) CHECK(thread.why.find("since it was found") != std::string::npos);
        }
        CHECK(log.takeSorted() == Strings{"a", "a", "a", "a", "b", "b", "b"});
        CHECK((reasonOf(*saver, "breakpoint") == Status::breakpoint));
        CHECK((reasonOf(*saver, "question") == Status::interrupted));
    });
}
