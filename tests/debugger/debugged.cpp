#include <map>
#include <memory>
#include <string>
#include <vector>

#include <stategraph/stategraph.hpp>

// Variables for gdb.sh, which looks at them in main().

namespace sg = stategraph;

struct Draft {
    std::string title = {};
    int reviews = 0;
    std::vector<std::string> log = {};

    static constexpr auto channels() {
        return sg::channels(sg::channel<&Draft::title>(), sg::channel<&Draft::reviews>(sg::sum),
                            sg::channel("log of work", &Draft::log, sg::append));
    }
};

__attribute__((noinline)) void stopHere() { __asm__ volatile(""); }

int main() {
    const sg::Value text("owls \"and\" mice");
    const sg::Value nothing;
    const sg::Value nested(std::map<std::string, std::vector<double>>{{"a", {1.5, -2}}, {"b", {}}});
    const sg::Value number(-70000);
    const sg::Value list(std::vector<int>(1000, 7));
    const sg::Value large(std::string(100000, 'x'));
    const sg::CheckpointId id("01a20a57-dd03-7df7-a9d7-7bcb2932e653");
    const sg::CheckpointId none;
    const sg::TaskId task("000102030405060708090a0b0c0d0e0f");
    const sg::ThreadId thread("order-9");
    const sg::ThreadId no_thread;
    const sg::Update<Draft> update{sg::set<&Draft::title>("owls"), sg::add<&Draft::reviews>(2),
                                   sg::add<&Draft::log>("wrote"), sg::clear<&Draft::title>()};
    const sg::Update<Draft> no_update;
    sg::StateGraph<Draft> graph;
    graph.addNode("write", [](const Draft&) { return sg::set<&Draft::title>("mice"); });
    graph.addNode("read", [](const Draft&) { return sg::add<&Draft::reviews>(1); });
    graph.addEdge(sg::START, "write").addEdge("write", "read").addEdge("read", sg::END);
    const auto app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>(), .interrupt_before = {"read"}});
    app.invoke({}, {.thread_id = "order-9"});
    const auto snapshot = app.getState({.thread_id = "order-9"});
    const auto no_snapshot = app.getState({.thread_id = "order-10"});
    stopHere();
    return 0;
}
