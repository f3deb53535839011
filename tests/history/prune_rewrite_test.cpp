#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <doctest/doctest.h>

#include <stategraph/codec_std.hpp>
#include <stategraph/memory_saver.hpp>

#include "tests/checkpoint/bytes.hpp"
#include "tests/golden/rows.hpp"
#include "tests/golden/threads_v1.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// Threads that graphs wrote are pruned down to a few checkpoints, each of which is written whole or read from one that
// is. All of them look as before, and the thread ends as it would have.
namespace sg = stategraph;
using graphs::App;
using graphs::Strings;
using graphs::Update;

namespace {

namespace json = boost::json;

// Returns the snapshots in a description of a thread, by log and checkpoint.
std::map<std::string, json::value> snapshotsOf(const std::string& description) {
    std::map<std::string, json::value> all;
    const json::value parsed = json::parse(description);
    for (const auto& [log, list] : parsed.as_object()) {
        if (log == "state") {
            all.emplace("state", list);
            continue;
        }
        for (const auto& snapshot : list.as_array())
            all.emplace(std::string(log) + " " + json::serialize(snapshot.at("config")), snapshot);
    }
    return all;
}

std::string goldenRows() {
    std::ifstream in(std::filesystem::path(STATEGRAPH_TESTS_DIR) / "golden" / "v1" / "rows.txt", std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    REQUIRE(in.good());
    return text.str();
}

// Returns the number of the pruned thread's snapshots. All of them existed before, with the same content.
std::size_t compare(const std::map<std::string, json::value>& before, const std::map<std::string, json::value>& after) {
    for (const auto& [key, snapshot] : after) {
        CAPTURE(key);
        REQUIRE(before.contains(key));
        CHECK(json::serialize(snapshot) == json::serialize(before.at(key)));
    }
    return after.size();
}

}  // namespace

TEST_CASE("threads that the first version stored look and end as ever, however few of their checkpoints are kept") {
    const std::string rows = goldenRows();
    const auto load = [&rows] {
        const auto saver = std::make_shared<sg::MemorySaver>();
        golden::load(rows, *saver);
        return saver;
    };
    const golden::SharedSaver whole = load();
    for (const auto& thread : golden::threads()) {
        CAPTURE(thread.name);
        const auto before = snapshotsOf(thread.describe(whole));
        const std::size_t count = whole->list({.thread_id = thread.name, .checkpoint_ns = ""}).size();
        const std::string end = thread.finish(load());
        // Short threads are pruned to every length, long ones to some.
        for (std::size_t keep = 1; keep <= count; keep += keep < 6 ? 1 : 17) {
            CAPTURE(keep);
            const golden::SharedSaver saver = load();
            saver->prune({.thread_id = thread.name, .keep_last = keep});
            const auto kept = saver->list({.thread_id = thread.name, .checkpoint_ns = ""});
            CHECK(kept.size() >= keep);
            CHECK(compare(before, snapshotsOf(thread.describe(saver))) > keep);
            CHECK(thread.finish(saver) == end);
        }
    }
}

namespace {

struct Point {
    std::string name = {};
    static constexpr auto fields() { return sg::fields(sg::field("name", &Point::name)); }
};

// A loop over a fan with a join, a deferred node, Sends, a question and a subgraph that asks.
App makeGraph(const std::shared_ptr<sg::BaseCheckpointSaver>& saver, graphs::Log& log) {
    graphs::Graph inner;
    inner.addNode("one", graphs::appends("one")).addNode("ask", graphs::asks(log, "inner"));
    inner.addEdge(sg::START, "one").addEdge("one", "ask");
    graphs::Graph graph;
    const auto counts = [](std::string text) {
        return [text](const graphs::State& state) -> Update {
            return {sg::set(&graphs::State::foo, text + std::to_string(state.n)), sg::add(&graphs::State::n, 1),
                    sg::add(&graphs::State::bar, text)};
        };
    };
    graph.addNode("head", counts("head"))
        .addNode("left", graphs::appends("left"))
        .addNode("right", graphs::appends("right"));
    graph.addNode("far", graphs::appends("far"))
        .addNode("both", counts("both"))
        .addNode("late", graphs::appends("late"), {.defer = true});
    graph.addNode("asks", graphs::asks(log, "asks"));
    graph.addNode("work",
                  [](const Point& point) -> Update { return {sg::add(&graphs::State::bar, "sent " + point.name)}; });
    graph.addNode(
        "sub", inner.compile(), [](const graphs::State&) -> Update { return {}; },
        [](const graphs::State& done) -> Update { return {sg::add(&graphs::State::bar, done.bar.back())}; });
    graph.addEdge(sg::START, "head")
        .addEdge("head", "left")
        .addEdge("head", "right")
        .addEdge("right", "far")
        .addEdge("left", "late");
    graph.addEdge({"left", "far"}, "both").addEdge("both", "asks");
    graph.addConditionalEdges("asks", [](const graphs::State& state) {
        std::vector<sg::Send> sends;
        for (int i = 0; i < state.n % 3; ++i) sends.push_back({"work", Point{std::to_string(i)}});
        return sends;
    });
    graph.addConditionalEdges("asks",
                              [](const graphs::State& state) { return std::string(state.n % 5 < 3 ? "head" : "sub"); },
                              {{"head", "head"}, {"sub", "sub"}});
    return graph.compile({.checkpointer = saver});
}

std::vector<sg::StateSnapshot<graphs::State>> pastOf(const App& app, const std::string& thread) {
    std::vector<sg::StateSnapshot<graphs::State>> past;
    for (const auto& snapshot : app.getStateHistory({.thread_id = thread})) past.push_back(snapshot);
    return past;
}

// Does something that a user may do to a thread.
void act(const App& app, const std::string& thread, bytes::Random& random) {
    sg::RunConfig config{.thread_id = thread, .recursion_limit = 1 + static_cast<int>(random.below(12))};
    if (random.chance(3)) config.durability = sg::Durability::exit;
    const auto past = pastOf(app, thread);
    if (!past.empty() && random.chance(4)) config.checkpoint_id = past[random.below(past.size())].config.checkpoint_id;
    try {
        switch (random.below(past.empty() ? 1 : 6)) {
            case 0:
                app.invoke(graphs::bar("in " + random.text(5)), config);
                break;
            case 1:
                app.updateState({.thread_id = thread, .checkpoint_id = config.checkpoint_id}, graphs::bar("edit"),
                                {.as_node = "left"});
                break;
            case 2:
                app.invoke(sg::RESUME, config);
                break;
            default:
                app.invoke(sg::Command<>{.resume = "yes"}, config);
                break;
        }
    } catch (const sg::Error&) {
        // Limits, and questions that are not asked.
    }
}

std::string describeAs(const App& app, sg::BaseCheckpointSaver& saver, const std::string& thread) {
    std::string text = golden::describe(app, saver, thread);
    const std::string quoted = '"' + thread + '"';
    for (std::size_t at = text.find(quoted); at != std::string::npos; at = text.find(quoted, at))
        text.replace(at, quoted.size(), "\"*\"");
    return text;
}

// Continues until nothing is due, or for a while. Returns what it did.
std::string goOn(const App& app, const std::string& thread) {
    std::string did;
    for (int i = 0; i < 6; ++i) {
        const auto state = app.getState({.thread_id = thread});
        const auto open = state.interrupts();
        if (state.next.empty()) break;
        const auto done = open.empty() ? app.invoke(sg::RESUME, {.thread_id = thread, .recursion_limit = 200})
                                       : app.invoke(sg::Command<>{.answers = {{open.front().id, "yes"}}},
                                                    {.thread_id = thread, .recursion_limit = 200});
        did += done.values.foo + "(" + std::to_string(done.values.n) + ")";
        for (const auto& word : done.values.bar) did += " " + word;
        did += "\n";
    }
    return did;
}

}  // namespace

namespace {

// The initial values of a state are in no commit.
struct Begun {
    Strings list = {"at first"};
    std::map<std::string, int> map = {{"first", 1}};
    static constexpr auto channels() {
        return sg::channels(sg::channel("list", &Begun::list, sg::append), sg::channel("map", &Begun::map, sg::merge));
    }
};

}  // namespace

TEST_CASE("what a state holds at first is there once after a prune") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        sg::StateGraph<Begun> graph;
        graph.addNode("a", [](const Begun& state) -> sg::Update<Begun> {
            return {sg::add(&Begun::list, std::to_string(state.list.size())),
                    sg::merge(&Begun::map, {{std::to_string(state.list.size()), 2}})};
        });
        graph.addEdge(sg::START, "a").addConditionalEdges("a", [](const Begun& state) {
            return std::string(state.list.size() < 6 ? "a" : sg::END);
        });
        const auto app = graph.compile({.checkpointer = saver});
        const auto done = app.invoke(sg::Update<Begun>{}, {.thread_id = "t"});
        REQUIRE(done.values.list == Strings{"at first", "1", "2", "3", "4", "5"});
        for (int i = 0; i < 2; ++i) {
            saver->prune({.keep_last = 1});
            CHECK(saver->list({}).size() == 1);
            const auto state = app.getState({.thread_id = "t"});
            CHECK(state.values.list == done.values.list);
            CHECK((state.values.map == done.values.map));
            if (i == 0)
                app.updateState({.thread_id = "t"}, {sg::overwrite(&Begun::list, done.values.list)}, {.as_node = "a"});
        }
    });
}

TEST_CASE("random threads with forks, edits and questions look the same after a prune, and continue the same") {
    const auto seed = tests::seed();
    MESSAGE("STATEGRAPH_TEST_SEED=" << seed);
    savers::onEach([&](savers::Store& store) {
        bytes::Random random(seed);
        const auto saver = store.open();
        graphs::Log log;
        const App app = makeGraph(saver, log);
        std::size_t compared = 0;
        std::size_t dropped = 0;
        for (int round = 0; round < 8; ++round) {
            const std::string thread = "thread " + std::to_string(round);
            for (std::size_t i = 0; i < 4 + random.below(8); ++i) act(app, thread, random);
            const auto before = snapshotsOf(describeAs(app, *saver, thread));
            const std::size_t count = saver->list({.thread_id = thread, .checkpoint_ns = ""}).size();
            const std::string plain = thread + " plain";
            saver->copyThread(thread, plain);
            const std::string did = goOn(app, plain);
            for (std::size_t keep = 1; keep < count; keep += 1 + random.below(4)) {
                CAPTURE(round);
                CAPTURE(keep);
                const std::string pruned = thread + " keep " + std::to_string(keep);
                saver->copyThread(thread, pruned);
                dropped += saver->prune({.thread_id = pruned, .keep_last = keep});
                compared += compare(before, snapshotsOf(describeAs(app, *saver, pruned)));
                CHECK(goOn(app, pruned) == did);
                saver->deleteThread(pruned);
            }
        }
        CHECK(compared > 50);
        CHECK(dropped > 50);
    });
}
