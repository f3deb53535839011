#include <doctest/doctest.h>

#include <thread>

#include <stategraph/stream_hub.hpp>

#include "tests/agent/tools.hpp"
#include "tests/support/drivers.hpp"

// Rules of docs/agent_rules.md that no other test covers.

using namespace tools;
using Texts = std::vector<std::string>;

namespace {

/// A model that requests one call after the other without end.
std::shared_ptr<const model::Model> endless() {
    return model::scripted([](const model::Request& request) {
        const auto number = std::to_string(request.messages.size());
        return model::assistant({call("c" + number, "job " + number)});
    });
}

struct Answer {
    std::string name = {};
    static constexpr auto fields() { return sg::fields(sg::field("name", &Answer::name)); }
};

Texts rolesOf(const agent::State& state) {
    Texts roles;
    for (const model::Message& message : state.messages) {
        roles.push_back(message.role == model::Role::user   ? "user"
                        : message.role == model::Role::tool ? "tool"
                                                            : "assistant");
    }
    return roles;
}

}  // namespace

TEST_CASE("conditions are asked only when the model would be called again, and all of them are") {
    const auto ledger = std::make_shared<Ledger>();
    std::vector<std::int64_t> first, second;
    const auto noting = [](std::vector<std::int64_t>& seen, std::int64_t ends) -> agent::StopCondition {
        return [&seen, ends](const agent::State& state) -> std::optional<std::string> {
            seen.push_back(state.steps);
            return state.steps == ends ? std::optional<std::string>("at " + std::to_string(ends)) : std::nullopt;
        };
    };
    SUBCASE("a turn that ends by itself asks none after its answer") {
        const agent::Agent helper(
            {.model = model::scripted({model::assistant({call("c1", "dig")}), model::assistant("done")}),
             .tools = {work(ledger)},
             .stop_when = {noting(first, 9), noting(second, 9)}});
        CHECK(helper.say("go").values.stop_reason == "stop");
        CHECK(first == std::vector<std::int64_t>{1});
        CHECK(second == std::vector<std::int64_t>{1});
    }
    SUBCASE("the first in the list that ends the turn gives the reason, and those after it are asked as well") {
        const agent::Agent helper(
            {.model = endless(), .tools = {work(ledger)}, .stop_when = {noting(first, 2), noting(second, 2)}});
        const auto result = helper.say("go");
        CHECK(result.values.stop_reason == "at 2");
        CHECK(first == std::vector<std::int64_t>{1, 2});
        CHECK(second == first);
    }
}

TEST_CASE("the conversation is stored before the pause, so another process reads it while the call is open") {
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        const auto ledger = std::make_shared<Ledger>();
        const auto saver = std::make_shared<sg::MemorySaver>();
        const auto make = [&] {
            return agent::Agent(
                {.model = model::scripted(
                     {model::assistant({call("c1", "dig"), call("c2", "burn", "gated")}), model::assistant("done")}),
                 .tools = {work(ledger), work(ledger, "gated", {.approval = true})},
                 .compile = stored(saver)});
        };
        REQUIRE(driver.run(make().graph(), agent::said("go"), {.thread_id = "t"}).what() == "");
        const auto snapshot = make().graph().getState({.thread_id = "t"});
        REQUIRE(rolesOf(snapshot.values) == Texts{"user", "assistant", "tool"});  // a finished call's result too
        CHECK(snapshot.values.messages[1].calls.size() == 2);
        CHECK(snapshot.values.steps == 1);
        REQUIRE(make().openCalls("t").size() == 1);
        CHECK(make().openCalls("t")[0].arguments.as<Job>().what == "burn");
        CHECK(ledger->count("dig") == 1);
    }
}

TEST_CASE("a resume needs the thread's name alone: approvals, counts and messages come from the store") {
    const auto ledger = std::make_shared<Ledger>();
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto make = [&] {
        return agent::Agent({.model = endless(),
                             .tools = {work(ledger)},
                             .stop_when = {agent::stepCountIs(3)},
                             .compile = stored(saver)});
    };
    auto input = agent::said("go");
    input.with(sg::set(&agent::State::approval, {.all = true}));
    auto status = make().graph().invoke(std::move(input), {.thread_id = "t"}).status;
    int approvals = 0;
    agent::State last;
    while (status == sg::Status::interrupted) {
        REQUIRE(++approvals <= 3);
        const agent::Agent again = make();  // as another process would make it: it says nothing of approvals
        const auto open = again.openCalls("t");
        REQUIRE(open.size() == 1);
        CHECK(again.graph().getState({.thread_id = "t"}).values.steps == approvals);
        const auto result = again.graph().invoke(again.decide("t", open[0].id, {.approved = true}), {.thread_id = "t"});
        status = result.status;
        last = result.values;
    }
    CHECK(approvals == 3);  // of every round: a policy that a process holds would have ended with the first
    CHECK(last.steps == 3);
    CHECK(last.stop_reason == "max-steps");
    CHECK(results(last) == Texts{"did job 1", "did job 3", "did job 5"});
}

TEST_CASE("a tool that asks is called again with the answer, and a wrong answer leaves its question open") {
    const auto ledger = std::make_shared<Ledger>();
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto make = [&] {
        const auto asking = agent::tool<Job>("ask", {}, [ledger](const Job& job, agent::ToolContext& context) {
            const auto answer = sg::interrupt<Answer>(context.runtime(), job.what + " for whom?");
            ledger->note(answer.name);
            return job.what + " for " + answer.name;
        });
        return agent::Agent({.model = model::scripted({model::assistant({call("c1", "dig", "ask"), call("c2", "rake")}),
                                                       model::assistant("done")}),
                             .tools = {asking, work(ledger)},
                             .compile = stored(saver)});
    };
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        const sg::RunConfig config{.thread_id = driver.name};
        const int before = ledger->count("ada");
        const auto asked = driver.run(make().graph(), agent::said("go"), config);
        REQUIRE(asked.what() == "");
        REQUIRE(asked.interrupts.size() == 1);
        CHECK(asked.interrupts[0].value.as<std::string>() == "dig for whom?");
        const auto wrong = driver.run(make().graph(), sg::resume(sg::parseJson(R"({"nobody":1})")), config);
        CHECK(wrong.as<sg::WrongTypeError>() != nullptr);
        CHECK(make().graph().getState({.thread_id = driver.name}).interrupts().size() == 1);
        CHECK(ledger->count("ada") == before);
        const auto right = driver.run(make().graph(), sg::resume(Answer{"ada"}), config);
        REQUIRE(right.what() == "");
        CHECK(results(right.values) == Texts{"dig for ada", "did rake"});
        CHECK(ledger->count("ada") == before + 1);
    }
    CHECK(ledger->count("rake") == static_cast<int>(drivers::all().size()));  // the sibling's result was kept
}

TEST_CASE("a reader that comes when the turn is over gets everything that was stored of it, once") {
    const auto ledger = std::make_shared<Ledger>();
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto make = [&] {
        return agent::Agent(
            {.model = model::scripted({model::assistant({call("c1", "dig"), call("c2", "burn", "gated")}),
                                       model::assistant("All is done.")}),
             .tools = {work(ledger), work(ledger, "gated", {.approval = true})},
             .compile = stored(saver)});
    };
    make().say("go", {.thread_id = "t"});
    const agent::Agent helper = make();
    helper.graph().invoke(helper.decide("t", "c2", {.approved = true}), {.thread_id = "t"});

    const agent::Agent late = make();
    sg::StreamHub hub(late.graph());
    auto subscription = hub.subscribe("t", {.from = sg::StreamPosition{}, .until = sg::Until::idle});
    Texts nodes;
    std::string everything;
    while (const auto event = subscription.next()) {
        CHECK(event->durable);
        nodes.push_back(event->node);
        everything += event->data.toJson();
    }
    CHECK(std::count(nodes.begin(), nodes.end(), "model") == 2);
    CHECK(std::count(nodes.begin(), nodes.end(), "tool") == 2);
    CHECK(everything.find("did dig") != std::string::npos);
    CHECK(everything.find("did burn") != std::string::npos);
    CHECK(everything.find("All is done.") != std::string::npos);
    CHECK(everything.find(R"("stop_reason":"stop")") != std::string::npos);
}
