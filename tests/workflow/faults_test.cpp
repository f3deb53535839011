// ALSO PLAIN: it fails or counts allocations
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/executor.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/testing/fault_saver.hpp>
#include <stategraph/workflow/workflow.hpp>

#include "tests/support/failing_new.hpp"
#include "tests/support/manual_clock.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/workflow/ledger.hpp"

// If the store or an allocation fails during a run, the caller can continue the run to the end that an undisturbed run
// reaches, and no step whose completion is stored is executed again.
namespace sg = stategraph;
namespace wf = stategraph::workflow;
using namespace std::chrono_literals;
using sg::testing::FaultPlan;
using sg::testing::FaultSaver;
using sg::testing::SaverCalls;
using wf::RunStatus;
using workflow_faults::Ledger;
using workflow_faults::NotingSaver;

namespace {

using SharedLedger = std::shared_ptr<Ledger>;

/// Adds to its input, and sets a key of the state.
auto adds(const SharedLedger& ledger, const char* id, std::string_view name, int more) {
    return wf::step(id, [=](const int& n, wf::Context& context) {
        context.setState(id, sg::Value(n));
        ledger->complete({name});
        return n + more;
    });
}
/// Asks, and adds the answer.
auto asks(const SharedLedger& ledger, const char* id, std::string_view name) {
    return wf::step(id, [=](const int& n, wf::Suspending<std::string, int>& context) {
        const auto answer = context.resumeData();
        context.setState(std::string(id) + (answer ? " answered" : " asked"), sg::Value(n));
        ledger->complete({name, answer ? 1 : 0});
        return n + context.suspend("how many?", {id});
    });
}
auto holds(const SharedLedger& ledger, std::string_view name, bool answer) {
    return [=](const int&) {
        ledger->complete({name});
        return answer;
    };
}

using Flow = wf::Workflow<int, int>;

Flow faultFlow(const SharedLedger& ledger, const sg::CompileOptions& options) {
    const auto each = wf::step("each", [=](const int& n, wf::Context& context) {
        context.setState("each " + std::to_string(n % 10), sg::Value(n));
        ledger->complete({"each", n % 10});
        return n * 2;
    });
    const auto loop = wf::step("loop", [=](const int& n, wf::Context& context) {
        context.setState("loop", sg::Value(context.iteration()));
        ledger->complete({"loop", context.iteration()});
        return n * 2;
    });
    const auto inner = wf::workflow<int>("inner")
                           .then(adds(ledger, "first", "n.first", 1))
                           .then(asks(ledger, "ask", "n.ask"))
                           .then(adds(ledger, "last", "n.last", 1000))
                           .commit();
    return wf::workflow<int>("w")
        .parallel(adds(ledger, "a", "a", 1), adds(ledger, "b", "b", 2))
        .map([=](const std::tuple<int, int>& both) {
            ledger->complete({"add"});
            return std::get<0>(both) + std::get<1>(both);
        })
        .branch(wf::when(holds(ledger, "if x", true), adds(ledger, "x", "x", 10)),
                wf::when(holds(ledger, "if y", true), adds(ledger, "y", "y", 20)),
                wf::when(holds(ledger, "if none", false), adds(ledger, "none", "none", 30)))
        .map([=](const std::tuple<std::optional<int>, std::optional<int>, std::optional<int>>& some) {
            ledger->complete({"list"});
            return std::vector<int>{*std::get<0>(some) * 10, *std::get<1>(some) * 10 + 1, 32};
        })
        .foreach (each, {.concurrency = 2})
        .map([=](const std::vector<int>& each_doubled) {
            ledger->complete({"total"});
            return each_doubled.at(0) + each_doubled.at(1) + each_doubled.at(2);
        })
        .sleep(1ms)
        .dowhile(loop,
                 [=](const int&, const wf::Scope& scope) {
                     ledger->complete({"turn", scope.iteration()});
                     return scope.iteration() < 3;
                 })
        .then("n", inner)
        .then(asks(ledger, "gate", "gate"))
        .commit(options);
}

/// The parts of two runs that are compared.
struct Ending {
    std::optional<sg::Value> result;
    wf::Values state;
    std::vector<std::string> path;
    std::map<std::string, std::optional<sg::Value>> outputs;
    std::map<std::string, int> work;
    friend bool operator==(const Ending&, const Ending&) = default;
};

/// How each call is made.
using Around = std::function<void(const std::function<void()>& call)>;

/// One run, whose calls may fail, and its caller, who reads the run after each call and makes the call that its status
/// demands.
class Caller {
public:
    explicit Caller(wf::RunOptions options, std::shared_ptr<sg::Executor> executor = {}, FaultPlan plan = {})
        : faults_(std::make_shared<FaultSaver>(std::make_shared<NotingSaver>(store_, ledger_), std::move(plan))),
          flow_(faultFlow(ledger_, {.checkpointer = faults_, .executor = std::move(executor), .ids = clock_})),
          observer_(faultFlow(std::make_shared<Ledger>(), {.checkpointer = store_, .ids = clock_})),
          options_(std::move(options)) {}

    FaultSaver& faults() noexcept { return *faults_; }
    int failures() const noexcept { return failures_; }

    /// `failed(error)` is called after each call that has thrown; it may disarm what fails.
    template <class F>
    Ending drive(F failed, const Around& around) {
        for (int call = 0; call < 25; ++call) {
            const wf::RunView view = observer_.get("1").view;
            if (view.status == RunStatus::success) return endingOf(view);
            if (view.status == RunStatus::failed) {
                // A step, a condition or a map may fail because memory is short, but not because the store fails. The
                // caller starts the run again.
                CHECK(view.error.find("std::bad_alloc") != std::string::npos);
                ledger_->forgetAll();
            }
            try {
                around([&] { continueFrom(view); });
            } catch (const std::exception& error) {
                INFO("after: ", std::string(error.what()));
                ++failures_;
                failed(error);
                ledger_->forgetFresh();
            }
        }
        FAIL("the run does not end; it is ", std::string(wf::toString(observer_.get("1").status)));
        return {};
    }

private:
    void continueFrom(const wf::RunView& view) {
        if (view.status == RunStatus::waiting) clock_->passMs(2);
        if (view.status == RunStatus::pending || view.status == RunStatus::failed) {
            flow_.start("1", 1, options_);
        } else if (view.status == RunStatus::suspended) {
            flow_.resume("1", {.question = view.questions.front().id}, sg::Value(7), options_);
        } else {
            flow_.restart("1", options_);
        }
    }
    Ending endingOf(const wf::RunView& view) const {
        Ending ending{view.result, view.state, view.path, {}, ledger_->stored()};
        for (const auto& [path, step] : view.steps) ending.outputs[path] = step.output;
        return ending;
    }

    const std::shared_ptr<ManualClock> clock_ = ManualClock::make();
    const std::shared_ptr<sg::MemorySaver> store_ = std::make_shared<sg::MemorySaver>();
    const SharedLedger ledger_ = std::make_shared<Ledger>();
    const std::shared_ptr<FaultSaver> faults_;
    const Flow flow_;
    const Flow observer_;
    const wf::RunOptions options_;
    int failures_ = 0;
};

void plainly(const std::function<void()>& call) { call(); }

const Ending& undisturbed() {
    static const Ending ending = [] {
        Caller caller({});
        return caller.drive([](const std::exception& error) { FAIL(std::string(error.what())); }, plainly);
    }();
    return ending;
}

void checkSame(const Ending& ending) {
    const Ending& wanted = undisturbed();
    CHECK((ending.result == wanted.result));
    CHECK((ending.state == wanted.state));
    CHECK(ending.path == wanted.path);
    CHECK((ending.outputs == wanted.outputs));
    for (const auto& [work, count] : wanted.work)
        CHECK_MESSAGE(ending.work.at(work) == count, work, " was completed and stored ", ending.work.at(work),
                      " times");
}

/// Fails the nth call of the saver for each n that a run reaches. With a sanitizer it fails one put of five, beginning
/// with another one each time. Returns how many calls a run makes; if it does not fail each, a few more.
std::size_t failEachCall(FaultPlan plan, sg::Durability durability) {
    static std::size_t turn = 0;
    const std::size_t step = plan.calls == SaverCalls::put ? sanitized::one_of : 1;
    for (std::size_t n = 1 + (sanitized::turn() + turn++) % step; n < 1000; n += step) {
        CAPTURE(n);
        plan.fail_at = n;
        Caller caller({.durability = durability}, {}, plan);
        const auto failed = [&](const std::exception& error) {
            CHECK(std::string(error.what()).find("injected failure of call") != std::string::npos);
            CHECK(dynamic_cast<const sg::Error*>(&error) != nullptr);
            caller.faults().disarm();
        };
        checkSame(caller.drive(failed, plainly));
        if (caller.faults().failures() == 0) return n - 1;
        CHECK(caller.failures() > 0);
    }
    FAIL("there is no end of calls");
    return 0;
}

void failEachWay(SaverCalls calls, bool once, bool after_effect, std::size_t at_least) {
    for (const auto durability : {sg::Durability::sync, sg::Durability::async}) {
        const auto number = static_cast<int>(durability);
        CAPTURE(number);
        CHECK(failEachCall({.once = once, .after_effect = after_effect, .calls = calls}, durability) >= at_least);
    }
}

/// An executor whose only thread is occupied, so that runs do all their work on the thread of their caller.
class OccupiedExecutor {
public:
    OccupiedExecutor() {
        executor_->submit([](void* until) { static_cast<std::future<void>*>(until)->wait(); }, &until_);
    }
    ~OccupiedExecutor() { free_.set_value(); }
    const std::shared_ptr<sg::Executor>& get() const noexcept { return executor_; }

private:
    std::promise<void> free_;
    std::future<void> until_ = free_.get_future();
    const std::shared_ptr<sg::Executor> executor_ =
        std::make_shared<sg::Executor>(sg::ExecutorOptions{.threads_max = 1});
};

/// Fails `in_a_row` allocations of one of the calls that a run needs, from the nth on, for every `step`th n that the
/// call reaches. Returns how many allocations the call makes.
std::size_t failEachAllocation(int which, std::size_t in_a_row, std::size_t step) {
    const OccupiedExecutor executor;
    for (std::size_t n = 1; n < 1'000'000; n += step) {
        CAPTURE(n);
        Caller caller({}, executor.get());
        std::size_t failures = 0;
        int calls = 0;
        const auto around = [&](const std::function<void()>& call) {
            if (calls++ != which) return call();
            failing_new::arm(n, in_a_row);
            try {
                call();
            } catch (...) {
                failures = failing_new::disarm();
                throw;
            }
            failures = failing_new::disarm();
        };
        checkSame(caller.drive([](const std::exception&) {}, around));
        if (failures == 0) return n - 1;
    }
    FAIL("there is no end of allocations");
    return 0;
}

}  // namespace

TEST_CASE("an undisturbed run does everything once") {
    CHECK(undisturbed().result == sg::Value(7943));
    for (const auto& [work, count] : undisturbed().work) CHECK_MESSAGE(count == (work == "unknown" ? 0 : 1), work);
}

TEST_CASE("any put of a workflow's run may fail once, before it stores anything or after") {
    failEachWay(SaverCalls::put, true, false, 30);
    failEachWay(SaverCalls::put, true, true, 30);
}

TEST_CASE("storing may stop working at any put of a workflow's run") {
    failEachWay(SaverCalls::put, false, false, 30);
    failEachWay(SaverCalls::put, false, true, 30);
}

TEST_CASE("any read of a workflow's run may fail, once and from then on") {
    failEachWay(SaverCalls::get_tuple | SaverCalls::list, true, false, 2);
    failEachWay(SaverCalls::get_tuple | SaverCalls::list, false, true, 2);
}

TEST_CASE("any allocation of a workflow's run may fail") {
    undisturbed();
    if (!failing_new::available()) {
        MESSAGE("left out: the sanitizer has its own operator new");
        return;
    }
    // The calls are start, restart after the sleep, and two answers.
    for (const int which : {0, 1, 2, 3}) {
        CAPTURE(which);
        CHECK(failEachAllocation(which, 1, 29) > 100);
        CHECK(failEachAllocation(which, 20, 149) > 100);
    }
}
