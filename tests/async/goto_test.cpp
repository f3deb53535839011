#include <optional>

#include <stategraph/control.hpp>

#include "tests/async/support.hpp"

// Where a node's Command leads, whatever kind of node it is, whatever may stop it, and whoever drives the run.
using namespace graphs;

namespace {

constexpr sg::NodeId<int> work{"work"};

enum class Limit { none, control, run_timeout, node_timeout };
const char* toString(Limit limit) {
    switch (limit) {
        case Limit::none: return "nothing";
        case Limit::control: return "a control";
        case Limit::run_timeout: return "timeout_ms of the run";
        case Limit::node_timeout: return "timeout_ms of the node";
    }
    return "?";
}

enum class Kind { blocking, coroutine, waiting };

/// A node that returns `command`, made anew for each call.
template <class Make>
void addLeader(Graph& graph, const std::string& name, Kind kind, Limit limit, Strings ends, Make command) {
    sg::NodeOptions options{.ends = std::move(ends)};
    if (limit == Limit::node_timeout) options.timeout_ms = 600'000;
    switch (kind) {
        case Kind::blocking: graph.addNode(name, [command](const State&) -> Command { return command(); }, options); return;
        case Kind::coroutine: graph.addNode(name, [command](const State&) -> Task<Command> { co_return command(); }, options); return;
        case Kind::waiting:
            graph.addNode(name,
                          [command](const State&) -> Task<Command> {
                              co_await sg::sleepFor(1us);
                              co_return command();
                          },
                          options);
            return;
    }
}

Graph toNames(Kind kind, Limit limit) {
    Graph graph;
    addLeader(graph, "lead", kind, limit, {"b", "c"}, [] { return Command{.update = bar("lead"), .go_to = {"b", "c"}}; });
    graph.addNode("b", appends("b")).addNode("c", appends("c")).addEdge(sg::START, "lead");
    return graph;
}

Graph toSends(Kind kind, Limit limit) {
    Graph graph;
    addLeader(graph, "lead", kind, limit, {"work"}, [] { return Command{.update = bar("lead"), .go_to = {work(1), work(2), work(1)}}; });
    graph.addNode(work, [](const int& n) -> Update { return {sg::add(&State::bar, "work" + std::to_string(n))}; });
    graph.addEdge(sg::START, "lead");
    return graph;
}

Graph toParent(Kind kind, Limit limit) {
    Graph inner;
    addLeader(inner, "lead", kind, limit, {}, [] { return Command{.update = bar("lead"), .go_to = {"b", work(7)}, .graph = sg::PARENT}; });
    inner.addEdge(sg::START, "lead");
    Graph graph;
    graph.addNode("inner", inner.compile(), leadsTo({"b", "work"})).addNode("b", appends("b"));
    graph.addNode(work, [](const int& n) -> Update { return {sg::add(&State::bar, "work" + std::to_string(n))}; });
    graph.addEdge(sg::START, "inner");
    return graph;
}

/// What each driver makes of a run.
template <class Check>
void onEachDriver(const App& app, const sg::RunConfig& config, Check check) {
    int threads = 0;
    const auto own = [&] {
        sg::RunConfig with = config;
        with.thread_id = "t" + std::to_string(++threads);
        return with;
    };
    const auto stored = [&](const sg::RunConfig& with) { return app.getState({.thread_id = with.thread_id}).values.bar; };
    const auto from = [&](const char* driver, const Strings& got) {
        CAPTURE(driver);
        check(got);
    };
    from("invoke", app.invoke(Update{}, own()).values.bar);
    from("asyncInvoke", sg::syncWait(app.asyncInvoke(Update{}, own())).values.bar);
    from("spawned", sg::spawn(twoThreads(), app.asyncInvoke(Update{}, own())).get().values.bar);
    for (const auto mode : {sg::StreamMode::updates, sg::StreamMode::custom}) {
        const sg::RunConfig blocking = own();
        for (const auto& event : app.stream(Update{}, blocking, {.modes = mode})) (void)event;
        from("stream", stored(blocking));
        const sg::RunConfig awaited = own();
        auto events = app.asyncStream(Update{}, awaited, {.modes = mode});
        const auto reads = [&]() -> Task<> {
            while (co_await events.next()) {
            }
        };
        sg::syncWait(reads());
        from("asyncStream", stored(awaited));
    }
}

}  // namespace

TEST_CASE("a Command leads where it says: names, Sends and the graph around, of any kind of node, with any limit, on each driver") {
    const struct {
        const char* what;
        Graph (*make)(Kind, Limit);
        Strings bar;
    } cases[] = {{"names", toNames, {"lead", "b", "c"}},
                 {"Sends", toSends, {"lead", "work1", "work2", "work1"}},
                 {"PARENT", toParent, {"lead", "b", "work7"}}};
    for (const auto& each : cases) {
        for (const Kind kind : {Kind::blocking, Kind::coroutine, Kind::waiting}) {
            for (const Limit limit : {Limit::none, Limit::control, Limit::run_timeout, Limit::node_timeout}) {
                const int number = static_cast<int>(kind);
                CAPTURE(each.what);
                CAPTURE(number);
                CAPTURE(toString(limit));
                sg::RunConfig config;
                if (limit == Limit::control) config.control = std::make_shared<sg::RunControl>();
                if (limit == Limit::run_timeout) config.timeout_ms = 600'000;
                const auto app = each.make(kind, limit).compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
                onEachDriver(app, config, [&](const Strings& bar) { CHECK(bar == each.bar); });
            }
        }
    }
}
