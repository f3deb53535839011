// Changes of many threads of the queue in one statement, and limits of queues.
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/queue_query.hpp>

#include "tests/worker/queue/postgres_queue_helper.hpp"

using namespace postgres_tests;
using namespace stategraph;
using namespace std::chrono_literals;

namespace {

using Names = std::vector<std::string>;

/// The names of the threads of the queue that are as `is` says.
template <class Is>
Names namesWhere(Queue& on, Is is) {
    Names names;
    for (const QueuedThread& each : on.queue.list({}, 1'000)) {
        if (is(each)) names.push_back(each.thread_id);
    }
    return names;
}
Names setAside(Queue& on) {
    return namesWhere(on, [](const QueuedThread& each) { return each.is_set_aside; });
}

void submitWith(Queue& on, const std::string& thread, const std::string& queue, const std::string& graph,
                const char* metadata) {
    (void)on.queue.submit({.thread_id = thread,
                           .graph = graph,
                           .input = Value(1),
                           .queue = queue,
                           .metadata = metadata ? parseJson(metadata) : Value()});
}

}  // namespace

TEST_CASE("a change of many threads does what the change of one does, to those alone that the query selects") {
    Queue on;
    submitWith(on, "a1", "shop", "order", R"({"customer": 7, "land": "no"})");
    submitWith(on, "a2", "shop", "order", R"({"customer": 8})");
    submitWith(on, "a3", "mail", "order", nullptr);
    submitWith(on, "b1", "shop/eu", "refund", R"({"customer": 7})");
    const auto first = [&](const QueueQuery& query) { return on.queue.preview(QueueChange::set_aside, query).first; };
    CHECK(first({}) == Names{"a1", "a2", "a3", "b1"});
    CHECK(first({.queue = "shop"}) == Names{"a1", "a2"});
    CHECK(first({.queue = "shop*"}) == Names{"a1", "a2", "b1"});
    CHECK(first({.graph = "refund"}) == Names{"b1"});
    CHECK(first({.standing = QueueStanding::ready}) == Names{"a1", "a2", "a3", "b1"});
    CHECK(first({.standing = QueueStanding::leased}).empty());
    CHECK(first({.metadata = parseJson(R"({"customer": 7})")}) == Names{"a1", "b1"});
    CHECK(first({.queue = "shop", .metadata = parseJson(R"({"customer": 7})")}) == Names{"a1"});
    CHECK(first({.thread_id_begin = "a"}) == Names{"a1", "a2", "a3"});
    const auto now = std::chrono::system_clock::now();
    CHECK(first({.since_from = now - 24h}).size() == 4);
    CHECK(first({.since_from = now + 24h}).empty());
    CHECK(first({.since_to = now - 24h}).empty());

    // A preview changes nothing, and names no more than are wanted.
    const QueuePreview two = on.queue.preview(QueueChange::set_aside, {}, 2);
    CHECK(two.count == 4);
    CHECK(two.first == Names{"a1", "a2"});
    CHECK(on.queue.preview(QueueChange::set_aside, {}, 0).count == 4);
    CHECK(setAside(on).empty());

    // To pause and to resume.
    CHECK(on.queue.change(QueueChange::set_aside, {.queue = "shop*"}, "a pause") == 3);
    CHECK(on.queue.change(QueueChange::set_aside, {.queue = "shop*"}, "a pause") == 0);
    CHECK(setAside(on) == Names{"a1", "a2", "b1"});
    CHECK(on.queue.find("b1")->error == "a pause");
    CHECK_FALSE(on.queue.find("b1")->due);
    CHECK(first({.error = "pause"}).empty());  // they are set aside already
    CHECK(on.queue.preview(QueueChange::retry, {.error = "pause"}).count == 3);
    CHECK(on.queue.change(QueueChange::retry, {.graph = "order", .error = "pause"}) == 2);
    CHECK(setAside(on) == Names{"b1"});
    CHECK(on.queue.find("a1")->due);

    // Of those that a worker has, and of those alone.
    const auto claims = on.queue.claim(
        {.worker = "w1", .lease = 1h, .graphs = {{"order", {1, 2}}}, .queues = {{"shop", 1}, {"mail", 1}}});
    REQUIRE(claims.size() == 2);
    CHECK(on.queue.preview(QueueChange::release, {}).count == 2);
    CHECK(on.queue.change(QueueChange::release, {.worker = "another"}) == 0);
    CHECK(on.queue.change(QueueChange::release, {.queue = "mail", .worker = "w1"}) == 1);
    CHECK_FALSE(on.renew(claims[1]));
    CHECK(on.renew(claims[0]));

    // A cancellation drops inputs, and reaches threads that are set aside.
    CHECK(on.queue.change(QueueChange::cancel, {.queue = "shop*"}) == 3);
    CHECK(on.queue.change(QueueChange::cancel, {.queue = "shop*"}) == 0);
    CHECK(namesWhere(on, [](const QueuedThread& each) { return each.is_cancelled && each.inputs == 0; }) ==
          Names{"a1", "a2", "b1"});
    CHECK(on.count("inputs") == "1");
    CHECK(on.queue.find("a3")->inputs == 1);
    CHECK(setAside(on).empty());
}

TEST_CASE("a change of many threads ends at its limit, and continues when it is repeated") {
    Queue on;
    std::vector<QueuedInput> inputs;
    for (int i = 0; i < 10; ++i) inputs.push_back({.thread_id = "t" + std::to_string(i), .graph = "graph"});
    (void)on.queue.submit(inputs);
    std::vector<std::size_t> changed;
    while (changed.empty() || changed.back() > 0) changed.push_back(on.queue.change(QueueChange::cancel, {}, {}, 4));
    CHECK(changed == std::vector<std::size_t>{4, 4, 2, 0});
}

TEST_CASE("metadata of inputs is an object, and later members replace earlier ones of the same name") {
    Queue on;
    const auto count = [&](const char* metadata) {
        return on.queue.preview(QueueChange::cancel, {.metadata = parseJson(metadata)}).count;
    };
    submitWith(on, "t", "default", "graph", R"({"a": 1, "b": {"c": [1, 2]}})");
    submitWith(on, "t", "default", "graph", nullptr);
    CHECK(count(R"({"a": 1})") == 1);
    CHECK(count(R"({"b": {"c": [2]}})") == 1);
    submitWith(on, "t", "default", "graph", R"({"a": 2})");
    CHECK(count(R"({"a": 1})") == 0);
    CHECK(count(R"({"a": 2, "b": {"c": [1, 2]}})") == 1);
    CHECK(has(databaseError([&] { submitWith(on, "t", "default", "graph", "[1]"); }), "must be an object"));
    CHECK(has(databaseError([&] { (void)count("7"); }), "QueueQuery::metadata is 7"));
    CHECK(has(databaseError([&] { submitWith(on, "t", "many/*", "graph", nullptr); }), "names several"));
}

TEST_CASE("workers together have at most as many threads of a queue as its limit allows") {
    Queue on;
    for (int i = 0; i < 20; ++i) on.submit("t" + std::to_string(i), "", i < 15 ? "tight" : "free");
    on.queue.setLimit({.queue = "tight", .runs = 7});
    const auto claim = [&](const std::string& worker, std::vector<std::string>* limited) {
        return on.queue.claim(
            {.worker = worker, .lease = 1h, .graphs = {{"graph", {1, 2}}}, .queues = {{"free", 2}, {"tight", 4}}},
            limited);
    };
    std::vector<std::string> limited;
    std::vector<Claim> first = claim("w1", &limited);
    CHECK(first.size() == 6);
    CHECK(limited.empty());
    CHECK(claim("w2", &limited).size() == 5);  // two of the free queue, and what is left of the other
    CHECK(limited == Names{"tight"});
    CHECK(claim("w3", nullptr).size() == 1);
    CHECK(on.queue.limits().at(0).running == 7);

    // What is given back has room again, and so does a lease that has run out.
    for (const Claim& each : first) {
        if (each.queue == "tight") CHECK(on.release(each, WorkOutcome::again));
    }
    CHECK(claim("w3", nullptr).size() == 4);
    Raw().run("UPDATE " + on.schema.name() + ".work SET due = now() WHERE queue = 'tight' AND worker = 'w2'");
    CHECK(claim("w3", nullptr).size() == 3);
    CHECK(on.queue.limits().at(0).running == 7);

    on.queue.setLimit({.queue = "tight", .runs = 0});
    CHECK(claim("w3", nullptr).empty());
    on.queue.setLimit({.queue = "tight"});
    CHECK(on.queue.limits().empty());
    CHECK(claim("w3", nullptr).size() == 4);
}

TEST_CASE("a queue gives as many threads a second as its limit allows, to all workers together") {
    Queue on;
    std::vector<QueuedInput> inputs;
    for (int i = 0; i < 100; ++i) inputs.push_back({.thread_id = "t" + std::to_string(i), .graph = "graph"});
    (void)on.queue.submit(inputs);
    on.queue.setLimit({.queue = "default", .rate = 20});
    // As if the last claim had been so long ago: the clock is the server's.
    const auto passes = [&](const std::string& time) {
        Raw().run("UPDATE " + on.schema.name() + ".limits SET tokens = 0, refilled = clock_timestamp() - interval '" +
                  time + "'");
    };
    passes("-1 hour");
    CHECK(on.claim(50).empty());
    passes("500 milliseconds");
    CHECK(on.claim(50).size() >= 10);
    passes("1 hour");  // no more than a second's are saved
    CHECK(on.claim(50).size() == 20);
    const QueueLimit limit = on.queue.limits().at(0);
    CHECK(limit.rate == 20.0);
    CHECK_FALSE(limit.runs);

    CHECK(has(databaseError([&] { on.queue.setLimit({.queue = "default", .rate = 0.0}); }), "QueueLimit::rate"));
    CHECK(has(databaseError([&] { on.queue.setLimit({.queue = "a*", .runs = 1}); }), "names several"));
}

TEST_CASE("queues with due threads are found by the beginning of their names, one after the other") {
    Queue on;
    for (const char* queue : {"tenant/a", "tenant/b", "tenant/c", "tenant/\xc3\xa9", "other", "tenants"})
        for (int i = 0; i < 3; ++i) on.submit(std::string(queue) + " " + std::to_string(i), "", queue);
    CHECK(on.claim(3, {1, 2}, "tenant/b").size() == 3);  // nothing there is due any more
    const auto found = [&](std::string_view after, std::size_t most) {
        return on.queue.dueQueues("tenant/", after, most);
    };
    CHECK(found("", 10).names == Names{"tenant/a", "tenant/c", "tenant/\xc3\xa9"});
    CHECK(found("", 10).last.empty());
    CHECK(found("", 1).names == Names{"tenant/a"});
    CHECK(found("", 1).last == "tenant/a");
    CHECK(found("tenant/a", 1).names == Names{"tenant/c"});
    CHECK(found("tenant/c", 5).names == Names{"tenant/\xc3\xa9"});
    CHECK(found("tenant/c", 5).last.empty());
    CHECK(on.queue.dueQueues("none", "", 5).names.empty());
    CHECK(on.queue.dueQueues("", "", 50).names.size() == 5);
}
