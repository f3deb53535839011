#include <atomic>
#include <barrier>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include "tests/workflow/acceptance.hpp"

// Situations that a workflow engine must handle, each from start to end: questions and answers.
using namespace acceptance;
using namespace std::chrono_literals;

TEST_CASE("a chain stops at a question, keeps it after a wrong answer, and accepts one right answer") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    Notes notes;
    const auto noted = wf::step("a", [&](const int& n, wf::Context& context) {
        notes.add(context.path());
        return n + 1;
    });
    const auto process = [&] {
        return wf::workflow<int>("linear")
            .then(noted)
            .then(gate)
            .then(wf::clone(noted, "z"))
            .commit({.checkpointer = saver});
    };
    const auto asked = process().start("1", 1);
    REQUIRE((asked.status == RunStatus::suspended));
    CHECK(asked.view.suspended == Paths{{"gate"}});
    CHECK(notes.take() == Strings{"a"});
    const auto before = process().flow().snapshot("1");
    checkRefused(Refusal::invalid_resume_data, [&] { process().resume("1", {.step = "gate"}, sg::Value("many")); });
    CHECK((process().get("1").status == RunStatus::suspended));
    CHECK(process().flow().snapshot("1") == before);
    const auto ended = process().resume("1", gate, 5);
    REQUIRE((ended.status == RunStatus::success));
    CHECK(ended.result == 8);
    CHECK(notes.take() == Strings{"z"});
    checkRefused(Refusal::not_suspended, [&] { process().resume("1", gate, 5); });
    CHECK(process().get("1").result == 8);
    CHECK(notes.take().empty());
}

TEST_CASE("of two answers at the same time one is executed, and the other is refused as already claimed") {
    for (const bool is_slow : {false, true}) {
        CAPTURE(is_slow);
        const auto store = std::make_shared<sg::MemorySaver>();
        std::barrier both_have_read(2);
        std::atomic<int> effects = 0;
        const auto pay = wf::step("pay", [&](const int& n, Asks& context) {
            const int answer = context.suspend("how many?");
            ++effects;
            return n + answer;
        });
        const auto make = [&](const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
            return wf::workflow<int>("payment").then(pay).then(inc).commit({.checkpointer = saver});
        };
        const auto asked = make(store).start("1", 1);
        REQUIRE((asked.status == RunStatus::suspended));
        const auto answer = [&](int value) -> std::string {
            const auto saver = std::make_shared<ProcessSaver>(store);
            std::once_flag first;
            saver->is_slow = is_slow;
            saver->before_put = [&] { std::call_once(first, [&] { both_have_read.arrive_and_wait(); }); };
            try {
                return wf::toString(make(saver).resume("1", pay, value).status);
            } catch (const wf::RefusedError& error) {
                return wf::toString(error.why());
            }
        };
        auto other = std::async(std::launch::async, answer, 100);
        const Strings outcomes{answer(200), other.get()};
        const bool is_first = outcomes.front() == "success";
        CHECK(outcomes.at(is_first ? 0 : 1) == "success");
        CHECK(outcomes.at(is_first ? 1 : 0) == wf::toString(Refusal::already_claimed));
        CHECK(effects == 1);
        CHECK(make(store).get("1").result == (is_first ? 202 : 102));
    }
}

TEST_CASE("an answer to a run that has continued since the caller saw it is refused as already claimed") {
    const auto flow =
        wf::workflow<int>("payment").then(gate).commit({.checkpointer = std::make_shared<sg::MemorySaver>()});
    const wf::ResumeTarget target{.step = "gate", .seen = flow.start("1", 1).view.checkpoint_id};
    CHECK(flow.resume("1", target, sg::Value(1)).result == 2);
    checkRefused(Refusal::already_claimed, [&] { flow.resume("1", target, sg::Value(1)); });
}

TEST_CASE("members of a parallel block are answered one by one, and finished ones are not executed again") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    int executed = 0;
    const auto c = wf::step("c", [&](const int& n) {
        ++executed;
        return std::to_string(n);
    });
    const auto a = wf::clone(gate, "a");
    const auto b = wf::clone(gate, "b");
    const auto process = [&] { return wf::workflow<int>("block").parallel(a, b, c).commit({.checkpointer = saver}); };
    CHECK(process().start("1", 1).view.suspended == Paths{{"a"}, {"b"}});
    checkRefused(Refusal::ambiguous, [&] { process().resume("1", {}, sg::Value(1)); });
    const auto one = process().resume("1", a, 10);
    CHECK((one.status == RunStatus::suspended));
    CHECK(one.view.suspended == Paths{{"b"}});
    const auto ended = process().resume("1", b, 100);
    REQUIRE((ended.status == RunStatus::success));
    CHECK((ended.result == std::tuple{11, 101, std::string("1")}));
    CHECK(executed == 1);
}

TEST_CASE("a branch with two suspended members evaluates each condition once") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    Notes notes;
    const auto says = [&](const char* name, bool holds) {
        return [&notes, name, holds](const int&) {
            notes.add(name);
            return holds;
        };
    };
    const auto a = wf::clone(gate, "a");
    const auto b = wf::clone(gate, "b");
    const auto process = [&] {
        return wf::workflow<int>("kinds")
            .branch(wf::when(says("a", true), a), wf::when(says("b", true), b), wf::when(says("c", false), inc))
            .commit({.checkpointer = saver});
    };
    CHECK(process().start("1", 1).view.suspended == Paths{{"a"}, {"b"}});
    CHECK(process().resume("1", b, 100).view.suspended == Paths{{"a"}});
    const auto ended = process().resume("1", a, 10);
    REQUIRE((ended.status == RunStatus::success));
    CHECK((ended.result == std::tuple{std::optional(11), std::optional(101), std::optional<int>()}));
    CHECK(notes.takeSorted() == Strings{"a", "b", "c"});
}

namespace {

struct Job {
    int number = 0;
    bool asks = false;
    static constexpr auto fields() { return sg::fields<&Job::number, &Job::asks>(); }
};

Strings questionsOf(const wf::RunView& view) {
    Strings paths;
    for (const auto& question : view.questions) paths.push_back(question.path);
    return paths;
}

}  // namespace

TEST_CASE("elements of a foreach suspend one by one, no more begin, and the results keep the order of the list") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    Notes notes;
    std::promise<void> third_begun;
    const auto each = wf::step("each", [&](const Job& job, Asks& context) {
        notes.add(std::to_string(job.number));
        if (job.number == 2 && !context.resumeData()) third_begun.set_value();
        if (job.number == 1 && !context.resumeData()) third_begun.get_future().wait_for(5min);
        return job.number * 100 + (job.asks ? context.suspend("how many?") : 0);
    });
    const auto process = [&] {
        return wf::workflow<std::vector<Job>>("jobs")
            .foreach (each, {.concurrency = 2})
            .commit({.checkpointer = saver});
    };
    const auto asked = process().start("1", {{0, false}, {1, true}, {2, true}, {3, false}, {4, true}});
    CHECK(asked.view.suspended == Paths{{"each"}});
    CHECK(notes.takeSorted() == Strings{"0", "1", "2"});
    CHECK(questionsOf(asked.view) == Strings{"each[1]", "each[2]"});
    const auto& items = asked.view.steps.at("each").items;
    REQUIRE(items.size() == 5);
    CHECK((items[0]->status == StepStatus::success));
    CHECK((items[1]->status == StepStatus::suspended));
    CHECK((items[2]->status == StepStatus::suspended));
    CHECK(!items[3]);
    CHECK(!items[4]);
    const auto answered = process().resume("1", {.step = "each", .index = 2}, sg::Value(7));
    CHECK((answered.status == RunStatus::suspended));
    CHECK(notes.takeSorted() == Strings{"2", "3", "4"});
    CHECK(questionsOf(answered.view) == Strings{"each[1]", "each[4]"});
    CHECK(questionsOf(process().resume("1", {.step = "each", .index = 4}, sg::Value(9)).view) == Strings{"each[1]"});
    const auto ended = process().resume("1", {.step = "each", .index = 1}, sg::Value(8));
    REQUIRE((ended.status == RunStatus::success));
    CHECK((ended.result == std::vector<int>{0, 108, 207, 300, 409}));
    CHECK(notes.take() == Strings{"4", "1"});
}

TEST_CASE("a loop that suspends in its second iteration gives the answer to that iteration only") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    Notes notes;
    const auto body = wf::step("body", [&](const int& n, Asks& context) {
        const auto data = context.resumeData();
        notes.add(std::to_string(context.iteration()) + (data ? " answered " + std::to_string(*data) : ""));
        return context.iteration() == 2 ? n + context.suspend("how many?") : n + 1;
    });
    const auto process = [&] {
        return wf::workflow<int>("loop")
            .dowhile(body, [](const int&, const wf::Scope& scope) { return scope.iteration() < 3; })
            .commit({.checkpointer = saver});
    };
    CHECK((process().start("1", 0).status == RunStatus::suspended));
    CHECK(notes.take() == Strings{"1", "2"});
    const auto ended = process().resume("1", body, 10);
    CHECK(notes.take() == Strings{"2 answered 10", "3"});
    CHECK(ended.result == 12);
    CHECK(ended.view.steps.at("body").iteration == 3);
}

TEST_CASE("a workflow three levels deep is answered by its label, and its state is seen from the top") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto leaf = wf::step("leaf", [](const int& n, Asks& context) {
        context.setState("seen", sg::Value(n));
        return n + context.suspend("how many?", {"how-many"});
    });
    const auto mid = wf::workflow<int>("mid-workflow").then(inc).then(leaf).commit();
    const auto outer = wf::workflow<int>("outer-workflow").then("mid", mid).commit();
    const auto process = [&] {
        return wf::workflow<int>("top").then("outer", outer).then(inc).commit({.checkpointer = saver});
    };
    const auto asked = process().start("1", 1);
    REQUIRE((asked.status == RunStatus::suspended));
    CHECK(asked.view.suspended == Paths{{"outer", "mid", "leaf"}});
    CHECK(asked.view.labels.at("how-many").step == "outer");
    CHECK(asked.view.state == wf::Values{{"seen", sg::Value(2)}});
    const auto stored = process().get("1").view;
    CHECK(stored.state == wf::Values{{"seen", sg::Value(2)}});
    CHECK(stored.labels.contains("how-many"));
    checkRefused(Refusal::unknown_label, [&] { process().resume("1", {.label = "how-few"}, sg::Value(10)); });
    CHECK(process().resume("1", {.label = "how-many"}, sg::Value(10)).result == 13);
}
