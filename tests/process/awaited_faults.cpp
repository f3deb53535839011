// SECONDS: 70
// WITH: stategraph-test-runs
// NOT WITH: sanitize
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stategraph/async.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/later_saver.hpp"

// The nth allocation of a run fails, or from the nth on no thread can be started, with every way to drive the run, and
// with a saver that answers at once or later. The
// run must end, with or without an exception; what is stored must be whole; RESUME must lead to the result of an
// undisturbed run. The process must not die, and nothing may wait for ever.
namespace sg = stategraph;
using namespace std::chrono_literals;

namespace {

std::atomic<bool> is_armed{false};
std::atomic<long> allocations{0};  // how many succeed before one fails
std::atomic<long> threads{0};      // how many can still be started
std::atomic<bool> has_failed{false};

constexpr long never = 1'000'000'000;

void arm(long allocation, long thread) {
    allocations = allocation;
    threads = thread;
    has_failed = false;
    is_armed = true;
}
bool disarm() {
    is_armed = false;
    return has_failed;
}

void* allocate(std::size_t size) {
    if (is_armed.load(std::memory_order_relaxed) && allocations.fetch_sub(1) == 1) {
        has_failed = true;
        throw std::bad_alloc();
    }
    if (void* place = std::malloc(size > 0 ? size : 1)) return place;
    throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void operator delete(void* place) noexcept { std::free(place); }
void operator delete(void* place, std::size_t) noexcept { std::free(place); }

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* context) {
    using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static const auto real = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
    if (is_armed && threads.fetch_sub(1) < 1) {
        has_failed = true;
        return EAGAIN;
    }
    return real(thread, attributes, run, context);
}

namespace {

struct State {
    std::vector<int> out = {};
    static constexpr auto channels() { return sg::channels(sg::channel("out", &State::out, sg::append)); }
};
using Graph = sg::StateGraph<State>;
using App = sg::CompiledGraph<State>;
using Update = sg::Update<State>;

auto later(int number) {
    return [number](const State&, sg::Runtime& runtime) -> sg::Task<Update> {
        runtime.write(number);
        co_await sg::sleepFor(runtime, 20us);
        co_return Update{sg::add(&State::out, number)};
    };
}
auto atOnce(int number) {
    return [number](const State&) -> Update { return {sg::add(&State::out, number)}; };
}

/// The kind of the nodes that begin together.
enum class Kind { coroutines, mixed, blocking, subgraph };
const char* nameOf(Kind kind) {
    constexpr const char* names[] = {"coroutines", "a coroutine beside a blocking node", "blocking nodes",
                                     "a subgraph"};
    return names[static_cast<int>(kind)];
}

enum class Saver { at_once, later };

App graphOf(Kind kind, Saver saver, std::shared_ptr<sg::Executor> executor) {
    Graph graph;
    switch (kind) {
        case Kind::coroutines:
            graph.addNode("a", later(0)).addNode("b", later(1));
            break;
        case Kind::mixed:
            graph.addNode("a", later(0)).addNode("b", atOnce(1));
            break;
        case Kind::blocking:
            graph.addNode("a", atOnce(0)).addNode("b", atOnce(1));
            break;
        case Kind::subgraph: {
            Graph inner;
            inner.addNode("x", later(1)).addEdge(sg::START, "x");
            graph.addNode("a", later(0)).addNode("b", inner.compile());
            break;
        }
    }
    graph.addNode("c", later(2));
    graph.addEdge(sg::START, "a").addEdge(sg::START, "b").addEdge({"a", "b"}, "c").addEdge("c", sg::END);
    std::shared_ptr<sg::BaseCheckpointSaver> checkpointer = std::make_shared<sg::MemorySaver>();
    if (saver == Saver::later) checkpointer = std::make_shared<LaterSaver>(std::move(checkpointer));
    return graph.compile({.checkpointer = std::move(checkpointer), .executor = std::move(executor)});
}

const std::vector<int> all_of_it{0, 1, 2};

std::vector<int> stored(const App& app) { return app.getState({.thread_id = "t"}).values.out; }

/// Checks a disturbed run: it can be resumed, and nothing is lost.
bool isRight(const App& app, const drivers::Ended& ended) {
    if (!ended.failed()) return stored(app) == all_of_it;
    const bool has_begun = static_cast<bool>(app.getState({.thread_id = "t"}).config.checkpoint_id);
    const auto done = has_begun ? app.invoke(sg::RESUME, {.thread_id = "t"}) : app.invoke(Update{}, {.thread_id = "t"});
    return done.values.out == all_of_it && stored(app) == all_of_it;
}

drivers::Ended disturbed(const drivers::Driver& driver, const App& app) {
    try {
        return driver.run(app, Update{}, {.thread_id = "t"});
    } catch (...) {  // thrown by the call itself
        drivers::Ended ended;
        ended.error = std::current_exception();
        return ended;
    }
}

int wrong = 0;

void check(bool is_right, const drivers::Driver& driver, Kind kind, const char* what, long n) {
    if (is_right) return;
    if (++wrong <= 20) std::printf("%s, %s: wrong when %s %ld fails\n", driver.name.c_str(), nameOf(kind), what, n);
}

void failAllocations(const drivers::Driver& driver, Kind kind, Saver saver) {
    static const auto executor = std::make_shared<sg::Executor>(sg::ExecutorOptions{.threads_max = 4});
    (void)disturbed(driver, graphOf(kind, saver, executor));  // makes the objects that a process makes once
    // One driver fails the odd ones and the next one the even ones: most of what a run allocates is the same with both.
    static std::map<std::pair<Kind, Saver>, long> turns;
    for (long n = 1 + turns[{kind, saver}]++ % 2;; n += 2) {
        const App app = graphOf(kind, saver, executor);
        arm(n, never);
        const auto ended = disturbed(driver, app);
        if (!disarm()) break;
        check(isRight(app, ended), driver, kind, "allocation", n);
    }
}

/// Runs in a child process, since some threads are started only once. Returns 0 if the run is right, 1 if it is wrong,
/// 2 if it needs fewer than n threads.
int failThreads(const drivers::Driver& driver, Kind kind, Saver saver, long n) {
    const App app = graphOf(kind, saver, std::make_shared<sg::Executor>(sg::ExecutorOptions{.threads_max = 4}));
    arm(never, n - 1);
    const auto ended = disturbed(driver, app);
    if (!disarm()) return 2;
    return isRight(app, ended) ? 0 : 1;
}
void failEachThread(const drivers::Driver& driver, Kind kind, Saver saver) {
    for (long n = 1;; ++n) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(300);
            std::_Exit(failThreads(driver, kind, saver, n));
        }
        int status = 0;
        waitpid(child, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 2) break;
        check(WIFEXITED(status) && WEXITSTATUS(status) == 0, driver, kind, "thread", n);
        if (n > 20) break;
    }
}

}  // namespace

// With the numbers of a driver, a kind, a saver and a thread as arguments, runs only that case.
int main(int count, char** arguments) {
    if (count == 5) {
        const auto driver = static_cast<std::size_t>(std::atol(arguments[1]));
        return failThreads(drivers::crossed().at(driver), static_cast<Kind>(std::atoi(arguments[2])),
                           static_cast<Saver>(std::atoi(arguments[3])), std::atol(arguments[4]));
    }
    alarm(1780);  // turns an endless wait into a failure
    const auto onEach = [](auto run) {
        for (const drivers::Driver& driver : drivers::crossed()) {
            if (driver.ending == drivers::Ending::timed) continue;
            for (const Kind kind : {Kind::coroutines, Kind::mixed, Kind::blocking, Kind::subgraph}) {
                run(driver, kind, Saver::at_once);
                const bool waits = kind == Kind::coroutines || kind == Kind::subgraph;
                if (waits && driver.ending == drivers::Ending::plain) run(driver, kind, Saver::later);
            }
        }
    };
    onEach(failEachThread);  // runs first: the process has no threads yet that a child would lack
    onEach(failAllocations);
    std::printf("%d runs are wrong\n", wrong);
    return wrong == 0 ? 0 : 1;
}
