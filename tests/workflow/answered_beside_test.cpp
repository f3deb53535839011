#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>

#include <doctest/doctest.h>

#include <stategraph/forwarding_saver.hpp>
#include <stategraph/workflow/workflow.hpp>

#include "tests/support/savers.hpp"

// A process that dies after it has stored the answer of one of several questions, and before its step has gone on.
namespace sg = stategraph;
namespace wf = stategraph::workflow;
using wf::RunStatus;

namespace {

/// From some time on, answers are stored and commits are not.
class DiesAtCommit final : public sg::ForwardingSaver {
public:
    using ForwardingSaver::ForwardingSaver;
    void put(const sg::PutRequest& request) override {
        check(request);
        inner()->put(request);
    }
    void asyncPut(const sg::PutRequest& request, sg::PutCompletion& completion) noexcept override {
        try {
            check(request);
        } catch (...) {
            return completion.complete(std::current_exception());
        }
        inner()->asyncPut(request, completion);
    }
    std::atomic<bool> is_dead = false;

private:
    void check(const sg::PutRequest& request) const {
        if (is_dead && !request.commits.empty()) throw sg::SaverError("the process has died", {});
    }
};

auto asks(const char* id) {
    return wf::step(id, [id](const int& n, wf::Suspending<std::string, int>& context) {
        return n + context.suspend(std::string("for ") + id, {id});
    });
}

auto flowOn(std::shared_ptr<sg::BaseCheckpointSaver> saver) {
    return wf::workflow<int>("w").parallel(asks("a"), asks("b")).commit({.checkpointer = std::move(saver)});
}

}  // namespace

TEST_CASE("of several questions one whose answer a dead process has stored is not open, and its step can go on") {
    savers::onEach([](savers::Store& store) {
        for (const bool is_restarted : {false, true}) {
            CAPTURE(is_restarted);
            const std::string run_id = is_restarted ? "restarted" : "answered";
            {
                const auto dying = std::make_shared<DiesAtCommit>(store.open());
                const auto flow = flowOn(dying);
                REQUIRE((flow.start(run_id, 1).status == RunStatus::suspended));
                dying->is_dead = true;
                CHECK_THROWS(flow.resume(run_id, {.step = "a"}, 10));
            }
            const auto flow = flowOn(store.open());
            auto run = flow.get(run_id);
            CHECK((run.status == RunStatus::suspended));
            REQUIRE(run.view.questions.size() == 1);
            CHECK(run.view.questions.front().path == "b");
            CHECK(run.view.suspended == std::vector<std::vector<std::string>>{{"b"}});
            CHECK(run.view.labels.size() == 1);
            CHECK_THROWS_AS(flow.resume(run_id, {.step = "a"}, 11), wf::RefusedError);
            if (is_restarted) {
                run = flow.restart(run_id);
                CHECK((run.status == RunStatus::suspended));
                CHECK((run.view.steps.at("a").status == wf::StepStatus::success));
                CHECK_THROWS_AS(flow.restart(run_id), wf::RefusedError);
            }
            run = flow.resume(run_id, wf::ResumeTarget{}, 20);
            CHECK(run.result == std::tuple(11, 21));
        }
    });
}
