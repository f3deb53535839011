#include <doctest/doctest.h>

#include <stategraph/graph_description.hpp>
#include <stategraph/timeline.hpp>

#include "tests/support/encryption.hpp"
#include "tests/support/inspected.hpp"

// What readers with and without the key see.
namespace sg = stategraph;
using namespace inspected;

namespace {
Update about(std::string topic) { return {sg::set(&Order::topic, std::move(topic))}; }
}  // namespace

TEST_CASE("an encrypted description is read with the key alone") {
    const auto inner = std::make_shared<sg::MemorySaver>();
    const auto saver = std::make_shared<sg::EncryptedSaver>(inner, encryption::key("k1", 1));
    const App app = graph().compile({.checkpointer = saver});
    app.invoke(about("tea"), {.thread_id = "t"});
    const auto fingerprint = sg::describeGraph(app).fingerprint;
    CHECK(sg::readGraph(*saver, fingerprint)->nodes.size() == 7);
    const auto sealed = inner->getGraph(fingerprint);
    REQUIRE(sealed);
    CHECK(sealed->find("gather") == std::string::npos);
    sg::EncryptedSaver other(inner, encryption::key("k2", 2));
    CHECK_THROWS_AS(sg::readGraph(other, fingerprint), sg::CorruptCheckpointError);
}

TEST_CASE("without the key a timeline shows places, sizes, and where something waits") {
    const auto inner = std::make_shared<sg::MemorySaver>();
    const auto saver = std::make_shared<sg::EncryptedSaver>(inner, encryption::key("k1", 1));
    graph().compile({.checkpointer = saver}).invoke(about("tea"), {.thread_id = "t"});
    const auto open = sg::readTimeline(*saver, {.thread_id = "t"});
    const auto sealed = sg::readTimeline(*inner, {.thread_id = "t"});
    REQUIRE(open.size() == sealed.size());
    for (std::size_t i = 0; i < open.size(); ++i) {
        CHECK(sealed[i].is_sealed);
        CHECK(!open[i].is_sealed);
        CHECK(sealed[i].id == open[i].id);
        CHECK(sealed[i].parent == open[i].parent);
        CHECK(sealed[i].open_questions == open[i].open_questions);
        CHECK(sealed[i].next.empty() == open[i].next.empty());
        CHECK(sealed[i].metadata.empty());
    }
    sg::EncryptedSaver other(inner, encryption::key("k2", 2));
    CHECK_THROWS_AS(sg::readTimeline(other, {.thread_id = "t"}), sg::CorruptCheckpointError);
}
