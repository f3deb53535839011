#include <doctest/doctest.h>

#include <thread>

#include "tests/agent/tools.hpp"
#include "tests/support/drivers.hpp"

using namespace tools;
using Texts = std::vector<std::string>;

namespace {

/// Returns a message with fourteen calls, of which every third waits.
model::Message fourteen() {
    std::vector<model::ToolCall> calls;
    for (int i = 0; i < 14; ++i)
        calls.push_back(call("p" + std::to_string(i), std::to_string(i), i % 3 == 1 ? "gated" : "work"));
    return model::assistant(std::move(calls));
}

agent::Agent gardener(const std::shared_ptr<Ledger>& ledger, std::shared_ptr<sg::BaseCheckpointSaver> saver) {
    return agent::Agent({.model = model::scripted({fourteen(), model::assistant("done")}),
                         .tools = {work(ledger), work(ledger, "gated", gated())},
                         .compile = stored(std::move(saver))});
}

}  // namespace

TEST_CASE("all approvals of a turn are open at once, and are answered in any order") {
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        const auto ledger = std::make_shared<Ledger>();
        const auto saver = std::make_shared<sg::MemorySaver>();
        const sg::RunConfig config{.thread_id = "t"};
        const auto begun = driver.run(gardener(ledger, saver).graph(), agent::said("go"), config);
        REQUIRE(begun.what() == "");
        REQUIRE((begun.status == sg::Status::interrupted));
        for (const int number : {10, 1, 13, 4, 7}) {
            CAPTURE(number);
            const agent::Agent again = gardener(ledger, saver);  // as another process would make it
            const auto open = again.openCalls("t");
            const std::string id = "p" + std::to_string(number);
            REQUIRE(std::any_of(open.begin(), open.end(),
                                [&](const agent::OpenCall& each) { return each.provider_id == id; }));
            CHECK(ledger->count(std::to_string(number)) == 0);
            const auto after = driver.run(again.graph(), again.decide("t", id, {.approved = true}), config);
            REQUIRE(after.what() == "");
            CHECK(ledger->count(std::to_string(number)) == 1);
            CHECK_THROWS_WITH_AS((void)again.decide("t", id, {.approved = true}),
                                 doctest::Contains("waits for a decision or a result"), sg::InvalidArgumentError);
        }
        const auto state = gardener(ledger, saver).graph().getState({.thread_id = "t"}).values;
        CHECK(state.text() == "done");
        REQUIRE(results(state).size() == 14);
        for (int i = 0; i < 14; ++i) {
            CHECK(results(state)[static_cast<std::size_t>(i)] == "did " + std::to_string(i));
            CHECK(ledger->count(std::to_string(i)) == 1);
        }
    }
}

TEST_CASE("a declined call does not run, its reason goes to the model, and the loop continues") {
    const auto ledger = std::make_shared<Ledger>();
    const agent::Agent helper(
        {.model = model::scripted({model::assistant({call("c1", "dig", "gated")}), model::assistant("a pity")}),
         .tools = {work(ledger, "gated", gated())},
         .compile = stored()});
    CHECK((helper.say("go", {.thread_id = "t"}).status == sg::Status::interrupted));
    SUBCASE("with a reason") {
        const auto result = helper.graph().invoke(helper.decide("t", "c1", {.approved = false, .reason = "it rains"}),
                                                  {.thread_id = "t"});
        CHECK(results(result.values) == Texts{"Error: The call was not approved: it rains"});
        CHECK(result.values.text() == "a pity");
    }
    SUBCASE("without") {
        const auto result = helper.graph().invoke(helper.decide("t", "c1", {.approved = false}), {.thread_id = "t"});
        CHECK(results(result.values) == Texts{"Error: The call was not approved."});
    }
    CHECK(ledger->count("dig") == 0);
}

TEST_CASE("a person who approves may edit the arguments, to others that the tool takes") {
    const auto ledger = std::make_shared<Ledger>();
    const agent::Agent helper(
        {.model = model::scripted({model::assistant({call("c1", "dig", "gated")}), model::assistant("ok")}),
         .tools = {work(ledger, "gated", gated())},
         .compile = stored()});
    helper.say("go", {.thread_id = "t"});
    CHECK_THROWS_AS((void)helper.decide("t", "c1", {.approved = true, .arguments = sg::parseJson(R"({"wat":1})")}),
                    sg::WrongTypeError);
    CHECK(helper.openCalls("t").size() == 1);
    const auto result = helper.graph().invoke(
        helper.decide("t", "c1", {.approved = true, .arguments = sg::parseJson(R"({"what":"plant"})")}),
        {.thread_id = "t"});
    CHECK(results(result.values) == Texts{"did plant"});
    CHECK(ledger->count("dig") == 0);
}

TEST_CASE(
    "the tool, its arguments, the agent or the run say whether a call needs approval; a rule that throws says yes") {
    const auto ledger = std::make_shared<Ledger>();
    const auto asksFor = [&](agent::ApprovalRule rule, std::function<bool(std::string_view, const sg::Value&)> agents,
                             agent::RunApproval run) {
        agent::ToolOptions options;
        options.approval = std::move(rule);
        const agent::Agent helper({.model = model::scripted({model::assistant({call("c1", "dig"), call("c2", "burn")}),
                                                             model::assistant("ok")}),
                                   .tools = {work(ledger, "work", options)},
                                   .approval = std::move(agents),
                                   .compile = stored()});
        auto input = agent::said("go");
        input.with(sg::set(&agent::State::approval, std::move(run)));
        helper.graph().invoke(std::move(input), {.thread_id = "t"});
        return helper.openCalls("t").size();
    };
    CHECK(asksFor({}, {}, {}) == 0);
    CHECK(asksFor(true, {}, {}) == 2);
    CHECK(asksFor([](const Job& job) { return job.what == "burn"; }, {}, {}) == 1);
    CHECK(asksFor([](const Job&) -> bool { throw std::runtime_error("?"); }, {}, {}) == 2);
    CHECK(asksFor({}, [](std::string_view tool, const sg::Value&) { return tool == "work"; }, {}) == 2);
    CHECK(asksFor({}, [](std::string_view, const sg::Value&) -> bool { throw 1; }, {}) == 2);
    CHECK(asksFor(false, {}, {.all = true}) == 2);
    CHECK(asksFor({}, {}, {.tools = {"other"}}) == 0);
    CHECK(asksFor({}, {}, {.tools = {"work"}}) == 2);
}

TEST_CASE("of two people who approve a call at once one wins, and the tool runs once") {
    for (int round = 0; round < 20; ++round) {
        const auto ledger = std::make_shared<Ledger>();
        const auto saver = std::make_shared<sg::MemorySaver>();
        const agent::Agent helper = gardener(ledger, saver);
        helper.say("go", {.thread_id = "t"});
        std::atomic<int> won = 0, lost = 0;
        const auto approve = [&] {
            try {
                const agent::Agent mine = gardener(ledger, saver);
                mine.graph().invoke(mine.decide("t", "p1", {.approved = true}),
                                    {.thread_id = "t", .on_busy = sg::OnBusy::wait});
                ++won;
            } catch (const sg::Error&) {
                ++lost;
            }
        };
        std::thread other(approve);
        approve();
        other.join();
        CHECK(won == 1);
        CHECK(lost == 1);
        CHECK(ledger->count("1") == 1);
    }
}

TEST_CASE("a client's tool pauses the run, and continues with the result that it is given") {
    const agent::Agent helper(
        {.model = model::scripted(
             {model::assistant({call("c1", "door", "open"), call("c2", "gate", "open")}), model::assistant("ok")}),
         .tools = {agent::clientTool<Job>("open")},
         .compile = stored()});
    CHECK((helper.say("go", {.thread_id = "t"}).status == sg::Status::interrupted));
    const auto open = helper.openCalls("t");
    REQUIRE(open.size() == 2);
    CHECK(open[0].is_for_client);
    CHECK(open[0].arguments.as<Job>().what == "door");
    CHECK_THROWS_WITH_AS((void)helper.decide("t", "c1", {.approved = true}), doctest::Contains("use give()"),
                         sg::InvalidArgumentError);
    helper.graph().invoke(helper.give("t", "c2", {.output = "squeaks"}), {.thread_id = "t"});
    const auto result = helper.graph().invoke(helper.give("t", "c1", {.output = 3}), {.thread_id = "t"});
    CHECK(results(result.values) == Texts{"3", "squeaks"});
    CHECK(result.values.text() == "ok");
}

TEST_CASE("an approval inside of a sub-agent is answered in the outer run, and its answer is the outer call's result") {
    const auto ledger = std::make_shared<Ledger>();
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto make = [&] {
        const agent::Agent inner(
            {.model = model::scripted(
                 {model::assistant({call("i1", "deep", "gated"), call("i2", "free")}), model::assistant("found it")}),
             .tools = {work(ledger), work(ledger, "gated", gated())}});
        const model::ToolCall ask{{}, "o1", "research", R"({"request":"look"})"};
        return agent::Agent(
            {.model = model::scripted({model::assistant({ask, call("o2", "outer")}), model::assistant("thanks")}),
             .tools = {agent::agentTool("research", {.description = "Looks things up"}, inner), work(ledger)},
             .compile = stored(saver)});
    };
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        const sg::RunConfig config{.thread_id = driver.name};
        const int before = ledger->count("deep");
        REQUIRE(driver.run(make().graph(), agent::said("go"), config).what() == "");
        const agent::Agent again = make();
        const auto open = again.openCalls(config.thread_id);
        REQUIRE(open.size() == 1);
        CHECK(open[0].provider_id == "i1");
        const auto result =
            driver.run(again.graph(), again.decide(config.thread_id, open[0].id, {.approved = true}), config);
        REQUIRE(result.what() == "");
        CHECK((result.status == sg::Status::done));
        CHECK(results(result.values) == Texts{"found it", "did outer"});
        CHECK(ledger->count("deep") == before + 1);
    }
    CHECK(ledger->count("outer") == static_cast<int>(drivers::all().size()));
    CHECK(ledger->count("free") == static_cast<int>(drivers::all().size()));
}
