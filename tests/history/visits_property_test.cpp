// SECONDS: 50
#include <atomic>
#include <map>
#include <random>
#include <set>
#include <stdexcept>

#include <doctest/doctest.h>

#include <stategraph/stategraph.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/savers.hpp"

// Logs that live with the thread (PER_THREAD, perThread), on random ways through a thread's past: every visit must find
// exactly what its own branch wrote. The model is the root's own state, which contains what each log should have. Each
// visit gets it as input, compares, writes one more, and returns what its log then has.
namespace sg = stategraph;

namespace {

using Words = std::vector<std::string>;

struct Leaf {
    Words memory = {};
    Words expected = {};
    std::string token = {};
    bool asks = false;
    static constexpr auto channels() {
        return sg::channels(sg::channel("memory", &Leaf::memory, sg::append), sg::channel("expected", &Leaf::expected),
                            sg::channel("token", &Leaf::token), sg::channel("asks", &Leaf::asks));
    }
};
/// Remembers by itself, and visits a leaf twice that remembers too.
struct Deep {
    Words memory = {};
    Words expected = {};
    Words leaf = {};
    std::string token = {};
    bool asks = false;
    int rounds = 0;
    static constexpr auto channels() {
        return sg::channels(sg::channel("memory", &Deep::memory, sg::append), sg::channel("expected", &Deep::expected),
                            sg::channel("leaf", &Deep::leaf), sg::channel("token", &Deep::token),
                            sg::channel("asks", &Deep::asks), sg::channel("rounds", &Deep::rounds));
    }
};
using Model = std::map<std::string, Words>;
struct Root {
    Model model = {};
    std::int64_t dice = 0;
    int turn = 0;
    static constexpr auto channels() {
        return sg::channels(sg::channel("model", &Root::model, sg::merge), sg::channel("dice", &Root::dice),
                            sg::channel("turn", &Root::turn));
    }
};

/// What the graphs of one test share.
struct World {
    std::atomic<int> tokens{0};
    std::atomic<int> wrong{0};
    std::atomic<int> visits{0};
    std::atomic<bool> fails{false};

    std::string token() { return std::to_string(++tokens); }
    void check(const Words& found, const Words& expected) {
        ++visits;
        if (found != expected) ++wrong;
    }
};

Words of(const Model& model, const std::string& log) {
    const auto found = model.find(log);
    return found == model.end() ? Words() : found->second;
}
bool rolls(const Root& root, unsigned what) {
    return (static_cast<std::uint64_t>(root.dice * 31 + root.turn * 7) >> what & 1U) != 0;
}
std::string keyOf(const Root& root) { return rolls(root, 2) ? "one" : "two"; }

auto leafGraph(World& world) {
    sg::StateGraph<Leaf> graph;
    graph.addNode("check", [&world](const Leaf& leaf, sg::Runtime& runtime) -> sg::Update<Leaf> {
        world.check(leaf.memory, leaf.expected);
        if (leaf.asks) (void)sg::interrupt(runtime, "leaf?");
        return {};
    });
    graph.addNode("write", [](const Leaf& leaf) -> sg::Update<Leaf> { return {sg::add(&Leaf::memory, leaf.token)}; });
    graph.addEdge(sg::START, "check").addEdge("check", "write");
    return graph;
}

auto deepGraph(World& world) {
    sg::StateGraph<Deep> graph;
    graph.addNode("check", [&world](const Deep& deep, sg::Runtime& runtime) -> sg::Update<Deep> {
        world.check(deep.memory, deep.expected);
        if (deep.asks) (void)sg::interrupt(runtime, "deep?");
        return {sg::set(&Deep::rounds, 0)};
    });
    graph.addNode(
        "leaf", leafGraph(world).compile({.checkpointer = sg::PER_THREAD}),
        [&world](const Deep& deep) -> sg::Update<Leaf> {
            return {sg::set(&Leaf::expected, deep.leaf), sg::set(&Leaf::token, world.token()),
                    sg::set(&Leaf::asks, deep.asks && deep.rounds == 0)};
        },
        [](const Leaf& leaf) -> sg::Update<Deep> { return {sg::set(&Deep::leaf, leaf.memory)}; });
    graph.addNode("count", [](const Deep& deep) -> sg::Update<Deep> {
        if (deep.rounds == 0) return {sg::set(&Deep::rounds, 1)};
        return {sg::set(&Deep::rounds, 2), sg::add(&Deep::memory, deep.token)};
    });
    graph.addEdge(sg::START, "check").addEdge("check", "leaf").addEdge("leaf", "count");
    graph.addConditionalEdges("count", [](const Deep& deep) { return std::string(deep.rounds < 2 ? "leaf" : sg::END); },
                              {"leaf", sg::END});
    return graph;
}

auto rootGraph(World& world, const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    const auto enterLeaf = [&world](const std::string& log, bool asks) {
        return [&world, log, asks](const Root& root) -> sg::Update<Leaf> {
            return {sg::set(&Leaf::expected, of(root.model, log)), sg::set(&Leaf::token, world.token()),
                    sg::set(&Leaf::asks, asks && rolls(root, 4))};
        };
    };
    sg::StateGraph<Root> graph;
    graph.addNode("begin", [](const Root& root) -> sg::Update<Root> { return {sg::set(&Root::turn, root.turn + 1)}; });
    graph.addNode("plain", leafGraph(world).compile({.checkpointer = sg::PER_THREAD}), enterLeaf("plain", true),
                  [](const Leaf& leaf) -> sg::Update<Root> {
                      return {sg::merge(&Root::model, {{"plain", leaf.memory}})};
                  });
    // The key comes with the expected value, because the key selects the log, and so what it should have.
    graph.addNode(
        "keyed",
        leafGraph(world).compile(
            {.checkpointer = sg::perThread([](const Leaf& leaf) { return leaf.token.substr(0, 3); })}),
        [&world](const Root& root) -> sg::Update<Leaf> {
            const std::string key = keyOf(root);
            return {sg::set(&Leaf::expected, of(root.model, key)), sg::set(&Leaf::token, key + world.token()),
                    sg::set(&Leaf::asks, false)};
        },
        [](const Leaf& leaf) -> sg::Update<Root> {
            return {sg::merge(&Root::model, {{leaf.token.substr(0, 3), leaf.memory}})};
        });
    graph.addNode(
        "deep", deepGraph(world).compile({.checkpointer = sg::PER_THREAD}),
        [&world](const Root& root) -> sg::Update<Deep> {
            return {sg::set(&Deep::expected, of(root.model, "deep")), sg::set(&Deep::leaf, of(root.model, "leaf")),
                    sg::set(&Deep::token, world.token()), sg::set(&Deep::asks, rolls(root, 5))};
        },
        [](const Deep& deep) -> sg::Update<Root> {
            return {sg::merge(&Root::model, {{"deep", deep.memory}, {"leaf", deep.leaf}})};
        });
    graph.addNode("shaky", [&world](const Root& root) -> sg::Update<Root> {
        if (world.fails && rolls(root, 1)) throw std::runtime_error("shaky");
        return {};
    });
    graph.addNode("end", [](const Root&) -> sg::Update<Root> { return {}; });
    graph.addEdge(sg::START, "begin");
    graph.addConditionalEdges("begin",
                              [](const Root& root) {
                                  Words visits{"shaky"};
                                  if (rolls(root, 0)) visits.emplace_back("plain");
                                  if (rolls(root, 3)) visits.emplace_back("keyed");
                                  if (rolls(root, 6) || visits.size() == 1) visits.emplace_back("deep");
                                  return visits;
                              },
                              {"shaky", "plain", "keyed", "deep"});
    for (const char* name : {"shaky", "plain", "keyed", "deep"}) graph.addEdge(name, "end");
    graph.addConditionalEdges("end",
                              [](const Root& root) { return std::string(root.turn % 3 != 0 ? "begin" : sg::END); },
                              {"begin", sg::END});
    return graph.compile({.checkpointer = saver});
}
using App = decltype(rootGraph(std::declval<World&>(), nullptr));

class Traveller {
public:
    Traveller(World& world, const App& app, sg::BaseCheckpointSaver& saver, unsigned seed)
        : world_(world), app_(app), saver_(saver), random_(seed) {}

    void step() {
        const auto state = app_.getState(thread_);
        const bool asks = !state.interrupts().empty();
        const unsigned what = roll(100);
        if (asks && what < 55) return run(answerOf(state), {});
        if (!state.next.empty() && what < 65) return run(sg::RESUME, {});
        // New input while a visit waits would continue from what that visit has written, which the model does not know.
        if (state.next.empty() && what < 35)
            return run(sg::Update<Root>{sg::set(&Root::dice, static_cast<std::int64_t>(roll(1U << 16U))),
                                        sg::set(&Root::turn, static_cast<int>(roll(3)))},
                       {});
        std::vector<sg::StateSnapshot<Root>> past;
        for (auto& each : app_.getStateHistory(thread_, {.limit = 40})) {
            if (!each.next.empty()) past.push_back(std::move(each));
        }
        if (past.empty()) return;
        const auto& at = past[roll(static_cast<unsigned>(past.size()))];
        if (what < 75 && !at.interrupts().empty()) return run(answerOf(at), at.config.checkpoint_id);
        if (what < 85) {
            (void)app_.updateState(at.config, {sg::set(&Root::dice, static_cast<std::int64_t>(roll(1U << 16U)))},
                                   {.as_node = "end"});
            return;
        }
        run(sg::RESUME, at.config.checkpoint_id);
    }
    /// From every checkpoint that there is.
    void replayAll() {
        std::vector<sg::CheckpointId> past;
        for (const auto& each : app_.getStateHistory(thread_, {.values = false})) {
            if (!each.next.empty()) past.push_back(each.config.checkpoint_id);
        }
        for (const sg::CheckpointId id : past) run(sg::RESUME, id);
    }
    void prune() {
        sg::PruneRequest request{.thread_id = "t", .keep_last = 1 + roll(12)};
        request.rewrite = static_cast<sg::Rewrite>(roll(3));
        (void)saver_.prune(request);
    }

private:
    unsigned roll(unsigned below) { return random_() % below; }
    sg::Command<Root> answerOf(const sg::SnapshotData& state) {
        return {.answers = {{state.interrupts().at(0).id, "yes"}}};
    }
    template <class Input>
    void run(Input input, sg::CheckpointId at) {
        sg::RunConfig config{.thread_id = "t", .checkpoint_id = at, .durability = static_cast<sg::Durability>(roll(3))};
        world_.fails = roll(4) == 0;
        const auto& all = drivers::all();
        const auto outcome = all[roll(static_cast<unsigned>(all.size()))].run(app_, std::move(input), config);
        world_.fails = false;
        if (outcome.failed()) CHECK_MESSAGE(outcome.what().find("shaky") != std::string::npos, outcome.what());
    }

    World& world_;
    const App& app_;
    sg::BaseCheckpointSaver& saver_;
    std::mt19937 random_;
    const sg::Config thread_{.thread_id = "t"};
};

}  // namespace

TEST_CASE(
    "every visit of a log that lives with the thread finds what its own branch wrote, on random ways through the "
    "past") {
    savers::onEach([](savers::Store& store) {
        for (unsigned seed = 1 + sanitized::turn() * 6, end = seed + sanitized::some(6); seed < end; ++seed) {
            CAPTURE(seed);
            World world;
            const auto saver = store.open();
            saver->deleteThread("t");
            const App app = rootGraph(world, saver);
            Traveller traveller(world, app, *saver, seed);
            for (int i = 0; i < 40; ++i) traveller.step();
            traveller.replayAll();
            CHECK(world.visits > 50);
            CHECK(world.wrong == 0);
        }
    });
}

TEST_CASE("every visit of a log that lives with the thread finds what its own branch wrote, also after prunes") {
    savers::onEach([](savers::Store& store) {
        for (unsigned seed = 101 + sanitized::turn() * 6, end = seed + sanitized::some(6); seed < end; ++seed) {
            CAPTURE(seed);
            World world;
            const auto saver = store.open();
            saver->deleteThread("t");
            const App app = rootGraph(world, saver);
            Traveller traveller(world, app, *saver, seed);
            for (int round = 0; round < 5; ++round) {
                for (int i = 0; i < 10; ++i) traveller.step();
                traveller.prune();
            }
            traveller.replayAll();
            CHECK(world.wrong == 0);
        }
    });
}
