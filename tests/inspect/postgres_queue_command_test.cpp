// The command `queue`, and threads that workers have set aside in `ls`.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/inspect/command.hpp>

#include "tests/inspect/command_run.hpp"
#include "tests/inspect/inspected_api.hpp"
#include "tests/worker/queue/postgres_queue_helper.hpp"

using namespace stategraph;
using inspect::Exit;
using inspected::CommandRun;

namespace {

struct Commands : postgres_tests::Queue {
    CommandRun run(std::vector<std::string> words) const {
        const std::string info = postgres_tests::conninfo();
        const std::size_t host = info.find("host=") + 5;
        words.push_back("--store");
        words.push_back("postgresql://sg@/postgres?host=" + info.substr(host, info.find(' ', host) - host) +
                        "&connect_timeout=300#" + schema.name());
        return inspected::runCommand(words);
    }
};

}  // namespace

TEST_CASE("queue shows counts, workers, who has what, and why a ready thread is not taken") {
    Commands on;
    CHECK(on.run({"queue"}).has("the queue is empty"));
    for (const char* name : {"a", "b", "c"}) on.submit(name);
    CHECK(on.run({"queue"}).has("no worker is alive"));
    const ClaimedGraph other{"another graph", {1, 2}};
    const QueueWorker worker{.name = "w\"1", .queues = {"default"}, .graphs = {"another graph"}, .slots = 4};
    const std::int64_t number = on.queue.enlist(0, worker, std::span(&other, 1), std::chrono::hours(1));
    const CommandRun unserved = on.run({"queue"});
    CHECK(unserved.has("queue default: 3 unserved"));
    CHECK(unserved.has("no worker that is alive has graph 'graph'"));
    CHECK(unserved.has("alive, 0 of 4 slots taken, graphs another graph"));
    const ClaimedGraph own{"graph", {1, 2}};
    (void)on.queue.enlist(0, {.name = "w2", .queues = {"default"}, .graphs = {"graph"}, .slots = 1}, std::span(&own, 1),
                          std::chrono::hours(1));
    on.queue.leave(number);
    const Claim claim = on.claimOne();
    const CommandRun leased = on.run({"queue", "--standing", "leased"});
    CHECK(leased.has("worker 'worker' has it"));
    CHECK(on.run({"queue", "--standing", "ready"}).has("a worker takes it when it next asks"));
    CHECK(on.run({"queue", "--standing", "none"}).exit == Exit::usage);

    const CommandRun json = on.run({"queue", "--json"});
    CHECK(json.has(R"("ready":2)"));
    CHECK(json.has(R"("standing":"leased")"));
    const CommandRun metrics = on.run({"queue", "--prometheus"});
    CHECK(metrics.has("stategraph_queue_threads{queue=\"default\",standing=\"ready\"} 2\n"));
    CHECK(metrics.has("# TYPE stategraph_queue_oldest_seconds gauge\n"));
    CHECK(metrics.has("stategraph_queue_workers 1\n"));
    CHECK(claim.epoch > 0);
}

TEST_CASE("queue sets a thread aside, tries it again, releases and cancels it, and says what it cannot do") {
    Commands on;
    on.submit("t");
    const Claim claim = on.claimOne();
    on.begin(claim);
    CHECK(on.run({"queue", "release", "t"}).exit == Exit::done);
    CHECK_FALSE(on.renew(claim));
    const CommandRun again = on.run({"queue", "release", "t"});
    CHECK(again.exit == Exit::no);
    CHECK(again.error.find("no worker has it; it is ready") != std::string::npos);
    CHECK(on.run({"queue", "set-aside", "t", "--reason", "it is a poison"}).exit == Exit::done);
    CHECK(on.queue.find("t")->is_set_aside);
    const CommandRun listed = on.run({"ls"});
    CHECK(listed.has("set_aside"));
    CHECK(listed.has("! it is a poison"));
    CHECK(on.run({"ls", "--status", "set_aside"}).has("it is a poison"));
    CHECK(on.run({"queue"}).has("no worker takes it before 'stategraph queue retry'"));
    CHECK(on.run({"queue", "retry", "t"}).exit == Exit::done);
    CHECK(on.run({"queue", "retry", "t"}).exit == Exit::no);
    CHECK(on.run({"queue", "cancel", "t"}).exit == Exit::done);
    CHECK(on.queue.find("t")->is_cancelled);
    CHECK(on.run({"queue", "cancel", "nobody"}).error.find("it is not in the queue") != std::string::npos);
    CHECK(on.run({"queue", "cancel"}).exit == Exit::usage);
    CHECK(on.run({"queue", "wash", "t"}).exit == Exit::usage);
}

TEST_CASE("queue changes all threads of a selection, after it has said which, and never all of them by mistake") {
    Commands on;
    for (const char* name : {"a1", "a2", "b1"}) on.submit(name);
    (void)on.queue.submit(
        {.thread_id = "c1", .graph = "other", .queue = "mail", .metadata = parseJson(R"({"customer": 7})")});
    const CommandRun trial = on.run({"queue", "set-aside", "--begin", "a", "--dry-run"});
    CHECK(trial.out == "set-aside would change 2 threads\na1\na2\n");
    CHECK(on.queue.setAside().empty());
    CHECK(on.run({"queue", "set-aside", "--begin", "a", "--reason", "a pause"}).has("set-aside changed 2 threads"));
    CHECK(on.queue.find("a2")->error == "a pause");
    CHECK(on.run({"queue", "retry", "--error", "pause", "--graph", "graph"}).has("retry changed 2 threads"));
    const CommandRun json = on.run({"queue", "cancel", "--metadata", "customer=7", "--dry-run", "--json"});
    CHECK(json.has(R"({"threads":1,"first":["c1"],"dry_run":true})"));
    CHECK(on.run({"queue", "cancel", "--queue", "mail", "--unchanged", "1d"}).has("changed 0 threads"));
    CHECK(on.run({"queue", "cancel", "--queue", "mai*", "--since", "1d"}).has("changed 1 threads"));
    const CommandRun nothing = on.run({"queue", "cancel"});
    CHECK(nothing.exit == Exit::usage);
    CHECK(nothing.error.find("needs a selection") != std::string::npos);
    CHECK(on.run({"queue", "cancel", "--all"}).has("cancel changed 3 threads"));
    CHECK(on.run({"queue", "cancel", "--standing", "none"}).exit == Exit::usage);
}

TEST_CASE("queue limit stores how many threads of a queue workers have at once, and the queue shows it") {
    Commands on;
    for (const char* name : {"a", "b"}) on.submit(name);
    CHECK(on.run({"queue", "limit", "default", "--runs", "1", "--rate", "2.5"}).has("the limit is stored"));
    const ClaimedGraph own{"graph", {1, 2}};
    (void)on.queue.enlist(0, {.name = "w", .queues = {"def*"}, .graphs = {"graph"}, .slots = 4}, std::span(&own, 1),
                          std::chrono::hours(1));
    CHECK(on.run({"queue"}).has("limit of queue default: 0 of 1 with workers, at most 2.5 claimed a second"));
    on.queue.setLimit({.queue = "default", .runs = 1});
    CHECK(on.claim().size() == 1);
    const CommandRun full = on.run({"queue", "--standing", "ready"});
    CHECK(full.has("limit of queue default: 1 of 1 with workers\n"));
    CHECK(full.has("workers have as many threads of queue 'default' as its limit allows, 1"));
    CHECK(on.run({"queue", "--prometheus"}).has("stategraph_queue_limit{queue=\"default\"} 1\n"));
    CHECK(on.run({"queue", "limit", "default"}).has("there is no limit"));
    CHECK_FALSE(on.run({"queue"}).has("limit of queue"));
    CHECK(on.run({"queue", "limit"}).exit == Exit::usage);
    CHECK(on.run({"queue", "limit", "default", "--rate", "fast"}).exit == Exit::usage);
}

TEST_CASE("the HTTP interface shows the queue, and changes all threads of a selection if it may write") {
    Commands on;
    for (const char* name : {"a1", "a2", "b1"}) on.submit(name);
    inspect::ServerOptions options;
    options.key = inspected_api::key;
    options.write = true;
    inspect::Api api(on.saver, options);
    const auto ask = [&](const char* method, const inspected_api::Place& place, std::string_view body) {
        const inspected_api::Asked asked(
            method, {{"X-Stategraph-Key", inspected_api::key}, {"Origin", "http://h"}, {"Host", "h"}});
        const auto answer = api.answer({asked, place.segments, place.query, body});
        return std::pair(answer.status, answer.body);
    };
    const auto change = [&](std::string_view body) { return ask("POST", {{"queue", "change"}}, body); };
    const auto shown = ask("GET", {{"queue"}, {{"standing", "ready"}, {"limit", "1"}}}, {});
    CHECK(shown.first == 200);
    CHECK(shown.second.find(R"("ready":3)") != std::string::npos);
    CHECK(shown.second.find(R"("thread_id":"a1")") != std::string::npos);
    CHECK(shown.second.find(R"("thread_id":"a2")") == std::string::npos);
    const auto trial = change(R"({"change": "set_aside", "begin": "a", "dry_run": true})");
    CHECK(trial.first == 200);
    CHECK(trial.second == "{\"threads\":2,\"first\":[\"a1\",\"a2\"],\"dry_run\":true}\n");
    CHECK(on.queue.setAside().empty());
    CHECK(change(R"({"change": "set_aside", "begin": "a", "reason": "a pause"})").first == 200);
    CHECK(on.queue.setAside().size() == 2);
    CHECK_THROWS_AS(change(R"({"change": "retry"})"), InvalidArgumentError);
    CHECK_THROWS_AS(change(R"({"change": "wash", "all": true})"), InvalidArgumentError);
    CHECK(change(R"({"change": "retry", "all": true})").first == 200);
    CHECK(on.queue.setAside().empty());
    CHECK_THROWS_AS(ask("GET", {{"queue"}, {{"standing", "none"}}}, {}), InvalidArgumentError);

    inspected_api::Store memory;  // which has no queue
    CHECK_THROWS_AS(memory.get({{"queue"}}), InvalidArgumentError);
}
