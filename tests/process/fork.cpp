// NOT WITH: sanitize=thread
// A child that is forked after its parent had runs must draw its own random bits, and have its own threads and timers.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <stategraph/async.hpp>
#include <stategraph/control.hpp>
#include <stategraph/detail/run_threads.hpp>
#include <stategraph/executor.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/support/sanitized.hpp"
#include "tests/support/until.hpp"

namespace sg = stategraph;
using namespace std::chrono_literals;

namespace {

struct State {
    int n = 0;
    std::vector<std::string> log = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("n", &State::n, sg::sum), sg::channel("log", &State::log, sg::append));
    }
};
using Writes = sg::Update<State>;

bool check(bool holds, const char* what) {
    if (!holds) std::printf("wrong: %s\n", what);
    return holds;
}

/// What a child printed, and whether it exited normally with 0.
struct Child {
    bool ended_well = false;
    std::string said;
};

template <class F>
Child inChild(F act) {
    int ends[2];
    if (pipe(ends) != 0) std::abort();
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        alarm(300);
        const std::string said = act();
        const bool is_written = write(ends[1], said.data(), said.size()) == static_cast<ssize_t>(said.size());
        std::_Exit(is_written ? 0 : 1);
    }
    close(ends[1]);
    Child result;
    char buffer[256];
    for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
        result.said.append(buffer, static_cast<std::size_t>(got));
    close(ends[0]);
    int status = 0;
    (void)waitpid(child, &status, 0);
    result.ended_well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return result;
}

sg::CompiledGraph<State> paying(const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    sg::StateGraph<State> graph;
    graph.addNode("pay", [](const State&, sg::Runtime& runtime) -> Writes {
        return {sg::overwrite(&State::log, {runtime.idempotencyKey("charge")})};
    });
    graph.addEdge(sg::START, "pay").addEdge("pay", sg::END);
    return saver ? graph.compile({.checkpointer = saver}) : graph.compile();
}

/// Four tasks at once that report while they run, and a coroutine among them that sleeps.
sg::CompiledGraph<State> busy() {
    sg::StateGraph<State> graph;
    for (const char* name : {"a", "b", "c"}) {
        graph.addNode(name, [](const State&, sg::Runtime& runtime) -> Writes {
            runtime.write(sg::Value(1));
            std::this_thread::sleep_for(1ms);  // sleeps: work that takes time
            return {sg::add(&State::n, 1)};
        });
        graph.addEdge(sg::START, name);
    }
    graph.addNode("sleeps", [](const State&) -> sg::Task<Writes> {
        co_await sg::sleepFor(1ms);
        co_return Writes{sg::add(&State::n, 1)};
    });
    graph.addEdge(sg::START, "sleeps");
    return graph.compile();
}

int streamed(const sg::CompiledGraph<State>& app) {
    int events = 0;
    for (const auto& event : app.stream(Writes{}, {}, {.modes = sg::StreamMode::custom}))
        events += event.mode == sg::StreamMode::custom;
    return events;
}

/// Uses threads of the executor, of attempts that can be abandoned, and of timers.
std::string useThreads(const sg::CompiledGraph<State>& app) {
    std::string did = std::to_string(app.invoke(Writes{}).values.n);
    did += ' ' + std::to_string(streamed(app));
    did += ' ' + std::to_string(sg::syncWait(app.asyncInvoke(Writes{})).values.n);
    did += ' ' + std::to_string(app.invoke(Writes{}, {.timeout = 1min}).values.n);
    return did;
}

/// Forks while another thread creates and destroys executors and the threads of awaited runs.
bool forksBesideExecutors() {
    std::atomic<bool> is_over{false};
    std::atomic<int> created{0};
    std::thread other([&] {
        while (!is_over) {
            const sg::Executor executor({.threads_max = 1});
            const sg::detail::RunThreads threads(1, 1);
            ++created;
        }
    });
    bool good = true;
    for (int i = 0; i < 300 && good; ++i) {
        while (created < 10 * i) std::this_thread::yield();
        good = inChild([] { return std::string("here"); }).ended_well;
    }
    is_over = true;
    other.join();
    return good;
}

bool childEndsSaverThatPrunes() {
    auto saver = std::make_unique<sg::MemorySaver>(
        sg::MemorySaverOptions{.retention = sg::RetentionOptions{.keep_last = 3, .every = 1h}});
    patience::until([&] { return saver->retentionReport().runs > 0; });
    const Child child = inChild([&] {
        saver.reset();
        return std::string("ended");
    });
    return child.ended_well && child.said == "ended";
}

}  // namespace

int main() {
    bool good = true;
    for (const bool has_saver : {false, true}) {
        const auto app = paying(has_saver ? std::make_shared<sg::MemorySaver>() : nullptr);
        const auto pay = [&app] { return app.invoke({sg::add(&State::n, 1)}, {.thread_id = "t"}).values.log.at(0); };
        std::set<std::string> keys{pay()};
        for (int i = 0; i < 3; ++i) {
            const Child child = inChild([&] { return pay() + pay(); });
            good = check(child.ended_well, "a child pays") && good;
            const std::size_t half = child.said.size() / 2;
            keys.insert(child.said.substr(0, half));
            keys.insert(child.said.substr(half));
        }
        keys.insert(pay());
        good = check(keys.size() == 8, "every run of every child has an idempotency key of its own") && good;
    }
    // AddressSanitizer's allocator does not support a fork while another thread uses it: the child may wait for ever
    // for a lock that such a thread held.
    if (STATEGRAPH_WITH_ASAN) {
        std::puts("left out with AddressSanitizer: forks beside threads");
        return good ? 0 : 1;
    }
    good = check(forksBesideExecutors(), "a fork finds executors whole or not at all") && good;
    good = check(childEndsSaverThatPrunes(), "a child destroys a saver that prunes, and ends") && good;
    const auto app = busy();
    const std::string did = useThreads(app);
    good = check(did == "4 3 4 4", did.c_str()) && good;
    for (int i = 0; i < 4; ++i) {  // right after the runs, while their threads still exist
        const Child child = inChild([&app] { return useThreads(app); });
        good = check(child.ended_well && child.said == did, "a child has threads and timers of its own") && good;
        const Child grandchild = inChild([&app] {
            (void)useThreads(app);
            return inChild([&app] { return useThreads(app); }).said;
        });
        good = check(grandchild.ended_well && grandchild.said == did, "so has a child's child") && good;
        good = check(useThreads(app) == did, "and the parent still has its own") && good;
    }
    return good ? 0 : 1;
}
