// The code of docs/sharding.md: two servers, inputs for both, and a worker for each.
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/sharded_saver.hpp>

#include "tests/support/until.hpp"
#include "tests/worker/worker_helper.hpp"

using namespace worker_tests;

TEST_CASE("threads are spread over servers, inputs go to the server of their thread, and workers of each run them") {
    const Place first;
    const Place second;
    // [begin spread]
    // Each is std::make_shared<sg::PostgresSaver>("postgresql://agent@db1.internal/threads") or the like.
    const std::vector<std::shared_ptr<sg::PostgresSaver>> servers{first.saver, second.saver};
    const auto saver = std::make_shared<sg::ShardedSaver>(
        std::vector<sg::NamedShard>{{.name = "db1", .saver = servers[0]}, {.name = "db2", .saver = servers[1]}});
    const auto app = countingGraph({.checkpointer = saver});  // compiles a graph
    // [end spread]
    // [begin workers]
    std::vector<sg::PostgresQueue> queues;
    std::vector<std::unique_ptr<sg::Worker>> workers;
    for (const auto& server : servers) {
        queues.emplace_back(server);
        const auto leased = std::make_shared<sg::LeasedSaver>(server);
        workers.push_back(std::make_unique<sg::Worker>(leased));
        workers.back()->add("graph", countingGraph({.checkpointer = leased}));
    }
    const auto submit = [&](const sg::QueuedInput& input) {
        return queues[saver->shardOf(input.thread_id)].submit(input);
    };
    // [end workers]
    std::vector<std::thread> running;
    for (const auto& worker : workers) running.emplace_back([&worker = *worker] { worker.run(); });
    std::vector<std::string> names;
    for (int i = 0; i < 12; ++i) names.push_back("thread " + std::to_string(i));
    for (int input = 1; input <= 2; ++input) {
        for (const std::string& name : names)
            (void)submit({.thread_id = name, .graph = "graph", .input = inputOf(input)});
    }
    for (const std::string& name : names) {
        patience::until([&] { return !queues[saver->shardOf(name)].find(name); });
        CHECK(app.getState({.thread_id = name}).values.log == logOf({1, 2}));
        CHECK(servers[saver->shardOf(name)]->getTuple({.log = {name}}));
        CHECK_FALSE(servers[1 - saver->shardOf(name)]->getTuple({.log = {name}}));
    }
    for (const auto& worker : workers) worker->stop();
    for (std::thread& each : running) each.join();
    for (const auto& worker : workers) CHECK(worker->metrics().finished > 0);
}
