#include <doctest/doctest.h>
#include <stategraph/stategraph.hpp>

#include "tests/support/history_graphs.hpp"
#include "tests/support/history_savers.hpp"

// The golden tables: what two nodes in a row store, checkpoint by checkpoint.
namespace sg = stategraph;
using namespace history;

namespace {

struct Row {
    const char* source;
    std::int64_t step;
    const char* values;
    Words next;
    const char* result;  // of its one task; null: there is none
};

template <class S>
void checkRows(const std::vector<sg::StateSnapshot<S>>& past, const std::vector<Row>& rows) {
    REQUIRE(past.size() == rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        CAPTURE(i);
        const auto& snapshot = past[i];
        CHECK(std::string(sg::toString(snapshot.source)) == rows[i].source);
        CHECK(snapshot.step == rows[i].step);
        CHECK(snapshot.valuesAsJson() == rows[i].values);
        CHECK(snapshot.next == rows[i].next);
        if (i == 0) {
            CHECK(!snapshot.parent_config);
        } else {
            REQUIRE(snapshot.parent_config);
            CHECK(*snapshot.parent_config == past[i - 1].config);
            CHECK(snapshot.config.checkpoint_id > past[i - 1].config.checkpoint_id);
            CHECK(snapshot.created_at >= past[i - 1].created_at);
        }
        CHECK(snapshot.config.thread_id == sg::ThreadId("t"));
        CHECK(snapshot.config.checkpoint_ns.empty());
        CHECK(snapshot.createdAt().size() == std::string("2025-01-01T00:00:00.000Z").size());
        REQUIRE(snapshot.tasks.size() == (rows[i].result == nullptr ? 0U : 1U));
        if (rows[i].result == nullptr) continue;
        const auto& task = snapshot.tasks.front();
        CHECK(task.name == rows[i].next.front());
        CHECK(task.path == "pull:" + task.name);
        CHECK(!task.id.empty());
        CHECK(task.result.toJson() == rows[i].result);
        CHECK(!task.error);
        CHECK(task.interrupts.empty());
        CHECK(task.open_interrupts.empty());
    }
}

struct FooBar {
    std::string foo = {};
    std::vector<std::string> bar = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("foo", &FooBar::foo), sg::channel("bar", &FooBar::bar, sg::append));
    }
};

sg::CompiledGraph<FooBar> fooBar(std::shared_ptr<sg::BaseCheckpointSaver> saver) {
    sg::StateGraph<FooBar> graph;
    graph
        .addNode("nodeA",
                 [](const FooBar&) -> sg::Update<FooBar> {
                     return {sg::set(&FooBar::foo, "a"), sg::add(&FooBar::bar, "a")};
                 })
        .addNode("nodeB",
                 [](const FooBar&, sg::Runtime&) -> sg::Update<FooBar> {
                     return {sg::set(&FooBar::foo, "b"), sg::add(&FooBar::bar, "b")};
                 })
        .addEdge(sg::START, "nodeA")
        .addEdge("nodeA", "nodeB")
        .addEdge("nodeB", sg::END);
    return graph.compile({.checkpointer = saver});
}

}  // namespace

TEST_CASE("two nodes in a row leave the four checkpoints of the reference's table") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = chainOf({"a", "b"}).compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        checkRows(pastOf(app, {.thread_id = "t"}), {{"input", -1, R"({"v":[]})", {sg::START}, R"({"v":["i"]})"},
                                                    {"loop", 0, R"({"v":["i"]})", {"a"}, R"({"v":["a"]})"},
                                                    {"loop", 1, R"({"v":["i","a"]})", {"b"}, R"({"v":["b"]})"},
                                                    {"loop", 2, R"({"v":["i","a","b"]})", {}, nullptr}});
    });
}

TEST_CASE("another input continues the steps: an input checkpoint at 3, then 4, 5 and 6") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = chainOf({"a", "b"}).compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        app.invoke(says("j"), {.thread_id = "t"});
        checkRows(pastOf(app, {.thread_id = "t"}),
                  {{"input", -1, R"({"v":[]})", {sg::START}, R"({"v":["i"]})"},
                   {"loop", 0, R"({"v":["i"]})", {"a"}, R"({"v":["a"]})"},
                   {"loop", 1, R"({"v":["i","a"]})", {"b"}, R"({"v":["b"]})"},
                   {"loop", 2, R"({"v":["i","a","b"]})", {}, nullptr},
                   {"input", 3, R"({"v":["i","a","b"]})", {sg::START}, R"({"v":["j"]})"},
                   {"loop", 4, R"({"v":["i","a","b","j"]})", {"a"}, R"({"v":["a"]})"},
                   {"loop", 5, R"({"v":["i","a","b","j","a"]})", {"b"}, R"({"v":["b"]})"},
                   {"loop", 6, R"({"v":["i","a","b","j","a","b"]})", {}, nullptr}});
    });
}

TEST_CASE("exit durability leaves one checkpoint of the run, with the step it would have had (quirk 38)") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = chainOf({"a", "b"}).compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t", .durability = sg::Durability::exit});
        const auto past = pastOf(app, {.thread_id = "t"});
        REQUIRE(past.size() == 1);
        CHECK(past[0].step == 2);
        CHECK((past[0].source == sg::Source::loop));
        CHECK(past[0].valuesAsJson() == R"({"v":["i","a","b"]})");
        CHECK(past[0].next.empty());
        CHECK(!past[0].parent_config);
    });
}

TEST_CASE("the persistence guide's two nodes leave its four checkpoints") {
    onBothSavers([](const SharedSaver& saver) {
        const auto app = fooBar(saver);
        const auto result = app.invoke({sg::set(&FooBar::foo, "")}, {.thread_id = "t"});
        CHECK(result.values.foo == "b");
        CHECK(result.values.bar == Words{"a", "b"});
        CHECK((result.status == sg::Status::done));
        const auto past = pastOf(app, {.thread_id = "t"});
        checkRows(past, {{"input", -1, R"({"bar":[]})", {sg::START}, R"({"foo":""})"},
                         {"loop", 0, R"({"foo":"","bar":[]})", {"nodeA"}, R"({"bar":["a"],"foo":"a"})"},
                         {"loop", 1, R"({"foo":"a","bar":["a"]})", {"nodeB"}, R"({"bar":["b"],"foo":"b"})"},
                         {"loop", 2, R"({"foo":"b","bar":["a","b"]})", {}, nullptr}});
        CHECK(!past[0].isSet(&FooBar::foo));
        CHECK(past[1].isSet(&FooBar::foo));
        CHECK(result.config == past[3].config);

        // The guide continues: the state is edited through the reducers, and replayed from a checkpoint.
        const sg::Config edited = app.updateState(
            {.thread_id = "t"}, {sg::set(&FooBar::foo, "c"), sg::add(&FooBar::bar, "c")}, {.as_node = "nodeA"});
        const auto state = app.getState({.thread_id = "t"});
        CHECK(state.config == edited);
        CHECK(state.valuesAsJson() == R"({"foo":"c","bar":["a","b","c"]})");
        CHECK(state.next == Words{"nodeB"});
        const auto replayed = app.invoke(sg::RESUME, {.thread_id = "t", .checkpoint_id = past[1].config.checkpoint_id});
        CHECK(replayed.values.bar == Words{"a", "b"});
        CHECK(sourcesOf(pastOf(app, {.thread_id = "t"})) ==
              Words{"input", "loop", "loop", "loop", "update", "fork", "loop", "loop"});
    });
}
