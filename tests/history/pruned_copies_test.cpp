// SECONDS: 60
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/stategraph.hpp>

#include "tests/support/sanitized.hpp"
#include "tests/support/savers.hpp"

// Random runs, edits, forks and prunes: each kept checkpoint of a pruned copy reads as in the thread that was not
// pruned, and leads to the same. The graph has subgraphs that remember, by themselves, by keys, and one in another.
// STATEGRAPH_HISTORIES=N executes N histories on each kind of saver, from STATEGRAPH_SEED on.
namespace sg = stategraph;

namespace {

using Words = std::vector<std::string>;

std::string joined(const Words& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
}

struct Leaf {
    Words memory = {};
    bool asks = false;
    std::string key = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("memory", &Leaf::memory, sg::append), sg::channel("asks", &Leaf::asks),
                            sg::channel("key", &Leaf::key));
    }
};
struct Deep {
    Words memory = {};
    std::string leaf = {};
    bool asks = false;
    static constexpr auto channels() {
        return sg::channels(sg::channel("memory", &Deep::memory, sg::append), sg::channel("leaf", &Deep::leaf),
                            sg::channel("asks", &Deep::asks));
    }
};
struct Root {
    Words log = {};
    std::int64_t dice = 0;
    static constexpr auto channels() {
        return sg::channels(sg::channel("log", &Root::log, sg::append), sg::channel("dice", &Root::dice));
    }
};
bool rolls(const Root& root, unsigned what) { return (static_cast<std::uint64_t>(root.dice) >> what & 1U) != 0; }

auto leafGraph() {
    sg::StateGraph<Leaf> graph;
    graph.addNode("remember", [](const Leaf& leaf, sg::Runtime& runtime) -> sg::Update<Leaf> {
        if (leaf.asks) (void)sg::interrupt(runtime, "go on?");
        return {sg::add(&Leaf::memory, "v" + std::to_string(leaf.memory.size()))};
    });
    graph.addEdge(sg::START, "remember").addEdge("remember", sg::END);
    return graph;
}
auto deepGraph() {
    sg::StateGraph<Deep> graph;
    graph.addNode("remember", [](const Deep& deep) -> sg::Update<Deep> {
        return {sg::add(&Deep::memory, "d" + std::to_string(deep.memory.size()))};
    });
    graph.addNode(
        "leaf", leafGraph().compile({.checkpointer = sg::PER_THREAD}),
        [](const Deep& deep) -> sg::Update<Leaf> { return {sg::set(&Leaf::asks, deep.asks)}; },
        [](const Leaf& leaf) -> sg::Update<Deep> { return {sg::set(&Deep::leaf, joined(leaf.memory))}; });
    graph.addEdge(sg::START, "remember").addEdge("remember", "leaf").addEdge("leaf", sg::END);
    return graph;
}
auto rootGraph(const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    const auto asks = [](const Root& root) -> sg::Update<Leaf> {
        return {sg::set(&Leaf::asks, rolls(root, 3)), sg::set(&Leaf::key, rolls(root, 4) ? "one" : "two")};
    };
    const auto tells = [](const char* name) {
        return [name](const Leaf& leaf) -> sg::Update<Root> {
            return {sg::add(&Root::log, name + ("=" + joined(leaf.memory)))};
        };
    };
    sg::StateGraph<Root> graph;
    graph.addNode("begin", [](const Root&) -> sg::Update<Root> { return {sg::add(&Root::log, "begin")}; });
    graph.addNode("plain", leafGraph().compile({.checkpointer = sg::PER_THREAD}), asks, tells("plain"));
    graph.addNode("keyed",
                  leafGraph().compile({.checkpointer = sg::perThread([](const Leaf& leaf) { return leaf.key; })}), asks,
                  tells("keyed"));
    graph.addNode(
        "deep", deepGraph().compile({.checkpointer = sg::PER_THREAD}),
        [](const Root& root) -> sg::Update<Deep> { return {sg::set(&Deep::asks, rolls(root, 5))}; },
        [](const Deep& deep) -> sg::Update<Root> {
            return {sg::add(&Root::log, "deep=" + joined(deep.memory) + "/" + deep.leaf)};
        });
    graph.addNode("end", [](const Root&) -> sg::Update<Root> { return {}; });
    graph.addEdge(sg::START, "begin");
    graph.addConditionalEdges("begin",
                              [](const Root& root) {
                                  Words next;
                                  if (rolls(root, 0)) next.emplace_back("plain");
                                  if (rolls(root, 1)) next.emplace_back("keyed");
                                  if (rolls(root, 2)) next.emplace_back("deep");
                                  if (next.empty()) next.emplace_back("end");
                                  return next;
                              },
                              {"plain", "keyed", "deep", "end"});
    for (const char* name : {"plain", "keyed", "deep"}) graph.addEdge(name, "end");
    return graph.compile({.checkpointer = saver});
}
using App = decltype(rootGraph(nullptr));

class History {
public:
    History(const App& app, sg::BaseCheckpointSaver& saver, unsigned seed) : app_(app), saver_(saver), random_(seed) {}

    void step() {
        const unsigned what = roll(100);
        const auto state = app_.getState(thread_);
        if (!state.interrupts().empty() && what < 40) return answer("t", state);
        if (what < 45) return run("t", diceInput(), {});
        if (what < 75) return editInside();
        auto past = app_.getStateHistory(thread_, {.limit = 30, .values = false});
        std::vector<sg::CheckpointId> ids;
        for (const auto& each : past) ids.push_back(each.config.checkpoint_id);
        if (ids.empty()) return;
        const sg::CheckpointId at = ids[roll(static_cast<unsigned>(ids.size()))];
        if (what < 88) {
            const char* const as[] = {"begin", "end", "plain", "deep"};
            (void)app_.updateState({.thread_id = "t", .checkpoint_id = roll(3) == 0 ? sg::CheckpointId() : at},
                                   {sg::set(&Root::dice, dice()), sg::add(&Root::log, "edit")},
                                   {.as_node = as[roll(4)]});
            return;
        }
        run("t", sg::RESUME, at);
    }

    // Prunes a copy, and compares it.
    void compare() {
        saver_.deleteThread("pruned");
        saver_.copyThread("t", "pruned");
        for (unsigned times = 1 + roll(2); times > 0; --times) {
            sg::PruneRequest request{.thread_id = "pruned", .keep_last = 1 + roll(roll(2) == 0 ? 3 : 15)};
            request.rewrite = static_cast<sg::Rewrite>(roll(3));
            (void)saver_.prune(request);
        }
        for (const char* const ns : {"plain", "keyed:=one", "keyed:=two", "deep|leaf"})
            CHECK(memoryOf<Leaf>("t", ns) == memoryOf<Leaf>("pruned", ns));
        CHECK(memoryOf<Deep>("t", "deep") == memoryOf<Deep>("pruned", "deep"));
        std::vector<sg::CheckpointId> kept;
        for (const auto& each : app_.getStateHistory({.thread_id = "pruned"})) {
            const sg::CheckpointId id = each.config.checkpoint_id;
            kept.push_back(id);
            const auto whole = app_.getState({.thread_id = "t", .checkpoint_id = id});
            CHECK(whole.values.log == each.values.log);
            CHECK(whole.next == each.next);
        }
        REQUIRE_FALSE(kept.empty());
        const sg::CheckpointId places[] = {
            {}, kept.front(), kept[roll(static_cast<unsigned>(kept.size()))], kept.back()};
        for (const sg::CheckpointId at : places) {
            INFO("from checkpoint " << at.toString());
            const sg::Update<Root> input = diceInput();
            CHECK(outcomeOf("t", input, at) == outcomeOf("pruned", input, at));
        }
    }

private:
    unsigned roll(unsigned below) { return random_() % below; }
    std::int64_t dice() { return static_cast<std::int64_t>(roll(64)); }
    sg::Update<Root> diceInput() { return {sg::set(&Root::dice, dice())}; }

    template <class Input>
    void run(const std::string& thread, Input input, sg::CheckpointId at) {
        (void)app_.invoke(std::move(input), sg::RunConfig{.thread_id = thread, .checkpoint_id = at});
    }
    void answer(const std::string& thread, const sg::StateSnapshot<Root>& state) {
        sg::Command<Root> command;
        for (const auto& each : state.interrupts()) command.answers.push_back({each.id, "yes"});
        run(thread, std::move(command), {});
    }
    void editInside() {
        const std::string word = "e" + std::to_string(++edits_);
        const unsigned which = roll(5);
        const sg::Config at{.thread_id = "t", .checkpoint_ns = logs[which]};
        const std::string as = roll(2) == 0 ? sg::START : "remember";
        if (which == 4) {
            (void)app_.updateState<Deep>(at, {sg::add(&Deep::memory, word)}, {.as_node = as});
        } else {
            (void)app_.updateState<Leaf>(at, {sg::add(&Leaf::memory, word)}, {.as_node = as});
        }
    }
    template <class State>
    Words memoryOf(const std::string& thread, const std::string& ns) {
        return app_.getState<State>({.thread_id = thread, .checkpoint_ns = ns}).values.memory;
    }
    // What a copy of the thread has after it has gone on from there, and was given new input.
    std::string outcomeOf(const std::string& thread, const sg::Update<Root>& input, sg::CheckpointId at) {
        saver_.deleteThread("copy");
        saver_.copyThread(thread, "copy");
        if (at) run("copy", sg::RESUME, at);
        std::string text;
        for (int rounds = 0; rounds < 2; ++rounds) {
            for (int i = 0; i < 5; ++i) {
                const auto state = app_.getState({.thread_id = "copy"});
                text += joined(state.values.log) + ";" + joined(state.next) + ";";
                if (state.interrupts().empty()) break;
                answer("copy", state);
            }
            if (rounds == 0) run("copy", sg::Update<Root>(input), {});
        }
        return text;
    }

    static constexpr const char* logs[] = {"plain", "keyed:=one", "keyed:=two", "deep|leaf", "deep"};

    const App& app_;
    sg::BaseCheckpointSaver& saver_;
    std::mt19937 random_;
    int edits_ = 0;
    const sg::Config thread_{.thread_id = "t"};
};

unsigned numberOf(const char* name, unsigned other) {
    const char* const given = std::getenv(name);
    return given != nullptr ? static_cast<unsigned>(std::atoi(given)) : other;
}

}  // namespace

TEST_CASE("each kept checkpoint of a pruned copy reads and leads on as in the whole thread, on random histories") {
    savers::onEach([](savers::Store& store) {
        const unsigned count = numberOf("STATEGRAPH_HISTORIES", sanitized::some(20));
        const unsigned first = numberOf("STATEGRAPH_SEED", 1 + sanitized::turn() * 20);
        const auto saver = store.open();
        const App app = rootGraph(saver);
        for (unsigned seed = first; seed < first + count; ++seed) {
            CAPTURE(seed);
            saver->deleteThread("t");
            History history(app, *saver, seed);
            for (int round = 0; round < 3; ++round) {
                for (int i = 0; i < 7; ++i) history.step();
                if (saver->getTuple({.log = {"t"}})) history.compare();
            }
        }
    });
}
