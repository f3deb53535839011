#include <cstdint>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/async.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/support/drivers.hpp"

// User types that need a larger alignment than usual or have their own operator new, in every place where the library
// creates them.
namespace sg = stategraph;

namespace {

int misplaced = 0;

/// Every constructor checks the address.
struct alignas(64) Wide {
    int x = 0;
    char pad[200] = {};

    Wide() { look(); }
    explicit Wide(int value) : x(value) { look(); }
    Wide(const Wide& other) : x(other.x) { look(); }
    Wide& operator=(const Wide& other) {
        x = other.x;
        look();
        return *this;
    }
    void look() const {
        if (reinterpret_cast<std::uintptr_t>(this) % alignof(Wide) != 0) ++misplaced;
    }
};

int taken = 0;
int returned = 0;

/// Its memory comes from a pool; returning it to the global allocator would crash.
struct Pooled {
    int x = 0;
    char pad[200] = {};

    static void* operator new(std::size_t size) {
        ++taken;
        return static_cast<char*>(std::malloc(size + 64)) + 64;
    }
    static void operator delete(void* place) {
        ++returned;
        std::free(static_cast<char*>(place) - 64);
    }
};

}  // namespace

template <>
struct sg::Codec<Wide> {
    static void encode(sg::Encoder& out, const Wide& wide) { out.integer(wide.x); }
    static void decode(sg::Decoder& in, Wide& wide) {
        wide.look();
        wide.x = static_cast<int>(in.integer());
    }
};
template <>
struct sg::Codec<Pooled> {
    static void encode(sg::Encoder& out, const Pooled& pooled) { out.integer(pooled.x); }
    static void decode(sg::Decoder& in, Pooled& pooled) { pooled.x = static_cast<int>(in.integer()); }
};

namespace {

/// A type whose copy constructor can fail.
struct Heavy {
    static inline int alive = 0;
    static inline int copies_left = -1;  // how many succeed before one fails; negative: none fails
    char pad[200] = {};

    Heavy() { ++alive; }
    Heavy(const Heavy&) {
        if (copies_left-- == 0) throw std::bad_alloc();
        ++alive;
    }
    Heavy(Heavy&&) noexcept { ++alive; }
    Heavy& operator=(const Heavy&) = default;
    ~Heavy() { --alive; }
};

}  // namespace

template <>
struct sg::Codec<Heavy> {
    static void encode(sg::Encoder& out, const Heavy&) { out.null(); }
    static void decode(sg::Decoder& in, Heavy&) { in.skip(); }
};

namespace {

struct TwoHeavy {
    Heavy a = {};
    Heavy b = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("a", &TwoHeavy::a), sg::channel("b", &TwoHeavy::b));
    }
};

struct Special {
    Wide wide = {};
    Pooled pooled = {};
    std::vector<int> log = {};
    int n = 0;

    static constexpr auto channels() {
        return sg::channels(sg::channel("wide", &Special::wide), sg::channel("pooled", &Special::pooled),
                            sg::channel("log", &Special::log, sg::append), sg::channel("n", &Special::n));
    }
};
using Writes = sg::Update<Special>;

struct OnlyWide {
    Wide wide = {};
    static constexpr auto channels() { return sg::channels(sg::channel("wide", &OnlyWide::wide)); }
};

/// Values pass through writes, the records of a failed superstep, a Send, parts of the state, and coroutines.
sg::CompiledGraph<Special> specialGraph(const bool& fails) {
    sg::StateGraph<Special> graph;
    graph.addNode("wide",
                  [](const Special& state) -> Writes { return {sg::set(&Special::wide, Wide(state.wide.x + 1))}; });
    graph.addNode("pooled", [](const Special& state) -> sg::Task<Writes> {
        co_return Writes{sg::set(&Special::pooled, Pooled{.x = state.pooled.x + 1})};
    });
    graph.addNode("fails", [&fails](const Special&) -> Writes {
        if (fails) throw std::runtime_error("not yet");
        return {sg::set(&Special::n, 1)};
    });
    graph.addNode("sent", [&fails](const Wide& payload) -> Writes {
        payload.look();
        if (fails) throw std::runtime_error("not yet");
        return {sg::add(&Special::log, payload.x)};
    });
    graph.addNode("part", [](const OnlyWide& part) -> sg::Task<Writes> {
        part.wide.look();
        co_return Writes{sg::add(&Special::log, part.wide.x)};
    });
    for (const char* name : {"wide", "pooled", "fails"}) graph.addEdge(sg::START, name).addEdge(name, "part");
    graph.addConditionalEdges(
        sg::START, [](const Special&) { return std::vector<sg::Send>{sg::Send("sent", Wide(7))}; }, {"sent"});
    graph.addEdge("part", sg::END);
    return graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
}

}  // namespace

TEST_CASE(
    "over-aligned values and values of types with memory of their own are where and whose they should be, however a "
    "run is driven") {
    bool fails = false;
    const auto app = specialGraph(fails);
    for (const drivers::Driver& driver : drivers::crossed()) {
        CAPTURE(driver.name);
        misplaced = taken = returned = 0;
        fails = true;
        const sg::Config thread{.thread_id = driver.name};
        CHECK(
            driver
                .run(app, Writes{sg::set(&Special::wide, Wide(41)), sg::set(&Special::pooled, Pooled{.x = 1})}, thread)
                .failed());
        fails = false;
        const auto ended = driver.run(app, sg::RESUME, thread);
        REQUIRE(ended.what() == "");
        CHECK(ended.values.wide.x == 42);
        CHECK(ended.values.pooled.x == 2);
        CHECK(ended.values.log == std::vector<int>{7, 42});
        CHECK(app.getState(thread).values.wide.x == 42);
        CHECK(misplaced == 0);
        CHECK(taken == returned);
    }
}

TEST_CASE("a Task gives an over-aligned value") {
    misplaced = 0;
    const auto inner = []() -> sg::Task<Wide> { co_return Wide(1); };
    const auto outer = [&inner]() -> sg::Task<int> { co_return (co_await inner()).x; };
    CHECK(sg::syncWait(inner()).x == 1);
    CHECK(sg::syncWait(outer()) == 1);
}

TEST_CASE("an update whose copy fails leaves nothing") {
    const int before = Heavy::alive;
    {
        const sg::Update<TwoHeavy> update{sg::set(&TwoHeavy::a, Heavy()), sg::set(&TwoHeavy::b, Heavy())};
        for (int copies = 0; copies < 2; ++copies) {
            const int alive = Heavy::alive;
            Heavy::copies_left = copies;
            const auto copy = [&update] { return sg::Update<TwoHeavy>(update); };
            CHECK_THROWS_AS((void)copy(), std::bad_alloc);
            Heavy::copies_left = -1;
            CHECK(Heavy::alive == alive);
        }
    }
    CHECK(Heavy::alive == before);
}
