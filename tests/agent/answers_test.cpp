#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include <stategraph/async.hpp>

#include "tests/agent/tools.hpp"
#include "tests/support/drivers.hpp"

using namespace tools;
using Texts = std::vector<std::string>;

namespace {

struct Forecast {
    std::string city = {};
    double degrees = 0;
    static constexpr auto fields() {
        return sg::fields(sg::field("city", &Forecast::city), sg::field("degrees", &Forecast::degrees));
    }
};

sg::Task<std::string> later(std::shared_ptr<Ledger> ledger, std::string what) {
    co_await sg::sleepFor(std::chrono::milliseconds(1));
    ledger->note(what);
    co_return "later " + what;
}

/// A model that breaks off twice in the middle of its answer.
class Shaky final : public model::Model {
public:
    explicit Shaky(std::atomic<int>& asked) : asked_(asked) {}
    sg::Task<model::Reply> ask(model::Request, const model::Asking& asking) const override {
        const bool breaks = ++asked_ < 3;
        asking.tell({.text = breaks ? "at l" : "at last"});
        if (breaks) throw model::ModelError("overloaded", {.status = 503, .is_retryable = true});
        model::Reply reply;
        reply.message = model::assistant("at last");
        co_return reply;
    }

private:
    std::atomic<int>& asked_;
};

}  // namespace

TEST_CASE("an answer is read as the type that was asked for") {
    const auto ask = [](std::vector<model::Message> script) {
        const agent::Agent helper({.model = model::scripted(std::move(script)), .output = agent::output<Forecast>()});
        return helper.say("How is it in Oslo?").values;
    };
    SUBCASE("at once") {
        const auto state = ask({model::assistant(R"({"city":"Oslo","degrees":-3})")});
        CHECK(state.output.as<Forecast>().degrees == -3);
        CHECK(state.stop_reason == "stop");
    }
    SUBCASE("in a fence") {
        CHECK(ask({model::assistant("```json\n{\"city\":\"Oslo\",\"degrees\":1}\n```\n")}).output.as<Forecast>().city ==
              "Oslo");
    }
    SUBCASE("after it was sent back once with what is wrong") {
        const auto state = ask({model::assistant("It is cold."), model::assistant(R"({"city":"Oslo","degrees":-3})")});
        CHECK(state.output.as<Forecast>().city == "Oslo");
        REQUIRE(state.messages.size() == 4);
        CHECK(state.messages[2].text().find("not of the shape") != std::string::npos);
        CHECK(state.steps == 2);
    }
    SUBCASE("and not at all, if it is wrong again") {
        const auto state = ask({model::assistant("It is cold."), model::assistant(R"({"city":"Oslo"})")});
        CHECK(state.output.isNull());
        CHECK(state.stop_reason == "invalid-output");
    }
    SUBCASE("nor is half of it ever mended") {
        auto half = model::assistant(R"({"city":"Oslo","degrees":1)");
        half.finish_reason = model::FinishReason::length;
        const auto state = ask({half});
        CHECK(state.output.isNull());
        CHECK(state.stop_reason == "length");
    }
}

TEST_CASE("the model receives the schemas of the answer and of the tools") {
    std::string schema, tools;
    const auto ledger = std::make_shared<Ledger>();
    const agent::Agent helper({.model = model::scripted([&](const model::Request& request) {
                                   schema = request.output->schema;
                                   tools = request.tools.front().parameters;
                                   return model::assistant(R"({"city":"Oslo","degrees":1})");
                               }),
                               .tools = {work(ledger)},
                               .output = agent::output<Forecast>()});
    helper.say("go");
    CHECK(schema == sg::jsonSchema<Forecast>());
    CHECK(tools == sg::jsonSchema<Job>());
}

TEST_CASE("tools that are coroutines and tools that block are called at the same time, with every driver") {
    for (const drivers::Driver& driver : drivers::crossed()) {
        CAPTURE(driver.name);
        const auto ledger = std::make_shared<Ledger>();
        // The blocking call ends only when both coroutines have ended, so they do run at the same time.
        std::atomic<bool> was_alone = false;
        const auto blocking = agent::tool<Job>("work", {}, [&was_alone, ledger](const Job& job) {
            const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(5);
            while (ledger->count("a") + ledger->count("c") < 2 && !was_alone) {
                was_alone = std::chrono::steady_clock::now() > end;
                std::this_thread::sleep_for(std::chrono::milliseconds(1));  // sleeps: between two looks
            }
            return "did " + job.what;
        });
        const auto awaited =
            agent::tool<Job>("later", {}, [ledger](const Job& job) { return later(ledger, job.what); });
        const agent::Agent helper(
            {.model =
                 model::scripted({model::assistant({call("1", "a", "later"), call("2", "b"), call("3", "c", "later")}),
                                  model::assistant("ok")}),
             .tools = {blocking, awaited}});
        const auto result = driver.run(helper.graph(), agent::said("go"));
        REQUIRE(result.what() == "");
        CHECK(!was_alone);
        CHECK(results(result.values) == Texts{"later a", "did b", "later c"});
        CHECK(result.values.text() == "ok");
    }
}

TEST_CASE(
    "a model that fails is asked again if that may help, and what it had reported is reported with the number of the "
    "attempt") {
    std::atomic<int> asked = 0;
    agent::Options options{.model = std::make_shared<const Shaky>(asked)};
    options.retry = sg::RetryPolicy{.max_attempts = 3, .initial_interval = std::chrono::milliseconds(1)};
    options.retry->retry_on = [](const model::ModelError& error) { return error.isRetryable(); };
    const agent::Agent helper(options);
    std::vector<std::pair<int, std::string>> told;
    const auto note = [&](const sg::StreamEvent& event) {
        const auto data = event.data.as<std::map<std::string, sg::Value>>();
        if (!data.at("delta").as<bool>()) return;
        CHECK(data.at("attempt").as<int>() == event.attempt);
        told.emplace_back(event.attempt, data.at("message").as<agent::Piece>().content.value_or(""));
    };
    const auto result = helper.graph().stream(agent::said("go"), {}, {.modes = sg::StreamMode::messages}, note);
    CHECK(result.values.text() == "at last");
    CHECK(asked == 3);
    CHECK(told == std::vector<std::pair<int, std::string>>{{1, "at l"}, {2, "at l"}, {3, "at last"}});

    asked = 0;
    const agent::Agent wrong({.model = model::scripted([&](const model::Request&) -> model::Message {
                                  ++asked;
                                  throw model::ModelError("no such model", {.status = 404});
                              })});
    CHECK_THROWS_WITH_AS(wrong.say("go"), doctest::Contains("no such model"), sg::NodeError);
    CHECK(asked == 1);
}

TEST_CASE("pieces of answers and calls are reported while they are created, under the id of the whole") {
    const auto ledger = std::make_shared<Ledger>();
    const agent::Agent helper(
        {.model = model::scripted({model::assistant({call("c1", "dig a hole")}), model::assistant("It is done now.")}),
         .tools = {work(ledger)}});
    std::string said, arguments, id;
    helper.graph().stream(agent::said("go"), {}, {.modes = sg::StreamMode::messages},
                          [&](const sg::StreamEvent& event) {
                              const auto told = event.data.as<std::map<std::string, sg::Value>>();
                              if (!told.at("delta").as<bool>()) return;
                              const auto piece = told.at("message").as<agent::Piece>();
                              said += piece.content.value_or("");
                              for (const auto& each : piece.calls) arguments += each.arguments;
                              if (piece.content) id = piece.id;
                          });
    CHECK(said == "It is done now.");
    CHECK(arguments == R"({"what":"dig a hole"})");
    CHECK(id.starts_with("answer-"));
}

TEST_CASE("a conversation continues where it was, and is valid for providers after a call was cancelled") {
    const auto ledger = std::make_shared<Ledger>();
    std::vector<std::string> roles;
    agent::ToolOptions options;
    options.approval = true;
    const auto watched = model::scripted([&](const model::Request& request) {
        roles.clear();
        for (const model::Message& message : request.messages) {
            roles.push_back(message.role == model::Role::user   ? "user"
                            : message.role == model::Role::tool ? "tool"
                                                                : "assistant");
        }
        if (request.messages.size() == 1) return model::assistant({call("c1", "a"), call("c2", "b")});
        return model::assistant("ok");
    });
    const agent::Agent helper({.model = watched, .tools = {work(ledger, "work", options)}, .compile = stored()});
    helper.say("go", {.thread_id = "t"});
    CHECK(helper.openCalls("t").size() == 2);
    // The user speaks instead of answering, which cancels both calls.
    const auto result = helper.say("never mind", {.thread_id = "t"});
    CHECK(roles == Texts{"user", "assistant", "tool", "tool", "user"});
    CHECK(result.values.text() == "ok");
    CHECK(ledger->count("a") == 0);
    CHECK(helper.openCalls("t").empty());
}
