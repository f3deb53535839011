#include <memory>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include <stategraph/workflow/async.hpp>

#include "tests/support/manual_clock.hpp"
#include "tests/support/savers.hpp"

// Several calls that continue one run while the same step is due.
namespace sg = stategraph;
namespace wf = stategraph::workflow;
using namespace std::chrono_literals;
using sg::Value;
using wf::RunStatus;

namespace {

const auto inc = wf::step("inc", [](const int& n) { return n + 1; });

wf::RunView restart(const wf::Flow& flow, const std::string& run, bool is_awaited, bool is_single_step) {
    wf::RunOptions options;
    options.single_step = is_single_step;
    return is_awaited ? sg::syncWait(wf::asyncRestart(flow, run, options)) : flow.restart(run, options);
}

}  // namespace

TEST_CASE("of several calls that continue a sleeping run, the last one says whether it takes a single step") {
    savers::onEachAndLater([](savers::Store& store) {
        const auto clock = ManualClock::make();
        sg::CompileOptions options{.checkpointer = store.open()};
        options.ids = clock;
        const auto flow =
            wf::workflow<int>("w").sleep(1h).then(inc).then(wf::clone(inc, "last")).commit(options).flow();
        for (const bool is_awaited : {false, true}) {
            for (const bool is_single_step : {false, true}) {
                const std::string run = std::string(is_awaited ? "a" : "b") + (is_single_step ? "1" : "2");
                CAPTURE(run);
                CHECK((flow.start(run, Value(1)).status == RunStatus::waiting));
                CHECK((restart(flow, run, is_awaited, true).status == RunStatus::waiting));
                CHECK((restart(flow, run, is_awaited, false).status == RunStatus::waiting));
                CHECK((restart(flow, run, is_awaited, is_single_step).status == RunStatus::waiting));
                CHECK((flow.get(run).status == RunStatus::waiting));
                clock->passMs(2 * 3'600'000);
                const wf::RunView view = restart(flow, run, is_awaited, is_single_step);
                CHECK((view.status == (is_single_step ? RunStatus::paused : RunStatus::success)));
            }
        }
    });
}
