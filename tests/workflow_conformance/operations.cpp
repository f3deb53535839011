#include "tests/workflow_conformance/operations.hpp"

#include <array>
#include <chrono>
#include <exception>
#include <latch>
#include <set>
#include <stdexcept>
#include <thread>

#include <stategraph/run_control.hpp>

#include "tests/workflow_conformance/expression.hpp"
#include "tests/workflow_conformance/observe.hpp"

namespace workflow_conformance {
namespace {

// The id of a step, or its path as a list or a text.
std::string stepPathOf(const json::value& step) {
    if (step.is_null()) return {};
    if (step.is_string()) return text(step);
    std::string path;
    for (const auto& id : conformance::names(step)) path += (path.empty() ? "" : ".") + id;
    return path;
}

std::optional<sg::Value> given(const json::object& operation, std::string_view key) {
    const json::value* value = operation.if_contains(key);
    if (value == nullptr) return std::nullopt;
    return sg::fromJson(*value);
}

/// Cancels a run from outside after some time.
class CancelLater {
public:
    CancelLater(const json::value& delay, std::shared_ptr<sg::RunControl> control) {
        if (delay.is_null()) return;
        // A busy machine comes late to where the record's run was when it was cancelled: a sleep of 1.5 s.
        const auto time = 10 * std::chrono::milliseconds(delay.to_number<std::int64_t>());
        thread_ = std::jthread([time, control = std::move(control)] {
            std::this_thread::sleep_for(time);  // sleeps: what a record says
            control->requestStop();
        });
    }

private:
    std::jthread thread_;
};

/// The outcome of one of two answers to the same question.
struct Outcome {
    std::string status = {};
    std::exception_ptr refused = {};
};

class Operation {
public:
    Operation(const json::object& operation, const Session& session)
        : operation_(operation), workflow_(session.workflow()), run_id_(session.runId()), process_(session.process()) {}

    void perform(json::object& expect) const {
        const std::string kind = text(get(operation_, "op"));
        const auto control = std::make_shared<sg::RunControl>();
        const CancelLater cancel(get(operation_, "cancel_after"), control);
        if (kind == "start") {
            workflow_.start(run_id_, sg::fromJson(get(operation_, "input")), options(control));
        } else if (kind == "resume") {
            resume(control);
        } else if (kind == "resume_twice") {
            expect.emplace("outcomes", resumeTwice());
        } else if (kind == "cancel") {
            workflow_.cancel(run_id_);
        } else if (kind == "time_travel") {
            workflow_.timeTravel(run_id_, stepPathOf(get(operation_, "step")), given(operation_, "input"),
                                 given(operation_, "data"), options(control));
        } else if (kind == "restart") {
            workflow_.restart(run_id_, options(control));
        } else if (kind != "get_run") {
            throw std::runtime_error("no such operation: " + kind);
        }
    }

private:
    flow::RunOptions options(std::shared_ptr<sg::RunControl> control) const {
        flow::RunOptions made{.single_step = isTrue(get(operation_, "single_step")), .waits = true};
        if (const json::value* state = operation_.if_contains("state")) made.state = valuesOf(*state);
        made.on_event = [process = process_](const flow::RunEvent& event) { process->told(describe(event)); };
        made.control = std::move(control);
        return made;
    }

    flow::RunView resume(std::shared_ptr<sg::RunControl> control, sg::CheckpointId seen = {}) const {
        flow::ResumeTarget target{.step = stepPathOf(get(operation_, "step")), .seen = seen};
        if (const json::value* label = operation_.if_contains("label")) target.label = text(*label);
        if (const json::value* index = operation_.if_contains("index")) target.index = index->to_number<std::int64_t>();
        target.all = isForList(target);
        return workflow_.resume(run_id_, target, sg::fromJson(get(operation_, "data")), options(std::move(control)));
    }

    // The reference answers all elements of a list at once, and refuses an answer to several steps.
    bool isForList(const flow::ResumeTarget& target) const {
        std::set<std::string> places;
        for (const flow::QuestionView& each : workflow_.get(run_id_).questions) {
            std::string path;
            bool is_index = false;
            for (const char c : each.path) {
                is_index = c == '[' || (is_index && c != ']');
                if (!is_index && c != ']') path += c;
            }
            if (path.starts_with(target.step)) places.insert(path);
        }
        return places.size() == 1 && !target.index && target.label.empty();
    }

    Outcome resumeOnce(std::latch& start, sg::CheckpointId seen) const {
        start.arrive_and_wait();
        try {
            return {.status = flow::toString(resume(std::make_shared<sg::RunControl>(), seen).status)};
        } catch (const flow::RefusedError& error) {
            const bool late =
                error.why() == flow::Refusal::already_claimed || error.why() == flow::Refusal::not_suspended;
            return {.status = late ? "already_claimed" : flow::toString(error.why()),
                    .refused = std::current_exception()};
        } catch (const std::exception& error) {
            return {.status = error.what()};
        }
    }

    /// Errors: that of the first answer, if both were refused.
    json::array resumeTwice() const {
        std::array<Outcome, 2> outcomes;
        std::latch start(2);
        // Both refer to the question that is open now.
        const sg::CheckpointId seen = workflow_.get(run_id_).checkpoint_id;
        {
            const std::jthread other([&] { outcomes[1] = resumeOnce(start, seen); });
            outcomes[0] = resumeOnce(start, seen);
        }
        if (outcomes[0].refused && outcomes[1].refused) std::rethrow_exception(outcomes[0].refused);
        return {outcomes[0].status, outcomes[1].status};
    }

    const json::object& operation_;
    const flow::Flow& workflow_;
    const std::string& run_id_;
    std::shared_ptr<Process> process_;
};

bool hasEvents(const json::object& operation, const json::object& expect) {
    const json::value& kind = get(operation, "op");
    const bool runs = kind == "start" || kind == "resume" || kind == "time_travel";
    return runs && !expect.contains("refused") && !expect.contains("crashed");
}

}  // namespace

json::object perform(const json::object& operation, Session& session) {
    json::object expect;
    try {
        Operation(operation, session).perform(expect);
    } catch (const flow::RefusedError& error) {
        expect.emplace("refused", flow::toString(error.why()));
    } catch (const std::exception& error) {
        expect.emplace("crashed", error.what());  // differs from every recording unless the process has crashed
    }
    json::array executed = session.process()->takeExecuted();
    json::array events = session.process()->takeEvents();
    if (session.process()->crashed()) {
        expect.insert_or_assign("crashed", true);
        session.renew();
    }
    if (!executed.empty()) expect.emplace("executed", std::move(executed));
    if (hasEvents(operation, expect)) expect.emplace("events", std::move(events));
    try {
        describe(session.workflow().get(session.runId()), expect);
    } catch (const std::exception& error) {
        expect.insert_or_assign("crashed", error.what());
    }
    return expect;
}

}  // namespace workflow_conformance
