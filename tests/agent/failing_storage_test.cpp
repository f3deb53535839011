#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <string>

#include <stategraph/testing/fault_saver.hpp>

#include "tests/agent/tools.hpp"
#include "tests/support/drivers.hpp"

using namespace tools;

TEST_CASE("what the thread's storage throws is never told to a model as what a tool said, with or without a retry") {
    for (const drivers::Driver& driver : drivers::crossed()) {
        for (const bool has_retry : {false, true}) {
            for (std::size_t fail_at = 1;; ++fail_at) {
                CAPTURE(driver.name);
                CAPTURE(has_retry);
                CAPTURE(fail_at);
                REQUIRE(fail_at < 200);
                const auto ledger = std::make_shared<Ledger>();
                agent::ToolOptions options;
                if (has_retry) options.retry = {.max_attempts = 2, .initial_interval = std::chrono::milliseconds(0)};
                const auto saver = std::make_shared<sg::testing::FaultSaver>(
                    std::make_shared<sg::MemorySaver>(),
                    sg::testing::FaultPlan{.fail_at = fail_at, .calls = sg::testing::SaverCalls::put});
                const agent::Agent helper(
                    {.model = model::scripted({model::assistant({call("c1", "a"), call("c2", "b")}),
                                               model::assistant("ok"), model::assistant("again")}),
                     .tools = {work(ledger, "work", options)},
                     .compile = {.checkpointer = saver}});
                (void)driver.run(helper.graph(), agent::said("go"), {.thread_id = "t"});
                const bool has_failed = saver->failures() > 0;
                saver->disarm();
                for (const std::string& said : results(helper.graph().getState({.thread_id = "t"}).values))
                    CHECK(said.find("injected") == std::string::npos);
                if (!has_failed) break;
            }
        }
    }
}
