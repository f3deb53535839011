// SECONDS: 30
#include <map>

#include <doctest/doctest.h>
#include <stategraph/stategraph.hpp>

#include "tests/checkpoint/bytes.hpp"
#include "tests/support/history_graphs.hpp"
#include "tests/support/history_savers.hpp"
#include "tests/support/sanitized.hpp"

// What is read back is what was stored: random updates through every reducer, compared checkpoint by checkpoint.
namespace sg = stategraph;
using namespace history;

namespace {

const sg::Config T{.thread_id = "t"};
using Entries = std::map<std::string, int>;

struct All {
    std::string last = "default";
    std::vector<std::string> list = {"first"};
    std::int64_t sum = 7;
    std::int64_t min = 100;
    double max = -1;
    Entries map = {{"initial", 0}};
    std::string any = {};
    std::vector<int> once = {};
    std::vector<int> topic = {};
    std::string custom = {};
    int untracked = 0;

    static constexpr auto channels() {
        return sg::channels(
            sg::channel("last", &All::last), sg::channel("list", &All::list, sg::append),
            sg::channel("sum", &All::sum, sg::sum), sg::channel("min", &All::min, sg::min),
            sg::channel("max", &All::max, sg::max), sg::channel("map", &All::map, sg::merge),
            sg::channel("any", &All::any, sg::any_value), sg::channel("once", &All::once, sg::ephemeral),
            sg::channel("topic", &All::topic, sg::topic),
            sg::channel(
                "custom", &All::custom,
                sg::reduce("mix", [](const std::string& a, const std::string& b) { return (b + a).substr(0, 60); })),
            sg::channel("untracked", &All::untracked, sg::untracked));
    }
    bool operator==(const All&) const = default;
};

/// What a node saw at each checkpoint, without what is not stored.
using Seen = std::map<sg::CheckpointId, All>;

class Writer {
public:
    explicit Writer(bytes::Random& random) : random_(random) {}

    /// Returns some writes that several tasks may make at the same time.
    sg::Update<All> shared() {
        sg::Update<All> update;
        if (one(2)) update.with(sg::add(&All::list, text()));
        if (one(6)) update.with(sg::add(&All::list, Words{text(), text(), text()}));
        if (one(3)) update.with(sg::add(&All::sum, number()));
        if (one(3)) update.with(sg::add(&All::min, number()));
        if (one(3)) update.with(sg::add(&All::max, static_cast<double>(number()) / 8));
        if (one(3)) update.with(sg::merge(&All::map, {{text().substr(0, 1), 1}, {text().substr(0, 2), 2}}));
        if (one(3)) update.with(sg::set(&All::any, text()));
        if (one(3)) update.with(sg::add(&All::topic, static_cast<int>(number())));
        if (one(3)) update.with(sg::add(&All::custom, text()));
        return update;
    }
    /// Adds some writes that only one task may make.
    sg::Update<All> alone() {
        sg::Update<All> update = shared();
        if (one(3)) update.with(sg::set(&All::last, text()));
        if (one(20)) update.with(sg::clear(&All::map));
        if (one(3)) update.with(sg::set(&All::once, {static_cast<int>(number())}));
        if (one(3)) update.with(sg::set(&All::untracked, 5));
        if (one(12)) update.with(sg::overwrite(&All::list, Words{text()}));
        if (one(12)) update.with(sg::overwrite(&All::sum, number()));
        if (one(12)) update.with(sg::overwrite(&All::custom, text()));
        return update;
    }
    bool one(std::size_t in) { return random_.chance(in); }

private:
    std::string text() { return std::string(1 + random_.below(30), static_cast<char>('a' + random_.below(26))); }
    std::int64_t number() { return static_cast<std::int64_t>(random_.below(200)) - 100; }
    bytes::Random& random_;
};

/// n → p, q → n …, where a superstep sometimes ends the run.
sg::CompiledGraph<All> randomGraph(const SharedSaver& saver, Writer& writer, Seen& seen) {
    const auto note = [&seen](const All& state, sg::Runtime& runtime) {
        All& stored = seen[runtime.checkpointId()];
        stored = state;
        stored.untracked = 0;
    };
    sg::StateGraph<All> graph;
    graph
        .addNode("n",
                 [&writer, note](const All& state, sg::Runtime& runtime) {
                     note(state, runtime);
                     return writer.alone();
                 })
        .addNode("p",
                 [&writer, note](const All& state, sg::Runtime& runtime) {
                     note(state, runtime);
                     return writer.shared();
                 })
        .addNode("q", [&writer](const All&) { return writer.shared(); })
        .addEdge(sg::START, "n")
        .addEdge("n", "p")
        .addEdge("n", "q")
        .addConditionalEdges("p", [&writer](const All&) { return writer.one(20) ? sg::END : "n"; }, {"n", sg::END});
    return graph.compile({.checkpointer = saver});
}

std::size_t compare(const sg::CompiledGraph<All>& app, const Seen& seen) {
    std::size_t compared = 0;
    for (const auto& snapshot : app.getStateHistory(T)) {
        const auto found = seen.find(snapshot.config.checkpoint_id);
        if (found == seen.end()) continue;
        ++compared;
        REQUIRE(snapshot.values == found->second);
        if (compared % 10 == 0) REQUIRE(app.getState(snapshot.config).values == found->second);
    }
    return compared;
}

void runRandomly(const SharedSaver& saver, std::uint64_t seed) {
    CAPTURE(seed);
    bytes::Random random(seed);
    Writer writer(random);
    Seen seen;
    const auto app = randomGraph(saver, writer, seen);
    const auto run = [&](const auto& input, sg::RunConfig config) {
        config.recursion_limit = 8 + static_cast<int>(random.below(30));
        config.max_concurrency = 1;  // so that a seed says it all
        config.durability = static_cast<sg::Durability>(random.below(3));
        try {
            const auto result = app.invoke(input, config);
            All live = result.values;
            live.untracked = 0;
            REQUIRE(app.getState(result.config).values == live);
        } catch (const sg::GraphRecursionError&) {
        }
    };
    run(writer.alone(), {.thread_id = "t"});
    for (int round = 0; round < 12; ++round) {
        CAPTURE(round);
        std::vector<sg::Config> all;
        for (const auto& snapshot : app.getStateHistory(T, {.values = false})) all.push_back(snapshot.config);
        const sg::Config somewhere = all[random.below(all.size())];
        switch (random.below(4)) {
            case 0:
                run(sg::RESUME, somewhere);
                break;
            case 1:
                run(writer.alone(), {.thread_id = "t"});
                break;
            case 2:
                run(writer.alone(), somewhere);
                break;
            default:
                run(sg::RESUME, app.updateState(somewhere, writer.alone(), {.as_node = random.chance(2) ? "n" : "p"}));
        }
        if (round % 4 == 3) compare(app, seen);
    }
    CHECK(compare(app, seen) > 5);
}

}  // namespace

TEST_CASE("every checkpoint reads back as the state that its tasks saw, through forks, edits and every durability") {
    // quirk 8: there is one order of writes, live and read back.
    const std::uint64_t seed = tests::seed();
    for (std::uint64_t n = 0; n < sanitized::some(6); ++n) {
        onBothSavers([&](const SharedSaver& saver) { runRandomly(saver, seed + n); });
    }
}

TEST_CASE("parallel appends are read back in the order in which they were applied") {
    // quirk 8
    onBothSavers([](const SharedSaver& saver) {
        LineGraph graph;
        for (const char* name : {"e", "b", "d", "a", "c"}) graph.addNode(name, saying(name)).addEdge(sg::START, name);
        const LineApp app = graph.compile({.checkpointer = saver});
        const auto result = app.invoke(says("i"), {.thread_id = "t"});
        CHECK(result.values.v == Words{"i", "a", "b", "c", "d", "e"});
        CHECK(app.getState(T).values.v == result.values.v);
    });
}

TEST_CASE("an overwrite that is a channel's first value is stored as that value") {
    // quirk 5
    onBothSavers([](const SharedSaver& saver) {
        LineGraph graph;
        graph.addNode("a", [](const Line&) -> sg::Update<Line> { return {sg::overwrite(&Line::v, {"only"})}; });
        const LineApp app = graph.addEdge(sg::START, "a").compile({.checkpointer = saver});
        CHECK(app.invoke(sg::Update<Line>(), {.thread_id = "t"}).values.v == Words{"only"});
        CHECK(app.getState(T).valuesAsJson() == R"({"v":["only"]})");
        CHECK(
            app.invoke({sg::overwrite(&Line::v, {"input"})}, {.thread_id = "u", .interrupt_before = {"a"}}).values.v ==
            Words{"input"});
        CHECK(app.getState({.thread_id = "u"}).values.v == Words{"input"});
    });
}
