#include <atomic>

#include <stategraph/control.hpp>

#include "tests/async/support.hpp"
#include "tests/support/hand_home.hpp"
#include "tests/support/savers.hpp"

// Awaited streams whose reader leaves while tasks run: nothing is lost, and nothing continues to run.
using namespace graphs;
using enum sg::StreamMode;

namespace {

/// Returns a node that reports each of its steps, works and waits.
auto talks(const std::string& text, int steps) {
    return [text, steps](const State&, sg::Runtime& runtime) -> Task<Update> {
        const std::string kept(200, 'x');  // on the frame, which may not go while it is used
        for (int i = 0; i < steps; ++i) {
            runtime.write(kept);
            runtime.emitMessage(kept);
            const auto until = std::chrono::steady_clock::now() + 50us;
            while (std::chrono::steady_clock::now() < until) {
            }
            co_await sg::sleepFor(20us);
        }
        co_return bar(text);
    };
}
auto talksBlocking(const std::string& text) {
    return [text](const State&, sg::Runtime& runtime) -> Update {
        for (int i = 0; i < 3; ++i) runtime.write(i);
        return bar(text);
    };
}

/// A graph with two coroutines and a subgraph that run at the same time, with or without a blocking node, and then one
/// node.
Graph wide(bool blocks) {
    Graph inner;
    inner.addNode("x", talks("x", 2)).addNode("y", talks("y", 2)).addEdge(sg::START, "x").addEdge("x", "y");
    Graph graph;
    graph.addNode("a", talks("a", 4)).addNode("b", talks("b", 2)).addNode("d", inner.compile());
    blocks ? graph.addNode("c", talksBlocking("c")) : graph.addNode("c", talks("c", 1));
    graph.addNode("end", talks("end", 1));
    for (const char* name : {"a", "b", "c", "d"}) graph.addEdge(sg::START, name);
    graph.addEdge({"a", "b", "c", "d"}, "end");
    return graph;
}
const Strings wide_bar{"a", "b", "c", "x", "y", "end"};

/// Reads a stream on the test's own thread, until there is an event and `when` holds, or to the end. Then the reader is
/// destroyed.
template <class When>
std::size_t readUntil(sg::AsyncStream<State, State>& stream, When when) {
    std::size_t events = 0;
    HandHome home;
    const auto isEnough = [&] { return events > 0 && when(); };
    const auto reads = [&]() -> Task<> {
        while (!isEnough() && co_await stream.next()) ++events;  // several events may be there at once
    };
    const Task<> reader = reads();
    bool is_over = false;
    reader.handle().promise().startWith(
        reader.handle(), [](void* over) { *static_cast<bool*>(over) = true; }, &is_over, home.home());
    while (!is_over && !isEnough()) (void)home.runOne(1ms);
    return events;
}

}  // namespace

TEST_CASE(
    "a reader that leaves an awaited stream while nodes run ends them, and the thread is resumed at once with nothing "
    "lost") {
    savers::onEach([](savers::Store& store) {
        const auto app = wide(true).compile({.checkpointer = store.open(), .executor = twoThreads()});
        int number = 0;
        for (const auto& options :
             {sg::StreamOptions{.modes = custom}, sg::StreamOptions{.modes = {messages, updates}},
              sg::StreamOptions{.modes = values, .subgraphs = true}, sg::StreamOptions{.modes = {updates, tasks}}}) {
            for (const bool can_be_stopped : {false, true}) {
                for (int events = 0; events < 14; events += 2) {
                    sg::RunConfig config{.thread_id = std::to_string(++number)};
                    if (can_be_stopped) config.control = std::make_shared<sg::RunControl>();
                    CAPTURE(number);
                    const auto read = [&]() -> Task<> {
                        auto stream = app.asyncStream(Update{}, config, options);
                        for (int i = 0; i < events; ++i) (void)co_await stream.next();
                    };
                    sg::syncWait(read());
                    const bool has_begun =
                        static_cast<bool>(app.getState({.thread_id = config.thread_id}).config.checkpoint_id);
                    const auto done = has_begun ? app.invoke(sg::RESUME, config) : app.invoke(Update{}, config);
                    CHECK(done.values.bar == wide_bar);
                }
            }
        }
    });
}

TEST_CASE("an awaited stream can be left on the only thread of the executor that its nodes need") {
    const auto executor = std::make_shared<sg::Executor>(sg::ExecutorOptions{.threads_max = 1});
    const auto app = wide(false).compile({.checkpointer = std::make_shared<sg::MemorySaver>(), .executor = executor});
    for (int events = 0; events < 12; ++events) {
        const std::string thread = std::to_string(events);
        const auto read = [&]() -> Task<> {
            auto stream = app.asyncStream(Update{}, {.thread_id = thread}, {.modes = {custom, updates}});
            (void)co_await stream.next();
            for (int i = 0; i < events; ++i) (void)co_await stream.next();
        };
        sg::spawn(executor, read()).get();
        CHECK(app.invoke(sg::RESUME, {.thread_id = thread}).values.bar == wide_bar);
    }
}

TEST_CASE(
    "a reader that is destroyed while it awaits an event leaves the stream to the next one: what was under way runs "
    "anew, nothing is lost") {
    for (const sg::StreamModes modes : {sg::StreamModes(values), sg::StreamModes{values, custom}}) {
        for (const bool has_subgraph : {false, true}) {
            std::atomic<int> ran = 0;
            const auto charges = [&ran](const State&) -> Task<Update> {
                if (++ran == 1) co_await sg::sleepFor(1h);  // the first reader is destroyed before that
                co_return bar("charged");
            };
            const bool is_live = modes.has(custom);
            if (is_live) ran = 1;  // it runs on next to the readers: it must end by itself
            Graph graph;
            if (has_subgraph) {
                Graph inner;
                inner.addNode("before", appends("before"))
                    .addNode("charge", charges)
                    .addEdge(sg::START, "before")
                    .addEdge("before", "charge");
                graph.addNode("charge", inner.compile());
            } else {
                graph.addNode("charge", charges);
            }
            graph.addNode("beside", appends("beside")).addNode("ship", appends("shipped"));
            graph.addEdge(sg::START, "charge").addEdge(sg::START, "beside").addEdge({"charge", "beside"}, "ship");
            const auto app =
                graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>(), .executor = twoThreads()});
            auto stream = app.asyncStream(bar("in"), {.thread_id = "t"}, {.modes = modes});
            const int before = ran;
            CHECK(readUntil(stream, [&] { return ran != before; }) > 0);
            CHECK(readUntil(stream, [] { return false; }) > 0);
            CHECK((stream.outcome().status == sg::Status::done));
            // A subgraph writes the whole value of the channel, including the value with which it began.
            const Strings expected = has_subgraph ? Strings{"in", "beside", "in", "before", "charged", "shipped"}
                                                  : Strings{"in", "beside", "charged", "shipped"};
            CHECK(app.getState({.thread_id = "t"}).values.bar == expected);
            CHECK(ran == 2);
        }
    }
}

TEST_CASE("a stream whose reader was destroyed and that is not read on leaves its superstep as it is") {
    std::atomic<bool> has_begun = false;
    const auto app = chainOf(appends("a"), [&](const State&) -> Task<Update> {
                         has_begun = true;
                         co_await sg::sleepFor(1h);
                         co_return bar("never");
                     }).compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    {
        auto stream = app.asyncStream(Update{}, {.thread_id = "t"}, {.modes = updates});
        CHECK(readUntil(stream, [&] { return has_begun.load(); }) == 1);
    }
    const auto state = app.getState({.thread_id = "t"});
    CHECK(state.values.bar == Strings{"a"});
    CHECK(state.next == Strings{"n2"});
}
