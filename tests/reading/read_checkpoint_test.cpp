#include <doctest/doctest.h>

#include <stategraph/read_checkpoint.hpp>
#include <stategraph/timeline.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/inspected.hpp"
#include "tests/support/savers.hpp"

// Checkpoints read without the graph must equal what the graph's own getState returns.
namespace sg = stategraph;
using namespace inspected;

namespace {

Update about(std::string topic) { return {sg::set(&Order::topic, std::move(topic))}; }

// Makes a thread with a question, an edit, a fork from the middle, and an answer on the fork.
void makeThread(const App& app, const std::string& thread) {
    app.invoke(about("tea"), {.thread_id = thread});
    app.updateState({.thread_id = thread}, Update{sg::add(&Order::notes, std::string("edited"))}, {.as_node = "left"});
    std::vector<sg::CheckpointId> ids;
    for (const auto& each : app.getStateHistory({.thread_id = thread})) ids.push_back(each.config.checkpoint_id);
    app.invoke(sg::RESUME, {.thread_id = thread, .checkpoint_id = ids[3]});
    app.invoke(sg::resume(std::string("yes")), {.thread_id = thread});
}

}  // namespace

TEST_CASE("each checkpoint reads without its graph as the graph reads it") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const App app = graph().compile({.checkpointer = saver});
        makeThread(app, "t");
        std::size_t read = 0;
        for (const auto& each : app.getStateHistory({.thread_id = "t"})) {
            CAPTURE(each.step);
            const auto expected = app.getState(each.config, {.subgraphs = true});
            const auto found = sg::readCheckpoint(*saver, each.config, {.subgraphs = true});
            REQUIRE(found);
            CHECK(sg::toJson(*found) == sg::toJson(static_cast<const sg::SnapshotData&>(expected)));
            CHECK(found->values_as_cbor == expected.values_as_cbor);
            ++read;
        }
        CHECK(read > 8);
    });
}

TEST_CASE("without values a checkpoint has its tasks and questions") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const App app = graph().compile({.checkpointer = saver});
        app.invoke(about("tea"), {.thread_id = "t"});
        const auto found = sg::readCheckpoint(*saver, {.thread_id = "t"}, {.values = false});
        REQUIRE(found);
        CHECK(found->values_as_cbor.isNull());
        CHECK(found->next == std::vector<std::string>{"ask"});
        REQUIRE(found->interrupts().size() == 1);
        CHECK(found->interrupts()[0].value == sg::Value("Pay 7?"));
    });
}

TEST_CASE("a thread or checkpoint that is not there is none, and a config without a thread an error") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        CHECK(!sg::readCheckpoint(*saver, {.thread_id = "nobody"}));
        const App app = graph().compile({.checkpointer = saver});
        app.invoke(about("tea"), {.thread_id = "t"});
        CHECK(!sg::readCheckpoint(*saver, {.thread_id = "t", .checkpoint_id = "019b76da-a800-7666-8123-456789abcdef"}));
        CHECK_THROWS_AS(sg::readCheckpoint(*saver, {}), sg::InvalidArgumentError);
        CHECK(sg::readTimeline(*saver, {.thread_id = "nobody"}).empty());
        CHECK_THROWS_AS(sg::readTimeline(*saver, {}), sg::InvalidArgumentError);
        CHECK_THROWS_AS(sg::readTimeline(*saver, {.thread_id = "t"}, {.limit = 0}), sg::InvalidArgumentError);
    });
}

TEST_CASE("a timeline has all branches, newest first, in pages that meet") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const App app = graph().compile({.checkpointer = saver});
        makeThread(app, "t");
        const auto all = sg::readTimeline(*saver, {.thread_id = "t"});
        std::size_t at = 0;
        for (const auto& each : app.getStateHistory({.thread_id = "t"}, {.values = false})) {
            REQUIRE(at < all.size());
            const sg::TimelineEntry& entry = all[at++];
            CHECK(entry.id == each.config.checkpoint_id);
            CHECK((entry.parent == (each.parent_config ? each.parent_config->checkpoint_id : sg::CheckpointId())));
            CHECK(entry.step == each.step);
            CHECK((entry.source == each.source));
            CHECK(entry.created_at == each.created_at);
            CHECK(entry.next.size() == each.tasks.size());
            CHECK(entry.commit_bytes > 0);
            CHECK(!entry.is_sealed);
            CHECK(entry.damaged.empty());
        }
        CHECK(at == all.size());

        std::vector<sg::CheckpointId> paged;
        sg::TimelineQuery query{.limit = 3};
        for (;;) {
            const auto page = sg::readTimeline(*saver, {.thread_id = "t"}, query);
            for (const auto& entry : page) paged.push_back(entry.id);
            if (page.size() < query.limit) break;
            query.before = page.back().id;
        }
        REQUIRE(paged.size() == all.size());
        for (std::size_t i = 0; i < all.size(); ++i) CHECK(paged[i] == all[i].id);
    });
}

TEST_CASE("a timeline counts open questions and shows errors") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        Graph failing;
        failing.addNode("bad", [](const Order&) -> Update { throw std::runtime_error("no stock"); })
            .addEdge(sg::START, "bad");
        const App broken = failing.compile({.checkpointer = saver});
        CHECK_THROWS_AS(broken.invoke(about("tea"), {.thread_id = "f"}), sg::NodeError);
        CHECK(sg::readTimeline(*saver, {.thread_id = "f"})[0].error.find("no stock") != std::string::npos);
        const App app = graph().compile({.checkpointer = saver});
        app.invoke(about("tea"), {.thread_id = "t"});
        CHECK(sg::readTimeline(*saver, {.thread_id = "t"})[0].open_questions == 1);
        app.cancelThread("t");
        CHECK(sg::readTimeline(*saver, {.thread_id = "t"})[0].open_questions == 0);
    });
}
