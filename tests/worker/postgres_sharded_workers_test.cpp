// Workers of two clusters, inputs for both, and slots that move while threads run.
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/answer.hpp>
#include <stategraph/error.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/sharded_queue.hpp>

#include "tests/storage/sharded/postgres/postgres_shards_helper.hpp"
#include "tests/support/until.hpp"
#include "tests/worker/worker_helper.hpp"

using namespace worker_tests;
using namespace postgres_tests;

namespace {

/// Two clusters with a worker each.
struct TwoClusters {
    Clusters clusters{2};
    std::shared_ptr<sg::PostgresShards> shards;
    std::shared_ptr<sg::ShardedSaver> saver;
    std::unique_ptr<sg::ShardedQueue> queue;

    TwoClusters() {
        for (std::size_t i = 0; i < 2; ++i) clusters.options(i) = patient(clusters.options(i));
        clusters.setUp();
        shards = clusters.open();
        saver = std::make_shared<sg::ShardedSaver>(shards);
        queue = std::make_unique<sg::ShardedQueue>(saver);
    }
    void submit(const std::string& thread, int number, const std::string& key = {}) {
        (void)queue->submit({.thread_id = thread, .graph = "graph", .input = inputOf(number), .key = key});
    }
    template <class Condition>
    void await(Condition condition) {
        patience::until([&] { return condition(); });
    }
    std::vector<int> log(const std::string& thread) {
        return countingGraph({.checkpointer = saver}).getState({.thread_id = thread}).values.log;
    }
};

/// Does the same as Running, on the queue of one cluster.
class ClusterWorker {
public:
    ClusterWorker(TwoClusters& on, std::size_t cluster, std::function<void(const Counted&, sg::Runtime&)> before = {})
        : saver_(std::make_shared<sg::LeasedSaver>(on.shards->cluster(cluster))), worker(saver_, quick({.slots = 4})) {
        worker.add("graph", countingGraph({.checkpointer = saver_}, std::move(before)));
        thread_ = std::thread([this] { worker.run(); });
    }
    ~ClusterWorker() {
        worker.stop();
        thread_.join();
    }

private:
    std::shared_ptr<sg::LeasedSaver> saver_;

public:
    sg::Worker worker;

private:
    std::thread thread_;
};

}  // namespace

TEST_CASE("inputs go to the cluster of their thread, and a worker a cluster runs them") {
    TwoClusters on;
    std::vector<sg::QueuedInput> inputs;
    for (int input = 1; input <= 2; ++input) {
        for (int i = 0; i < 12; ++i) {
            inputs.push_back({.thread_id = "thread " + std::to_string(i), .graph = "graph", .input = inputOf(input)});
        }
    }
    const auto receipts = on.queue->submit(inputs);
    REQUIRE(receipts.size() == 24);
    for (std::size_t i = 0; i < 12; ++i) CHECK(receipts[i].number < receipts[i + 12].number);
    CHECK(on.queue->stats().at(0).ready == 12);
    CHECK(on.queue->stats().at(0).inputs == 24);
    ClusterWorker left(on, 0);
    ClusterWorker right(on, 1);
    for (int i = 0; i < 12; ++i) {
        const std::string name = "thread " + std::to_string(i);
        on.await([&] { return !on.queue->find(name); });
        CHECK(on.log(name) == logOf({1, 2}));
    }
    CHECK(left.worker.metrics().finished + right.worker.metrics().finished == 24);
    CHECK(left.worker.metrics().finished > 0);
    CHECK(right.worker.metrics().finished > 0);
}

TEST_CASE("inputs, keys, questions and threads that are set aside move with their slot") {
    TwoClusters on;
    const std::size_t slot = 5;
    const std::size_t slots[] = {slot};
    const std::string waits = nameIn(slot, 0);
    const std::string asks = nameIn(slot, 1);
    const std::string fails = nameIn(slot, 2);
    const auto before = [](const Counted& state, sg::Runtime& runtime) {
        if (state.input == 7) throw std::runtime_error("never");
        if (state.input == 8 && state.n == 2) (void)sg::interrupt<std::string>(runtime, "go on?");
    };
    {
        ClusterWorker left(on, 0, before);
        on.submit(asks, 8);
        on.submit(fails, 7);
        on.await([&] { return on.queue->find(asks)->state == sg::WorkState::waits; });
        on.await([&] { return on.queue->find(fails)->is_set_aside; });
    }
    on.submit(waits, 1, "key 1");
    on.submit(waits, 2, "key 2");
    const auto report = on.shards->moveSlots(slots, "b");
    CHECK(report.slots == 1);
    CHECK(report.threads == 3);
    CHECK(on.clusters.rowsOf(0, slot) == "0");
    CHECK(on.queue->setAside().at(0).thread_id == fails);
    CHECK_FALSE(on.queue->submit({.thread_id = waits, .graph = "graph", .input = inputOf(2), .key = "key 2"}).is_new);
    on.submit(waits, 3);
    ClusterWorker left(on, 0, before);
    ClusterWorker right(on, 1, before);
    on.await([&] { return !on.queue->find(waits); });
    CHECK(on.log(waits) == logOf({1, 2, 3}));
    sg::answer(*on.saver, {.thread_id = asks}, sg::Value("yes"));
    on.await([&] { return !on.queue->find(asks); });
    CHECK(on.log(asks) == logOf({8}));
    CHECK(on.queue->cancel(fails));
    on.await([&] { return !on.queue->find(fails); });
    CHECK(left.worker.metrics().finished == 0);
}

TEST_CASE("threads that run while their slot moves to and fro end as they would have, each input once") {
    TwoClusters on;
    const std::size_t slot = 5;
    const std::size_t slots[] = {slot};
    std::vector<std::string> names;
    for (int i = 0; i < 6; ++i) names.push_back(nameIn(slot, i));
    // sleeps: work that takes time
    const auto slow = [](const Counted&, sg::Runtime&) { std::this_thread::sleep_for(5ms); };
    ClusterWorker left(on, 0, slow);
    ClusterWorker right(on, 1, slow);
    std::vector<int> inputs;
    for (int round = 1; round <= 6; ++round) {
        inputs.push_back(round);
        for (const std::string& name : names) on.submit(name, round, "round " + std::to_string(round));
        std::this_thread::sleep_for(15ms);  // sleeps: the moment differs from round to round
        // Writers end a move that takes too long, as all of it may where the machine is busy. Then it is begun again.
        bool was_ended = false;
        on.await([&] {
            try {
                const auto moved = on.shards->moveSlots(slots, round % 2 == 1 ? "b" : "a").slots;
                CHECK((moved == 1 || was_ended));
                return true;
            } catch (const sg::SaverError&) {
                was_ended = true;
                return false;
            }
        });
    }
    for (const std::string& name : names) {
        on.await([&] { return !on.queue->find(name); });
        CHECK(on.log(name) == logOf(inputs));
    }
    CHECK(on.saver->unfinishedThreads().empty());
    CHECK(on.clusters.rowsOf(1, slot) == "0");
}

TEST_CASE("a sharded queue without clusters is refused") {
    CHECK_THROWS_AS(sg::ShardedQueue(nullptr), sg::InvalidArgumentError);
    const auto shards = std::make_shared<sg::FixedShards>(
        std::vector<sg::NamedShard>{{"a", std::make_shared<sg::MemorySaver>()}}, sg::ThreadOrder::size_then_bytes);
    CHECK_THROWS_WITH_AS(sg::ShardedQueue(std::make_shared<sg::ShardedSaver>(shards)),
                         "a ShardedQueue needs a ShardedSaver over PostgresShards: other savers have no queue",
                         sg::InvalidArgumentError);
}

TEST_CASE("a process has a worker for each cluster, and another one gives work to all of them") {
    TwoClusters on;
    const auto& shards = on.shards;
    const auto makeApp = [](const std::shared_ptr<sg::LeasedSaver>& saver) {
        return countingGraph({.checkpointer = saver});
    };
    // [begin workers]
    std::vector<std::unique_ptr<sg::Worker>> workers;
    std::vector<std::thread> running;
    for (std::size_t shard = 0; shard < shards->count(); ++shard) {
        const auto saver = std::make_shared<sg::LeasedSaver>(shards->cluster(shard));
        workers.push_back(std::make_unique<sg::Worker>(saver));
        workers.back()->add("graph", makeApp(saver));
        running.emplace_back([&worker = *workers.back()] { worker.run(); });
    }
    // [end workers]
    // [begin submit]
    sg::ShardedQueue queue(std::make_shared<sg::ShardedSaver>(shards));
    queue.submit({.thread_id = "book", .graph = "graph", .input = inputOf(1), .key = "order 1"});
    queue.submit({.thread_id = "lamp", .graph = "graph", .input = inputOf(2), .key = "order 2"});
    // [end submit]
    for (const char* const name : {"book", "lamp"}) on.await([&] { return !queue.find(name); });
    for (const auto& worker : workers) worker->stop();
    for (std::thread& each : running) each.join();
    CHECK(on.log("book") == logOf({1}));
    CHECK(on.log("lamp") == logOf({2}));
}
