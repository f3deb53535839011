#include <array>
#include <atomic>
#include <future>
#include <latch>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>
#include <stategraph/testing/fault_saver.hpp>
#include <stategraph/workflow/async.hpp>

#include "tests/support/door.hpp"

// Processes that restart a run at the same time, which a dead process left in several workflows inside.
namespace sg = stategraph;
namespace wf = stategraph::workflow;
using sg::Value;
using sg::testing::FaultSaver;
using wf::RunStatus;
using Kind = wf::Entry::Kind;

namespace {

wf::Entry then(wf::Step step) { return {.kind = Kind::then, .steps = {std::move(step)}}; }

/// A store, and the two processes that restart the run in it. Process 0 is first in the workflow 0 inside, and process
/// 1 in the workflow 1: each process ends the step "a" of the other's workflow when both are ahead in their own.
class Rivals {
public:
    enum class Shape { foreach, parallel, deep };

    explicit Rivals(Shape shape) : shape_(shape) {
        const auto saver = std::make_shared<FaultSaver>(store_);
        const auto have_begun = std::make_shared<std::latch>(2);
        const auto die = [saver, have_begun](int) {
            have_begun->arrive_and_wait();  // both logs exist
            saver->arm({.fail_at = 1, .once = false, .calls = sg::testing::SaverCalls::put});
        };
        CHECK_THROWS_AS(make(saver, die, [](int) {}).start("1", Value(0)), sg::SaverError);
    }

    wf::RunStatus statusNow() const {
        return make(
                   std::make_shared<Door>(store_), [](int) {}, [](int) {})
            .get("1")
            .status;
    }
    /// Both restart it; returns what became of the calls.
    std::array<std::string, 2> restart(const std::array<bool, 2>& awaits) {
        std::array<std::future<std::string>, 2> calls;
        for (int process = 0; process < 2; ++process) {
            calls.at(process) =
                std::async(std::launch::async, [&, process] { return call(process, awaits.at(process)); });
        }
        return {calls[0].get(), calls[1].get()};
    }
    int lasts() const noexcept { return lasts_; }

private:
    std::string call(int process, bool is_awaited) {
        const wf::Flow flow = make(
            std::make_shared<Door>(store_),
            [this, process, have_begun = std::make_shared<std::array<std::atomic<bool>, 2>>()](int inside) {
                if (!have_begun->at(inside).exchange(true)) have_read_.arrive_and_wait();
                if (inside == process) return;
                for (std::atomic<bool>& ahead : is_ahead_) ahead.wait(false);
            },
            [this, process](int inside) {
                if (inside != process) return;
                is_ahead_.at(inside) = true;
                is_ahead_.at(inside).notify_all();
                // If the workflow inside ended between the other's reading and its put, both would be refused.
                if (process == 1) has_first_ended_.wait(false);
            });
        const Ending ending(*this, process);
        try {
            return toString((is_awaited ? sg::syncWait(wf::asyncRestart(flow, "1")) : flow.restart("1")).status);
        } catch (const wf::RefusedError& error) {
            return toString(error.why());
        }
    }

    /// Notes the end of process 0's call, however it ends.
    struct Ending {
        Ending(Rivals& of, int number) : rivals(of), process(number) {}
        Ending(const Ending&) = delete;
        Ending& operator=(const Ending&) = delete;
        ~Ending() {
            if (process != 0) return;
            rivals.has_first_ended_ = true;
            rivals.has_first_ended_.notify_all();
        }
        Rivals& rivals;
        const int process;
    };

    // `at_a` and `at_b` are called in the steps "a" and "b" of the workflows inside, with the workflow's number.
    template <class A, class B>
    wf::Flow make(std::shared_ptr<sg::BaseCheckpointSaver> saver, A at_a, B at_b) const {
        const auto inside = [&](std::string id) {
            const wf::Step a{.id = "a", .execute = [at_a](const Value& in, wf::StepContext&) {
                                 at_a(in.as<int>());
                                 return in;
                             }};
            const wf::Step b{.id = "b", .execute = [at_b](const Value& in, wf::StepContext&) {
                                 at_b(in.as<int>());
                                 return in;
                             }};
            return wf::Step{
                .id = id,
                .workflow = std::make_shared<wf::Definition>(wf::Definition{.id = id, .entries = {then(a), then(b)}})};
        };
        const wf::Step last{.id = "last", .execute = [this](const Value& in, wf::StepContext&) {
                                ++lasts_;
                                return in;
                            }};
        std::vector<wf::Entry> entries;
        if (shape_ == Shape::foreach) {
            entries = {{.kind = Kind::map,
                        .id = "list",
                        .transform =
                            [](const wf::Scope&) {
                                return Value(std::vector<int>{0, 1});
                            }},
                       {.kind = Kind::foreach, .steps = {inside("each")}, .concurrency = 2}};
        } else {
            wf::Step second = inside("second");
            second.input = [](const Value&) { return Value(1); };
            entries = {{.kind = Kind::parallel, .steps = {inside("first"), second}}};
        }
        entries.push_back(then(last));
        if (shape_ == Shape::deep) {
            entries = {then({.id = "outer",
                             .workflow = std::make_shared<wf::Definition>(
                                 wf::Definition{.id = "outer", .entries = std::move(entries)})})};
        }
        return {{.id = "w", .entries = std::move(entries)}, {.checkpointer = std::move(saver)}};
    }

    Shape shape_;
    std::shared_ptr<sg::MemorySaver> store_ = std::make_shared<sg::MemorySaver>();
    std::latch have_read_{4};  // each process has read both logs
    std::array<std::atomic<bool>, 2> is_ahead_ = {};
    std::atomic<bool> has_first_ended_ = false;
    mutable std::atomic<int> lasts_ = 0;
};

}  // namespace

TEST_CASE("of two processes that restart a run and are each first in another workflow inside, one executes it") {
    for (const Rivals::Shape shape : {Rivals::Shape::foreach, Rivals::Shape::parallel, Rivals::Shape::deep}) {
        for (const std::array<bool, 2> awaits :
             {std::array{false, false}, {false, true}, {true, false}, {true, true}}) {
            CAPTURE(static_cast<int>(shape));
            CAPTURE(awaits[0]);
            CAPTURE(awaits[1]);
            Rivals rivals(shape);
            REQUIRE((rivals.statusNow() == RunStatus::running));
            const auto calls = rivals.restart(awaits);
            CHECK(calls[0] == "success");
            CHECK(calls[1] == "already_claimed");
            CHECK((rivals.statusNow() == RunStatus::success));
            CHECK(rivals.lasts() == 1);
        }
    }
}
