// What the library takes on a disk and in memory: the smallest program (benchmarks/smallest.cpp), and what a run with a
// message of 200 bytes in each superstep has the disk write. What a waiting run takes is in the workload async_waits.
#include <array>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "benchmarks/support/figures.hpp"
#include "benchmarks/support/process.hpp"
#include "benchmarks/support/savers.hpp"
#include "benchmarks/support/workload.hpp"
#include "benchmarks/workloads/growing_thread/conversation.hpp"

namespace bench {
namespace {

namespace sg = stategraph;

/// The smallest program, while it waits for the end of its input.
class Smallest {
public:
    Smallest() {
        std::array<int, 2> in{};
        std::array<int, 2> out{};
        if (::pipe(in.data()) != 0 || ::pipe(out.data()) != 0) throw std::runtime_error("no pipe");
        posix_spawn_file_actions_t actions;
        ::posix_spawn_file_actions_init(&actions);
        ::posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
        ::posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
        ::posix_spawn_file_actions_addclose(&actions, in[1]);
        std::string path = STATEGRAPH_SMALLEST;
        const std::array<char*, 2> arguments{path.data(), nullptr};
        const int failed = ::posix_spawn(&process_, path.c_str(), &actions, nullptr, arguments.data(), environ);
        ::posix_spawn_file_actions_destroy(&actions);
        ::close(in[0]);
        ::close(out[1]);
        input_ = in[1];
        output_ = out[0];
        if (failed != 0) throw std::runtime_error(path + " cannot be started");
    }
    Smallest(const Smallest&) = delete;
    Smallest& operator=(const Smallest&) = delete;
    ~Smallest() {
        ::close(input_);
        ::close(output_);
        ::waitpid(process_, nullptr, 0);
    }

    char firstOfResult() const {
        char c = 0;
        return ::read(output_, &c, 1) == 1 ? c : '\0';
    }
    /// The most that was in memory so far.
    double residentBytes() const {
        std::ifstream file("/proc/" + std::to_string(process_) + "/status");
        for (std::string line; std::getline(file, line);) {
            if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) * 1024;
        }
        return 0;
    }

private:
    pid_t process_ = -1;
    int input_ = -1;
    int output_ = -1;
};

void smallest(benchmark::State& state) {
    for (auto _ : state) {
        const auto begin = Clock::now();
        const Smallest program;
        if (program.firstOfResult() != '2') state.SkipWithError("wrong result");
        state.SetIterationTime(secondsSince(begin));
        state.counters["resident_bytes"] = program.residentBytes();
    }
    state.counters["bytes"] = static_cast<double>(std::filesystem::file_size(STATEGRAPH_SMALLEST));
}

/// Makes one run of `size` supersteps, each of which appends a message.
void messagesOnDisk(benchmark::State& state, Store store, sg::Durability durability, std::size_t size) {
    const auto& texts = messages(size);
    const int limit = static_cast<int>(size);
    sg::StateGraph<Conversation> graph;
    graph
        .addNode("say",
                 [&](const Conversation& s) -> sg::Update<Conversation> {
                     return {sg::add(&Conversation::messages, texts[static_cast<std::size_t>(s.n)]),
                             sg::set(&Conversation::n, s.n + 1)};
                 })
        .addEdge(sg::START, "say")
        .addConditionalEdges("say", [limit](const Conversation& s) { return s.n < limit ? "say" : sg::END; });
    for (auto _ : state) {
        const FreshSaver fresh(store);
        const auto app = graph.compile({.checkpointer = fresh.saver});
        const auto before = bytesToDisk();
        const auto begin = Clock::now();
        app.invoke({sg::set(&Conversation::n, 0)},
                   {.thread_id = "t", .durability = durability, .recursion_limit = limit});
        state.SetIterationTime(secondsSince(begin));
        if (bytesToDisk() == before) state.SkipWithError("TMPDIR is on no disk");
        state.counters["disk_bytes_a_message"] =
            static_cast<double>(bytesToDisk() - before) / static_cast<double>(size);
    }
    state.counters["items"] = static_cast<double>(size);
}

}  // namespace

void registerCases() {
    add("size/smallest", smallest)->UseManualTime();
    for (const Store store : {Store::rocksdb, Store::sqlite}) {
#if !STATEGRAPH_HAS_SQLITE
        if (store == Store::sqlite) continue;
#endif
        const std::string name = std::string("size/messages_") + toString(store);
        const std::size_t size = quick() ? 1000 : 100'000;
        const std::size_t sync_size = quick() ? 100 : 1000;
        once(add(name + "_async",
                 [=](benchmark::State& state) { messagesOnDisk(state, store, sg::Durability::async, size); }));
        once(add(name + "_sync",
                 [=](benchmark::State& state) { messagesOnDisk(state, store, sg::Durability::sync, sync_size); }));
    }
}

}  // namespace bench
