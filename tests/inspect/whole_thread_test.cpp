#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/inspect/server.hpp>

#include "inspect/prune_trial.hpp"
#include "tests/golden/rows.hpp"
#include "tests/inspect/inspected_api.hpp"

// A whole thread is copied, pruned and deleted over HTTP.
namespace sg = stategraph;
using namespace inspected_api;

namespace {

/// A graph whose only node waits until the test lets it return.
struct Held {
    std::promise<void> begun;
    std::promise<void> may_end;
    std::shared_future<void> end = may_end.get_future().share();
};

/// Lets the node return even if the test fails.
struct AtEnd {
    Held& held;
    ~AtEnd() { held.may_end.set_value(); }
};

App appThatWaits(const std::shared_ptr<sg::MemorySaver>& saver, const std::shared_ptr<Held>& held) {
    Graph graph;
    graph
        .addNode("wait",
                 [held](const Order&) -> Update {
                     held->begun.set_value();
                     held->end.wait();
                     return {sg::add(&Order::total, 1)};
                 })
        .addEdge(sg::START, "wait");
    return graph.compile({.checkpointer = saver});
}

std::size_t checkpointsIn(Store& store, const std::string& thread) {
    return store.saver->list({.thread_id = thread}).size();
}

TEST_CASE("a copy has the checkpoints of the thread, and runs on without changing it") {
    Store store({.write = true});
    const std::string before = golden::rowsOf(*store.saver);
    const Answered copied = store.post({{"threads", "asks", "copy"}}, R"({"to":"a copy/2"})");
    INFO(copied.body);
    REQUIRE(copied.status == 200);
    CHECK(textAt(copied.value(), "/thread_id") == "a copy/2");
    CHECK(store.checkpoint("a copy/2").at("tasks") == store.checkpoint("asks").at("tasks"));
    CHECK(store.app.invoke(sg::resume(std::string("yes")), {.thread_id = "a copy/2"}).values.topic == "yes");
    store.saver->deleteThread("a copy/2");
    CHECK(golden::rowsOf(*store.saver) == before);
}

TEST_CASE("a copy of a thread that does not exist, without a name, or over another thread is refused") {
    Store store({.write = true});
    const std::string before = golden::rowsOf(*store.saver);
    CHECK(store.post({{"threads", "nobody", "copy"}}, R"({"to":"x"})").status == 404);
    CHECK_THROWS_AS(store.post({{"threads", "asks", "copy"}}, R"({"to":""})"), sg::InvalidArgumentError);
    CHECK_THROWS_AS(store.post({{"threads", "asks", "copy"}}, "{}"), sg::WrongTypeError);
    CHECK_THROWS_AS(store.post({{"threads", "asks", "copy"}}, R"({"to":"fails"})"), sg::InvalidArgumentError);
    CHECK_THROWS_AS(store.post({{"threads", "asks", "copy"}}, R"({"to":"asks"})"), sg::InvalidArgumentError);
    CHECK(golden::rowsOf(*store.saver) == before);
}

TEST_CASE("a prune that is tried stores nothing, and says what the prune then does") {
    Store store({.write = true});
    const std::string thread = "done/with slash";
    const std::size_t all = checkpointsIn(store, thread);
    REQUIRE(all > 3);
    const auto shown = store.checkpoint(thread);
    const std::string before = golden::rowsOf(*store.saver);
    const auto tried = store.post({{"threads", thread, "prune"}}, R"({"keep_last":2,"dry_run":true})");
    INFO(tried.body);
    REQUIRE(tried.status == 200);
    CHECK(tried.value().at("dropped") == all - 2);
    CHECK(tried.value().at("kept") == 2);
    CHECK(golden::rowsOf(*store.saver) == before);

    const auto pruned = store.post({{"threads", thread, "prune"}}, R"({"keep_last":2})");
    CHECK(pruned.value() == tried.value());
    CHECK(checkpointsIn(store, thread) == 2);
    CHECK(store.checkpoint(thread).at("values") == shown.at("values"));
    CHECK(checkpointsIn(store, "asks") > 2);
}

TEST_CASE("a prune of a thread with forks is tried too") {
    Store store({.write = true});
    const std::string thread = "done/with slash";
    const auto timeline = store.ok({{"threads", thread, "timeline"}});
    const std::string old = textAt(timeline, "/checkpoints/2/checkpoint_id");
    REQUIRE(store.post({{"threads", thread, "checkpoints", old, "fork"}}, "{}").status == 200);
    store.app.invoke(sg::RESUME, {.thread_id = thread});
    const auto tried = store.post({{"threads", thread, "prune"}}, R"({"keep_last":2,"dry_run":true})");
    INFO(tried.body);
    REQUIRE(tried.status == 200);
    CHECK(store.post({{"threads", thread, "prune"}}, R"({"keep_last":2})").value() == tried.value());
}

TEST_CASE("a prune by age drops what is older, and keeps what a question waits in") {
    Store store({.write = true});
    const std::size_t all = checkpointsIn(store, "asks");
    CHECK(store.post({{"threads", "asks", "prune"}}, R"({"older_than_s":3600})").value().at("dropped") == 0);
    CHECK(checkpointsIn(store, "asks") == all);
    const auto tried = store.post({{"threads", "asks", "prune"}}, R"({"older_than_s":0,"dry_run":true})").value();
    CHECK(tried.at("dropped") == all - 1);
    CHECK(store.post({{"threads", "asks", "prune"}}, R"({"older_than_s":0})").value() == tried);
    CHECK(store.app.invoke(sg::resume(std::string("yes")), {.thread_id = "asks"}).values.topic == "yes");
}

TEST_CASE("a prune that does not say what to drop, or of a thread that does not exist, is refused") {
    Store store({.write = true});
    const std::string before = golden::rowsOf(*store.saver);
    CHECK_THROWS_AS(store.post({{"threads", "asks", "prune"}}, "{}"), sg::InvalidArgumentError);
    for (const std::string dry : {"false", "true"}) {
        CAPTURE(dry);
        CHECK_THROWS_AS(store.post({{"threads", "asks", "prune"}}, R"({"keep_last":0,"dry_run":)" + dry + "}"),
                        sg::InvalidArgumentError);
        CHECK_THROWS_AS(
            store.post({{"threads", "asks", "prune"}}, R"({"older_than_s":4000000001,"dry_run":)" + dry + "}"),
            sg::InvalidArgumentError);
        CHECK(store.post({{"threads", "nobody", "prune"}}, R"({"keep_last":1,"dry_run":)" + dry + "}").status == 404);
    }
    CHECK_THROWS_AS(store.post({{"threads", "asks", "prune"}}, R"({"keep_last":-1})"), sg::WrongTypeError);
    CHECK(golden::rowsOf(*store.saver) == before);
}

TEST_CASE("a thread is deleted by the caller that saw its newest checkpoint") {
    Store store({.write = true});
    const std::string old = textAt(store.checkpoint("asks"), "/checkpoint_id");
    store.app.invoke(sg::resume(std::string("yes")), {.thread_id = "asks"});
    const std::string before = golden::rowsOf(*store.saver);
    const auto refused = store.post({{"threads", "asks", "delete"}}, R"({"newest":")" + old + R"("})");
    CHECK(refused.status == 409);
    CHECK(refused.body.find("'asks' has a newer checkpoint") != std::string::npos);
    CHECK_THROWS_AS(store.post({{"threads", "asks", "delete"}}, "{}"), sg::WrongTypeError);
    CHECK_THROWS_AS(store.post({{"threads", "asks", "delete"}}, R"({"newest":"x"})"), sg::InvalidArgumentError);
    CHECK(golden::rowsOf(*store.saver) == before);

    const std::string newest = textAt(store.checkpoint("asks"), "/checkpoint_id");
    const std::string body = R"({"newest":")" + newest + R"("})";
    CHECK(store.post({{"threads", "asks", "delete"}}, body).value().at("deleted") == true);
    CHECK(checkpointsIn(store, "asks") == 0);
    CHECK(store.ok({{"threads"}}).at("threads").as_array().size() == 2);
    CHECK(store.post({{"threads", "asks", "delete"}}, body).status == 404);
}

TEST_CASE("a thread with a run that the page began is neither deleted nor pruned") {
    Store store({.write = true});
    const auto held = std::make_shared<Held>();
    const AtEnd at_end{*held};
    store.api.add("order", std::make_shared<sg::inspect::detail::GraphOnPage<Order, Order, Order>>(
                               appThatWaits(store.saver, held)));
    REQUIRE(store.post({{"threads", "runs", "run"}}, R"({"input":{"topic":"tea"}})").status == 202);
    REQUIRE(held->begun.get_future().wait_for(std::chrono::minutes(5)) == std::future_status::ready);
    const std::string newest = textAt(store.checkpoint("runs"), "/checkpoint_id");
    const auto deleted = store.post({{"threads", "runs", "delete"}}, R"({"newest":")" + newest + R"("})");
    CHECK(deleted.status == 409);
    CHECK(deleted.body.find("stop it first") != std::string::npos);
    CHECK(store.post({{"threads", "runs", "prune"}}, R"({"keep_last":1})").status == 409);
    CHECK(store.post({{"threads", "runs", "prune"}}, R"({"keep_last":1,"dry_run":true})").status == 200);
}

TEST_CASE("whole threads are changed only by a page that may write, and by no other page") {
    Store store;
    const std::string before = golden::rowsOf(*store.saver);
    Store writing({.write = true});
    const std::string writable = golden::rowsOf(*writing.saver);
    const Asked elsewhere{"POST", {{"X-Stategraph-Key", key}, {"Origin", "http://evil.example"}, {"Host", "h"}}};
    for (const std::string operation : {"copy", "prune", "delete"}) {
        CAPTURE(operation);
        const Place place{{"threads", "asks", operation}};
        const std::string body = R"({"to":"x","keep_last":1,"newest":""})";
        CHECK(store.post(place, body).status == 403);
        CHECK(store.get(place).status == 405);
        CHECK(writing.ask(elsewhere, place, body).status == 403);
    }
    CHECK(golden::rowsOf(*store.saver) == before);
    CHECK(golden::rowsOf(*writing.saver) == writable);
}

}  // namespace
