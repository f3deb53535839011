#include <map>
#include <utility>

#include <stategraph/fork.hpp>
#include <stategraph/graph_description.hpp>
#include <stategraph/raw_edit.hpp>
#include <stategraph/read_checkpoint.hpp>
#include <stategraph/testing/fault_saver.hpp>

#include "src/commands/value_kinds.hpp"
#include "tests/checkpoint/bytes.hpp"
#include "tests/commands/threads.hpp"
#include "tests/fault/rounds.hpp"
#include "tests/support/meanwhile.hpp"

// Channels that are set without the program.
using namespace graphs;
using namespace commands_test;

namespace {

using Values = std::map<std::string, sg::Value>;

/// Two supersteps; "b" shows what it found.
App twoSteps(const Saver& saver) {
    Graph graph;
    graph.addNode("a", appends("a"));
    graph.addNode("b", [](const State& state) -> Update {
        return {sg::set(&State::foo, state.foo + "+" + std::to_string(state.n)),
                sg::add(&State::bar, std::string("b"))};
    });
    graph.addEdge(sg::START, "a").addEdge("a", "b");
    return graph.compile({.checkpointer = saver, .ids = FixedIds::make()});
}

/// The checkpoint before which "b" runs.
sg::Config beforeB(const App& app, const std::string& thread) {
    for (const auto& snapshot : app.getStateHistory({.thread_id = thread})) {
        if (snapshot.next == Strings{"b"}) return snapshot.config;
    }
    throw std::runtime_error("no checkpoint has b due");
}

std::string valuesOf(sg::BaseCheckpointSaver& saver, const sg::Config& config) {
    return sg::readCheckpoint(saver, config)->values_as_cbor.toJson();
}

sg::Value metadataOf(const sg::SnapshotData& snapshot, const std::string& key) {
    for (const auto& each : snapshot.metadata) {
        if (each.key == key) return each.value;
    }
    return "none";
}

}  // namespace

TEST_CASE("a raw edit is a marked fork with other values, which the program resumes and a fork undoes") {
    onSavers([](const Saver& saver) {
        const App app = twoSteps(saver);
        app.invoke(Update{sg::set(&State::foo, std::string("old")), sg::add(&State::n, 1)}, {.thread_id = "t"});
        const auto ended = app.getState({.thread_id = "t"});
        CHECK(ended.values.foo == "old+1");
        const sg::Config from = beforeB(app, "t");
        const sg::Config made = sg::editRaw(*saver, from, {{"foo", "new"}, {"n", 7}, {"bar", Strings{"x", "y"}}},
                                            {.metadata = {{"by", "Ada"}}});

        const auto snapshot = app.getState({.thread_id = "t"});
        CHECK(snapshot.config == made);
        CHECK((snapshot.source == sg::Source::fork));
        CHECK(snapshot.parent_config->checkpoint_id == from.checkpoint_id);
        CHECK(snapshot.values == State{"new", {"x", "y"}, 7});
        CHECK(valuesOf(*saver, made) == R"({"n":7,"bar":["x","y"],"foo":"new"})");
        CHECK(snapshot.next == Strings{"b"});
        CHECK(metadataOf(snapshot, "by").toJson() == R"("Ada")");
        CHECK(metadataOf(snapshot, "raw_edit").toJson() == R"(["bar","foo","n"])");
        CHECK(metadataOf(snapshot, "raw_edit_at") == sg::Value(snapshot.createdAt()));
        CHECK(app.getState(from).values.foo == "old");

        CHECK(reasonOf(*saver, "t") == "edited");
        CHECK(app.recover().empty());
        CHECK(app.getState({.thread_id = "t"}).config == made);
        const auto resumed = app.invoke(sg::RESUME, {.thread_id = "t"});
        CHECK(resumed.values == State{"new+7", {"x", "y", "b"}, 7});

        sg::fork(*saver, {.thread_id = "t", .checkpoint_id = from.checkpoint_id});
        CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).values == ended.values);
    });
}

TEST_CASE("recover takes a raw edit if it is asked to, and an edit where nothing is due leaves the thread finished") {
    onSavers([](const Saver& saver) {
        const App app = twoSteps(saver);
        for (const char* thread : {"due", "done"}) app.invoke(bar("i"), {.thread_id = thread});
        sg::editRaw(*saver, beforeB(app, "due"), {{"foo", "new"}});
        sg::editRaw(*saver, {.thread_id = "done"}, {{"foo", "new"}});
        CHECK(reasonOf(*saver, "done") == "done");
        CHECK(app.getState({.thread_id = "done"}).values.foo == "new");
        const auto report = app.recover({.edited = true});
        REQUIRE(report.size() == 1);
        CHECK(report.front().thread_id == "due");
        CHECK(app.getState({.thread_id = "due"}).values.foo == "new+0");
    });
}

TEST_CASE("a channel that was never written is set if the description has it, and checked by its initial value") {
    onSavers([](const Saver& saver) {
        const App app = twoSteps(saver);
        app.invoke(bar("i"), {.thread_id = "t"});
        sg::editRaw(*saver, beforeB(app, "t"), {{"n", 3}});
        CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).values.foo == "+3");
        CHECK_THROWS_AS(sg::editRaw(*saver, {.thread_id = "t"}, {{"n", "three"}}), sg::InvalidArgumentError);
    });
}

TEST_CASE("every checkpoint of a long log is edited, and reads as a record that was written whole does") {
    onSavers([](const Saver& saver) {
        Graph graph;
        graph.addNode("a", [](const State& state) -> Update {
            return {sg::set(&State::foo, std::string(700, static_cast<char>('a' + state.n % 26))),
                    sg::add(&State::bar, std::to_string(state.n)), sg::add(&State::n, 1)};
        });
        graph.addEdge(sg::START, "a");
        graph.addConditionalEdges("a", [](const State& state) { return state.n < 40 ? "a" : sg::END; });
        const App app = graph.compile({.checkpointer = saver, .recursion_limit = 100});
        app.invoke(bar("i"), {.thread_id = "t"});
        std::vector<sg::StateSnapshot<State>> past;
        for (const auto& snapshot : app.getStateHistory({.thread_id = "t"})) past.push_back(snapshot);
        std::size_t whole = 0;
        for (const auto& snapshot : past) {
            State wanted = snapshot.values;
            wanted.n = -5;
            const sg::Config made = sg::editRaw(*saver, snapshot.config, {{"n", -5}});
            const auto rows = saver->list({.thread_id = "t", .limit = 1});
            whole += sg::readHeader({"t", "", made.checkpoint_id}, rows.at(0).bytes).base == made.checkpoint_id;
            CHECK(app.getState(made).values == wanted);
            CHECK(app.getState(made).next == snapshot.next);
        }
        CHECK(whole > 0);
    });
}

TEST_CASE("what cannot be edited is refused with the channel and the reason, and nothing is stored") {
    onSavers([](const Saver& saver) {
        const App app = twoSteps(saver);
        app.invoke(Update{sg::set(&State::foo, std::string("old")), sg::add(&State::bar, std::string("i"))},
                   {.thread_id = "t"});
        const Rows before = rowsOf(*saver, "t");
        const auto refused = [&](const sg::Config& config, const Values& values, const std::string& part) {
            const auto error = thrown<sg::InvalidArgumentError>([&] { sg::editRaw(*saver, config, values); });
            CAPTURE(error.what());
            CHECK(contains(error.what(), part));
            CHECK(differences(rowsOf(*saver, "t"), before) == "");
        };
        refused({}, {{"foo", "x"}}, "no thread_id");
        refused({.thread_id = "t"}, {}, "no values");
        refused({.thread_id = "nobody"}, {{"foo", "x"}}, "nothing to edit");
        refused({.thread_id = "t", .checkpoint_id = {1, 2}}, {{"foo", "x"}}, "may have been pruned");
        refused({.thread_id = "t", .checkpoint_ns = "sub"}, {{"foo", "x"}}, "leave checkpoint_ns out");
        refused({.thread_id = "t"}, {{"fool", "x"}}, "'fool' does not exist");
        refused({.thread_id = "t"}, {{"fool", "x"}}, "'bar', 'foo', 'n'");
        refused({.thread_id = "t"}, {{"foo", 3}}, "a text is stored, and a whole number is given");
        refused({.thread_id = "t"}, {{"n", 1.5}}, "a whole number is stored, and a number is given");
        refused({.thread_id = "t"}, {{"bar", "x"}}, "a list is stored, and a text is given");
        refused({.thread_id = "t"}, {{"bar", std::vector<int>{1}}}, "a text is stored at /0");
        refused({.thread_id = "t"}, {{"n", sg::Value()}}, "and null is given");
        const auto taken = [&] {
            sg::editRaw(*saver, {.thread_id = "t"}, {{"n", 1}}, {.metadata = {{"raw_edit", 1}}});
        };
        CHECK_THROWS_AS(taken(), sg::InvalidArgumentError);
        CHECK(differences(rowsOf(*saver, "t"), before) == "");
    });
}

TEST_CASE("a thread in flight is not edited, and its fork is") {
    onSavers([](const Saver& saver) {
        const App app = twoSteps(saver);
        app.submit(bar("i"), {.thread_id = "t"});
        REQUIRE(reasonOf(*saver, "t") == "in_flight");
        const Rows before = rowsOf(*saver, "t");
        const auto error = thrown<sg::InvalidArgumentError>([&] {
            sg::editRaw(*saver, {.thread_id = "t"}, {{"n", 2}});
        });
        CHECK(contains(error.what(), "in flight"));
        CHECK(contains(error.what(), "fork the checkpoint first"));
        CHECK(differences(rowsOf(*saver, "t"), before) == "");
        sg::fork(*saver, {.thread_id = "t"});
        sg::editRaw(*saver, {.thread_id = "t"}, {{"n", 2}});
        CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).values == State{"+2", {"i", "a", "b"}, 2});
    });
}

TEST_CASE("a program that finds a value of another type says where, and what to do") {
    onSavers([](const Saver& saver) {
        const App app = twoSteps(saver);
        app.invoke(bar("i"), {.thread_id = "t"});
        const sg::Config from = beforeB(app, "t");
        const sg::Config made = sg::editRaw(*saver, from, {{"n", "seven"}}, {.any_kind = true});
        CHECK(contains(valuesOf(*saver, made), "seven"));
        const auto error = thrown<sg::CorruptCheckpointError>([&] { app.invoke(sg::RESUME, {.thread_id = "t"}); });
        CAPTURE(error.what());
        CHECK(contains(error.what(), "channel 'n' is stored as another type than it has now"));
        CHECK(contains(error.what(), "fork a checkpoint from before"));
        CHECK(error.context().thread_id == "t");
        CHECK(error.context().channel == "n");
        CHECK(error.context().checkpoint_id == made.checkpoint_id.toString());
        sg::fork(*saver, from);
        CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).values.foo == "+0");
    });
}

TEST_CASE("an edit after another writer is refused, and a saver that fails at any of its calls makes one or none") {
    onSavers([](const Saver& store) {
        const auto saver = std::make_shared<Meanwhile>(store);
        const App app = twoSteps(store);
        app.invoke(Update{sg::add(&State::n, 1)}, {.thread_id = "t"});
        saver->before_put = [&] { app.invoke(bar("j"), {.thread_id = "t"}); };
        CHECK_THROWS_AS(sg::editRaw(*saver, {.thread_id = "t"}, {{"n", 2}}), sg::ConcurrentUpdateError);
        CHECK(app.getState({.thread_id = "t"}).values.n == 1);
    });
    for (const bool after_effect : {false, true}) {
        std::size_t n = 1;
        for (bool failed = true; failed; ++n) {
            CAPTURE(n);
            REQUIRE(n < 100);
            const auto saver = std::make_shared<sg::testing::FaultSaver>(std::make_shared<sg::MemorySaver>());
            const App app = twoSteps(saver);
            app.invoke(Update{sg::add(&State::n, 1)}, {.thread_id = "t"});
            const sg::Config from = beforeB(app, "t");
            const Rows before = rowsOf(*saver, "t");
            saver->arm({.fail_at = n, .after_effect = after_effect});
            failed = false;
            try {
                sg::editRaw(*saver, from, {{"n", 2}});
            } catch (const sg::SaverError&) {
                failed = true;
            }
            saver->disarm();
            const bool is_stored = reasonOf(*saver, "t") == "edited";
            CHECK((is_stored || failed));
            CHECK((is_stored || differences(rowsOf(*saver, "t"), before).empty()));
            if (!is_stored) sg::editRaw(*saver, from, {{"n", 2}});
            CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).values.foo == "+2");
        }
        CHECK(n > 2);
    }
}

#if STATEGRAPH_HAS_ENCRYPTION
TEST_CASE("sealed records are edited with their key, and refused without it") {
    const auto inner = std::make_shared<sg::MemorySaver>();
    const Saver saver = std::make_shared<sg::EncryptedSaver>(inner, encryption::key("k"));
    const App app = twoSteps(saver);
    app.invoke(Update{sg::set(&State::foo, std::string("secret"))}, {.thread_id = "t"});
    const Rows before = rowsOf(*inner, "t");
    CHECK_THROWS_AS(sg::editRaw(*inner, {.thread_id = "t"}, {{"foo", "x"}}), sg::CorruptCheckpointError);
    CHECK(differences(rowsOf(*inner, "t"), before) == "");
    sg::editRaw(*saver, {.thread_id = "t"}, {{"foo", "hidden"}});
    CHECK(app.getState({.thread_id = "t"}).values.foo == "hidden");
    for (const auto& [key, bytes] : rowsOf(*inner, "t")) CHECK(!contains(bytes, "hidden"));
}
#endif

TEST_CASE("kinds are compared down to members and elements that both have") {
    const auto difference = [](const char* stored, const char* given) {
        return sg::commands::kindDifference(sg::parseJson(stored).bytes(), sg::parseJson(given).bytes());
    };
    for (const auto& [stored, given] :
         std::vector<std::pair<const char*, const char*>>{{"1", "2"},
                                                          {"1.5", "2"},
                                                          {"null", "[1]"},
                                                          {R"({"a":1})", R"({"b":"x"})"},
                                                          {R"({"a":1})", R"({"a":null})"},
                                                          {"[]", R"(["x"])"},
                                                          {R"([1,"x"])", "[true]"},
                                                          {"[1,2.5]", "[3]"},
                                                          {"[2.5,1]", "[3,0.5]"},
                                                          {R"([{"a":1}])", R"([{"a":2},{"c":3}])"}}) {
        CAPTURE(stored);
        CAPTURE(given);
        CHECK(difference(stored, given) == "");
    }
    CHECK(difference("1", "1.5") == "a whole number is stored, and a number is given");
    CHECK(difference("true", "1") == "true or false is stored, and a whole number is given");
    CHECK(difference(R"({"a/b":{"c":[1]}})", R"({"a/b":{"c":["x"]}})") ==
          "a whole number is stored at /a~1b/c/0, and a text is given");
    CHECK(difference(R"([{"a":1}])", R"([{"a":2},{"a":"x"}])") ==
          "a whole number is stored at /1/a, and a text is given");
    CHECK(difference("[]", "{}") == "a list is stored, and an object is given");
}

TEST_CASE("a raw edit with the stored values changes nothing but the branch, whatever the program wrote") {
    const std::uint64_t seed = tests::seed();
    CAPTURE(seed);
    bytes::Random random(seed);
    for (std::size_t round = 0; round < fault::rounds(20); ++round) {
        const Saver saver = std::make_shared<sg::MemorySaver>();
        Graph graph;
        graph.addNode("a", [](const State& state) -> Update {
            return {sg::add(&State::bar, std::string(static_cast<std::size_t>(state.n % 400), 'x')),
                    sg::add(&State::n, 1)};
        });
        graph.addEdge(sg::START, "a");
        const int last = static_cast<int>(1 + random.below(60));
        graph.addConditionalEdges("a", [last](const State& state) { return state.n < last ? "a" : sg::END; });
        const App app = graph.compile({.checkpointer = saver, .recursion_limit = 100});
        app.invoke(Update{sg::add(&State::n, static_cast<int>(random.below(50)))}, {.thread_id = "t"});
        std::vector<sg::Config> past;
        for (const auto& snapshot : app.getStateHistory({.thread_id = "t"})) past.push_back(snapshot.config);
        for (int edits = 0; edits < 5; ++edits) {
            const sg::Config& from = past[random.below(past.size())];
            const auto before = app.getState(from);
            Values same;
            if (random.below(2) == 0) same.emplace("bar", before.values.bar);
            if (random.below(2) == 0 || same.empty()) same.emplace("n", before.values.n);
            const sg::Config made = sg::editRaw(*saver, from, same);
            past.push_back(made);
            CHECK(app.getState(made).values == before.values);
            CHECK(app.getState(made).next == before.next);
        }
        app.invoke(sg::RESUME, {.thread_id = "t"});
        CHECK(saver->stats().damaged.empty());
    }
}
