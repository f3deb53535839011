#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>

#include <stategraph/agent/replay.hpp>
#include <stategraph/json.hpp>

#include "tests/agent/tools.hpp"

// What tools lead to, and the parts that they give to models, are replayed as recorded.
using namespace tools;

namespace {

using Leading = std::pair<std::string, sg::Command<agent::State>>;

/// Calls the tool that the user names, and then says what the model received of it.
std::shared_ptr<const model::Model> obedient(const std::shared_ptr<int>& asked) {
    return model::scripted([asked](const model::Request& request) {
        ++*asked;
        const model::Message& last = request.messages.back();
        if (last.role == model::Role::user) return model::assistant({call("c", "it", last.text())});
        std::string said = "after " + last.result->text();
        for (const model::Part& part : last.content) {
            if (const auto* const text = std::get_if<model::Text>(&part)) said += "; " + text->text;
            if (const auto* const file = std::get_if<model::File>(&part)) said += "; " + file->data;
        }
        return model::assistant(said);
    });
}

}  // namespace

TEST_CASE("Commands of tools are replayed: the turn ends where it ended, and the state is changed as it was") {
    const auto asked = std::make_shared<int>(0);
    int runs = 0;
    const auto ends = agent::tool<Job>("ends", {}, [&](const Job&) {
        ++runs;
        return Leading("ended", {.go_to = sg::END});
    });
    const auto changes = agent::tool<Job>("changes", {}, [&](const Job&) {
        ++runs;
        return Leading("changed", {.update = {sg::set(&agent::State::repairs, 7)}});
    });
    agent::Options options{.model = obedient(asked), .tools = {ends, changes}, .compile = stored()};
    const agent::Agent helper(options);
    for (const char* const text : {"ends", "ends", "changes"}) helper.say(text, {.thread_id = "t"});
    const int recorded_calls = *asked;
    CHECK(recorded_calls == 4);
    CHECK(helper.graph().getState({.thread_id = "t"}).values.repairs == 7);
    const agent::Record record = agent::recordOf(helper, {.thread_id = "t"});
    CHECK(record.turns.at(0).steps.at(0).calls.at(0).command.has_value());
    const agent::Record read = sg::fromJson<agent::Record>(sg::toJson(record));
    for (const agent::Record& each : {record, read}) {
        *asked = 0;
        const auto saver = std::make_shared<sg::MemorySaver>();
        const agent::Replayed replayed = agent::replay(each, options, {.saver = saver});
        CHECK(sg::toJson(replayed.differences) == "[]");
        CHECK(replayed.isSame());
        CHECK(*asked == recorded_calls);
        CHECK(runs == 3);
        agent::Options reading = options;
        reading.compile = stored(saver);
        CHECK(agent::Agent(reading).graph().getState({.thread_id = "replay-t"}).values.repairs == 7);
    }
    // A tool that leads nowhere any more has the model asked again, which is beyond the record.
    options.tools.at(0).commands = {};
    *asked = 0;
    CHECK(agent::replay(record, options).isSame());
    CHECK(*asked == recorded_calls + 2);
}

TEST_CASE("a record of a branch has the Commands of that branch, also where its call has the id of another's") {
    int runs = 0;
    const auto leads = agent::tool<Job>("leads", {}, [&](const Job&) {
        return Leading("led", {.update = {sg::set(&agent::State::repairs, ++runs)}, .go_to = sg::END});
    });
    const agent::Options options{.model = obedient(std::make_shared<int>(0)), .tools = {leads}, .compile = stored()};
    const agent::Agent helper(options);
    helper.say("leads", {.thread_id = "t"});
    const sg::Config first = helper.graph().getState({.thread_id = "t"}).config;
    sg::Config answered;
    for (const auto& at : helper.graph().getStateHistory({.thread_id = "t"})) {
        if (at.values.messages.size() == 2) answered = at.config;
    }
    REQUIRE(!answered.checkpoint_id.empty());
    helper.graph().invoke(sg::RESUME, {.thread_id = "t", .checkpoint_id = answered.checkpoint_id});
    CHECK(runs == 2);
    const agent::Record one = agent::recordOf(helper, first);
    const agent::Record two = agent::recordOf(helper, {.thread_id = "t"});
    const auto call = [](const agent::Record& record) { return record.turns.at(0).steps.at(0).calls.at(0); };
    CHECK(call(one).id == call(two).id);
    int repairs = 0;
    for (const agent::Record& each : {one, two}) {
        REQUIRE(call(each).command.has_value());
        agent::Options reading = options;
        reading.compile = stored();
        CHECK(agent::replay(each, options, {.saver = reading.compile.checkpointer.saver()}).isSame());
        CHECK(agent::Agent(reading).graph().getState({.thread_id = "replay-t"}).values.repairs == ++repairs);
    }
    CHECK(runs == 2);
}

TEST_CASE("a record has the Command of a tool that has ended while another call waits") {
    const auto leads = agent::tool<Job>("leads", {}, [](const Job&) { return Leading("led", {.go_to = sg::END}); });
    const auto both = model::scripted({model::assistant({call("a", "it", "leads"), call("b", "it", "client")})});
    const agent::Agent helper({.model = both, .tools = {leads, agent::clientTool<Job>("client")}, .compile = stored()});
    helper.say("go", {.thread_id = "t"});
    const agent::Record record = agent::recordOf(helper, {.thread_id = "t"});
    CHECK(record.turns.at(0).steps.at(0).calls.at(0).result.has_value());
    CHECK(record.turns.at(0).steps.at(0).calls.at(0).command.has_value());
}

TEST_CASE("parts that tools and clients gave to the model are replayed, and stay in the replayed record") {
    const auto asked = std::make_shared<int>(0);
    const auto looks = agent::tool<Job>("looks", {}, [](const Job&) {
        return model::ToolOutput{
            .output = sg::Value("stored"),
            .content = {model::Text{"a ball"}, model::File{.media_type = "image/png", .data = "cG5n"}}};
    });
    agent::ToolOptions shows;
    shows.to_model = [](const sg::Value& value) {
        return model::ToolOutput{.output = sg::Value("of a client"),
                                 .content = {model::Text{"parts of " + value.as<std::string>()}}};
    };
    const agent::Options options{
        .model = obedient(asked), .tools = {looks, agent::clientTool<Job>("client", shows)}, .compile = stored()};
    const agent::Agent helper(options);
    CHECK(helper.say("looks", {.thread_id = "t"}).values.text() == "after stored; a ball; cG5n");
    helper.say("client", {.thread_id = "t"});
    const auto given = helper.graph().invoke(helper.give("t", "c", {sg::Value("this"), false}), {.thread_id = "t"});
    CHECK(given.values.text() == "after of a client; parts of this");
    const agent::Record record = agent::recordOf(helper, {.thread_id = "t"});
    for (const agent::Record& each : {record, sg::fromJson<agent::Record>(sg::toJson(record))}) {
        const agent::Replayed replayed = agent::replay(each, options);
        CHECK(sg::toJson(replayed.differences) == "[]");
        CHECK(replayed.isSame());
        CHECK(replayed.turns.at(0).steps.at(0).calls.at(0).content.size() == 2);
    }
}
