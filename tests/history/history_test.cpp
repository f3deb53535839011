#include <doctest/doctest.h>
#include <stategraph/stategraph.hpp>

#include "tests/support/history_graphs.hpp"
#include "tests/support/history_savers.hpp"

// getStateHistory: its order, limits and filters, and that it reads no more than is requested.
namespace sg = stategraph;
using namespace history;

namespace {

using Steps = std::vector<std::int64_t>;

struct Count {
    std::int64_t n = 0;
    static constexpr auto channels() { return sg::channels(sg::channel("n", &Count::n, sg::sum)); }
};

// Loops until n is `end`, with a checkpoint for each turn.
sg::CompiledGraph<Count> counter(const SharedSaver& saver, std::int64_t end) {
    sg::StateGraph<Count> graph;
    graph.addNode("count", [](const Count&) -> sg::Update<Count> { return {sg::add(&Count::n, 1)}; })
        .addEdge(sg::START, "count")
        .addConditionalEdges("count", [end](const Count& state) { return state.n < end ? "count" : sg::END; });
    return graph.compile({.checkpointer = saver});
}

sg::HistoryOptions where(const char* key, const sg::Value& value) { return {.filter = {{key, value}}}; }

}  // namespace

TEST_CASE("history comes newest first, as many as are asked for, and before a checkpoint only older ones") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = chainOf({"a", "b"}).compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        app.invoke(says("x"), {.thread_id = "other"});
        const auto all = historyOf(app, {.thread_id = "t"});
        CHECK(stepsOf(all) == Steps{2, 1, 0, -1});
        CHECK(stepsOf(historyOf(app, {.thread_id = "t"}, {.limit = 2})) == Steps{2, 1});
        CHECK(stepsOf(historyOf(app, {.thread_id = "t"}, {.limit = 9})) == Steps{2, 1, 0, -1});
        const auto before = historyOf(app, {.thread_id = "t"}, {.before = all[1].config.checkpoint_id});
        CHECK(stepsOf(before) == Steps{0, -1});
        // The task's result comes from the commit after it, which this page does not have.
        CHECK(before[0].tasks[0].result.toJson() == R"({"v":["a"]})");
        CHECK(stepsOf(historyOf(app, {.thread_id = "t"}, {.limit = 1, .before = all[1].config.checkpoint_id})) ==
              Steps{0});
        CHECK(historyOf(app, {.thread_id = "t"}, {.before = all[3].config.checkpoint_id}).empty());
    });
}

TEST_CASE("history is filtered by source, step and the run's own metadata; the limit counts what is left") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = chainOf({"a", "b"}).compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t", .metadata = {{"user", "u1"}, {"try", 1}}});
        app.invoke(says("j"), {.thread_id = "t", .metadata = {{"user", "u2"}, {"try", 1}}});
        const sg::Config config{.thread_id = "t"};
        CHECK(stepsOf(historyOf(app, config, where("source", "input"))) == Steps{3, -1});
        CHECK(stepsOf(historyOf(app, config, where("step", 1))) == Steps{1});
        CHECK(stepsOf(historyOf(app, config, where("user", "u1"))) == Steps{2, 1, 0, -1});
        CHECK(stepsOf(historyOf(app, config, {.limit = 3, .filter = {{"user", "u1"}}})) == Steps{2, 1, 0});
        CHECK(stepsOf(historyOf(app, config, {.filter = {{"user", "u2"}, {"source", "loop"}}})) == Steps{6, 5, 4});
        CHECK(stepsOf(historyOf(app, config, {.limit = 1, .filter = {{"try", 1}, {"source", "input"}}})) == Steps{3});
        const auto one = historyOf(app, config, where("step", 1));
        REQUIRE(one.size() == 1);
        CHECK(one[0].metadata == sg::Metadata{{"try", 1}, {"user", "u1"}});
    });
}

TEST_CASE("a filter that nothing fits gives nothing, whatever its type") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = chainOf({"a"}).compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t", .metadata = {{"user", "u1"}}});
        for (const auto& options :
             {where("source", "unheard-of"), where("source", 1), where("step", 99), where("step", "1"),
              where("user", "U1"), where("user", sg::Value()), where("nothing", "u1")}) {
            CHECK(historyOf(app, {.thread_id = "t"}, options).empty());
        }
    });
}

TEST_CASE("a checkpoint in the config restricts history to that one, which the options may still leave out") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = chainOf({"a", "b"}).compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        const auto all = historyOf(app, {.thread_id = "t"});
        const auto one = historyOf(app, all[1].config);
        REQUIRE(one.size() == 1);
        CHECK(one[0].config == all[1].config);
        CHECK(one[0].values.v == Words{"i", "a"});
        CHECK(one[0].next == Words{"b"});
        CHECK(one[0].tasks[0].result.toJson() == R"({"v":["b"]})");
        CHECK(historyOf(app, all[1].config, where("step", 1)).size() == 1);
        CHECK(historyOf(app, all[1].config, where("step", 2)).empty());
        CHECK(historyOf(app, all[1].config, {.before = all[1].config.checkpoint_id}).empty());
        CHECK(historyOf(app, all[1].config, {.before = all[0].config.checkpoint_id}).size() == 1);
        const auto bare = historyOf(app, all[1].config, {.values = false});
        REQUIRE(bare.size() == 1);
        CHECK(bare[0].values_as_cbor.isNull());
    });
}

TEST_CASE("without values a history has everything else") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = fanOf({"a", "b"}).compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t", .metadata = {{"user", "u1"}}});
        const auto full = historyOf(app, {.thread_id = "t"});
        const auto bare = historyOf(app, {.thread_id = "t"}, {.values = false});
        REQUIRE(bare.size() == full.size());
        for (std::size_t i = 0; i < bare.size(); ++i) {
            CHECK(bare[i].values.v.empty());
            CHECK(bare[i].values_as_cbor.isNull());
            CHECK(bare[i].config == full[i].config);
            CHECK(bare[i].parent_config == full[i].parent_config);
            CHECK(bare[i].metadata == full[i].metadata);
            CHECK(bare[i].next == full[i].next);
            CHECK(bare[i].tasks.size() == full[i].tasks.size());
        }
        CHECK(taskOf(bare[2], "b").result.toJson() == R"({"v":["b"]})");
    });
}

TEST_CASE("history reads a page at a time, as it is walked") {
    const auto saver = std::make_shared<CountingSaver>();
    const auto app = counter(saver, 300);
    app.invoke(sg::Update<Count>(), {.thread_id = "t", .recursion_limit = 400});
    saver->forget();
    auto history = app.getStateHistory({.thread_id = "t"}, {.values = false});
    CHECK(saver->lists == 0);
    auto at = history.begin();
    CHECK(saver->lists == 1);
    CHECK(saver->rows_listed <= 64);
    for (int i = 0; i < 20; ++i) ++at;
    CHECK(saver->lists == 1);
    for (; at != history.end(); ++at) {
    }
    CHECK(saver->rows_listed == 302);
    CHECK(saver->lists <= 302 / 64 + 1);
    CHECK(saver->tuples == 0);

    saver->forget();
    CHECK(historyOf(app, {.thread_id = "t"}, {.limit = 3}).size() == 3);
    CHECK(saver->lists == 1);
    CHECK(saver->rows_listed == 3);
    // Older checkpoints are read from what the newest is read from, unless that is a full snapshot.
    CHECK(saver->tuples <= 2);
}

TEST_CASE("a thousand checkpoints are listed, each with its own value") {
    onBothSavers([](const SharedSaver& saver) {
        const auto app = counter(saver, 998);
        app.invoke(sg::Update<Count>(), {.thread_id = "t", .recursion_limit = 1000});
        std::int64_t step = 999;
        for (const auto& snapshot : app.getStateHistory({.thread_id = "t"})) {
            --step;
            REQUIRE(snapshot.step == step);
            REQUIRE(snapshot.values.n == std::max<std::int64_t>(step, 0));
        }
        CHECK(step == -1);
        std::size_t bare = 0;
        for (const auto& snapshot : app.getStateHistory({.thread_id = "t"}, {.values = false})) {
            ++bare;
            REQUIRE(snapshot.parent_config.has_value() == (snapshot.step >= 0));
        }
        CHECK(bare == 1000);
    });
}
