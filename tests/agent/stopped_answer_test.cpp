#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/model/model.hpp>
#include <stategraph/run_control.hpp>

#include "tests/agent/tools.hpp"
#include "tests/support/drivers.hpp"

// What had come of a model's answer when its run was stopped is kept, marked as aborted.
using namespace tools;

namespace {

/// A model that tells a part of its first answer, and then has its run stopped; later it answers whole. It notes the
/// texts of each request.
class Stopped final : public model::Model {
public:
    std::shared_ptr<sg::RunControl> control = std::make_shared<sg::RunControl>();
    mutable std::vector<std::vector<std::string>> asked;
    std::string part = "I think ";

    sg::Task<model::Reply> ask(model::Request request, const model::Asking& asking) const override {
        std::vector<std::string> texts;
        for (const model::Message& each : request.messages) texts.push_back(each.text());
        asked.push_back(std::move(texts));
        model::Reply reply;
        if (asked.size() > 1) {
            reply.message = model::assistant("I think so.");
            co_return reply;
        }
        asking.tell({.kind = model::Delta::Kind::reasoning, .text = "hm"});
        if (!part.empty()) asking.tell({.text = part});
        asking.tell({.kind = model::Delta::Kind::call, .name = "work", .id = "c1"});
        asking.tell({.kind = model::Delta::Kind::arguments, .text = R"({"what":"7"})"});
        control->requestStop();
        throw sg::CancelledError("stopped");
    }
};

}  // namespace

TEST_CASE("the part of an answer that had come before a stop is kept as aborted, and its calls are not executed") {
    for (const drivers::Driver& driver : drivers::all()) {
        for (const bool resumes : {true, false}) {
            CAPTURE(driver.name);
            CAPTURE(resumes);
            const auto ledger = std::make_shared<Ledger>();
            const auto speaker = std::make_shared<Stopped>();
            const auto saver = std::make_shared<sg::MemorySaver>();
            const agent::Agent helper({.model = speaker, .tools = {work(ledger)}, .compile = stored(saver)});
            sg::RunConfig config{.thread_id = "t"};
            config.control = speaker->control;
            const auto stopped = driver.run(helper.graph(), agent::said("is it so?"), config);
            REQUIRE(stopped.what() == "");
            CHECK((stopped.status == sg::Status::cancelled));
            CHECK(stopped.values.text() == "I think ");

            const auto at = helper.graph().getState({.thread_id = "t"});
            REQUIRE(at.values.messages.size() == 2);
            const model::Message& kept = at.values.messages[1];
            CHECK((kept.role == model::Role::assistant));
            CHECK(kept.text() == "I think ");
            CHECK((kept.finish_reason == model::FinishReason::aborted));
            CHECK(kept.calls.empty());
            REQUIRE(at.tasks.size() == 1);
            const auto unfinished = saver->unfinishedThreads({});
            REQUIRE(unfinished.size() == 1);
            CHECK((unfinished[0].reason == sg::Status::cancelled));

            if (resumes) {
                const auto ended = driver.run(helper.graph(), sg::RESUME, {.thread_id = "t"});
                REQUIRE(ended.what() == "");
                REQUIRE(ended.values.messages.size() == 2);
                CHECK(ended.values.text() == "I think so.");
                CHECK(speaker->asked[1] == std::vector<std::string>{"is it so?"});
            } else {
                const auto ended = driver.run(helper.graph(), agent::said("so?"), {.thread_id = "t"});
                REQUIRE(ended.what() == "");
                CHECK(ended.values.messages.size() == 4);
                CHECK(speaker->asked[1] == std::vector<std::string>{"is it so?", "I think ", "so?"});
            }
            CHECK(ledger->count("7") == 0);
        }
    }
}

TEST_CASE("a stop before the first word of an answer keeps nothing of it") {
    const auto speaker = std::make_shared<Stopped>();
    speaker->part.clear();
    const agent::Agent helper({.model = speaker, .compile = stored()});
    sg::RunConfig config{.thread_id = "t"};
    config.control = speaker->control;
    CHECK((helper.say("is it so?", config).status == sg::Status::cancelled));
    CHECK(helper.graph().getState({.thread_id = "t"}).values.messages.size() == 1);
    CHECK(helper.graph().invoke(sg::RESUME, {.thread_id = "t"}).values.text() == "I think so.");
}

TEST_CASE("what had come of a sub-agent's answer is kept in its own log") {
    const auto inner = std::make_shared<Stopped>();
    const agent::Agent sub({.model = inner});
    const auto outer = model::scripted([](const model::Request& request) -> model::Message {
        if (request.messages.back().role == model::Role::tool) return model::assistant("done");
        return model::assistant({{{}, "c1", "sub", R"({"request":"is it so?"})"}});
    });
    const auto saver = std::make_shared<sg::MemorySaver>();
    const agent::Agent helper({.model = outer, .tools = {agent::agentTool("sub", {}, sub)}, .compile = stored(saver)});
    sg::RunConfig config{.thread_id = "t"};
    config.control = inner->control;
    CHECK((helper.say("ask", config).status == sg::Status::cancelled));
    bool is_kept = false;
    for (const auto& row : saver->list({.thread_id = "t"}))
        is_kept = is_kept || row.bytes.view().find("aborted") != std::string_view::npos;
    CHECK(is_kept);
    const auto ended = helper.graph().invoke(sg::RESUME, {.thread_id = "t"});
    CHECK(results(ended.values) == std::vector<std::string>{"I think so."});
    CHECK(inner->asked[1] == std::vector<std::string>{"is it so?"});
}
