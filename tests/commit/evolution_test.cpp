#include <map>

#include <doctest/doctest.h>
#include <stategraph/stategraph.hpp>

#include "tests/support/history_graphs.hpp"
#include "tests/support/history_savers.hpp"

// Old threads with new code: channels are added, removed and renamed, and so are nodes.
namespace sg = stategraph;
using namespace history;

namespace {

const sg::Config T{.thread_id = "t"};

using Entries = std::map<std::string, int>;

/// The state of another version of the program, which has more than the list.
struct Rich {
    std::vector<std::string> v = {};
    std::string name = {};
    std::vector<std::string> notes = {};
    Entries scores = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("v", &Rich::v, sg::append), sg::channel("name", &Rich::name),
                            sg::channel("notes", &Rich::notes, sg::append),
                            sg::channel("scores", &Rich::scores, sg::merge));
    }
};

/// Loops until the list is `end` long. Each superstep writes all of it, so that full snapshots come soon.
template <class S>
sg::CompiledGraph<S> growing(const SharedSaver& saver, std::size_t end) {
    sg::StateGraph<S> graph;
    graph
        .addNode("grow",
                 [](const S& state) -> sg::Update<S> {
                     Words words = state.v;
                     words.push_back(std::string(20, 'x'));
                     return {sg::overwrite(&S::v, std::move(words))};
                 })
        .addEdge(sg::START, "grow")
        .addConditionalEdges("grow", [end](const S& state) { return state.v.size() < end ? "grow" : sg::END; });
    return graph.compile({.checkpointer = saver});
}

std::size_t snapshotsIn(sg::BaseCheckpointSaver& saver) {
    std::size_t count = 0;
    for (const auto& row : saver.list({})) {
        const auto header = sg::readHeader({row.thread_id, row.checkpoint_ns, row.id}, row.bytes);
        count += header.base == header.id;
    }
    return count;
}

/// A list with an initial value, which no run sets.
struct Begun {
    std::vector<std::string> v = {};
    std::vector<std::string> tags = {"first"};
    static constexpr auto channels() {
        return sg::channels(sg::channel("v", &Begun::v, sg::append), sg::channel("tags", &Begun::tags, sg::append));
    }
};

// "z_old" sorts after the current name, and "a_old" before it.
struct RenamedA {
    std::vector<std::string> words = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("m_new", &RenamedA::words, sg::append, sg::formerly("a_old", "z_old")));
    }
};
struct OldA {
    std::vector<std::string> words = {};
    static constexpr auto channels() { return sg::channels(sg::channel("a_old", &OldA::words, sg::append)); }
};
struct OldZ {
    std::vector<std::string> words = {};
    static constexpr auto channels() { return sg::channels(sg::channel("z_old", &OldZ::words, sg::append)); }
};
template <class S>
sg::CompiledGraph<S> adding(const SharedSaver& saver, const std::string& word) {
    sg::StateGraph<S> graph;
    graph.addNode("n", [word](const S&) -> sg::Update<S> { return {sg::add(&S::words, word)}; })
        .addEdge(sg::START, "n");
    return graph.compile({.checkpointer = saver});
}

template <class Old>
void renames(const SharedSaver& saver) {
    const auto before = adding<Old>(saver, "old");
    const auto after = adding<RenamedA>(saver, "new");
    before.invoke(sg::Update<Old>(), {.thread_id = "t"});
    before.invoke(sg::Update<Old>(), {.thread_id = "t"});
    CHECK(after.getState(T).values.words == Words{"old", "old"});
    CHECK(after.invoke(sg::Update<RenamedA>(), {.thread_id = "t"}).values.words == Words{"old", "old", "new"});
    CHECK(after.invoke(sg::Update<RenamedA>(), {.thread_id = "t"}).values.words == Words{"old", "old", "new", "new"});
    CHECK(after.getState(T).values.words == Words{"old", "old", "new", "new"});
    // Earlier checkpoints read as before.
    CHECK(historyOf(after, T).back().valuesAsJson() == R"({"m_new":[]})");
    CHECK(historyOf(after, T, {.filter = {{"step", 4}}})[0].values.words == Words{"old", "old"});
}

struct TypedInt {
    int v = 0;
    static constexpr auto channels() { return sg::channels(sg::channel("v", &TypedInt::v)); }
};

}  // namespace

TEST_CASE(
    "a list that was only appended to keeps what its own program begins it with, through full snapshots of another") {
    onBothSavers([](const SharedSaver& saver) {
        const auto begun = growing<Begun>(saver, 1);
        begun.invoke({sg::add(&Begun::tags, "second")}, {.thread_id = "t"});
        const std::size_t snapshots = snapshotsIn(*saver);
        growing<Line>(saver, 120).invoke(sg::Update<Line>(), {.thread_id = "t", .recursion_limit = 200});
        REQUIRE(snapshotsIn(*saver) > snapshots);
        CHECK(begun.getState(T).values.tags == Words{"first", "second"});
    });
}

TEST_CASE("channels that a graph does not know survive its runs, across full snapshots too") {
    onBothSavers([](const SharedSaver& saver) {
        const auto rich = growing<Rich>(saver, 1);
        rich.invoke(
            {sg::set(&Rich::name, "n"), sg::add(&Rich::notes, {"1", "2"}), sg::merge(&Rich::scores, {{"a", 1}})},
            {.thread_id = "t"});
        // The unknown channels then have several operations.
        rich.updateState(T, {sg::add(&Rich::notes, "3"), sg::merge(&Rich::scores, {{"b", 2}})}, {.as_node = sg::START});
        const std::size_t snapshots = snapshotsIn(*saver);

        const auto poor = growing<Line>(saver, 120);
        CHECK(poor.getState(T).valuesAsJson().find("notes") == std::string::npos);
        const auto result = poor.invoke(sg::RESUME, {.thread_id = "t", .recursion_limit = 400});
        CHECK(result.values.v.size() == 120);
        CHECK(snapshotsIn(*saver) > snapshots);

        const auto read = rich.getState(T).values;
        CHECK(read.v.size() == 120);
        CHECK(read.name == "n");
        CHECK(read.notes == Words{"1", "2", "3"});
        CHECK(read.scores == Entries{{"a", 1}, {"b", 2}});
        // The same holds in every checkpoint on the way, including forks and other durabilities.
        for (const auto& snapshot : rich.getStateHistory(T, {.limit = 120})) REQUIRE(snapshot.values.notes.size() >= 2);
        const auto past = pastOf(poor, T);
        const auto fork = poor.updateState(past[60].config, says("edit"), {.as_node = sg::START});
        CHECK(rich.getState(fork).values.scores == read.scores);
        poor.invoke(says("more"), {.thread_id = "t", .durability = sg::Durability::exit, .recursion_limit = 400});
        CHECK(rich.getState(T).values.notes == read.notes);
    });
}

TEST_CASE("a channel that was added is as before any write in old checkpoints") {
    onBothSavers([](const SharedSaver& saver) {
        growing<Line>(saver, 2).invoke(says("i"), {.thread_id = "t"});
        const auto rich = growing<Rich>(saver, 2);
        const auto state = rich.getState(T);
        CHECK(state.values.v.size() == 2);
        CHECK(!state.isSet(&Rich::name));
        CHECK(state.values.scores.empty());
        CHECK(rich.updateState(T, {sg::set(&Rich::name, "n")}, {.as_node = "grow"}).checkpoint_id);
        CHECK(rich.getState(T).values.name == "n");
    });
}

TEST_CASE("a renamed channel is found under its former name, and continues under its new one") {
    onBothSavers([](const SharedSaver& saver) { renames<OldA>(saver); });
    onBothSavers([](const SharedSaver& saver) { renames<OldZ>(saver); });
}

TEST_CASE("where both names are stored the current one counts") {
    onBothSavers([](const SharedSaver& saver) {
        adding<RenamedA>(saver, "new").invoke(sg::Update<RenamedA>(), {.thread_id = "t"});
        // Old programs, which do not know the new name, write under the old one.
        adding<OldA>(saver, "a").invoke(sg::Update<OldA>(), {.thread_id = "t"});
        adding<OldZ>(saver, "z").invoke(sg::Update<OldZ>(), {.thread_id = "t"});
        const auto now = adding<RenamedA>(saver, "newer");
        CHECK(now.getState(T).values.words == Words{"new"});
        CHECK(now.invoke(sg::Update<RenamedA>(), {.thread_id = "t"}).values.words == Words{"new", "newer"});
        CHECK(now.getState(T).values.words == Words{"new", "newer"});
    });
}

TEST_CASE("a channel whose type changed is an error that names it, the thread and the checkpoint") {
    onBothSavers([](const SharedSaver& saver) {
        growing<Line>(saver, 2).invoke(says("i"), {.thread_id = "t"});
        sg::StateGraph<TypedInt> graph;
        graph.addNode("grow", [](const TypedInt&) -> sg::Update<TypedInt> { return {}; }).addEdge(sg::START, "grow");
        const auto app = graph.compile({.checkpointer = saver});
        const std::string id = growing<Line>(saver, 2).getState(T).config.checkpoint_id.toString();
        const Words parts{"'v'", "'t'", id};
        const Bytes before = bytesOf(*saver);
        CHECK(mentions(errorOf<sg::CorruptCheckpointError>([&] { return app.getState(T); }), parts));
        CHECK(mentions(errorOf<sg::CorruptCheckpointError>([&] { return historyOf(app, T); }), parts));
        CHECK(mentions(errorOf<sg::CorruptCheckpointError>([&] { return app.updateState(T, {}, {.as_node = "grow"}); }),
                       parts));
        CHECK(mentions(errorOf<sg::CorruptCheckpointError>([&] { return app.invoke(sg::RESUME, {.thread_id = "t"}); }),
                       parts));
        CHECK(bytesOf(*saver) == before);
    });
}

TEST_CASE("a pending node that no longer exists is an error that names it; the state can be read, and edited past it") {
    onBothSavers([](const SharedSaver& saver) {
        chainOf({"a", "gone", "c"})
            .compile({.checkpointer = saver, .interrupt_before = {"gone"}})
            .invoke(says("i"), {.thread_id = "t"});
        const LineApp app = chainOf({"a", "c"}).compile({.checkpointer = saver});
        const Bytes before = bytesOf(*saver);
        CHECK(mentions(errorOf<sg::InvalidArgumentError>([&] { return app.invoke(sg::RESUME, {.thread_id = "t"}); }),
                       {"'gone'", "'t'", "no such node"}));
        CHECK(bytesOf(*saver) == before);

        const auto state = app.getState(T);
        CHECK(state.next == Words{"gone"});
        CHECK(state.values.v == Words{"i", "a"});
        CHECK(historyOf(app, T).size() == 3);

        app.updateState(T, says("edit"), {.as_node = "a"});
        CHECK(app.getState(T).next == Words{"c"});
        CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).values.v == Words{"i", "a", "edit", "c"});
    });
}

TEST_CASE("so is the target of a Send that no longer exists") {
    onBothSavers([](const SharedSaver& saver) {
        LineGraph graph;
        graph.addNode("a", saying("a"))
            .addNode("gone", [](const std::string& word) -> sg::Update<Line> { return says(word); })
            .addEdge(sg::START, "a")
            .addConditionalEdges("a", [](const Line&) {
                return std::vector<sg::Send>{{"gone", "0"}};
            });
        graph.compile({.checkpointer = saver, .interrupt_before = {"gone"}}).invoke(says("i"), {.thread_id = "t"});
        const LineApp app = chainOf({"a", "c"}).compile({.checkpointer = saver});
        CHECK(mentions(errorOf<sg::InvalidArgumentError>([&] { return app.invoke(sg::RESUME, {.thread_id = "t"}); }),
                       {"'gone'"}));
        CHECK(app.getState(T).next == Words{"gone"});
        app.updateState(T, says("edit"), {.as_node = "a"});
        CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).values.v == Words{"i", "a", "edit", "c"});
    });
}

namespace {

/// Three versions of a program: the first, one with more channels and a renamed one, and one without them.
struct First {
    std::vector<std::string> words = {};
    std::string name = {};
    int count = 0;
    static constexpr auto channels() {
        return sg::channels(sg::channel("words", &First::words, sg::append), sg::channel("name", &First::name),
                            sg::channel("count", &First::count, sg::sum));
    }
};
struct Second {
    std::vector<std::string> words = {};
    std::string title = {};
    int count = 0;
    Entries scores = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("words", &Second::words, sg::append),
                            sg::channel("title", &Second::title, sg::formerly("name")),
                            sg::channel("count", &Second::count, sg::max),
                            sg::channel("scores", &Second::scores, sg::merge));
    }
};

// START -> write -> ask.
template <class S>
sg::CompiledGraph<S> writing(const SharedSaver& saver, sg::Update<S> update) {
    sg::StateGraph<S> graph;
    graph.addNode("write", [update](const S&) { return update; });
    graph.addNode("ask", [](const S&, sg::Runtime& runtime) -> sg::Update<S> {
        return {sg::add(&S::words, sg::interrupt<std::string>(runtime, "?"))};
    });
    graph.addNode("beside", [](const S&) -> sg::Update<S> {
        return {sg::add(&S::words, "beside"), sg::add(&S::count, 5)};
    });
    graph.addEdge(sg::START, "write").addEdge("write", "ask").addEdge("write", "beside");
    return graph.compile({.checkpointer = saver});
}

}  // namespace

TEST_CASE("values survive the way from a new program to an old one and back, in the middle of a superstep") {
    onBothSavers([](const SharedSaver& saver) {
        const auto second =
            writing<Second>(saver, {sg::add(&Second::words, "second"), sg::set(&Second::title, "titled"),
                                    sg::merge(&Second::scores, {{"a", 1}}), sg::add(&Second::count, 2)});
        const auto first = writing<First>(saver, {sg::add(&First::words, "first"), sg::add(&First::count, 1)});
        second.invoke(sg::Update<Second>(), {.thread_id = "t"});  // waits at the question, beside has finished
        CHECK(second.getState(T).values.count == 5);              // the greatest

        // The old program sums, does not know the scores, and uses the title's old name, under which nothing is stored.
        const auto between = first.getState(T).values;
        CHECK(between.words == Words{"second", "beside"});
        CHECK(between.count == 7);
        CHECK(between.name.empty());
        first.invoke(sg::Command<>{.resume = "answer"}, {.thread_id = "t"});
        first.invoke(sg::Update<First>(), {.thread_id = "t"});

        const auto after = second.getState(T).values;
        CHECK(after.words == Words{"second", "answer", "beside", "first", "beside"});
        CHECK(after.title == "titled");
        CHECK(after.scores == Entries{{"a", 1}});
        CHECK(after.count == 8);  // 7 + 1 stored, and beside's 5 is not greater
        second.invoke(sg::Command<>{.resume = "again"}, {.thread_id = "t"});
        CHECK(second.getState(T).values.words.size() == 6);
        CHECK(second.getState(T).values.scores == Entries{{"a", 1}});
    });
}
