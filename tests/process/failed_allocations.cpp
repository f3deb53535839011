// NOT WITH: sanitize
// Each allocation of a run fails once, each in a separate process. The run must either end as if nothing had failed, or
// report the failure and be resumable. No process may die, and no value may be destroyed twice.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <stategraph/async.hpp>
#include <stategraph/control.hpp>
#include <stategraph/error.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/stategraph.hpp>

namespace {

std::atomic<bool> armed = false;
std::atomic<long> countdown = 0;
std::atomic<bool> was_hit = false;

void* take(std::size_t size) {
    if (armed.load(std::memory_order_relaxed) && countdown.fetch_sub(1) == 1) {
        was_hit = true;
        throw std::bad_alloc();
    }
    if (void* place = std::malloc(size > 0 ? size : 1)) return place;
    throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return take(size); }
void operator delete(void* place) noexcept { std::free(place); }
void operator delete(void* place, std::size_t) noexcept { std::free(place); }

namespace sg = stategraph;
using namespace std::chrono_literals;

namespace {

/// Counts its live objects.
struct Counted {
    static inline std::atomic<int> alive = 0;
    int x = 0;
    Counted() { ++alive; }
    Counted(const Counted& other) : x(other.x) { ++alive; }
    Counted& operator=(const Counted&) = default;
    ~Counted() { --alive; }
};

}  // namespace

template <>
struct sg::Codec<Counted> {
    static void encode(sg::Encoder& out, const Counted& value) { out.integer(value.x); }
    static void decode(sg::Decoder& in, Counted& value) { value.x = static_cast<int>(in.integer()); }
};

namespace {

struct State {
    std::vector<int> out = {};
    Counted counted = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("out", &State::out, sg::append), sg::channel("counted", &State::counted));
    }
};
using Writes = sg::Update<State>;

enum class Kind { plain, stoppable, retried, streamed, streamed_retried };
constexpr const char* names[] = {"invoke", "with control", "with control and a retry", "live stream with control",
                                 "live stream with a retry"};

sg::CompiledGraph<State> graphFor(Kind kind) {
    const bool fails = kind == Kind::retried || kind == Kind::streamed_retried;
    const auto tries = std::make_shared<std::atomic<int>>(0);
    sg::StateGraph<State> graph;
    graph.addNode("a",
                  [tries, fails](const State&) -> Writes {
                      if (fails && tries->fetch_add(1) == 0) throw 1;
                      return {sg::add(&State::out, 0)};
                  },
                  {.retry = {.max_attempts = 3, .initial_interval = 0.05ms, .retry_on = [](const std::exception_ptr&) {
                                 return true;
                             }}});
    graph.addNode("b", [](const State&) -> Writes { return {sg::add(&State::out, 1)}; });
    graph.addNode("c", [](const State&) -> Writes { return {sg::add(&State::out, 2)}; });
    graph.addEdge(sg::START, "a").addEdge(sg::START, "b").addEdge("a", "c").addEdge("b", "c").addEdge("c", sg::END);
    return graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
}

constexpr int no_more = 77;

/// Returns the exit code of the process: `no_more` if there are fewer allocations than `number`.
int runWithFailure(Kind kind, long number) {
    const auto app = graphFor(kind);
    // Makes the objects that a process makes once.
    (void)graphFor(Kind::plain).invoke(Writes{}, {.thread_id = "first"});
    sg::RunConfig config{.thread_id = "1"};
    if (kind != Kind::plain) config.control = std::make_shared<sg::RunControl>();
    const bool is_streamed = kind == Kind::streamed || kind == Kind::streamed_retried;
    const int alive = Counted::alive;
    bool threw = false;
    countdown = number;
    try {
        armed = true;
        if (is_streamed) {
            for (const auto& event :
                 app.stream(Writes{}, config, {.modes = {sg::StreamMode::custom, sg::StreamMode::updates}}))
                (void)event;
        } else {
            (void)app.invoke(Writes{}, config);
        }
    } catch (...) {
        armed = false;
        threw = true;
    }
    armed = false;
    if (!was_hit) return no_more;
    if (threw) {
        try {
            (void)app.invoke(sg::RESUME, {.thread_id = "1"});
        } catch (const sg::EmptyInputError&) {  // the failure came before anything was stored
            (void)app.invoke(Writes{}, {.thread_id = "1"});
        }
    }
    if (app.getState({.thread_id = "1"}).values.out != std::vector<int>{0, 1, 2}) return 1;
    // Objects on the threads of attempts may be destroyed a little later.
    for (int i = 0; i < 200'000 && Counted::alive != alive; ++i) usleep(1000);  // sleeps: between two looks
    return Counted::alive == alive ? 0 : 2;
}

}  // namespace

int main() {
    bool good = true;
    for (const Kind kind : {Kind::plain, Kind::stoppable, Kind::retried, Kind::streamed, Kind::streamed_retried}) {
        for (long number = 1;; ++number) {
            const pid_t child = fork();
            if (child == 0) {
                alarm(300);
                std::_Exit(runWithFailure(kind, number));
            }
            int status = 0;
            (void)waitpid(child, &status, 0);
            if (WIFEXITED(status) && WEXITSTATUS(status) == no_more) break;
            if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
            std::printf("%s: allocation %ld fails: status %d\n", names[static_cast<int>(kind)], number, status);
            good = false;
        }
    }
    return good ? 0 : 1;
}
