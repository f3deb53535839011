#include <doctest/doctest.h>

#include <random>

#include <stategraph/checkpoint_changes.hpp>
#include <stategraph/read_checkpoint.hpp>

#include "tests/support/inspected.hpp"
#include "tests/support/savers.hpp"
#include "tests/support/seed.hpp"

// What a commit changed, what differs between checkpoints, and who wrote a channel.
namespace sg = stategraph;
using namespace inspected;

namespace {

Update about(std::string topic) { return {sg::set(&Order::topic, std::move(topic))}; }

std::vector<sg::Config> pastOf(const App& app, const std::string& thread) {
    std::vector<sg::Config> configs;
    for (const auto& each : app.getStateHistory({.thread_id = thread}, {.values = false}))
        configs.insert(configs.begin(), each.config);
    return configs;
}

std::string told(const sg::CheckpointChanges& changes) {
    std::string text;
    for (const auto& change : changes.changes)
        text += change.channel + " " + sg::toString(change.change) + " " + change.value.toJson() + "\n";
    return text;
}

}  // namespace

TEST_CASE("the changes of a checkpoint are its commit's operations, also where they name a value of the input") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const App app = graph().compile({.checkpointer = saver});
        const std::string topic(100, 'x');
        app.invoke(about(topic), {.thread_id = "t"});
        const auto past = pastOf(app, "t");
        CHECK(sg::readChanges(*saver, past[0])->changes.empty());
        const auto start = sg::readChanges(*saver, past[1]);
        REQUIRE(start);
        CHECK(told(*start) == "topic set \"" + topic + "\"\n");
        CHECK(start->parent == past[0].checkpoint_id);
        CHECK(start->step == 0);
        CHECK(told(*sg::readChanges(*saver, past[2])) == "notes append [\"plan\"]\n");
        CHECK(told(*sg::readChanges(*saver, past[3])) == "notes append [\"left\",\"right\"]\ntotal set 7\n");
        CHECK(sg::readChanges(*saver, {.thread_id = "t"})->config == past.back());
        CHECK(!sg::readChanges(*saver, {.thread_id = "nobody"}));
        CHECK_THROWS_AS(sg::readChanges(*saver, {}), sg::InvalidArgumentError);
    });
}

TEST_CASE("the difference of two checkpoints has the channels whose values differ") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const App app = graph().compile({.checkpointer = saver});
        app.invoke(about("tea"), {.thread_id = "t"});
        const auto past = pastOf(app, "t");
        const auto differences = sg::readDifference(*saver, past[2], past[3]);
        REQUIRE(differences.size() == 2);
        CHECK(differences[0].channel == "notes");
        CHECK(differences[0].before == sg::Value(std::vector<std::string>{"plan"}));
        CHECK(differences[1].channel == "total");
        CHECK(differences[1].before == sg::Value(0));
        CHECK(differences[1].after == sg::Value(7));
        CHECK(sg::readDifference(*saver, past[0], past[1])[0].before == std::nullopt);
        CHECK(sg::readDifference(*saver, past[1], past[1]).empty());
        CHECK_THROWS_AS(sg::readDifference(*saver, past[0], {.thread_id = "nobody"}), sg::InvalidArgumentError);
    });
}

TEST_CASE("a channel's history leads back to the first write, with the tasks that wrote it") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const App app = graph().compile({.checkpointer = saver});
        app.invoke(about("tea"), {.thread_id = "t"});
        app.invoke(sg::resume(std::string("yes")), {.thread_id = "t"});
        const auto notes = sg::readChannelHistory(*saver, {.thread_id = "t"}, "notes");
        std::string text;
        for (const auto& entry : notes.entries) {
            text += std::to_string(entry.step) + ":";
            for (const auto& writer : entry.writers) text += " " + writer.name;
            text += "\n";
        }
        CHECK(text == "5: last\n4: ask\n3: gather\n2: left right\n1: plan\n");
        CHECK(!notes.more);
        const auto total = sg::readChannelHistory(*saver, {.thread_id = "t"}, "total");
        REQUIRE(total.entries.size() == 1);
        CHECK(total.entries[0].writers.size() == 2);
        CHECK(total.entries[0].writers[1].path == "push:0000000001");
        CHECK(sg::readChannelHistory(*saver, {.thread_id = "t"}, "topic").entries.size() == 2);
        CHECK(sg::readChannelHistory(*saver, {.thread_id = "t"}, "none").entries.empty());
        CHECK(sg::readChannelHistory(*saver, {.thread_id = "nobody"}, "notes").entries.empty());
    });
}

TEST_CASE("a channel's history in pages is the whole, over commits that hold the whole state, and along one branch") {
    const auto seed = tests::seed();
    MESSAGE("STATEGRAPH_TEST_SEED=" << seed);
    std::mt19937 random(seed);
    savers::onEach([&](savers::Store& store) {
        const auto saver = store.open();
        Graph loop;
        // Long notes have the effect that some commits store the whole state.
        loop.addNode("turn",
                     [](const Order& order) -> Update {
                         if (order.total % 3 == 0) return {sg::add(&Order::total, 1)};
                         return {sg::add(&Order::total, 1),
                                 sg::set(&Order::topic, std::string(700, 'x') + std::to_string(order.total))};
                     })
            .addEdge(sg::START, "turn")
            .addConditionalEdges(
                "turn", [](const Order& order) { return order.total % 30 == 0 ? sg::END : std::string("turn"); },
                {"turn", sg::END});
        const App app = loop.compile({.checkpointer = saver});
        for (int i = 0; i < 3; ++i) app.invoke(Update{}, {.thread_id = "t", .recursion_limit = 200});
        const auto past = pastOf(app, "t");
        app.updateState(past[random() % past.size()], about("fork"), {.as_node = "turn"});
        app.invoke(sg::RESUME, {.thread_id = "t", .recursion_limit = 200});

        const auto all = sg::readChannelHistory(*saver, {.thread_id = "t"}, "topic", {.limit = 10'000});
        CHECK(!all.more);
        // The expected entries: all steps along the branch whose value differs from the one before, or for which a task
        // reports that it wrote the channel.
        std::size_t changed = 0;
        auto at = app.getState({.thread_id = "t"});
        while (at.parent_config) {
            auto before = app.getState(*at.parent_config);
            changed += at.values.topic != before.values.topic || at.isSet(&Order::topic) != before.isSet(&Order::topic);
            at = std::move(before);
        }
        CHECK(all.entries.size() >= changed);
        CHECK(all.entries.size() <= changed + 1);  // the commit of the edit may write the value that was there
        std::vector<sg::CheckpointId> paged;
        std::optional<sg::Config> next = sg::Config{.thread_id = "t"};
        while (next) {
            const auto page = sg::readChannelHistory(*saver, *next, "topic", {.limit = 7, .commits_max = 11});
            for (const auto& entry : page.entries) paged.push_back(entry.config.checkpoint_id);
            next = page.more;
        }
        REQUIRE(paged.size() == all.entries.size());
        for (std::size_t i = 0; i < paged.size(); ++i) CHECK(paged[i] == all.entries[i].config.checkpoint_id);
    });
}
