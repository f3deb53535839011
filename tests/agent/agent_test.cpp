#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <thread>

#include "tests/agent/tools.hpp"

using namespace tools;
using Texts = std::vector<std::string>;

TEST_CASE("an agent calls the tools that its model asks for, and ends with the answer") {
    const auto ledger = std::make_shared<Ledger>();
    const agent::Agent helper({.model = model::scripted({model::assistant({call("c1", "dig"), call("c2", "plant")}),
                                                         model::assistant("All done.")}),
                               .tools = {work(ledger)}});
    const auto result = helper.say("Make a garden");
    CHECK((result.status == sg::Status::done));
    CHECK(result.values.text() == "All done.");
    CHECK(result.values.stop_reason == "stop");
    CHECK(result.values.steps == 2);
    CHECK(results(result.values) == Texts{"did dig", "did plant"});
    CHECK(ledger->count("dig") == 1);
}

TEST_CASE("results are in the order of the calls, whichever ends first") {
    std::vector<model::ToolCall> calls;
    for (int i = 0; i < 6; ++i) calls.push_back(call("c" + std::to_string(i), std::to_string(i)));
    std::mutex mutex;
    std::condition_variable changed;
    Texts ended;
    // Each call waits for the one after it.
    const auto backwards = agent::tool<Job>("work", {}, [&](const Job& job) {
        std::unique_lock lock(mutex);
        changed.wait_for(lock, std::chrono::minutes(5),
                         [&] { return ended.size() == 5 - static_cast<std::size_t>(std::stoi(job.what)); });
        ended.push_back(job.what);
        changed.notify_all();
        return job.what;
    });
    const agent::Agent helper(
        {.model = model::scripted({model::assistant(calls), model::assistant("ok")}), .tools = {backwards}});
    CHECK(results(helper.say("go", {.max_concurrency = 6}).values) == Texts{"0", "1", "2", "3", "4", "5"});
    CHECK(ended == Texts{"5", "4", "3", "2", "1", "0"});
}

TEST_CASE("at most ten calls of a turn are under way at once, and all fourteen are made") {
    std::vector<model::ToolCall> calls;
    for (int i = 0; i < 14; ++i) calls.push_back(call({}, std::to_string(i)));
    std::mutex mutex;
    std::condition_variable changed;
    int now = 0, most = 0, begun = 0;
    const auto counted = agent::tool<Job>("work", {}, [&](const Job&) {
        std::unique_lock lock(mutex);
        most = std::max(most, ++now);
        ++begun;
        changed.notify_all();
        // The first ten wait for each other, so that an eleventh would be noticed.
        changed.wait_for(lock, std::chrono::minutes(5), [&] { return begun >= 10; });
        if (begun == 10) changed.wait_for(lock, std::chrono::milliseconds(30));
        --now;
        return std::string("ok");
    });
    const agent::Agent helper(
        {.model = model::scripted({model::assistant(calls), model::assistant("ok")}), .tools = {counted}});
    const auto result = helper.say("go", {.max_concurrency = 32});
    CHECK(begun == 14);
    CHECK(most == 10);
    CHECK(results(result.values).size() == 14);
}

TEST_CASE("a turn ends after five calls of the model unless an option says otherwise, and says why") {
    const auto endless = model::scripted([](const model::Request&) { return model::assistant({call("c", "more")}); });
    const auto ledger = std::make_shared<Ledger>();
    SUBCASE("the default") {
        const agent::Agent helper({.model = endless, .tools = {work(ledger)}});
        const auto result = helper.say("go");
        CHECK((result.status == sg::Status::done));
        CHECK(result.values.steps == 5);
        CHECK(result.values.stop_reason == "max-steps");
        CHECK(ledger->count("more") == 5);
    }
    SUBCASE("a number of one's own, and any of several conditions") {
        const agent::Agent helper({.model = endless,
                                   .tools = {work(ledger)},
                                   .stop_when = {agent::stepCountIs(20), agent::tokensAre(1'000)}});
        CHECK(helper.say("go").values.steps == 20);
    }
    SUBCASE("when a tool is called") {
        const agent::Agent helper(
            {.model = endless, .tools = {work(ledger)}, .stop_when = {agent::hasToolCall("work")}});
        const auto result = helper.say("go");
        CHECK(result.values.steps == 1);
        CHECK(result.values.stop_reason == "tool-called");
        CHECK(results(result.values) == Texts{"did more"});
    }
    SUBCASE("with a last answer without tools") {
        const auto obedient = model::scripted([](const model::Request& request) {
            if (request.tool_choice == model::ToolChoice::none) return model::assistant("as far as I came");
            return model::assistant({call("c", "more")});
        });
        const agent::Agent helper({.model = obedient,
                                   .tools = {work(ledger)},
                                   .stop_when = {agent::stepCountIs(3)},
                                   .at_limit = agent::AtLimit::answer});
        const auto result = helper.say("go");
        CHECK(result.values.steps == 4);
        CHECK(result.values.text() == "as far as I came");
        CHECK(result.values.stop_reason == "max-steps");
    }
}

TEST_CASE("a budget is of a turn: the next one begins anew, and a pause does not") {
    const auto asks = model::scripted([](const model::Request&) { return model::assistant({call("c", "more")}); });
    const auto ledger = std::make_shared<Ledger>();
    const agent::Agent helper({.model = asks,
                               .tools = {work(ledger, "work", {.approval = true})},
                               .stop_when = {agent::stepCountIs(2)},
                               .compile = stored()});
    const sg::RunConfig config{.thread_id = "t"};
    for (int turn = 1; turn <= 2; ++turn) {
        CAPTURE(turn);
        auto result = helper.say("go", config);
        int approvals = 0;
        while (result.status == sg::Status::interrupted) {
            result =
                helper.graph().invoke(helper.decide("t", helper.openCalls("t").at(0).id, {.approved = true}), config);
            ++approvals;
        }
        CHECK(approvals == 2);
        CHECK(result.values.stop_reason == "max-steps");
    }
    CHECK(ledger->count("more") == 4);
}

TEST_CASE("what is wrong with a call is a result for the model, and the loop continues") {
    const auto ledger = std::make_shared<Ledger>();
    const auto broken =
        agent::tool<Job>("broken", {}, [](const Job&) -> std::string { throw std::runtime_error("the disk is full"); });
    const auto first = model::assistant({call("c1", "x", "nothing"),
                                         {{}, "c2", "work", "{\"what\":"},
                                         {{}, "c3", "work", R"({"times":1})"},
                                         {{}, "c4", "work", ""},
                                         {{}, "c5", "work", R"({"what":7})"},
                                         call("c6", "y", "broken")});
    const agent::Agent helper(
        {.model = model::scripted({first, model::assistant("sorry")}), .tools = {work(ledger), broken}});
    const auto result = helper.say("go");
    CHECK(result.values.text() == "sorry");
    const auto told = results(result.values);
    REQUIRE(told.size() == 6);
    CHECK(told[0] == "Error: there is no tool 'nothing'; there are: work, broken");
    CHECK(told[1].find("not JSON") != std::string::npos);
    CHECK(told[2] == "Error: member 'what' is missing");
    CHECK(told[3] == told[2]);
    CHECK(told[4].find("'what': expected text") != std::string::npos);
    CHECK(told[5] == "Error: the disk is full");
    for (const model::Message& message : result.values.messages) {
        if (message.result) CHECK(message.result->is_error);
    }
}

TEST_CASE("arguments of an answer that was cut off are never executed") {
    for (const auto reason : {model::FinishReason::length, model::FinishReason::content_filter}) {
        const auto ledger = std::make_shared<Ledger>();
        model::Message cut = model::assistant({call("c1", "half")});
        cut.finish_reason = reason;
        const agent::Agent helper({.model = model::scripted({cut}), .tools = {work(ledger)}});
        const auto result = helper.say("go");
        CHECK(result.values.stop_reason == model::toString(reason));
        CHECK(ledger->count("half") == 0);
        CHECK(result.values.messages.back().calls.empty());
    }
}

TEST_CASE("calls are made whatever the model says why it stopped") {
    const auto ledger = std::make_shared<Ledger>();
    model::Message first = model::assistant({call("c1", "dig")});
    first.finish_reason = model::FinishReason::stop;
    const agent::Agent helper({.model = model::scripted({first, model::assistant("ok")}), .tools = {work(ledger)}});
    CHECK(helper.say("go").values.text() == "ok");
    CHECK(ledger->count("dig") == 1);
}

TEST_CASE("ids that a provider uses again do not mix up results") {
    const auto ledger = std::make_shared<Ledger>();
    const agent::Agent helper(
        {.model = model::scripted({model::assistant({call("", "a"), call("", "b")}),
                                   model::assistant({call("same", "c"), call("same", "d")}),
                                   model::assistant({call("same", "e")}), model::assistant("ok")}),
         .tools = {work(ledger)}});
    const auto result = helper.say("go");
    CHECK(results(result.values) == Texts{"did a", "did b", "did c", "did d", "did e"});
}

TEST_CASE("prepareStep chooses model, tools and messages for each call") {
    const auto ledger = std::make_shared<Ledger>();
    std::vector<std::size_t> sent;
    std::vector<std::size_t> tools;
    const auto second = model::scripted([&](const model::Request& request) {
        sent.push_back(request.messages.size());
        tools.push_back(request.tools.size());
        return model::assistant("from the second: " + std::string(request.instructions));
    });
    agent::Options options{.model = model::scripted({model::assistant({call("c", "a")})}),
                           .instructions = "be brief",
                           .tools = {work(ledger)}};
    options.middleware = {agent::beforeModel([&](agent::ModelCall& call) {
        if (call.state.steps == 0) return;
        call.model = second;
        call.tools.clear();
        call.messages = {{call.state.messages.front()}};
    })};
    const auto result = agent::Agent(options).say("go");
    CHECK(result.values.text() == "from the second: be brief");
    CHECK(sent == std::vector<std::size_t>{1});
    CHECK(tools == std::vector<std::size_t>{0});
    CHECK(result.values.messages.size() == 4);  // all of it is kept
}

TEST_CASE("an agent that cannot work is refused with every fault") {
    const auto ledger = std::make_shared<Ledger>();
    agent::ToolOptions bad;
    bad.parameters = "[1]";
    try {
        const agent::Agent helper({.tools = {work(ledger, "a b"), work(ledger, "x"), work(ledger, "x"),
                                             agent::tool<sg::Value>("y", bad, [](const sg::Value& v) { return v; })},
                                   .tool_concurrency = 0});
        FAIL("it was made");
    } catch (const sg::InvalidGraphError& error) {
        REQUIRE(error.faults().size() == 5);
        CHECK(error.faults()[0].find("no model") != std::string::npos);
        CHECK(error.faults()[1].find("tool_concurrency") != std::string::npos);
        CHECK(error.faults()[2].find("'a b'") != std::string::npos);
        CHECK(error.faults()[3].find("two tools are called 'x'") != std::string::npos);
        CHECK(error.faults()[4].find("'y'") != std::string::npos);
    }
}

TEST_CASE("a long error is cut between characters, and stays a text") {
    const auto broken = agent::tool<Job>("broken", {}, [](const Job& job) -> std::string {
        std::string text = job.what;
        for (int i = 0; i < 3000; ++i) text += "ü";
        throw std::runtime_error(text);
    });
    for (const char* first : {"a", "ab"}) {
        const agent::Agent helper(
            {.model = model::scripted({model::assistant({call("c", first, "broken")}), model::assistant("ok")}),
             .tools = {broken}});
        const std::string told = results(helper.say("go").values).at(0);
        CHECK(told.starts_with("Error: a"));
        CHECK(told.ends_with("ü…"));
        CHECK(told.size() < 4200);
    }
}
