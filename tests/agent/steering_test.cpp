#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <stategraph/testing/fault_saver.hpp>

#include "tests/agent/echo.hpp"
#include "tests/support/drivers.hpp"

// Messages that are sent while a run is under way: they steer it, or wait for its end.
using namespace echoes;
using agent::WhileRunning;

TEST_CASE("a message that steers is taken before the model is called again, one that is queued when it has answered") {
    struct Row {
        WhileRunning how;
        Texts messages;
    };
    const Row rows[] = {
        {WhileRunning::steer, {"user:work", "model:[work]", "tool:did work", "user:wait", "model:echo of wait"}},
        {WhileRunning::enqueue,
         {"user:work", "model:[work]", "tool:did work", "model:echo of did work", "user:wait", "model:echo of wait"}}};
    for (const drivers::Driver& driver : drivers::all()) {
        for (const Row& row : rows) {
            CAPTURE(driver.name);
            Echo echo;
            echo.meanwhile = [&](const agent::Agent& agent) { agent.send("t", "wait", row.how); };
            const agent::Agent helper = echo.open();
            const auto ended = driver.run(helper.graph(), agent::said("work"), {.thread_id = "t"});
            REQUIRE(ended.what() == "");
            CHECK(told(ended.values.messages) == row.messages);
            CHECK(ended.values.taken == 1);
            CHECK(!helper.hasSent("t"));
            CHECK(*echo.works == 1);
        }
    }
}

TEST_CASE("a turn that a tool's Command ends is followed by the messages that wait") {
    Echo echo;
    echo.open().send("t", "first", WhileRunning::enqueue);
    const auto saver = echo.saver;
    std::unique_ptr<agent::Agent> self;
    const auto finish = agent::tool<Job>("work", {}, [&](const Job& job) {
        if (job.what == "work") self->send("t", "after it", WhileRunning::enqueue);
        return sg::go(sg::END);
    });
    const auto answer = [](const model::Request& request) {
        const std::string last = request.messages.back().text();
        return last == "first" ? model::assistant({call("c", "work")}) : model::assistant("echo of " + last);
    };
    self = std::make_unique<agent::Agent>(
        agent::Options{.model = model::scripted(answer), .tools = {finish}, .compile = stored(saver)});
    const auto ended = self->graph().invoke(agent::said(std::vector<model::Message>()), {.thread_id = "t"});
    CHECK(told(ended.values.messages) ==
          Texts{"user:first", "model:[work]", "tool:null", "user:after it", "model:echo of after it"});
    CHECK(ended.values.stop_reason == "stop");
}

TEST_CASE("messages keep the order in which they were sent: one that steers takes those before it along") {
    Echo echo;
    echo.meanwhile = [&](const agent::Agent& agent) {
        agent.send("t", "one", WhileRunning::enqueue);
        agent.send("t", "two", WhileRunning::steer);
        agent.send("t", "three", WhileRunning::enqueue);
    };
    const auto ended = echo.open().say("work", {.thread_id = "t"});
    CHECK(told(ended.values.messages) == Texts{"user:work", "model:[work]", "tool:did work", "user:one", "user:two",
                                               "model:echo of two", "user:three", "model:echo of three"});
    CHECK(ended.values.taken == 3);
}

TEST_CASE("a run reports which messages it takes, and how") {
    Echo echo;
    echo.meanwhile = [&](const agent::Agent& agent) {
        agent.send("t", "one", WhileRunning::steer);
        agent.send("t", "two", WhileRunning::enqueue);
    };
    const agent::Agent helper = echo.open();
    Texts reported;
    for (const auto& event :
         helper.graph().stream(agent::said("work"), {.thread_id = "t"}, {.modes = sg::StreamMode::custom})) {
        const auto said = event.data.as<std::map<std::string, sg::Value>>();
        if (said.contains("as"))
            reported.push_back(said.at("as").as<std::string>() + " " + said.at("text").as<std::string>());
    }
    CHECK(reported == Texts{"steer one", "enqueue two"});
}

TEST_CASE("a message that no run has taken is taken by the next turn, in another process too, and only once") {
    Echo echo;
    echo.open().send("t", "early", WhileRunning::steer);
    CHECK(echo.open().hasSent("t"));
    const auto first = echo.open().say("hello", {.thread_id = "t"});
    CHECK(told(first.values.messages) == Texts{"user:hello", "user:early", "model:echo of early"});
    const auto second = echo.open().say("again", {.thread_id = "t"});
    CHECK(told(second.values.messages).size() == 5);
    echo.open().send("t", "late", WhileRunning::enqueue);
    const auto third = echo.open().graph().invoke(agent::said(std::vector<model::Message>()), {.thread_id = "t"});
    CHECK(told(third.values.messages).back() == "model:echo of late");
    CHECK(third.values.taken == 2);
}

TEST_CASE("a message that is sent again under its id, before it is taken, is taken once") {
    Echo echo;
    model::Message message = model::user("hello");
    message.id = "m1";
    for (int i = 0; i < 3; ++i) echo.open().send("t", message, WhileRunning::enqueue);
    const auto ended = echo.open().graph().invoke(agent::said(std::vector<model::Message>()), {.thread_id = "t"});
    CHECK(told(ended.values.messages) == Texts{"user:hello", "model:echo of hello"});
}

TEST_CASE("another message under the id of one that waits does not replace it") {
    const Echo echo;
    const agent::Agent helper = echo.open();
    model::Message first = model::user("a");
    first.id = "user-1";
    model::Message second = model::user("b");
    second.id = "user-1";
    for (const model::Message& each : {first, second, first, second}) helper.send("t", each, WhileRunning::enqueue);
    const auto ended = helper.graph().invoke(agent::said(std::vector<model::Message>()), {.thread_id = "t"}).values;
    CHECK(told(ended.messages) == Texts{"user:a", "user:b", "model:echo of b"});
    CHECK(ended.taken == 2);
}

TEST_CASE("senders at the same time lose nothing, and more than a hundred waiting messages are refused") {
    Echo echo;
    std::vector<std::thread> senders;
    for (int sender = 0; sender < 4; ++sender) {
        senders.emplace_back([helper = echo.open(), sender] {
            for (int i = 0; i < 25; ++i)
                helper.send("t", std::to_string(sender) + "-" + std::to_string(i), WhileRunning::enqueue);
        });
    }
    for (std::thread& each : senders) each.join();
    CHECK_THROWS_WITH_AS(echo.open().send("t", "one more", WhileRunning::enqueue), doctest::Contains("100"),
                         sg::InvalidArgumentError);
    const auto ended = echo.open().graph().invoke(agent::said(std::vector<model::Message>()), {.thread_id = "t"});
    const Texts all = told(ended.values.messages);
    CHECK(all.size() == 101);
    for (int sender = 0; sender < 4; ++sender) {
        auto at = all.begin();
        for (int i = 0; i < 25; ++i) {
            at = std::find(at, all.end(), "user:" + std::to_string(sender) + "-" + std::to_string(i));
            CHECK((at != all.end()));
        }
    }
}

TEST_CASE("what cannot be sent is refused: without a saver, with a long name, to be rejected or to interrupt") {
    const agent::Agent alone({.model = model::scripted({model::assistant("x")})});
    CHECK_THROWS_AS(alone.send("t", "x", WhileRunning::steer), sg::MissingCheckpointerError);
    CHECK(!alone.hasSent("t"));
    Echo echo;
    CHECK_THROWS_AS(echo.open().send("t", "x", WhileRunning::reject), sg::InvalidArgumentError);
    CHECK_THROWS_AS(echo.open().send("t", "x", WhileRunning::interrupt), sg::InvalidArgumentError);
    CHECK_THROWS_AS(echo.open().send(std::string(119, 't'), "x", WhileRunning::steer), sg::InvalidArgumentError);
    CHECK(echo.open().say("hello", {.thread_id = std::string(119, 't')}).values.text() == "echo of hello");
}

TEST_CASE("wherever a process dies, a message whose sending returned is taken once, and none twice") {
    int deaths = 0;
    for (const sg::Durability durability : {sg::Durability::sync, sg::Durability::async}) {
        for (const bool after_effect : {false, true}) {
            for (std::size_t dies_at = 1; dies_at < 100; ++dies_at) {
                CAPTURE(dies_at);
                Echo echo;
                const auto kept = echo.saver;
                const auto sent = std::make_shared<Texts>();
                echo.saver = std::make_shared<sg::testing::FaultSaver>(
                    kept, sg::testing::FaultPlan{.fail_at = dies_at,
                                                 .once = false,
                                                 .after_effect = after_effect,
                                                 .calls = sg::testing::SaverCalls::put});
                echo.meanwhile = [&](const agent::Agent& agent) {
                    for (const char* const text : {"one", "two"}) {
                        agent.send("t", text, text == std::string("one") ? WhileRunning::steer : WhileRunning::enqueue);
                        sent->push_back(text);
                    }
                };
                const sg::RunConfig config{.thread_id = "t", .durability = durability};
                bool is_dead = false;
                try {
                    echo.open().say("work", config);
                } catch (const sg::Error&) {
                    is_dead = true;
                }
                // The next process.
                echo.saver = kept;
                echo.meanwhile = {};
                const agent::Agent helper = echo.open();
                auto at = helper.graph().getState(config);
                if (at.config.checkpoint_id.empty()) {
                    helper.say("work", config);
                } else if (!at.next.empty()) {
                    helper.graph().invoke(sg::RESUME, config);
                }
                if (helper.hasSent("t")) helper.graph().invoke(agent::said(std::vector<model::Message>()), config);
                at = helper.graph().getState(config);
                const Texts all = told(at.values.messages);
                for (const char* const text : {"one", "two"}) {
                    const auto count = std::count(all.begin(), all.end(), std::string("user:") + text);
                    CHECK(count <= 1 + (is_dead && *echo.works > 1 ? 1 : 0));
                    if (std::ranges::find(*sent, text) != sent->end()) CHECK(count >= 1);
                }
                CHECK(!helper.hasSent("t"));
                CHECK(all.back().starts_with("model:echo of"));
                deaths += is_dead;
                if (!is_dead) break;
            }
        }
    }
    CHECK(deaths > 20);
}
