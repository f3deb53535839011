#include <doctest/doctest.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <stategraph/run_control.hpp>
#include <stategraph/testing/fault_saver.hpp>

#include "tests/agent/tools.hpp"
#include "tests/support/door.hpp"
#include "tests/support/gate.hpp"
#include "tests/support/until.hpp"

// What the model is told of the calls of a turn that was left: what was executed, and what became of the others.
using namespace tools;

namespace {

/// A model that calls these tools in its first answer, and notes what it is told of them later, by tool.
std::shared_ptr<const model::Model> caller(std::vector<model::ToolCall> calls,
                                           const std::shared_ptr<std::map<std::string, std::string>>& told) {
    return model::scripted([calls = std::move(calls), told](const model::Request& request) -> model::Message {
        bool has_answered = false;
        told->clear();
        for (const model::Message& message : request.messages) {
            has_answered = has_answered || message.role == model::Role::assistant;
            if (message.result) (*told)[message.result->name] = message.result->text();
        }
        return has_answered ? model::assistant("ok") : model::assistant(calls);
    });
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("after a new message the model hears the results of executed calls, and that a waiting one was not run") {
    const auto told = std::make_shared<std::map<std::string, std::string>>();
    const auto ledger = std::make_shared<Ledger>();
    agent::ToolOptions gated;
    gated.approval = true;
    const agent::Agent helper(
        {.model =
             caller({call("c1", "invoice 7", "pay"), call("c2", "/a", "remove"), call("c3", "form", "show")}, told),
         .tools = {work(ledger, "pay"), work(ledger, "remove", gated), agent::clientTool<Job>("show", {})},
         .stop_when = {agent::hasToolCall("pay")},
         .compile = stored()});
    helper.say("pay and tidy up", {.thread_id = "t"});
    const auto ended = helper.say("leave the rest", {.thread_id = "t"});
    CHECK(ended.values.text() == "ok");
    CHECK((*told)["pay"] == "did invoice 7");
    CHECK(has((*told)["remove"], "was not run: it waited for an approval"));
    CHECK(has((*told)["show"], "the client had given none"));
    CHECK(has((*told)["show"], "may have run"));
    CHECK(ledger->count("invoice 7") == 1);
    CHECK(ledger->count("/a") == 0);
    // The log has what the model was told, and a later turn hears the same.
    helper.say("and now?", {.thread_id = "t"});
    CHECK((*told)["pay"] == "did invoice 7");
    CHECK(has((*told)["remove"], "was not run"));
}

TEST_CASE("after a stop or a failure the model hears the results of executed calls, and that others may have run") {
    for (const bool is_stopped : {true, false}) {
        CAPTURE(is_stopped);
        const auto told = std::make_shared<std::map<std::string, std::string>>();
        const auto ledger = std::make_shared<Ledger>();
        const auto saver = std::make_shared<sg::MemorySaver>();
        const auto control = std::make_shared<sg::RunControl>();
        const auto isStored = [saver] {
            for (const auto& head : saver->list({.thread_id = "t", .heads = true, .with_writes = true})) {
                for (const auto& write : head.writes) {
                    if (!write.path.starts_with("once:")) return true;
                }
            }
            return false;
        };
        agent::ToolOptions options;
        if (!is_stopped) options.on_failure = agent::OnToolFailure::end_run;
        const auto other = agent::tool<Job>("other", options, [&](const Job&, agent::ToolContext& context) {
            patience::until(isStored);
            if (!is_stopped) throw std::runtime_error("down");
            control->requestStop();
            context.runtime().waitFor(std::chrono::minutes(5));
            return std::string("never");
        });
        const agent::Agent helper({.model = caller({call("c1", "7", "pay"), call("c2", "x", "other")}, told),
                                   .tools = {work(ledger, "pay"), other},
                                   .compile = stored(saver)});
        sg::RunConfig config{.thread_id = "t"};
        config.max_concurrency = 2;
        if (is_stopped) config.control = control;
        try {
            helper.say("pay 7", config);
        } catch (const sg::Error&) {
            CHECK_FALSE(is_stopped);
        }
        helper.say("is it paid?", {.thread_id = "t"});
        CHECK((*told)["pay"] == "did 7");
        CHECK(has((*told)["other"], "may have run"));
        CHECK(ledger->count("7") == 1);
    }
}

TEST_CASE("a call that was approved and broken off may have run") {
    const auto told = std::make_shared<std::map<std::string, std::string>>();
    const auto control = std::make_shared<sg::RunControl>();
    agent::ToolOptions gated;
    gated.approval = true;
    gated.on_doubt = sg::OnDoubt::ask;
    const auto slow = agent::tool<Job>("slow", gated, [&](const Job&, agent::ToolContext& context) {
        control->requestStop();
        context.runtime().waitFor(std::chrono::minutes(5));
        return std::string("never");
    });
    const agent::Agent helper({.model = caller({call("c1", "x", "slow")}, told), .tools = {slow}, .compile = stored()});
    helper.say("go", {.thread_id = "t"});
    sg::RunConfig config{.thread_id = "t"};
    config.control = control;
    helper.graph().invoke(helper.decide("t", "c1", {.approved = true}), config);
    helper.say("and?", {.thread_id = "t"});
    CHECK(has((*told)["slow"], "may have run"));
}

namespace {

/// An agent whose only call needs an approval, in a process that dies at a put: 0, it does not.
struct Mortal {
    std::shared_ptr<Ledger> ledger = std::make_shared<Ledger>();
    std::shared_ptr<std::map<std::string, std::string>> told = std::make_shared<std::map<std::string, std::string>>();
    std::shared_ptr<sg::MemorySaver> saver = std::make_shared<sg::MemorySaver>();

    agent::Agent open(std::size_t dies_at) const {
        agent::ToolOptions gated;
        gated.approval = true;
        const auto mortal = std::make_shared<sg::testing::FaultSaver>(
            saver, sg::testing::FaultPlan{.fail_at = dies_at, .once = false, .calls = sg::testing::SaverCalls::put});
        return agent::Agent({.model = caller({call("c1", "7", "pay")}, told),
                             .tools = {work(ledger, "pay", gated)},
                             .compile = stored(mortal)});
    }
    bool stores(std::string_view text) const {
        for (const auto& row : saver->list({.thread_id = "t", .with_writes = true})) {
            if (row.bytes.view().find(text) != std::string_view::npos) return true;
            for (const auto& write : row.writes) {
                if (write.bytes.find(text) != std::string::npos) return true;
            }
        }
        return false;
    }
};

sg::RunConfig durable() {
    sg::RunConfig config;
    config.thread_id = "t";
    config.durability = sg::Durability::sync;
    return config;
}

}  // namespace

TEST_CASE("wherever a process dies, a stored execution is told with its result and the arguments that were executed") {
    int executed = 0;
    for (std::size_t dies_at = 1; dies_at < 12; ++dies_at) {
        CAPTURE(dies_at);
        const Mortal mortal;
        mortal.open(0).say("pay", durable());
        {
            const agent::Agent helper = mortal.open(dies_at);
            agent::Decision other{.approved = true};
            other.arguments = sg::Value(Job{"8"});
            try {
                helper.graph().invoke(helper.decide("t", "c1", other), durable());
            } catch (const sg::Error&) {
                // It is dead.
            }
        }
        const bool is_stored = mortal.stores("did 8");
        const auto ended = mortal.open(0).say("is it paid?", durable());
        CHECK(((*mortal.told)["pay"] == "did 8") == is_stored);
        if (!is_stored) continue;
        ++executed;
        CHECK(results(ended.values) == std::vector<std::string>{"did 8"});
        CHECK(mortal.ledger->count("8") == 1);
        CHECK(sg::parseJson(ended.values.messages[1].calls[0].arguments).as<Job>().what == "8");
    }
    CHECK(executed > 2);
}

TEST_CASE("a run that continues one which took a message and died says the same of the calls that were left") {
    for (std::size_t dies_at = 1; dies_at < 5; ++dies_at) {
        CAPTURE(dies_at);
        const Mortal mortal;
        mortal.open(0).say("pay", durable());
        bool is_dead = false;
        try {
            mortal.open(dies_at).say("leave it", durable());
        } catch (const sg::Error&) {
            is_dead = true;
        }
        if (!is_dead) break;
        const agent::Agent helper = mortal.open(0);
        if (helper.graph().getState({.thread_id = "t"}).interrupts().empty()) {
            helper.graph().invoke(sg::RESUME, durable());
        } else {
            helper.say("leave it", durable());
        }
        CHECK(has((*mortal.told)["pay"], "was not run: it waited for an approval"));
        const auto at = helper.graph().getState({.thread_id = "t"});
        REQUIRE(results(at.values).size() == 1);
        CHECK(has(results(at.values)[0], "was not run: it waited for an approval"));
        CHECK(mortal.ledger->count("7") == 0);
    }
}

TEST_CASE("what was executed is told after two messages, of which the first one's run has died") {
    int told = 0;
    for (std::size_t dies_first = 2; dies_first < 6; ++dies_first) {
        for (std::size_t dies_at = 1; dies_at < 6; ++dies_at) {
            CAPTURE(dies_first);
            CAPTURE(dies_at);
            const Mortal mortal;
            mortal.open(0).say("pay", durable());
            try {
                const agent::Agent helper = mortal.open(dies_first);
                helper.graph().invoke(helper.decide("t", "c1", {.approved = true}), durable());
            } catch (const sg::Error&) {
                // It is dead.
            }
            const bool is_stored = mortal.stores("did 7");
            try {
                mortal.open(dies_at).say("is it paid?", durable());
            } catch (const sg::Error&) {
                // It is dead.
            }
            mortal.open(0).say("well?", durable());
            CHECK(((*mortal.told)["pay"] == "did 7") == is_stored);
            told += is_stored ? 1 : 0;
        }
    }
    CHECK(told > 5);
}

namespace {

/// Calls functions before and after each commit.
class Around final : public Door {
public:
    Around(std::shared_ptr<sg::BaseCheckpointSaver> store, std::function<void()> before, std::function<void()> after)
        : Door(std::move(store)), before_(std::move(before)), after_(std::move(after)) {}
    void put(const sg::PutRequest& request) override {
        if (!request.commits.empty()) before_();
        Door::put(request);
        if (!request.commits.empty()) after_();
    }
    bool answersLater() const noexcept override { return false; }

private:
    std::function<void()> before_, after_;
};

}  // namespace

TEST_CASE("what another process stores until a message is stored is told to the model, or refuses the message") {
    for (const bool is_alone : {true, false}) {
        CAPTURE(is_alone);
        const Mortal mortal;
        const auto ledger = std::make_shared<Ledger>();
        gates::Gate begun, ends, said;
        const auto pay = agent::tool<Job>("pay", {}, [&](const Job& job, agent::ToolContext&) {
            begun.open();
            ends.wait();
            ledger->note(job.what);
            return "did " + job.what;
        });
        agent::ToolOptions gated;
        gated.approval = true;
        const auto agentWith = [&](std::function<void()> before, std::function<void()> after) {
            std::vector<model::ToolCall> calls{call("c1", "7", "pay")};
            if (!is_alone) calls.push_back(call("c2", "x", "remove"));
            return agent::Agent(
                {.model = caller(calls, mortal.told),
                 .tools = {pay, work(ledger, "remove", gated)},
                 .compile = stored(std::make_shared<Around>(mortal.saver, std::move(before), std::move(after)))});
        };
        std::thread other([&] {
            const auto waits = [&] {
                if (ledger->count("7") > 0) said.wait();
            };
            try {
                agentWith(waits, [] {}).say("pay", durable());
            } catch (const sg::ConcurrentUpdateError&) {
                CHECK(is_alone);  // the message was first
            }
        });
        begun.wait();
        const auto isStored = [&] {
            for (const auto& head : mortal.saver->list({.thread_id = "t", .heads = true, .with_writes = true})) {
                for (const auto& write : head.writes) {
                    const bool is_effect = write.path.starts_with("once:");
                    if (is_effect == is_alone && write.bytes.find("did 7") != std::string::npos) return true;
                }
            }
            return false;
        };
        bool is_first = true;
        const agent::Agent helper = agentWith(
            [&] {
                if (!std::exchange(is_first, false)) return;
                ends.open();
                patience::until(isStored);
            },
            [&] { said.open(); });
        if (is_alone) {
            CHECK(results(helper.say("is it paid?", durable()).values) == std::vector<std::string>{"did 7"});
            other.join();
        } else {
            CHECK_THROWS_AS(helper.say("is it paid?", durable()), sg::ConcurrentUpdateError);
            other.join();
            helper.say("is it paid?", durable());
        }
        CHECK((*mortal.told)["pay"] == "did 7");
        CHECK(ledger->count("7") == 1);
    }
}
