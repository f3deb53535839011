#include <map>

#include <doctest/doctest.h>
#include <stategraph/stategraph.hpp>

#include "tests/checkpoint/bytes.hpp"
#include "tests/support/history_graphs.hpp"
#include "tests/support/history_savers.hpp"

// A history reads the values of many checkpoints from the same commits. Each must equal what getState returns for that
// checkpoint alone.
namespace sg = stategraph;
using namespace history;

namespace {

struct Notes {
    std::vector<std::string> said = {};
    std::map<std::string, int> counts = {};
    std::string last = {};
    int rounds = 0;
    static constexpr auto channels() {
        return sg::channels(sg::channel("said", &Notes::said, sg::append),
                            sg::channel("counts", &Notes::counts, sg::merge), sg::channel("last", &Notes::last),
                            sg::channel("rounds", &Notes::rounds, sg::sum));
    }
};
using NotesApp = sg::CompiledGraph<Notes>;

// Loops four times for each input. Its texts are long enough that full snapshots are written on the way.
NotesApp notes(const SharedSaver& saver) {
    sg::StateGraph<Notes> graph;
    graph
        .addNode("note",
                 [](const Notes& s) -> sg::Update<Notes> {
                     sg::Update<Notes> update{sg::add(&Notes::rounds, 1)};
                     if (s.rounds % 3 != 1)
                         update.with(sg::add(&Notes::said, std::string(300, static_cast<char>('a' + s.rounds % 26))));
                     if (s.rounds % 2 == 0) update.with(sg::set(&Notes::last, "round " + std::to_string(s.rounds)));
                     update.with(sg::add(&Notes::counts,
                                         std::map<std::string, int>{{"k" + std::to_string(s.rounds % 5), s.rounds}}));
                     return update;
                 })
        .addEdge(sg::START, "note")
        .addConditionalEdges("note", [](const Notes& s) { return s.rounds % 4 != 0 ? "note" : sg::END; });
    return graph.compile({.checkpointer = saver});
}

// Makes inputs, edits and inputs at old checkpoints, so that neighbouring checkpoints belong to different branches.
void grow(const NotesApp& app, const std::string& thread, bytes::Random& random, int acts) {
    const sg::Config newest{.thread_id = thread};
    app.invoke({sg::set(&Notes::last, "begin")}, {.thread_id = thread});
    for (int i = 0; i < acts; ++i) {
        sg::CheckpointId id;
        if (random.chance(3)) {
            const auto past = historyOf(app, newest, {.values = false});
            id = past[random.below(past.size())].config.checkpoint_id;
        }
        if (random.chance(3)) {
            app.updateState({.thread_id = thread, .checkpoint_id = id},
                            {sg::add(&Notes::said, "edit " + std::to_string(i))}, {.as_node = "note"});
        } else {
            app.invoke({sg::set(&Notes::last, "input")}, {.thread_id = thread, .checkpoint_id = id});
        }
    }
}

// Returns how many checkpoints there were, each of which was compared.
std::size_t compare(const NotesApp& app, const std::string& thread, const sg::HistoryOptions& options) {
    std::size_t count = 0;
    for (const auto& snapshot : app.getStateHistory({.thread_id = thread}, options)) {
        const auto alone = app.getState(snapshot.config);
        CAPTURE(snapshot.config.checkpoint_id.toString());
        REQUIRE(snapshot.values_as_cbor == alone.values_as_cbor);
        REQUIRE(snapshot.values.said == alone.values.said);
        REQUIRE(snapshot.values.counts == alone.values.counts);
        REQUIRE(snapshot.values.last == alone.values.last);
        REQUIRE(snapshot.isSet(&Notes::last) == alone.isSet(&Notes::last));
        REQUIRE(snapshot.tasks.size() == alone.tasks.size());
        ++count;
    }
    return count;
}

}  // namespace

TEST_CASE(
    "each checkpoint of a history has the values that it has alone, over forks, edits, full snapshots and prunes") {
    const auto seed = tests::seed();
    MESSAGE("STATEGRAPH_TEST_SEED=" << seed);
    onBothSavers([seed](const SharedSaver& saver) {
        bytes::Random random(seed);
        const NotesApp app = notes(saver);
        for (int round = 0; round < 3; ++round) {
            const std::string thread = "thread " + std::to_string(round);
            grow(app, thread, random, 30);
            const auto rows = saver->list({.thread_id = thread});
            REQUIRE(rows.size() > 70);
            CHECK(compare(app, thread, {}) == rows.size());
            const std::size_t at = random.below(rows.size() - 10);
            CHECK(compare(app, thread, {.before = rows[at].id}) == rows.size() - at - 1);
            CHECK(compare(app, thread, {.limit = 7, .before = rows[at].id}) == 7);
            saver->copyThread(thread, thread + " pruned");
            saver->prune({.thread_id = thread + " pruned", .keep_last = 20});
            CHECK(compare(app, thread + " pruned", {}) == 20);
        }
    });
}

TEST_CASE("a history continues where it is while the thread is pruned and grows") {
    onBothSavers([](const SharedSaver& saver) {
        const NotesApp app = notes(saver);
        for (int i = 0; i < 5; ++i) app.invoke({sg::set(&Notes::last, "input")}, {.thread_id = "t"});
        const auto before = historyOf(app, {.thread_id = "t"});
        std::size_t count = 0;
        for (const auto& snapshot : app.getStateHistory({.thread_id = "t"})) {
            if (count == 2) saver->prune({.thread_id = "t", .keep_last = 3});
            if (count == 3) app.invoke({sg::set(&Notes::last, "more")}, {.thread_id = "t"});
            CHECK(snapshot.values_as_cbor == before[count].values_as_cbor);
            ++count;
        }
        CHECK(count == before.size());
    });
}
