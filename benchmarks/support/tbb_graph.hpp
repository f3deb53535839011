#pragma once
#include "benchmarks/support/workload.hpp"

#if STATEGRAPH_HAS_TBB
#include <memory>
#include <string>
#include <vector>

#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/version.h>

namespace bench {

/// The same shapes as nodes of oneTBB's flow graph, which keeps no state: a node changes a variable.
namespace tbb_graph {

namespace flow = oneapi::tbb::flow;
using Message = flow::continue_msg;
using Node = flow::continue_node<Message>;

inline std::string name() {
    return "oneTBB " + std::to_string(TBB_VERSION_MAJOR) + "." + std::to_string(TBB_VERSION_MINOR);
}

/// `size` nodes, each of which counts, on the calling thread alone: nothing is handed to another one.
inline void runChain(benchmark::State& state, std::size_t size) {
    oneapi::tbb::task_arena(1).execute([&] {
        flow::graph graph;
        std::size_t n = 0;
        std::vector<std::unique_ptr<Node>> nodes;
        for (std::size_t i = 0; i < size; ++i) {
            nodes.push_back(std::make_unique<Node>(graph, [&n](const Message&) { return ++n, Message(); }));
            if (i > 0) flow::make_edge(*nodes[i - 1], *nodes[i]);
        }
        for (auto _ : state) {
            n = 0;
            nodes.front()->try_put(Message());
            graph.wait_for_all();
            if (n != size) state.SkipWithError("wrong result");
        }
    });
}

/// `size` workers, each of which writes its number, and a join that counts them, on at most `threads` threads.
inline void runTeam(benchmark::State& state, std::size_t size, int threads) {
    oneapi::tbb::task_arena(threads).execute([&] {
        flow::graph graph;
        std::vector<int> done(size, -1);
        std::size_t count = 0;
        flow::broadcast_node<Message> begin(graph);
        Node join(graph, [&](const Message&) {
            for (const int number : done) count += number >= 0;
            return Message();
        });
        std::vector<std::unique_ptr<Node>> workers;
        for (std::size_t i = 0; i < size; ++i) {
            workers.push_back(std::make_unique<Node>(graph, [&done, i](const Message&) {
                done[i] = static_cast<int>(i);
                return Message();
            }));
            flow::make_edge(begin, *workers.back());
            flow::make_edge(*workers.back(), join);
        }
        for (auto _ : state) {
            count = 0;
            begin.try_put(Message());
            graph.wait_for_all();
            if (count != size) state.SkipWithError("wrong result");
        }
    });
}

inline void addChain(const std::string& as, std::size_t size, bool is_per_node) {
    addPeer(as, size, name(), [=](benchmark::State& state) {
        runChain(state, size);
        if (is_per_node) state.counters["items"] = static_cast<double>(size);
    });
}
inline void addTeams(const std::string& inline_as, const std::string& pool_as, std::size_t size) {
    addPeer(inline_as, size, name(), [=](benchmark::State& state) { runTeam(state, size, 1); });
    addPeer(pool_as, size, name(), [=](benchmark::State& state) {
        runTeam(state, size, oneapi::tbb::task_arena::automatic);
    })->UseRealTime();
}

}  // namespace tbb_graph
}  // namespace bench
#else
namespace bench::tbb_graph {
inline void addChain(const std::string&, std::size_t, bool) {}
inline void addTeams(const std::string&, const std::string&, std::size_t) {}
}  // namespace bench::tbb_graph
#endif
