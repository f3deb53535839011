#include "storage/saver/log_gate.hpp"

#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/testing/saver_contract/support.hpp>

namespace stategraph::testing {

TEST_CASE("known heads are bounded, and a forgotten one is unknown") {
    checkpoint::LogGate gate(1280);  // 20 a shard
    std::vector<std::string> names;
    for (int i = 0; i < 20'000; ++i) names.push_back("thread " + std::to_string(i));
    for (const auto& name : names) {
        auto claim = gate.claimLog({name}, true);
        CHECK_FALSE(claim.head());
        claim.settle(nthId(1));
    }
    CHECK(gate.size() <= 1280);
    CHECK(gate.size() >= 640);
    const LogName last{names.back()};
    CHECK(gate.claimLog(last, false).head() == nthId(1));  // not settled: as after a failed write
    CHECK_FALSE(gate.claimLog(last, false).head());
    { gate.claimLog(last, true).settle(nthId(2)); }
    CHECK(gate.claimLog({names[19'998]}, true).head() == nthId(1));
    { gate.claimLog({names.back(), "child"}, true).settle(nthId(3)); }
    { const auto claim = gate.claimThread(names.back()); }
    CHECK_FALSE(gate.claimLog(last, true).head());
    CHECK_FALSE(gate.claimLog({names.back(), "child"}, true).head());
}

TEST_CASE("claims on one log wait for each other and pending writes overlap") {
    checkpoint::LogGate gate(100);
    unsigned unguarded = 0;  // only safe if the gate excludes
    const auto work = [&](unsigned worker) {
        for (unsigned n = 0; n < 2000; ++n) {
            if (n % 20 == worker) {
                const auto claim = gate.claimThread("t");
                ++unguarded;
            } else if (n % 2) {
                auto claim = gate.claimLog({"t", "ns"}, true);
                ++unguarded;
                claim.settle(nthId(n));
            } else {
                auto claim = gate.claimLog({"t", "ns"}, false);
                const unsigned read = unguarded;
                std::this_thread::yield();
                if (read != unguarded) unguarded = 1'000'000;
            }
        }
    };
    std::vector<std::thread> workers;
    for (unsigned worker = 0; worker < 4; ++worker) workers.emplace_back(work, worker);
    for (auto& worker : workers) worker.join();
    CHECK(unguarded >= 4 * 1000);
    CHECK(unguarded < 1'000'000);
    const auto claim = gate.claimLog({"t", "ns"}, false);
    std::thread([&] { (void)gate.claimLog({"t", "ns"}, false); }).join();  // waits for nobody
}

}  // namespace stategraph::testing
