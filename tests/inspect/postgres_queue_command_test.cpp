// The command `queue`, and threads that workers have set aside in `ls`.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/inspect/command.hpp>

#include "tests/inspect/command_run.hpp"
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
