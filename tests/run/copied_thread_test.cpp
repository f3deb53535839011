#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/encrypted_saver.hpp>
#include <stategraph/memory_saver.hpp>

#include "tests/support/door.hpp"
#include "tests/support/encryption.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// After a copy, the copied thread and its original are independent. A run may continue the original meanwhile.
using namespace graphs;

namespace {

/// Calls a function once, after one of its lists.
class Interrupted final : public Door {
public:
    using Door::Door;
    std::size_t lists = 0;
    std::size_t at = 0;
    std::function<void()> then;

    std::vector<sg::ListedCheckpoint> list(const sg::ListQuery& query) override {
        auto listed = Door::list(query);
        if (++lists == at) then();
        return listed;
    }
};

/// The graph START -> keep -> ask, where `keep` is a subgraph that remembers its visits. Each run adds to "bar" how
/// many visits there have been; a run whose "foo" is "asks" asks a question after that.
App rememberer(const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    Graph inner;
    inner.addNode("remember", [](const State&) -> Update { return bar("visit"); });
    inner.addEdge(sg::START, "remember");
    Graph graph;
    graph.addNode(
        "keep", inner.compile({.checkpointer = sg::PER_THREAD}), [](const State&) -> Update { return {}; },
        [](const State& kept) -> Update { return bar(std::to_string(kept.bar.size())); });
    graph.addNode("ask", [](const State& state, sg::Runtime& runtime) -> Update {
        if (state.foo == "asks") (void)sg::interrupt<std::string>(runtime, "go on?");
        return {};
    });
    graph.addEdge(sg::START, "keep").addEdge("keep", "ask");
    return graph.compile({.checkpointer = saver});
}

Update foo(std::string text) { return {sg::set(&State::foo, std::move(text))}; }

}  // namespace

TEST_CASE("tasks of a copied thread have the original's ids and idempotency keys of their own") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        Strings keys;
        std::vector<sg::TaskId> ids;
        Graph graph;
        graph.addNode("first", [](const State&, sg::Runtime& rt) -> Update {
            return bar(rt.once("paid", [&] { return "by " + std::string(rt.threadId()); }));
        });
        graph.addNode("pay", [&](const State&, sg::Runtime& rt) -> Update {
            keys.push_back(rt.idempotencyKey("charge"));
            ids.push_back(rt.taskId());
            return bar(rt.once("charge", [&] { return "by " + std::string(rt.threadId()); }));
        });
        graph.addEdge(sg::START, "first").addEdge("first", "pay");
        const App app = graph.compile({.checkpointer = saver, .interrupt_before = {"pay"}});
        app.invoke(Update{}, {.thread_id = "one"});
        saver->copyThread("one", "two");
        CHECK(app.invoke(sg::RESUME, {.thread_id = "one"}).values.bar == Strings{"by one", "by one"});
        CHECK(app.invoke(sg::RESUME, {.thread_id = "two"}).values.bar == Strings{"by one", "by two"});
        REQUIRE(keys.size() == 2);
        CHECK(ids[0] == ids[1]);
        CHECK(keys[0] != keys[1]);
    });
}

TEST_CASE("a copy of a thread that a run continues meanwhile is the thread as it was at some moment") {
    std::size_t moments = 0;
    for (std::size_t at = 1; at <= 40; ++at) {
        CAPTURE(at);
        const auto store = std::make_shared<sg::MemorySaver>();
        const auto through = std::make_shared<Interrupted>(store);
        const auto saver = std::make_shared<sg::EncryptedSaver>(through, encryption::key("k"));
        const App other =
            rememberer(std::make_shared<sg::EncryptedSaver>(std::make_shared<Door>(store), encryption::key("k")));
        other.invoke(foo(""), {.thread_id = "t"});
        other.invoke(foo("asks"), {.thread_id = "t"});
        through->lists = 0;
        through->at = at;
        through->then = [&] {
            ++moments;
            other.invoke(sg::resume("yes"), {.thread_id = "t"});
            other.invoke(foo(""), {.thread_id = "t"});
            other.invoke(foo("asks"), {.thread_id = "t"});
        };
        try {
            saver->copyThread("t", "copy");
        } catch (const sg::ConcurrentUpdateError&) {
            CHECK_FALSE(other.getState({.thread_id = "copy"}).config.checkpoint_id);
            continue;
        }
        if (through->lists < at) break;
        const Strings copied = other.getState({.thread_id = "copy"}).values.bar;
        const bool is_early = copied == Strings{"1", "2"};
        CHECK((is_early || copied == Strings{"1", "2", "3", "4"}));
        // The moment may be that between the answer and the next checkpoint.
        const bool asks = !other.getState({.thread_id = "copy"}).interrupts().empty();
        asks ? other.invoke(sg::resume("yes"), {.thread_id = "copy"}) : other.invoke(sg::RESUME, {.thread_id = "copy"});
        const auto later = other.invoke(foo(""), {.thread_id = "copy"}).values.bar;
        CHECK(later == (is_early ? Strings{"1", "2", "3"} : Strings{"1", "2", "3", "4", "5"}));
    }
    CHECK(moments > 4);
}
