#include <stategraph/fork.hpp>
#include <stategraph/testing/fault_saver.hpp>

#include "tests/checkpoint/bytes.hpp"
#include "tests/commands/threads.hpp"
#include "tests/fault/rounds.hpp"
#include "tests/support/meanwhile.hpp"

// Forks that are created without a run.
using namespace graphs;
using namespace commands_test;

namespace {

const sg::RunConfig one_at_a_time{.thread_id = "t", .max_concurrency = 1};
const sg::ForkOptions fixed{.ids = FixedIds::make()};

// Returns a graph with everything that may be due at a checkpoint: edges, a join, a deferred node, Sends, subgraphs
// with and without memory.
App everyKind(const Saver& saver) {
    Graph inner;
    inner.addNode("deep", appends("deep")).addEdge(sg::START, "deep");
    Graph graph;
    for (const char* node : {"a", "b", "c", "joined"}) graph.addNode(node, appends(node));
    graph.addNode("late", appends("late"), {.defer = true});
    graph.addNode("sub", inner.compile());
    graph.addNode("kept", inner.compile({.checkpointer = sg::PER_THREAD}));
    graph.addNode("sent", [](const std::string& payload) { return bar(payload); });
    graph.addEdge(sg::START, "a").addEdge(sg::START, "b").addEdge("a", "c").addEdge({"b", "c"}, "joined");
    graph.addEdge("a", "late").addEdge("joined", "sub").addEdge("sub", "kept");
    graph.addConditionalEdges("b",
                              [](const State&) {
                                  return std::vector<sg::Send>{{"sent", std::string("p")}, {"sent", std::string("q")}};
                              },
                              {"sent"});
    return graph.compile({.checkpointer = saver, .ids = FixedIds::make()});
}

std::vector<sg::StateSnapshot<State>> pastOf(const App& app, const std::string& thread) {
    std::vector<sg::StateSnapshot<State>> past;
    for (const auto& snapshot : app.getStateHistory({.thread_id = thread})) past.push_back(snapshot);
    return past;
}

}  // namespace

TEST_CASE(
    "a fork is the commit that a run makes first which resumes from the checkpoint, and RESUME comes to the same") {
    onSavers([](const Saver& saver) {
        const App app = everyKind(saver);
        app.invoke(bar("i"), one_at_a_time);
        app.invoke(bar("again"), one_at_a_time);
        const auto past = pastOf(app, "t");
        REQUIRE(past.size() > 10);
        for (std::size_t i = 0; i < past.size(); ++i) {
            CAPTURE(i);
            const std::string run = "run" + std::to_string(i);
            const std::string stored = "stored" + std::to_string(i);
            saver->copyThread("t", run);
            saver->copyThread("t", stored);
            const sg::CheckpointId id = past[i].config.checkpoint_id;
            const sg::Config made = sg::fork(*saver, {.thread_id = stored, .checkpoint_id = id}, fixed);
            const auto snapshot = app.getState({.thread_id = stored});
            CHECK(snapshot.config == made);
            CHECK((snapshot.source == sg::Source::fork));
            CHECK(snapshot.step == past[i].step + 1);
            CHECK(snapshot.values == past[i].values);
            CHECK(snapshot.parent_config->checkpoint_id == id);
            CHECK(pastOf(app, stored).size() == past.size() + 1);
            CHECK(reasonOf(*saver, stored) == (snapshot.next.empty() ? "done" : "edited"));
            if (i == 0) continue;  // the newest one: a run makes no fork of it
            const auto by_run = app.invoke(sg::RESUME, {.thread_id = run, .checkpoint_id = id, .max_concurrency = 1});
            const auto by_fork = app.invoke(sg::RESUME, {.thread_id = stored, .max_concurrency = 1});
            CHECK(by_fork.values == by_run.values);
            CHECK(differences(rowsOf(*saver, stored, false), rowsOf(*saver, run, false)) == "");
        }
    });
}

TEST_CASE("recover leaves an edited thread alone, made by updateState or fork, unless it is asked to take it") {
    onSavers([](const Saver& saver) {
        const App app = everyKind(saver);
        for (const char* thread : {"edited", "forked"}) app.invoke(bar("i"), {.thread_id = thread});
        app.updateState({.thread_id = "edited"}, bar("e"), {.as_node = "joined"});
        sg::fork(*saver, pastOf(app, "forked").at(2).config);
        for (const char* thread : {"edited", "forked"}) {
            CAPTURE(thread);
            CHECK(reasonOf(*saver, thread) == "edited");
            const Rows before = rowsOf(*saver, thread);
            CHECK(app.recover().empty());
            CHECK(differences(rowsOf(*saver, thread), before) == "");
        }
        const auto report = app.recover({.edited = true});
        REQUIRE(report.size() == 2);
        for (const auto& thread : report) CHECK((thread.status == sg::Status::done));
        CHECK(saver->unfinishedThreads().empty());
    });
}

TEST_CASE("a fork asks anew what was asked, keeps the metadata, and takes more") {
    onSavers([](const Saver& saver) {
        const App app = askingApp(saver);
        app.invoke(bar("i"),
                   {.thread_id = "t", .max_concurrency = 1, .metadata = {{"user", "Ada"}, {"what", "first"}}});
        const auto asked = app.getState({.thread_id = "t"}).interrupts();
        const sg::Config made = sg::fork(*saver, {.thread_id = "t"}, {.metadata = {{"by", "Bob"}, {"what", "again"}}});
        const auto snapshot = app.getState({.thread_id = "t"});
        CHECK(snapshot.config == made);
        CHECK(snapshot.interrupts().empty());
        const auto entry = [&](const std::string& key) {
            for (const auto& each : snapshot.metadata) {
                if (each.key == key) return each.value.toJson();
            }
            return std::string("none");
        };
        CHECK(snapshot.metadata.size() == 3);
        CHECK(entry("user") == "\"Ada\"");
        CHECK(entry("by") == "\"Bob\"");
        CHECK(entry("what") == "\"again\"");
        CHECK(saver->unfinishedThreads({.metadata = {{"by", "Bob"}}}).size() == 1);
        const auto again = app.invoke(sg::RESUME, one_at_a_time);
        CHECK(again.interrupts.size() == asked.size());
        CHECK(again.interrupts.at(0).id != asked.at(0).id);
    });
}

TEST_CASE("what a Command wrote to a superstep that waits goes into its fork") {
    onSavers([](const Saver& saver) {
        const App app = askingApp(saver);
        app.invoke(bar("i"), one_at_a_time);
        app.invoke(Command{.update = bar("beside"), .go_to = {}}, one_at_a_time);
        sg::fork(*saver, {.thread_id = "t"});
        const auto stopped = app.invoke(sg::RESUME, one_at_a_time);
        CHECK(std::ranges::count(stopped.values.bar, "beside") == 1);
    });
}

TEST_CASE("a fork revives a cancelled thread, and an expensive log is written whole") {
    onSavers([](const Saver& saver) {
        Graph graph;
        graph.addNode("a", [](const State& state) -> Update {
            return {sg::set(&State::foo, std::string(700, static_cast<char>('a' + state.n % 26))),
                    sg::add(&State::n, 1)};
        });
        graph.addEdge(sg::START, "a");
        graph.addConditionalEdges("a", [](const State& state) { return state.n < 40 ? "a" : sg::END; });
        const App app = graph.compile({.checkpointer = saver, .recursion_limit = 100});
        app.invoke(bar("i"), one_at_a_time);
        std::size_t whole = 0;
        for (const auto& snapshot : pastOf(app, "t")) {
            const sg::Config made = sg::fork(*saver, snapshot.config);
            const auto rows = saver->list({.thread_id = "t", .limit = 1});
            const auto header = sg::readHeader({"t", "", made.checkpoint_id}, rows.at(0).bytes);
            whole += header.base == made.checkpoint_id;
            CHECK(app.getState(made).values == snapshot.values);
            CHECK(app.getState(made).next == snapshot.next);
        }
        CHECK(whole > 0);
        app.cancelThread("t");
        CHECK(reasonOf(*saver, "t") == "done");
        sg::fork(*saver, pastOf(app, "t").at(9).config);
        CHECK(reasonOf(*saver, "t") != "done");
    });
}

TEST_CASE("what cannot be forked is refused, and nothing is stored") {
    onSavers([](const Saver& saver) {
        const App app = everyKind(saver);
        app.invoke(bar("i"), one_at_a_time);
        const Rows before = rowsOf(*saver, "t");
        const auto refused = [&](const sg::Config& config, const sg::ForkOptions& options, const std::string& part) {
            const auto error = thrown<sg::InvalidArgumentError>([&] { sg::fork(*saver, config, options); });
            CAPTURE(error.what());
            CHECK(contains(error.what(), part));
            CHECK(differences(rowsOf(*saver, "t"), before) == "");
        };
        refused({}, {}, "no thread_id");
        refused({.thread_id = "nobody"}, {}, "nothing to fork");
        refused({.thread_id = "t", .checkpoint_id = {1, 2}}, {}, "may have been pruned");
        refused({.thread_id = "t", .checkpoint_ns = "kept"}, {}, "leave checkpoint_ns out");
        refused({.thread_id = "t"}, {.metadata = {{"step", 1}}}, "'step'");
    });
}

TEST_CASE("a fork of a checkpoint that a prune takes meanwhile, or after another writer, is refused") {
    onSavers([](const Saver& store) {
        const auto saver = std::make_shared<Meanwhile>(store);
        const App app = everyKind(store);
        app.invoke(bar("i"), one_at_a_time);
        const auto past = pastOf(app, "t");
        saver->before_put = [&] { store->prune({.thread_id = "t", .keep_last = 1}); };
        CHECK_THROWS_AS(sg::fork(*saver, past.at(2).config), sg::ConcurrentUpdateError);
        saver->before_put = [&] { app.invoke(bar("j"), one_at_a_time); };
        const std::size_t before = rowsOf(*store, "t", false).size();
        CHECK_THROWS_AS(sg::fork(*saver, {.thread_id = "t"}), sg::ConcurrentUpdateError);
        CHECK(rowsOf(*store, "t", false).size() > before);
        CHECK(reasonOf(*store, "t") == "done");
    });
}

TEST_CASE("a saver that fails at any of its calls makes a fork or none") {
    for (const bool after_effect : {false, true}) {
        std::size_t n = 1;
        for (bool failed = true; failed; ++n) {
            CAPTURE(n);
            REQUIRE(n < 100);
            const auto saver = std::make_shared<sg::testing::FaultSaver>(std::make_shared<sg::MemorySaver>());
            const App app = everyKind(saver);
            app.invoke(bar("i"), one_at_a_time);
            const auto past = pastOf(app, "t");
            saver->arm({.fail_at = n, .after_effect = after_effect});
            failed = false;
            try {
                sg::fork(*saver, past.at(3).config);
            } catch (const sg::SaverError&) {
                failed = true;
            }
            saver->disarm();
            const std::string reason = reasonOf(*saver, "t");
            CHECK((reason == "edited" || (failed && reason == "done")));
            if (reason == "done") sg::fork(*saver, past.at(3).config);
            const auto ended = app.invoke(sg::RESUME, one_at_a_time);
            CHECK((ended.status == sg::Status::done));
            CHECK(ended.values == past.at(0).values);
        }
        CHECK(n > 2);
    }
}
