#include <algorithm>

#include <doctest/doctest.h>
#include <stategraph/stategraph.hpp>

#include "tests/support/history_graphs.hpp"
#include "tests/support/history_savers.hpp"

// Joins that are half full, and joins whose sources changed while threads waited at them.
namespace sg = stategraph;
using namespace history;

namespace {

const sg::Config T{.thread_id = "t"};

struct Join {
    Words sources;
    std::string target;
};

// START -> a, slow, x; slow -> b -> b2; and the joins, which lead to "end". `deferred` lists nodes.
LineApp joining(const SharedSaver& saver, const std::vector<Join>& joins, const Words& deferred = {},
                const Words& without = {}) {
    LineGraph graph;
    const auto is = [](const Words& words, const std::string& name) {
        return std::find(words.begin(), words.end(), name) != words.end();
    };
    for (const std::string name : {"a", "x", "slow", "b", "b2", "end", "other"}) {
        if (!is(without, name)) graph.addNode(name, saying(name), {.defer = is(deferred, name)});
    }
    for (const std::string name : {"a", "x", "slow"}) {
        if (!is(without, name)) graph.addEdge(sg::START, name);
    }
    graph.addEdge("slow", "b").addEdge("b", "b2");
    graph.addConditionalEdges("b2", [](const Line&) { return Words{}; });  // may lead anywhere
    for (const auto& join : joins) graph.addEdge(join.sources, join.target);
    return graph.compile({.checkpointer = saver});
}

const Join ab{{"a", "b"}, "end"};

// a, x and slow have run, and b is next.
void wait(const SharedSaver& saver, const std::vector<Join>& joins, const Words& deferred = {}) {
    joining(saver, joins, deferred).invoke(says("i"), {.thread_id = "t", .interrupt_before = {"b"}});
}
const Words waited{"i", "a", "slow", "x"};

Words resumed(const LineApp& app) {
    return app.invoke(sg::RESUME, {.thread_id = "t", .interrupt_before = sg::NodeNames::none()}).values.v;
}

Words plus(Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

std::size_t runsOf(const Words& words, const std::string& node) {
    return static_cast<std::size_t>(std::count(words.begin(), words.end(), node));
}

}  // namespace

// Number 13 of the wishes of users.
TEST_CASE("a half-full join restored twice from the same checkpoint completes correctly both times") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = joining(saver, {ab});
        wait(saver, {ab});
        const sg::Config at = app.getState(T).config;
        const Words all = plus(waited, {"b", "b2", "end"});
        CHECK(resumed(app) == all);
        CHECK(app.invoke(sg::RESUME, at).values.v == all);
        CHECK(app.invoke(sg::RESUME, at).values.v == all);
        // The same holds after an edit that the join's other source makes.
        const auto edited = app.updateState(at, says("b"), {.as_node = "b"});
        CHECK(app.getState(edited).next == Words{"b2", "end"});
        CHECK(app.invoke(sg::RESUME, at).values.v == all);
    });
}

TEST_CASE("a join that lost a source keeps what arrived, and waits for those it has") {
    onBothSavers([](const SharedSaver& saver) {
        wait(saver, {{{"a", "b", "b2"}, "end"}});
        const Words all = resumed(joining(saver, {ab}));
        CHECK(all == plus(waited, {"b", "b2", "end"}));
    });
}

TEST_CASE("a join that lost the source it still waited for fires at once") {
    onBothSavers([](const SharedSaver& saver) {
        wait(saver, {{{"a", "x", "b"}, "end"}});
        CHECK(resumed(joining(saver, {{{"a", "x"}, "end"}})) == plus(waited, {"b", "end", "b2"}));
    });
}

TEST_CASE("a join that got a source keeps what arrived, and waits for that one too") {
    onBothSavers([](const SharedSaver& saver) {
        wait(saver, {ab});
        const LineApp app = joining(saver, {{{"a", "b", "b2"}, "end"}});
        app.invoke(sg::RESUME, {.thread_id = "t", .interrupt_before = {"b2"}});
        CHECK(app.getState(T).next == Words{"b2"});
        // What came from the old join is now in the new one's log, and is read back once more.
        const LineApp again = joining(saver, {{{"a", "b", "b2"}, "end"}});
        CHECK(resumed(again) == plus(waited, {"b", "b2", "end"}));
        // It is used up: another round needs all three.
        CHECK(runsOf(again.invoke(says("j"), {.thread_id = "t"}).values.v, "end") == 2);
    });
}

TEST_CASE("what a join took over from another is used up when it fires, in the log too") {
    onBothSavers([](const SharedSaver& saver) {
        wait(saver, {ab});
        const LineApp app = joining(saver, {{{"a", "b", "b2"}, "end"}});
        CHECK(runsOf(resumed(app), "end") == 1);
        // The node a has not run since.
        app.updateState(T, says("e"), {.as_node = "b"});
        app.updateState(T, says("e"), {.as_node = "b2"});
        CHECK(app.getState(T).next.empty());
        app.updateState(T, says("e"), {.as_node = "a"});
        CHECK(app.getState(T).next == Words{"end"});
    });
    onBothSavers([](const SharedSaver& saver) {  // nor does one that fired and was changed before its node ran
        joining(saver, {ab}).invoke(says("i"), {.thread_id = "t", .interrupt_before = {"end"}});
        const LineApp app = joining(saver, {{{"a", "b", "x"}, "end"}});
        CHECK(runsOf(resumed(app), "end") == 1);
        app.updateState(T, says("e"), {.as_node = "x"});
        CHECK(app.getState(T).next.empty());
    });
    onBothSavers([](const SharedSaver& saver) {  // by an edit as well
        wait(saver, {ab});
        const LineApp app = joining(saver, {{{"a", "b", "b2"}, "end"}});
        app.updateState(T, says("e"), {.as_node = "b"});
        app.updateState(T, says("e"), {.as_node = "b2"});
        CHECK(app.getState(T).next == Words{"end"});
        CHECK(runsOf(resumed(app), "end") == 1);
        app.updateState(T, says("e"), {.as_node = "b"});
        app.updateState(T, says("e"), {.as_node = "b2"});
        CHECK(app.getState(T).next.empty());
    });
}

TEST_CASE("sources in another order are another join with the same arrivals") {
    onBothSavers([](const SharedSaver& saver) {
        wait(saver, {ab});
        CHECK(resumed(joining(saver, {{{"b", "a"}, "end"}})) == plus(waited, {"b", "b2", "end"}));
    });
}

TEST_CASE("arrivals of a source that was removed are dropped, those of the others stay") {
    onBothSavers([](const SharedSaver& saver) {
        wait(saver, {{{"a", "x", "b"}, "end"}});
        CHECK(resumed(joining(saver, {ab}, {}, {"x"})) == plus(waited, {"b", "b2", "end"}));
    });
}

TEST_CASE("where the target has no join any more, or several that could continue, what arrived is dropped") {
    onBothSavers([](const SharedSaver& saver) {
        wait(saver, {ab});
        CHECK(resumed(joining(saver, {})) == plus(waited, {"b", "b2"}));
    });
    onBothSavers([](const SharedSaver& saver) {
        wait(saver, {{{"a", "b", "x"}, "end"}});
        CHECK(resumed(joining(saver, {ab, {{"a", "b2"}, "end"}})) == plus(waited, {"b", "b2"}));
    });
    onBothSavers([](const SharedSaver& saver) {  // to another node
        wait(saver, {ab});
        CHECK(resumed(joining(saver, {{{"a", "b"}, "other"}})) == plus(waited, {"b", "b2"}));
    });
}

TEST_CASE("joins that did not change are not mixed with one that did") {
    onBothSavers([](const SharedSaver& saver) {
        const Join ax{{"x", "b2"}, "end"};
        wait(saver, {ab, ax});
        const Words all = resumed(joining(saver, {{{"a", "b", "slow"}, "end"}, ax}));
        // The node slow ran before it became a source, so only [x, b2] fires.
        CHECK(all == plus(waited, {"b", "b2", "end"}));
    });
}

TEST_CASE("an old program continues at a join that a newer one changed, and the other way round") {
    onBothSavers([](const SharedSaver& saver) {
        wait(saver, {{{"a", "b2"}, "end"}});
        joining(saver, {{{"a", "b", "b2"}, "end"}}).invoke(sg::RESUME, {.thread_id = "t", .interrupt_before = {"b2"}});
        const LineApp old = joining(saver, {{{"a", "b2"}, "end"}});
        CHECK(resumed(old) == plus(waited, {"b", "b2", "end"}));
        const Words more = old.invoke(says("j"), {.thread_id = "t"}).values.v;
        CHECK(runsOf(more, "end") == 2);
        CHECK(runsOf(resumed(joining(saver, {{{"a", "b", "b2"}, "end"}})), "end") == 2);
    });
}

TEST_CASE("a node that was due by a join which has changed since is due all the same, once") {
    for (const Words& deferred : {Words{}, Words{"end"}}) {
        for (const std::vector<Join>& joins :
             {std::vector<Join>{}, std::vector<Join>{{{"a", "b", "b2"}, "end"}}, std::vector<Join>{ab}}) {
            for (const Words& later : {Words{}, Words{"end"}}) {
                onBothSavers([&](const SharedSaver& saver) {
                    CAPTURE(deferred.size());
                    CAPTURE(joins.size());
                    CAPTURE(later.size());
                    joining(saver, {ab}, deferred).invoke(says("i"), {.thread_id = "t", .interrupt_before = {"end"}});
                    const LineApp app = joining(saver, joins, later);
                    CHECK(sg::checkCompatibility(*saver, app).empty());
                    const Words all = resumed(app);
                    CHECK(runsOf(all, "end") == 1);
                    CHECK(runsOf(all, "b2") == 1);
                    CHECK(runsOf(resumed(app), "end") == 1);  // nothing is left
                });
            }
        }
    }
}

TEST_CASE("a deferred join that is full and waits continues in the join that took its place") {
    onBothSavers([](const SharedSaver& saver) {
        // The node end waits for everything else, so the join is full when b2 is next.
        joining(saver, {ab}, {"end"}).invoke(says("i"), {.thread_id = "t", .interrupt_before = {"b2"}});
        CHECK(resumed(joining(saver, {{{"b", "a"}, "end"}}, {"end"})) == plus(waited, {"b", "b2", "end"}));
    });
    onBothSavers([](const SharedSaver& saver) {  // and fires at once if its node is no longer deferred
        joining(saver, {ab}, {"end"}).invoke(says("i"), {.thread_id = "t", .interrupt_before = {"b2"}});
        CHECK(resumed(joining(saver, {ab})) == plus(waited, {"b", "b2", "end"}));
    });
}
