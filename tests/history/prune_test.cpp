#include <chrono>
#include <set>

#include <doctest/doctest.h>

#include <stategraph/codec_std.hpp>

#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// Prunes of threads that graphs wrote. saver_contract/prune*.hpp test what a prune drops of rows that the test creates.
using namespace graphs;

namespace {

// START -> before -> sub (one -> ask -> two) -> after
App withSubgraph(Log& log, const sg::Checkpointer& checkpointer,
                 const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    Graph inner;
    inner.addNode("one", appends("one")).addNode("ask", asks(log, "ask")).addNode("two", appends("two"));
    inner.addEdge(sg::START, "one").addEdge("one", "ask").addEdge("ask", "two");
    Graph graph;
    graph.addNode("before", appends("before")).addNode("after", appends("after"));
    graph.addNode(
        "sub", inner.compile({.checkpointer = checkpointer}), [](const State&) -> Update { return {}; },
        [](const State& result) -> Update { return {sg::set(&State::foo, result.bar.back())}; });
    graph.addEdge(sg::START, "before").addEdge("before", "sub").addEdge("sub", "after");
    return graph.compile({.checkpointer = saver});
}

const sg::Command<> yes{.resume = "yes"};
constexpr auto far_future = std::chrono::system_clock::time_point::max();

std::set<std::string> namespaces(sg::BaseCheckpointSaver& saver) {
    std::set<std::string> all;
    for (const auto& row : saver.list({.heads = true})) all.insert(row.checkpoint_ns);
    return all;
}

// Adds further checkpoints, so many and so large that the newest is read from none of those before.
void goOn(const App& app, const std::string& thread) {
    for (int i = 0; i < 20; ++i) {
        app.updateState({.thread_id = thread}, {sg::set(&State::foo, std::string(20'000, 'x'))}, {.as_node = "after"});
    }
}

template <class F>
void onEachKind(F body) {
    savers::onEach([&](savers::Store& store) {
        for (const bool per_thread : {false, true}) {
            CAPTURE(per_thread);
            body(store.open(), "t" + std::to_string(per_thread), per_thread ? sg::PER_THREAD : sg::Checkpointer());
        }
    });
}

}  // namespace

TEST_CASE("a subgraph's log outlives prunes while it waits for an answer, and then goes with its task's checkpoint") {
    onEachKind([](const auto& saver, const std::string& thread, const sg::Checkpointer& kind) {
        Log log;
        const App app = withSubgraph(log, kind, saver);
        CHECK((app.invoke(Update{}, {.thread_id = thread}).status == sg::Status::interrupted));
        saver->prune({.thread_id = thread, .keep_last = 1});
        CHECK(saver->prune({.thread_id = thread, .threads_unused_since = far_future}) == 0);
        const auto done = app.invoke(yes, {.thread_id = thread});
        CHECK(done.values.foo == "two");
        CHECK(done.values.bar == Strings{"before", "after"});

        goOn(app, thread);
        CHECK(saver->prune({.thread_id = thread, .keep_last = 1}) > 10);
        const auto heads = saver->list({.thread_id = thread, .heads = true});
        const bool is_kept = thread == "t1";  // PER_THREAD
        REQUIRE(heads.size() == (is_kept ? 2 : 1));
        if (is_kept) CHECK(heads[1].checkpoint_ns == "sub");
        const auto state = app.getState({.thread_id = thread});
        CHECK(state.values.bar == done.values.bar);
        CHECK(state.next.empty());
        // It continues as if nothing had been dropped.
        app.invoke(Update{}, {.thread_id = thread});
        CHECK(app.invoke(yes, {.thread_id = thread}).values.bar == Strings{"before", "after", "before", "after"});
    });
}

TEST_CASE("a question that the thread has gone on from keeps its checkpoint, subgraph included, until it is answered") {
    onEachKind([](const auto& saver, const std::string& thread, const sg::Checkpointer& kind) {
        Log log;
        const App app = withSubgraph(log, kind, saver);
        app.invoke(Update{}, {.thread_id = thread});
        const auto asked = app.getState({.thread_id = thread});
        app.updateState({.thread_id = thread}, bar("edited"), {.as_node = "after"});
        goOn(app, thread);
        CHECK(saver->prune({.thread_id = thread, .keep_last = 1}) > 10);
        CHECK(saver->prune({.thread_id = thread, .threads_unused_since = far_future}) == 0);
        const auto old = app.getState(asked.config);
        CHECK(old.interrupts() == asked.interrupts());
        CHECK(saver->list({.thread_id = thread, .heads = true}).size() == 2);
        CHECK(app.getState({.thread_id = thread}).values.bar == Strings{"before", "edited"});

        const auto done = app.invoke(yes, {.thread_id = thread, .checkpoint_id = asked.config.checkpoint_id});
        CHECK((done.status == sg::Status::done));
        CHECK(done.values.bar == Strings{"before", "after"});
        goOn(app, thread);
        CHECK(saver->prune({.thread_id = thread, .keep_last = 1}) > 10);
        CHECK_THROWS_AS(app.getState(asked.config), sg::InvalidArgumentError);
        CHECK(saver->list({.thread_id = thread, .heads = true}).size() == (thread == "t1" ? 2 : 1));
    });
}

TEST_CASE("a finished thread is unused, whatever its subgraphs asked on the way") {
    onEachKind([](const auto& saver, const std::string& thread, const sg::Checkpointer& kind) {
        Log log;
        const App app = withSubgraph(log, kind, saver);
        app.invoke(Update{}, {.thread_id = thread});
        app.invoke(yes, {.thread_id = thread});
        const auto rows = saver->list({.thread_id = thread}).size();
        CHECK(rows > 4);
        CHECK(namespaces(*saver).size() > 1);
        CHECK(saver->prune(
                  {.threads_unused_since = std::chrono::system_clock::time_point(std::chrono::milliseconds(1))}) == 0);
        CHECK(saver->prune({.threads_unused_since = far_future}) == rows);
        CHECK(saver->list({}).empty());
        // The thread begins anew.
        CHECK((app.invoke(Update{}, {.thread_id = thread}).status == sg::Status::interrupted));
        saver->deleteThread(thread);
    });
}

TEST_CASE("a thread that failed is in use until it continues") {
    savers::onEach([](savers::Store& store) {
        bool fails = true;
        Graph graph;
        graph.addNode("a", [&](const State&) -> Update {
            if (fails) throw std::runtime_error("broken");
            return bar("a");
        });
        graph.addEdge(sg::START, "a");
        const auto saver = store.open();
        const App app = graph.compile({.checkpointer = saver});
        CHECK_THROWS_AS(app.invoke(bar("i"), {.thread_id = "t"}), sg::NodeError);
        CHECK(saver->prune({.threads_unused_since = far_future}) == 0);
        fails = false;
        CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).values.bar == Strings{"i", "a"});
        const std::size_t rows = saver->list({}).size();
        CHECK(rows > 1);
        CHECK(saver->prune({.threads_unused_since = far_future}) == rows);
        CHECK(saver->list({}).empty());
    });
}
