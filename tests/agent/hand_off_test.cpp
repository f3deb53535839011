#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/async.hpp>
#include <stategraph/testing/fault_saver.hpp>

#include "tests/agent/tools.hpp"
#include "tests/support/drivers.hpp"

// Tools that return Commands, and agents that hand a conversation over to others.
using namespace tools;
using Texts = std::vector<std::string>;

namespace {

/// The state of a graph around several agents.
struct Desk {
    std::vector<model::Message> messages = {};
    std::string active = {};
    model::UsageByModel usage = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("messages", &Desk::messages, sg::addMessages),
                            sg::channel("active", &Desk::active), sg::channel("usage", &Desk::usage, sg::sum));
    }
};

/// Returns a call without arguments.
model::ToolCall bare(std::string provider_id, std::string name) {
    return {{}, std::move(provider_id), std::move(name), "{}"};
}

/// Returns what each message says, without the instructions.
Texts told(const std::vector<model::Message>& messages) {
    Texts all;
    for (const model::Message& each : messages) {
        std::string line = each.role == model::Role::user   ? "user:"
                           : each.role == model::Role::tool ? "tool:"
                                                            : "model:";
        line += each.result ? each.result->text() : each.text();
        for (const model::ToolCall& call : each.calls) line += "[" + call.name + "]";
        all.push_back(std::move(line));
    }
    return all;
}

/// Returns whether each call has its result before the next message that is not one.
bool isValid(const std::vector<model::Message>& messages) { return !model::mendHistory(messages).has_value(); }

/// Two agents with the tools of each, which answer from scripts. A conversation begins with the active one.
struct Office {
    std::shared_ptr<Ledger> ledger = std::make_shared<Ledger>();
    std::vector<model::Message> front = {};
    std::vector<model::Message> back = {};
    std::vector<agent::Tool> front_tools = {};
    std::vector<agent::Tool> back_tools = {};
    std::vector<std::string> front_ends = {"back", sg::END};

    sg::CompiledGraph<Desk> open(std::shared_ptr<sg::BaseCheckpointSaver> saver = {}) const {
        sg::StateGraph<Desk> graph;
        graph.addNode("front", member(front, front_tools), {.ends = sg::NodeNames(front_ends)});
        graph.addNode("back", member(back, back_tools), {.ends = {"front", sg::END}});
        graph.addConditionalEdges(
            sg::START, [](const Desk& desk) { return desk.active.empty() ? std::string("front") : desk.active; },
            {"front", "back"});
        sg::CompileOptions options;
        if (saver) options.checkpointer = std::move(saver);
        return graph.compile(options);
    }

private:
    static sg::CompiledGraph<agent::State> member(std::vector<model::Message> answers, std::vector<agent::Tool> tools) {
        // The n-th answer of this agent in the conversation, by its own mark.
        return agent::Agent({.model = model::scripted([answers = std::move(answers)](const model::Request& request) {
                                 std::size_t mine = 0;
                                 for (const model::Message& each : request.messages)
                                     for (const model::Message& own : answers)
                                         mine += each.role == model::Role::assistant && each.text() == own.text();
                                 return answers.at(mine);
                             }),
                             .tools = std::move(tools)})
            .graph();
    }
};

model::Message says(std::string text, std::vector<model::ToolCall> calls = {}) {
    model::Message message = model::assistant(std::move(text));
    message.calls = std::move(calls);
    message.usage = model::Usage{.input_tokens = 10, .output_tokens = 1};
    return message;
}

agent::Tool toBack(agent::ToolOptions options = {}) {
    return agent::handOff("back", std::move(options), sg::set<&Desk::active>(std::string("back")));
}

sg::Update<Desk> asks(std::string text) { return {sg::add(&Desk::messages, model::user(std::move(text)))}; }

}  // namespace

TEST_CASE("an agent hands the conversation over, and the other one continues it, now and in the next turn") {
    Office office;
    office.front = {says("one moment", {bare("c1", "transfer_to_back")})};
    office.back = {says("paid"), says("you are welcome")};
    office.front_tools = {toBack({.description = "For invoices"})};
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        const auto saver = std::make_shared<sg::MemorySaver>();
        const auto first = driver.run(office.open(saver), asks("pay"), {.thread_id = "t"});
        REQUIRE(first.what() == "");
        CHECK(told(first.values.messages) == Texts{"user:pay", "model:one moment[transfer_to_back]",
                                                   "tool:The conversation goes to 'back'.", "model:paid"});
        CHECK(first.values.active == "back");
        CHECK(first.values.usage.input_tokens == 20);
        CHECK(isValid(first.values.messages));
        const auto second = driver.run(office.open(saver), asks("thanks"), {.thread_id = "t"});
        REQUIRE(second.what() == "");
        CHECK(told(second.values.messages).back() == "model:you are welcome");
    }
}

TEST_CASE("the other calls of the answer that hands over are executed, and all have their results in order") {
    Office office;
    office.front = {says("", {call("c1", "dig"), bare("c2", "transfer_to_back"), call("c3", "plant")})};
    office.back = {says("done")};
    office.front_tools = {toBack(), work(office.ledger)};
    const auto result = office.open().invoke(asks("go"));
    CHECK(told(result.values.messages) == Texts{"user:go", "model:[work][transfer_to_back][work]", "tool:did dig",
                                                "tool:The conversation goes to 'back'.", "tool:did plant",
                                                "model:done"});
    CHECK(office.ledger->count("dig") == 1);
    CHECK(office.ledger->count("plant") == 1);
}

TEST_CASE("two hand-offs of one answer lead to both, in the order of the calls, and of two writes the last counts") {
    Office office;
    office.front = {says("both", {bare("c1", "transfer_to_back"), bare("c2", "transfer_to_side")})};
    office.back = {says("from the back")};
    office.front_tools = {toBack(), agent::handOff("side", {}, sg::set<&Desk::active>(std::string("side")))};
    sg::StateGraph<Desk> graph;
    graph.addNode("front",
                  agent::Agent({.model = model::scripted({office.front[0]}), .tools = office.front_tools}).graph(),
                  {.ends = {"back", "side", sg::END}});
    for (const char* const name : {"side", "back"}) {
        graph.addNode(name, [name](const Desk&) -> sg::Update<Desk> {
            return {sg::add(&Desk::messages, model::assistant(std::string("from the ") + name))};
        });
    }
    graph.addEdge(sg::START, "front");
    const auto result = graph.compile().invoke(asks("go"));
    Texts last = told(result.values.messages);
    REQUIRE(last.size() == 6);
    std::sort(last.begin() + 4, last.end());
    CHECK(last[4] == "model:from the back");
    CHECK(last[5] == "model:from the side");
    CHECK(result.values.active == "side");
}

TEST_CASE("a tool's Command changes the agent's state before the model is called again, or ends the turn") {
    const auto ledger = std::make_shared<Ledger>();
    const auto careful = agent::tool<sg::Value>(
        "careful", {}, [](const sg::Value&) -> std::pair<std::string, sg::Command<agent::State>> {
            return {"every call is asked for now",
                    {.update = {sg::set(&agent::State::approval, agent::RunApproval{.all = true})}}};
        });
    const auto finish = agent::tool<sg::Value>("finish", {}, [](const sg::Value&) { return sg::go(sg::END); });
    SUBCASE("changes it") {
        const agent::Agent helper(
            {.model = model::scripted({model::assistant({bare("c1", "careful"), call("c2", "dig")}),
                                       model::assistant({call("c3", "burn")})}),
             .tools = {careful, work(ledger)},
             .compile = stored()});
        CHECK((helper.say("go", {.thread_id = "t"}).status == sg::Status::interrupted));
        CHECK(ledger->count("dig") == 1);
        CHECK(ledger->count("burn") == 0);
        CHECK(helper.openCalls("t").size() == 1);
    }
    SUBCASE("ends the turn") {
        const agent::Agent helper(
            {.model = model::scripted({model::assistant({bare("c1", "finish"), call("c2", "dig")})}),
             .tools = {finish, work(ledger)}});
        const auto result = helper.say("go");
        CHECK((result.status == sg::Status::done));
        CHECK(result.values.stop_reason == "command");
        CHECK(result.values.steps == 1);
        CHECK(results(result.values).size() == 2);
    }
}

TEST_CASE("a coroutine and a tool with a retry return Commands too, and a result may come with them") {
    Office office;
    office.front = {says("", {call("c1", "refund", "look"), call("c2", "refund", "ask")})};
    office.back = {says("done")};
    using Answered = std::pair<std::string, sg::Command<Desk>>;
    const auto command = [] {
        return sg::Command<Desk>{
            .update = {sg::set<&Desk::active>(std::string("back"))}, .go_to = "back", .graph = sg::PARENT};
    };
    office.front_tools = {
        agent::tool<Job>("look", {},
                         [command](const Job& job) -> sg::Task<Answered> {
                             co_return Answered{"looked at " + job.what, command()};
                         }),
        agent::tool<Job>("ask", {.retry = sg::RetryPolicy{.max_attempts = 2}}, [command](const Job& job) {
            return Answered{"asked for " + job.what, command()};
        })};
    const auto result = office.open().invoke(asks("go"));
    CHECK(told(result.values.messages) ==
          Texts{"user:go", "model:[look][ask]", "tool:looked at refund", "tool:asked for refund", "model:done"});
    CHECK(result.values.active == "back");
}

TEST_CASE("a Command for the graph around an agent that has none around it fails the run, until somebody writes") {
    const agent::Agent alone(
        {.model = model::scripted({model::assistant({bare("c1", "transfer_to_back")}), model::assistant("I am alone")}),
         .tools = {toBack()},
         .compile = stored()});
    CHECK_THROWS_WITH_AS(alone.say("go", {.thread_id = "t"}), doctest::Contains("for the parent graph"),
                         sg::InvalidUpdateError);
    const auto result = alone.say("what now?", {.thread_id = "t"});
    CHECK(result.values.text() == "I am alone");
    CHECK(isValid(result.values.messages));
}

TEST_CASE("wherever a process dies, a tool that hands over is executed once, and what it leads to happens once") {
    Office office;
    office.front = {says("first", {call("c1", "dig"), call("c2", "refund", "settle")}), says("settled by hand")};
    office.back = {says("done")};
    const auto settle = [&office](const Job& job) -> std::pair<std::string, sg::Command<Desk>> {
        office.ledger->note(job.what);
        return {"settled",
                {.update = {sg::set<&Desk::active>(std::string("back"))}, .go_to = "back", .graph = sg::PARENT}};
    };
    const auto dig = [&office](const Job& job) {
        office.ledger->note(job.what);
        return "did " + job.what;
    };
    office.front_tools = {agent::tool<Job>("work", {}, dig),
                          agent::tool<Job>("settle", {.on_doubt = sg::OnDoubt::ask}, settle)};
    int deaths = 0;
    for (const sg::Durability durability : {sg::Durability::sync, sg::Durability::async}) {
        for (std::size_t dies_at = 1; dies_at < 100; ++dies_at) {
            CAPTURE(dies_at);
            office.ledger = std::make_shared<Ledger>();
            const auto kept = std::make_shared<sg::MemorySaver>();
            const sg::RunConfig config{.thread_id = "t", .durability = durability};
            bool is_dead = false;
            try {
                const auto mortal = std::make_shared<sg::testing::FaultSaver>(
                    kept,
                    sg::testing::FaultPlan{.fail_at = dies_at, .once = false, .calls = sg::testing::SaverCalls::put});
                office.open(mortal).invoke(asks("go"), config);
            } catch (const sg::Error&) {
                is_dead = true;
            }
            const auto app = office.open(kept);
            auto at = app.getState(config);
            if (at.config.checkpoint_id.empty()) {
                app.invoke(asks("go"), config);
            } else if (is_dead) {
                auto result = app.invoke(sg::RESUME, config);
                // It was begun, and nobody knows whether it has ended.
                for (; result.status == sg::Status::interrupted;) {
                    const sg::Value known(std::map<std::string, sg::Value>{{"result", sg::Value("settled")}});
                    result = app.invoke(sg::resume(office.ledger->count("refund") > 0 ? known : sg::Value("repeat")),
                                        config);
                }
            }
            at = app.getState(config);
            CHECK(at.next.empty());
            // If a person said what the call has returned, it leads nowhere.
            const bool is_by_hand = at.values.active.empty();
            CHECK(told(at.values.messages) == Texts{"user:go", "model:first[work][settle]", "tool:did dig",
                                                    "tool:settled",
                                                    is_by_hand ? "model:settled by hand" : "model:done"});
            CHECK(office.ledger->count("refund") == 1);
            CHECK(office.ledger->count("dig") <= 2);
            CHECK((!is_by_hand || is_dead));
            CHECK(isValid(at.values.messages));
            deaths += is_dead;
            if (!is_dead) break;
        }
    }
    CHECK(deaths > 8);
}

TEST_CASE("approvals of two agents that were led to at once are all open, and are answered in any order") {
    const auto ledger = std::make_shared<Ledger>();
    for (const bool is_reversed : {false, true}) {
        CAPTURE(is_reversed);
        const auto saver = std::make_shared<sg::MemorySaver>();
        const auto open = [&] {
            const auto worker = [&](const std::string& what) {
                return agent::Agent({.model = model::scripted([what](const model::Request& request) {
                                         const auto isMine = [&](const model::Message& each) {
                                             return each.result && each.result->text() == "did " + what;
                                         };
                                         if (std::ranges::any_of(request.messages, isMine))
                                             return says(what + " is done");
                                         return says("", {call("c-" + what, what)});
                                     }),
                                     .tools = {work(ledger, "work", gated())}})
                    .graph();
            };
            const agent::Agent chief(
                {.model = model::scripted([](const model::Request& request) {
                     if (request.messages.size() > 1) return says("all done");
                     return says("", {bare("c1", "transfer_to_digger"), bare("c2", "transfer_to_planter")});
                 }),
                 .tools = {agent::handOff("digger"), agent::handOff("planter")}});
            sg::StateGraph<Desk> graph;
            graph.addNode("chief", chief.graph(), {.ends = {"digger", "planter", sg::END}});
            graph.addNode("digger", worker("dig")).addNode("planter", worker("plant"));
            graph.addEdge(sg::START, "chief").addEdge("digger", "chief").addEdge("planter", "chief");
            return graph.compile({.checkpointer = saver});
        };
        const sg::RunConfig config{.thread_id = "t"};
        auto result = open().invoke(asks("make a garden"), config);
        REQUIRE((result.status == sg::Status::interrupted));
        REQUIRE(result.interrupts.size() == 2);
        for (const std::size_t at : {is_reversed ? 1U : 0U, 0U}) {
            const auto asked = open().getState(config).interrupts();
            const sg::Value yes(agent::Decision{.approved = true});
            result = open().invoke(sg::resume({{asked.at(at).id, yes}}), config);
        }
        CHECK((result.status == sg::Status::done));
        const Texts end = told(result.values.messages);
        REQUIRE(end.size() == 11);
        CHECK(end.back() == "model:all done");
        CHECK(std::count(end.begin(), end.end(), "model:dig is done") == 1);
        CHECK(std::count(end.begin(), end.end(), "model:plant is done") == 1);
        CHECK(isValid(result.values.messages));
    }
    CHECK(ledger->count("dig") == 2);
    CHECK(ledger->count("plant") == 2);
}
