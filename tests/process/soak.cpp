// NOT WITH: sanitize
// Runs of many kinds at once, with limits on threads and descriptors. None may hang, each must give the result of an
// undisturbed run (after it was resumed if no thread could be created), and memory must not grow. `process/soak SECONDS
// SEED` runs longer (scripts/soak.sh).
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <stategraph/async.hpp>
#include <stategraph/control.hpp>
#include <stategraph/error.hpp>
#include <stategraph/executor.hpp>
#include <stategraph/functional.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/stategraph.hpp>

namespace {

std::atomic<int> threads_left = 1 << 20;
std::atomic<long> refused = 0;

struct Start {
    void* (*run)(void*);
    void* argument;
};

void* counted(void* given) {
    const Start start = *static_cast<Start*>(given);
    delete static_cast<Start*>(given);
    void* result = start.run(start.argument);
    ++threads_left;
    return result;
}

}  // namespace

// Fails as on a system that has no more threads.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                              void* argument) noexcept {
    using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
    if (threads_left.fetch_sub(1) <= 0) {
        ++threads_left;
        ++refused;
        return EAGAIN;
    }
    auto* start = new Start{run, argument};
    const int error = create(thread, attributes, counted, start);
    if (error != 0) {
        delete start;
        ++threads_left;
    }
    return error;
}

namespace sg = stategraph;
using namespace std::chrono_literals;

namespace {

struct State {
    int n = 0;
    static constexpr auto channels() { return sg::channels(sg::channel("n", &State::n, sg::sum)); }
};
using Writes = sg::Update<State>;

/// Graphs on one executor, and the result expected of each.
struct Kinds {
    std::shared_ptr<sg::MemorySaver> saver = std::make_shared<sg::MemorySaver>();
    std::shared_ptr<sg::Executor> executor;
    sg::CompiledGraph<State> inner;
    sg::CompiledGraph<State> outer;
    sg::Entrypoint<int, int> leaf;
    sg::Entrypoint<int, int> root;

    explicit Kinds(std::size_t threads)
        : executor(std::make_shared<sg::Executor>(sg::ExecutorOptions{.threads_max = threads, .idle = 5ms})),
          inner(makeInner()),
          outer(makeOuter()),
          leaf(makeLeaf()),
          root(makeRoot()) {}

    // Three nodes at once; one is a coroutine that sleeps.
    sg::CompiledGraph<State> makeInner() const {
        sg::StateGraph<State> graph;
        for (const char* name : {"a", "b"}) {
            graph.addNode(name, [](const State&, sg::Runtime& runtime) -> Writes {
                runtime.write(sg::Value(1));
                return {sg::add(&State::n, 1)};
            });
        }
        graph.addNode("c", [](const State&) -> sg::Task<Writes> {
            co_await sg::sleepFor(100us);
            co_return Writes{sg::add(&State::n, 1)};
        });
        for (const char* name : {"a", "b", "c"}) graph.addEdge(sg::START, name);
        return graph.compile({.executor = executor});
    }
    // Its node reads a live stream of the inner graph.
    sg::CompiledGraph<State> makeOuter() const {
        sg::StateGraph<State> graph;
        graph.addNode("walks", [app = inner](const State&) -> Writes {
            int events = 0;
            for (const auto& event : app.stream(Writes{}, {}, {.modes = sg::StreamMode::custom}))
                events += event.mode == sg::StreamMode::custom;
            return {sg::add(&State::n, events)};
        });
        graph.addNode("blocks", [app = inner](const State&) -> Writes {
            return {sg::add(&State::n, sg::syncWait(app.asyncInvoke(Writes{})).values.n)};
        });
        graph.addEdge(sg::START, "walks").addEdge(sg::START, "blocks");
        return graph.compile({.checkpointer = saver, .executor = executor});
    }
    sg::Entrypoint<int, int> makeLeaf() const {
        return sg::entrypoint("leaf",
                              [](const int& n, sg::Calls& flow) -> int {
                                  return flow
                                      .start(
                                          "work", [](int x) { return x + 1; }, n)
                                      .get();
                              },
                              {.executor = executor});
    }
    sg::Entrypoint<int, int> makeRoot() const {
        return sg::entrypoint("root",
                              [flow = leaf](const int& width, sg::Calls& calls) -> int {
                                  std::vector<sg::CallFuture<int>> all;
                                  for (int i = 0; i < width; ++i)
                                      all.push_back(calls.start(
                                          "leaf", [flow](int x) { return *flow.invoke(x).values; }, i));
                                  int sum = 0;
                                  for (auto& each : all) sum += each.get();
                                  return sum;
                              },
                              {.checkpointer = saver, .executor = executor});
    }
};

constexpr int width = 6;
constexpr int kinds_count = 5;

int once(const Kinds& kinds, int kind, const std::string& thread, bool resumes) {
    const sg::RunConfig config{.thread_id = thread};
    switch (kind) {
        case 0:
            return resumes ? *kinds.root.invoke(sg::RESUME, config).values : *kinds.root.invoke(width, config).values;
        case 1:
            return resumes ? kinds.outer.invoke(sg::RESUME, config).values.n
                           : kinds.outer.invoke(Writes{}, config).values.n;
        case 2:
            return (resumes ? sg::syncWait(kinds.outer.asyncInvoke(sg::RESUME, config))
                            : sg::syncWait(kinds.outer.asyncInvoke(Writes{}, config)))
                .values.n;
        case 3: {
            sg::RunConfig limited = config;
            limited.timeout = 1min;
            return (resumes ? kinds.outer.invoke(sg::RESUME, limited) : kinds.outer.invoke(Writes{}, limited)).values.n;
        }
        default: {
            const sg::StreamOptions live{.modes = sg::StreamMode::custom};
            if (resumes) {
                for (const auto& event : kinds.outer.stream(sg::RESUME, config, live)) (void)event;
            } else {
                for (const auto& event : kinds.outer.stream(Writes{}, config, live)) (void)event;
            }
            return kinds.outer.getState({.thread_id = thread}).values.n;
        }
    }
}

std::atomic<long> runs = 0;
std::atomic<long> resumed = 0;
std::atomic<long> wrong = 0;

void drive(const Kinds& kinds, int kind, const std::string& thread) {
    const int expected = kind == 0 ? width * (width + 1) / 2 : 5;
    bool has_begun = false;
    const auto end = std::chrono::steady_clock::now() + 10min;
    for (;;) {
        try {
            const int got = once(kinds, kind, thread, has_begun);
            if (got != expected && wrong++ == 0) std::printf("kind %d: %d instead of %d\n", kind, got, expected);
            break;
        } catch (const sg::EmptyInputError&) {
            has_begun = false;  // it failed before its input was stored
        } catch (const std::exception& error) {
            if (std::chrono::steady_clock::now() > end) {
                if (wrong++ == 0) std::printf("kind %d fails for ever: %s\n", kind, error.what());
                break;
            }
            has_begun = true;
            ++resumed;
            std::this_thread::sleep_for(1ms);  // sleeps: between two tries
        }
    }
    kinds.saver->deleteThread(thread);
    ++runs;
}

std::size_t usedKb() {
#if defined(__GLIBC__)
    const auto used = mallinfo2();
    return (used.uordblks + used.hblkhd) >> 10U;
#else
    return 0;
#endif
}

// Each thread of the test drives runs of randomly chosen kinds on executors with few threads, while only a few more
// threads can be created.
void round(std::mt19937& random, std::chrono::milliseconds time) {
    const std::size_t drivers = 2 + random() % 6;
    const Kinds kinds(1 + random() % 3);
    const auto until = std::chrono::steady_clock::now() + time;
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < drivers; ++i) {
        threads.emplace_back([&kinds, until, i, seed = random()] {
            std::mt19937 own(static_cast<std::mt19937::result_type>(seed));
            int run = 0;
            do {  // at least once: a busy machine may start this thread late
                drive(kinds, static_cast<int>(own() % kinds_count), std::to_string(i) + '-' + std::to_string(run++));
            } while (std::chrono::steady_clock::now() < until);
        });
    }
    const int plenty = threads_left.exchange(static_cast<int>(4 + random() % 6));
    for (auto& thread : threads) thread.join();
    threads_left += plenty;
}

}  // namespace

int main(int argc, char** argv) {
    const int seconds = argc > 1 ? std::atoi(argv[1]) : 3;
    const auto seed = argc > 2 ? static_cast<unsigned>(std::atol(argv[2])) : 1U;
    std::printf("seed %u\n", seed);
    std::fflush(stdout);
    const rlimit descriptors{32, 32};
    (void)setrlimit(RLIMIT_NOFILE, &descriptors);
    // Starts the thread of the timers now, so that it does not depend on how many threads can be created later
    // (awaited_faults tests a run without it).
    sg::syncWait([]() -> sg::Task<> { co_await sg::sleepFor(1ms); }());
    std::mt19937 random(seed);
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    round(random, 200ms);
    const std::size_t before_kb = usedKb();
    while (std::chrono::steady_clock::now() < until) {
        const long runs_before = runs;
        alarm(1200);  // ends the process if a round hangs
        round(random, 200ms);
        if (runs == runs_before) return 1;
    }
    std::this_thread::sleep_for(50ms);  // sleeps: lets idle threads end
    const std::size_t after_kb = usedKb();
    std::printf("%ld runs, %ld resumed, %ld threads refused, %zu kB before and %zu after\n", runs.load(),
                resumed.load(), refused.load(), before_kb, after_kb);
    if (after_kb > before_kb + 20'000) std::printf("memory grows\n");
    return wrong == 0 && after_kb <= before_kb + 20'000 ? 0 : 1;
}
