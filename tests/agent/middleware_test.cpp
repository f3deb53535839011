#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/async.hpp>
#include <stategraph/error.hpp>

#include "tests/agent/tools.hpp"
#include "tests/support/drivers.hpp"

using namespace tools;

namespace {

using Texts = std::vector<std::string>;

/// Notes when each hook is called, in one list for a whole agent.
agent::Middleware noting(const std::string& name, const std::shared_ptr<Texts>& notes) {
    agent::Middleware made{.name = name};
    made.before_model = [=](agent::ModelCall&) { notes->push_back("before " + name); };
    made.around_model = [=](agent::ModelCall&, const agent::NextModel& next) -> sg::Task<model::Reply> {
        notes->push_back("into " + name);
        auto asked = next();
        model::Reply reply = co_await std::move(asked);
        notes->push_back("out of " + name);
        co_return reply;
    };
    made.after_model = [=](agent::ModelCall&, model::Reply&) { notes->push_back("after " + name); };
    return made;
}

/// Counts its calls in the thread.
agent::Middleware counting() {
    return {.name = "counting", .after_model = [](agent::ModelCall& call, model::Reply& reply) {
                const int count = call.kept().isNull() ? 1 : call.kept().as<int>() + 1;
                call.keep(sg::Value(count));
                reply.message.content = {model::Text{"answer " + std::to_string(count)}};
            }};
}

/// The texts that readers of a run's stream receive in the mode `messages`, those of whole messages with a period.
Texts streamOf(const agent::Agent& helper) {
    Texts texts;
    for (const auto& event : helper.graph().stream(agent::said("go"), {}, {.modes = {sg::StreamMode::messages}})) {
        const auto data = event.data.as<std::map<std::string, sg::Value>>();
        if (data.at("delta").as<bool>()) {
            texts.push_back(data.at("message").as<agent::Piece>().content.value_or(""));
        } else {
            texts.push_back(data.at("message").as<model::Message>().text() + ".");
        }
    }
    return texts;
}

}  // namespace

TEST_CASE("the first middleware is the outermost, in every driver") {
    for (const drivers::Driver& driver : drivers::crossed()) {
        CAPTURE(driver.name);
        const auto notes = std::make_shared<Texts>();
        const agent::Agent helper({.model = model::scripted({model::assistant("ok")}),
                                   .middleware = {noting("a", notes), noting("b", notes)},
                                   .compile = stored()});
        REQUIRE(driver.run(helper.graph(), agent::said("go"), {.thread_id = "t"}).what() == "");
        CHECK(*notes ==
              Texts{"before a", "into a", "before b", "into b", "out of b", "after b", "out of a", "after a"});
    }
}

TEST_CASE("what middleware keeps is stored with the answer, and lasts from turn to turn") {
    const agent::Agent helper({.model = model::scripted({model::assistant("x"), model::assistant("y")}),
                               .middleware = {counting()},
                               .compile = stored()});
    CHECK(helper.say("go", {.thread_id = "t"}).values.text() == "answer 1");
    CHECK(helper.say("go", {.thread_id = "t"}).values.text() == "answer 2");
    CHECK(helper.graph().getState({.thread_id = "t"}).values.kept.at("counting").as<int>() == 2);
    CHECK(helper.say("go", {.thread_id = "other"}).values.text() == "answer 1");
}

TEST_CASE("a call of the model that failed keeps nothing, and its repetition begins with the first hook") {
    const auto notes = std::make_shared<Texts>();
    int asked = 0;
    const auto failing = model::scripted([&](const model::Request&) {
        if (++asked == 1) throw model::ModelError("busy", {.status = 503, .is_retryable = true});
        return model::assistant("ok");
    });
    agent::Middleware keeps{.name = "keeps", .before_model = [&](agent::ModelCall& call) {
                                notes->push_back(call.kept().isNull() ? "nothing" : "something");
                                call.keep(sg::Value(1));
                            }};
    const agent::Agent helper(
        {.model = failing,
         .middleware = {std::move(keeps)},
         .retry = sg::RetryPolicy{.max_attempts = 2, .initial_interval = std::chrono::milliseconds(1)},
         .compile = stored()});
    CHECK(helper.say("go", {.thread_id = "t"}).values.text() == "ok");
    CHECK(*notes == Texts{"nothing", "nothing"});
}

TEST_CASE("a hook ends the turn before the model is called, or after it without its calls") {
    const auto ledger = std::make_shared<Ledger>();
    int asked = 0;
    const auto calling = model::scripted([&](const model::Request&) {
        ++asked;
        return model::assistant({call("c", "a")});
    });
    agent::Options options{.model = calling, .tools = {work(ledger)}, .compile = stored()};
    SUBCASE("before") {
        options.middleware = {agent::beforeModel([](agent::ModelCall& call) {
            call.keep(sg::Value("seen"));
            call.end("closed");
        })};
        const auto state = agent::Agent(options).say("go", {.thread_id = "t"}).values;
        CHECK(state.stop_reason == "closed");
        CHECK(state.messages.size() == 1);
        CHECK(state.kept.at("before_model") == sg::Value("seen"));
        CHECK(asked == 0);
    }
    SUBCASE("after") {
        options.middleware = {
            {.name = "ends", .after_model = [](agent::ModelCall& call, model::Reply&) { call.end("enough"); }}};
        const auto state = agent::Agent(options).say("go", {.thread_id = "t"}).values;
        CHECK(state.stop_reason == "enough");
        CHECK(state.messages.size() == 2);
        CHECK(state.messages.back().calls.empty());
        CHECK(asked == 1);
    }
    CHECK(ledger->count("a") == 0);
}

TEST_CASE("a hook answers instead of the model, and readers of the stream receive that answer") {
    const agent::Agent helper(
        {.model = model::scripted([](const model::Request&) -> model::Message { throw std::runtime_error("asked"); }),
         .middleware = {{.name = "answers",
                         .around_model = [](agent::ModelCall&, const agent::NextModel&) -> sg::Task<model::Reply> {
                             model::Reply reply;
                             reply.message = model::assistant("from the hook");
                             co_return reply;
                         }}}});
    CHECK(helper.say("go").values.text() == "from the hook");
    CHECK(streamOf(helper) == Texts{"from the hook."});
}

TEST_CASE("a held answer reaches readers of the stream whole, as the hooks have left it") {
    agent::Options options{.model = model::scripted({model::assistant("a secret")})};
    CHECK(streamOf(agent::Agent(options)) == Texts{"a", " secret"});
    options.middleware = {
        {.name = "hides",
         .before_model = [](agent::ModelCall& call) { call.is_held = true; },
         .after_model = [](agent::ModelCall&,
                           model::Reply& reply) { reply.message.content = {model::Text{"a word"}}; }}};
    CHECK(streamOf(agent::Agent(options)) == Texts{"a word."});
}

TEST_CASE("a hook asks a person before the model is called, and goes on with the answer") {
    const agent::Agent helper({.model = model::scripted({model::assistant("ok")}),
                               .middleware = {{.name = "asks",
                                               .around_model = [](agent::ModelCall& call, const agent::NextModel& next)
                                                   -> sg::Task<model::Reply> {
                                                   if (!sg::interrupt<bool>(call.runtime, "Ask the model?"))
                                                       call.end("declined");
                                                   if (call.isEnded()) co_return model::Reply();
                                                   auto asked = next();
                                                   co_return co_await std::move(asked);
                                               }}},
                               .compile = stored()});
    const auto asked = helper.say("go", {.thread_id = "t"});
    REQUIRE((asked.status == sg::Status::interrupted));
    CHECK(asked.interrupts.at(0).value == sg::Value("Ask the model?"));
    CHECK(helper.graph().invoke(sg::resume(true), {.thread_id = "t"}).values.text() == "ok");
    CHECK((helper.say("go", {.thread_id = "u"}).status == sg::Status::interrupted));
    CHECK(helper.graph().invoke(sg::resume(false), {.thread_id = "u"}).values.stop_reason == "declined");
}

TEST_CASE("hooks around a tool change its result, repeat it, replace it or fail it, blocking and awaited") {
    for (const bool is_awaited : {false, true}) {
        CAPTURE(is_awaited);
        const auto ledger = std::make_shared<Ledger>();
        agent::Tool tool = work(ledger);
        if (is_awaited) {
            tool = agent::tool<Job>("work", {}, [ledger](Job job) -> sg::Task<std::string> {
                ledger->note(job.what);
                co_return "did " + job.what;
            });
        }
        const auto around = [](const agent::ToolUse& use, const agent::NextTool& next) -> sg::Task<sg::Value> {
            const auto job = use.arguments.as<Job>();
            if (job.what == "skip") co_return sg::Value("skipped");
            if (job.what == "fail") throw std::runtime_error("not today");
            if (job.what == "twice") {
                auto first = next();
                co_await std::move(first);
            }
            auto called = next();
            const sg::Value result = co_await std::move(called);
            co_return sg::Value(result.as<std::string>() + "!");
        };
        const agent::Agent helper({.model = model::scripted({model::assistant({call("1", "once"), call("2", "twice"),
                                                                               call("3", "skip"), call("4", "fail")}),
                                                             model::assistant("ok")}),
                                   .tools = {std::move(tool)},
                                   .middleware = {{.name = "around", .around_tool = around}},
                                   .compile = stored()});
        const auto state = helper.say("go", {.thread_id = "t"}).values;
        CHECK(results(state) == Texts{"did once!", "did twice!", "skipped", "Error: not today"});
        CHECK(ledger->count("once") == 1);
        CHECK(ledger->count("twice") == 2);
        CHECK(ledger->count("skip") == 0);
        CHECK(ledger->count("fail") == 0);
    }
}

TEST_CASE("a call that needs approval is executed through the hooks after it was approved, and not before") {
    const auto ledger = std::make_shared<Ledger>();
    int used = 0;
    const agent::Agent helper({.model = model::scripted({model::assistant({call("c1", "a")}), model::assistant("ok")}),
                               .tools = {work(ledger, "work", gated())},
                               .middleware = {{.name = "around",
                                               .around_tool =
                                                   [&](const agent::ToolUse&, const agent::NextTool& next) {
                                                       ++used;
                                                       return next();
                                                   }}},
                               .compile = stored()});
    CHECK((helper.say("go", {.thread_id = "t"}).status == sg::Status::interrupted));
    CHECK(used == 0);
    const auto done = helper.graph().invoke(helper.decide("t", "c1", {.approved = true}), {.thread_id = "t"});
    CHECK(results(done.values) == Texts{"did a"});
    CHECK(used == 1);
}

TEST_CASE("arguments that a hook changes in the answer are what is stored and executed") {
    const auto ledger = std::make_shared<Ledger>();
    const agent::Agent helper(
        {.model = model::scripted({model::assistant({call("c1", "a")}), model::assistant("ok")}),
         .tools = {work(ledger)},
         .middleware = {{.name = "changes", .after_model = [](agent::ModelCall&, model::Reply& reply) {
                             for (auto& each : reply.message.calls) each.arguments = R"({"what":"b"})";
                         }}}});
    const auto state = helper.say("go").values;
    CHECK(results(state) == Texts{"did b"});
    CHECK(state.messages.at(1).calls.at(0).arguments == R"({"what":"b"})");
    CHECK(ledger->count("a") == 0);
}

TEST_CASE("middleware that cannot work is refused with every fault") {
    agent::Options options{.model = model::scripted({model::assistant("ok")})};
    const auto nothing = [](agent::ModelCall&) {};
    options.middleware = {agent::beforeModel(nothing, "a b"),
                          agent::beforeModel(nothing, "c"),
                          agent::beforeModel(nothing, "c"),
                          {.name = "d"}};
    CHECK_THROWS_WITH_AS(agent::Agent{options}, doctest::Contains("the middleware 'a b' needs a name"),
                         sg::InvalidGraphError);
    CHECK_THROWS_WITH_AS(agent::Agent{options}, doctest::Contains("two middlewares are called 'c'"),
                         sg::InvalidGraphError);
    CHECK_THROWS_WITH_AS(agent::Agent{options}, doctest::Contains("the middleware 'd' has no function"),
                         sg::InvalidGraphError);
}
