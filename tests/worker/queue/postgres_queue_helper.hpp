#pragma once
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <stategraph/leased_saver.hpp>
#include <stategraph/postgres_queue.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

#include "tests/storage/postgres/postgres_helper.hpp"

// The queue used directly, without a worker.
namespace postgres_tests {

struct Queue {
    Schema schema;
    std::shared_ptr<stategraph::PostgresSaver> saver;
    stategraph::PostgresQueue queue;

    explicit Queue(stategraph::PostgresSaverOptions options = {}) : saver(schema.open(options)), queue(saver) {}
    /// Uses another server.
    explicit Queue(const std::string& conninfo) : schema(conninfo), saver(schema.open({})), queue(saver) {}

    stategraph::Receipt submit(const std::string& thread, const std::string& key = {},
                               const std::string& in = "default", int number = 0) {
        return queue.submit(
            {.thread_id = thread, .graph = "graph", .input = stategraph::Value(number), .queue = in, .key = key});
    }
    std::vector<stategraph::Claim> claim(std::size_t most = 10, stategraph::GraphFingerprint version = {1, 2},
                                         const std::string& of = "default") {
        return queue.claim({.worker = "worker",
                            .lease = std::chrono::hours(1),
                            .graphs = {{"graph", version}},
                            .queues = {{of, most}}});
    }
    stategraph::Claim claimOne() {
        auto claims = claim(1);
        if (claims.empty()) throw std::runtime_error("there is nothing to claim");
        return std::move(claims.front());
    }
    /// Returns whether the lease belonged to the claim.
    bool release(const stategraph::Claim& claim, stategraph::WorkOutcome outcome, stategraph::Release more = {}) {
        more.thread_id = claim.thread_id;
        more.epoch = claim.epoch;
        more.outcome = outcome;
        return queue.release(std::span(&more, 1)).size() == 1;
    }
    bool renew(const stategraph::Claim& claim) {
        const stategraph::HeldLease held{claim.thread_id, claim.epoch};
        return queue.renew(std::span(&held, 1), std::chrono::hours(1)).size() == 1;
    }
    /// Has the same effect as if all leases had expired and all waits were over.
    void letTimePass() { Raw().run("UPDATE " + schema.name() + ".work SET due = now() WHERE due IS NOT NULL"); }
    std::string count(const std::string& table, const std::string& which = "true") {
        return Raw().run("SELECT count(*) FROM " + schema.name() + "." + table + " WHERE " + which);
    }
    /// Takes the input of the claim as the first put of a run does, after the commit `head`.
    void begin(const stategraph::Claim& claim, unsigned head = 0) {
        stategraph::LeasedSaver leased(saver);
        leased.hold(claim.thread_id, {.epoch = claim.epoch, .takes = claim.input_number});
        stategraph::testing::putOne(leased, {claim.thread_id},
                                    head ? stategraph::testing::nthId(head) : stategraph::CheckpointId(),
                                    stategraph::testing::makeCommit(head + 1, head));
    }
};

}  // namespace postgres_tests
