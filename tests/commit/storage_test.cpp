#include <algorithm>
#include <memory>

#include <doctest/doctest.h>
#include <stategraph/stategraph.hpp>

#include "tests/support/history_graphs.hpp"
#include "tests/support/history_savers.hpp"

// What is stored is in proportion to the change; it consists of results and not of operands, and contains nothing else.
namespace sg = stategraph;
using namespace history;

namespace {

const sg::Config T{.thread_id = "t"};

int reductions = 0;

struct Big {
    std::string constant = {};
    std::int64_t n = 0;
    std::int64_t custom = 0;
    std::string secret = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("constant", &Big::constant), sg::channel("n", &Big::n, sg::sum),
                            sg::channel("custom", &Big::custom,
                                        sg::reduce("count",
                                                   [](std::int64_t a, std::int64_t b) {
                                                       ++reductions;
                                                       return (10 * a + b) % 1'000'000;
                                                   })),
                            sg::channel("secret", &Big::secret, sg::untracked));
    }
};

/// The same channels with a reducer that would compute another value.
struct Other {
    std::int64_t n = 0;
    std::int64_t custom = 0;
    static constexpr auto channels() {
        return sg::channels(sg::channel("n", &Other::n, sg::max),
                            sg::channel("custom", &Other::custom, sg::reduce("other", [](std::int64_t, std::int64_t) {
                                            return std::int64_t{-1};
                                        })));
    }
};

sg::CompiledGraph<Big> counting(const SharedSaver& saver, std::int64_t end) {
    sg::StateGraph<Big> graph;
    graph.addNode("n",
                  [](const Big&) -> sg::Update<Big> {
                      return {sg::add(&Big::n, 1), sg::add(&Big::custom, 1)};
                  })
        .addEdge(sg::START, "n")
        .addConditionalEdges("n", [end](const Big& state) { return state.n < end ? "n" : sg::END; });
    return graph.compile({.checkpointer = saver});
}

LineApp appending(const SharedSaver& saver, std::size_t count, std::size_t size) {
    LineGraph graph;
    graph
        .addNode("n",
                 [size](const Line& line) -> sg::Update<Line> {
                     std::string text = std::to_string(line.v.size());
                     text.resize(size, '.');
                     return says(std::move(text));
                 })
        .addEdge(sg::START, "n")
        .addConditionalEdges("n", [count](const Line& line) { return line.v.size() < count ? "n" : sg::END; });
    return graph.compile({.checkpointer = saver});
}

struct Rows {
    std::size_t snapshots = 0;
    std::size_t largest = 0;
    std::size_t largest_change = 0;  // of those that are not snapshots
};
Rows rowsOf(sg::BaseCheckpointSaver& saver) {
    Rows rows;
    for (const auto& row : saver.list({})) {
        const auto header = sg::readHeader({row.thread_id, row.checkpoint_ns, row.id}, row.bytes);
        rows.largest = std::max(rows.largest, row.bytes.size());
        if (header.base == header.id) {
            ++rows.snapshots;
        } else {
            rows.largest_change = std::max(rows.largest_change, row.bytes.size());
        }
    }
    return rows;
}

bool found(const Bytes& bytes, const std::string& text) {
    return std::any_of(bytes.begin(), bytes.end(),
                       [&](const auto& row) { return row.second.find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE("two thousand appends of 200 bytes store at most 1.6 times the messages") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const LineApp app = appending(saver, 2000, 200);
    const auto result = app.invoke(sg::Update<Line>(), {.thread_id = "t", .recursion_limit = 2000});
    REQUIRE(result.values.v.size() == 2000);
    const std::size_t stored = sizeOf(bytesOf(*saver));
    CHECK(stored >= 2000 * 200);
    CHECK(stored <= 2000 * 200 * 16 / 10);
    CHECK(rowsOf(*saver).largest_change < 400);
    CHECK(app.getState(T).values.v == result.values.v);
}

TEST_CASE("the same thread grown by a run for each message stores no more") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const LineApp app = appending(saver, 0, 200);
    for (int n = 0; n < 500; ++n) app.invoke(sg::Update<Line>(), {.thread_id = "t"});
    // There are three checkpoints in each run, and still most of what is stored is messages.
    CHECK(sizeOf(bytesOf(*saver)) <= 500 * (200 * 16 / 10 + 2 * 120));
    CHECK(app.getState(T).values.v.size() == 500);
}

TEST_CASE("a counter that goes round stores bounded bytes a superstep") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto app = counting(saver, 1000);
    app.invoke(sg::Update<Big>(), {.thread_id = "t", .recursion_limit = 1000});
    CHECK(sizeOf(bytesOf(*saver)) <= 1002 * 160);
    CHECK(rowsOf(*saver).largest <= 200);
    CHECK(app.getState(T).values.n == 1000);
}

TEST_CASE("a big channel that nobody writes is not stored again") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto app = counting(saver, 300);
    app.invoke({sg::set(&Big::constant, std::string(100'000, 'c'))}, {.thread_id = "t", .recursion_limit = 1000});
    // The text is stored once as input, and once as the channel's value.
    CHECK(sizeOf(bytesOf(*saver)) <= 2 * 100'000 + 302 * 160);
    CHECK(app.getState(T).values.constant.size() == 100'000);
}

TEST_CASE("full snapshots appear as replaying becomes expensive, and every checkpoint reads the same through them") {
    onBothSavers([](const SharedSaver& saver) {
        const auto app = counting(saver, 400);
        app.invoke(sg::Update<Big>(), {.thread_id = "t", .recursion_limit = 1000});
        const Rows rows = rowsOf(*saver);
        CHECK(rows.snapshots >= 3);
        CHECK(rows.snapshots <= 400 / 10);
        const auto head = saver->getTuple({.log = {"t"}});
        REQUIRE(head);
        CHECK(head->commits.size() < 150);
        std::int64_t expected = 400;
        for (const auto& snapshot : app.getStateHistory(T)) {
            REQUIRE(snapshot.values.n == std::max<std::int64_t>(expected, 0));
            --expected;
        }
        CHECK(expected == -2);
    });
}

TEST_CASE("a reducer's result is stored: reading calls none, and no later reducer changes the past") {
    onBothSavers([](const SharedSaver& saver) {
        const auto app = counting(saver, 5);
        app.invoke(sg::Update<Big>(), {.thread_id = "t"});
        CHECK(reductions > 0);
        reductions = 0;
        CHECK(app.getState(T).values.custom == 11111);
        CHECK(historyOf(app, T).size() == 7);
        CHECK(reductions == 0);

        sg::StateGraph<Other> graph;
        graph.addNode("n", [](const Other&) -> sg::Update<Other> { return {}; }).addEdge(sg::START, "n");
        const auto other = graph.compile({.checkpointer = saver});
        CHECK(other.getState(T).values.custom == 11111);
        CHECK(other.getState(T).values.n == 5);
    });
}

TEST_CASE("what is written to an untracked channel never reaches the saver") {
    onBothSavers([](const SharedSaver& saver) {
        const std::string secret = "SECRET-9f2c";
        sg::StateGraph<Big> graph;
        const auto tell = [secret](const Big&) -> sg::Update<Big> {
            return {sg::set(&Big::secret, secret), sg::add(&Big::n, 1), sg::add(&Big::n, 1)};
        };
        std::vector<std::string> seen;
        const auto look = [&seen](const Big& state) -> sg::Update<Big> {
            seen.push_back(state.secret);
            return {sg::add(&Big::n, 1)};
        };
        const auto ask = [&seen](const Big& state, sg::Runtime& runtime) -> sg::Update<Big> {
            seen.push_back(state.secret);
            sg::interrupt(runtime);
            return {};
        };
        graph.addNode("alone", tell).addNode("together", tell).addNode("ask", ask).addNode("look", look);
        graph.addEdge(sg::START, "alone")
            .addEdge("alone", "together")
            .addEdge("alone", "ask")
            .addEdge("together", "look");
        const auto app = graph.compile({.checkpointer = saver});
        app.invoke({sg::set(&Big::secret, secret)}, {.thread_id = "t"});
        CHECK(!found(bytesOf(*saver), secret));
        CHECK(seen == Words{secret});
        CHECK(!app.getState(T).isSet(&Big::secret));
        CHECK(app.getState(T).valuesAsJson().find("secret") == std::string::npos);

        app.invoke(sg::Command<Big>{.resume = 1, .update = {sg::set(&Big::secret, secret)}}, {.thread_id = "t"});
        app.updateState(T, {sg::set(&Big::secret, secret)}, {.as_node = "alone"});
        app.invoke({sg::set(&Big::secret, secret)}, {.thread_id = "u", .durability = sg::Durability::exit});
        CHECK(!found(bytesOf(*saver), secret));
    });
}
