#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/agent/replay.hpp>
#include <stategraph/fork.hpp>
#include <stategraph/run_control.hpp>

#include "tests/agent/tools.hpp"

// A recorded conversation is run again with another model, and the results of tools come from the record.
using namespace tools;

namespace {

/// Calls `work` for each word of the user, one after another, and then says what came of it.
std::shared_ptr<const model::Model> worker(const std::string& prefix = "") {
    return model::scripted([prefix](const model::Request& request) {
        const model::Message& last = request.messages.back();
        if (last.role == model::Role::user)
            return model::assistant({call("c1", prefix + last.text()), call("c2", last.text())});
        std::string said = "Done:";
        for (const model::Message& each : request.messages) {
            if (each.result) said += " " + each.result->text() + ";";
        }
        return model::assistant(said);
    });
}

struct Recorded {
    std::shared_ptr<Ledger> ledger = std::make_shared<Ledger>();
    std::shared_ptr<sg::MemorySaver> saver = std::make_shared<sg::MemorySaver>();
    agent::Options options{.model = worker(), .tools = {work(ledger)}, .compile = stored(saver)};
    agent::Agent helper{options};

    Recorded() {
        helper.say("dust", {.thread_id = "t"});
        helper.say("paint", {.thread_id = "t"});
    }
    agent::Record record() const { return agent::recordOf(helper, {.thread_id = "t"}); }
};

std::vector<std::string> kindsOf(const agent::Replayed& replayed) {
    std::vector<std::string> kinds;
    for (const agent::Difference& each : replayed.differences) {
        kinds.push_back(std::to_string(each.turn) + "." + std::to_string(each.step) + " " + toString(each.kind));
    }
    return kinds;
}

}  // namespace

TEST_CASE("a record has the turns of a conversation, with the calls of each answer and their results") {
    const Recorded recorded;
    const agent::Record record = recorded.record();
    REQUIRE(record.turns.size() == 2);
    const agent::RecordedTurn& turn = record.turns[1];
    REQUIRE(turn.input.size() == 1);
    CHECK(turn.input[0].text() == "paint");
    REQUIRE(turn.steps.size() == 2);
    REQUIRE(turn.steps[0].calls.size() == 2);
    CHECK(turn.steps[0].calls[1].tool == "work");
    CHECK(turn.steps[0].calls[1].arguments.toJson() == R"({"what":"paint"})");
    REQUIRE(turn.steps[0].calls[1].result);
    CHECK(turn.steps[0].calls[1].result->text() == "did paint");
    CHECK(turn.steps[1].text == "Done: did dust; did dust; did paint; did paint;");

    const auto again = sg::fromJson<agent::Record>(sg::toJson(record));
    CHECK(sg::toJson(again) == sg::toJson(record));
}

TEST_CASE("the same agent replays its record without a difference, executes nothing, and leaves the thread alone") {
    const Recorded recorded;
    const auto before = recorded.helper.graph().getState({.thread_id = "t"}).config.checkpoint_id;
    const agent::Replayed replayed = agent::replay(recorded.record(), recorded.options);
    CHECK(kindsOf(replayed).empty());
    CHECK(replayed.isSame());
    CHECK(replayed.unrecorded.empty());
    CHECK(replayed.unused.empty());
    CHECK(sg::toJson(replayed.turns[1].steps[1].text) == sg::toJson(replayed.record.turns[1].steps[1].text));
    CHECK(recorded.ledger->count("dust") == 2);
    CHECK(recorded.ledger->count("paint") == 2);
    CHECK((recorded.helper.graph().getState({.thread_id = "t"}).config.checkpoint_id == before));
}

TEST_CASE("a replay may be stored in the saver of the record, in a thread of its own that must be new") {
    const Recorded recorded;
    agent::ReplayOptions settings{.saver = recorded.saver};
    const agent::Replayed replayed = agent::replay(recorded.record(), recorded.options, settings);
    CHECK(replayed.thread_id == "replay-t");
    const auto state = recorded.helper.graph().getState({.thread_id = "replay-t"});
    CHECK(state.values.text() == "Done: did dust; did dust; did paint; did paint;");
    CHECK_THROWS_AS(agent::replay(recorded.record(), recorded.options, settings), sg::ThreadExistsError);
    settings.thread_id = "t";
    CHECK_THROWS_AS(agent::replay(recorded.record(), recorded.options, settings), sg::ThreadExistsError);
}

TEST_CASE("a call that the record does not have ends the replay, or gets an error, or what a function gives") {
    const Recorded recorded;
    agent::Options other = recorded.options;
    other.model = worker("wet ");
    const agent::Replayed stopped = agent::replay(recorded.record(), other);
    CHECK(kindsOf(stopped) == std::vector<std::string>{"0.0 arguments"});
    CHECK(stopped.differences[0].recorded == R"(work({"what":"dust"}), work({"what":"dust"}))");
    CHECK(stopped.differences[0].replayed == R"(work({"what":"wet dust"}), work({"what":"dust"}))");
    CHECK_FALSE(stopped.is_complete);
    REQUIRE(stopped.unrecorded.size() == 1);
    CHECK(stopped.unrecorded[0].arguments.toJson() == R"({"what":"wet dust"})");
    CHECK(stopped.unused.size() == 3);

    const agent::Replayed failed =
        agent::replay(recorded.record(), other, {.on_unrecorded = agent::OnUnrecorded::fail});
    CHECK(kindsOf(failed) == std::vector<std::string>{"0.0 arguments", "0.1 answer", "1.0 arguments", "1.1 answer"});
    CHECK(failed.is_complete);
    CHECK(failed.turns[0].steps[1].text ==
          "Done: Error: this call is not in the record of the conversation.; did dust;");

    const auto give = [](const model::ToolCall& made) -> std::optional<agent::ClientResult> {
        return agent::ClientResult{sg::Value("gave " + made.name)};
    };
    const agent::Replayed given = agent::replay(recorded.record(), other, {.answer_call = give});
    CHECK(given.is_complete);
    CHECK(given.turns[0].steps[1].text == "Done: gave work; did dust;");
    CHECK(recorded.ledger->count("wet dust") == 0);
}

TEST_CASE("a replay says where other tools are called, and where only the answer is another one") {
    const Recorded recorded;
    agent::Options brief = recorded.options;
    brief.model = model::scripted([](const model::Request&) { return model::assistant("No."); });
    const agent::Replayed none = agent::replay(recorded.record(), brief);
    CHECK(kindsOf(none) == std::vector<std::string>{"0.0 calls", "0.0 answer", "1.0 calls", "1.0 answer"});
    CHECK(none.is_complete);
    CHECK(none.unused.size() == 4);
    CHECK(none.differences[1].replayed == "No.");

    agent::Options polite = recorded.options;
    polite.model = model::scripted([](const model::Request& request) {
        if (request.messages.back().role != model::Role::user) return model::assistant("Gladly done.");
        const std::string text = request.messages.back().text();
        return model::assistant({call("x1", text), call("x2", text)});
    });
    const agent::Replayed answered = agent::replay(recorded.record(), polite);
    CHECK(kindsOf(answered) == std::vector<std::string>{"0.1 answer", "1.1 answer"});
}

TEST_CASE("calls that a person declined or edited are declined and edited again") {
    const auto ledger = std::make_shared<Ledger>();
    const agent::Options options{.model = worker(), .tools = {work(ledger, "work", gated())}, .compile = stored()};
    const agent::Agent helper(options);
    helper.say("dust", {.thread_id = "t"});
    auto open = helper.openCalls("t");
    REQUIRE(open.size() == 2);
    agent::Decision edited{.approved = true};
    edited.arguments = sg::Value(Job{.what = "mop"});
    helper.graph().invoke(helper.decide("t", open[0].id, edited), {.thread_id = "t"});
    helper.graph().invoke(helper.decide("t", open[1].id, {.reason = "enough"}), {.thread_id = "t"});

    const agent::Record record = agent::recordOf(helper, {.thread_id = "t"});
    CHECK(record.turns[0].steps[0].calls[0].arguments.toJson() == R"({"what":"dust"})");
    REQUIRE(record.turns[0].steps[0].calls[0].edited);
    const agent::Replayed replayed = agent::replay(record, options);
    CHECK(kindsOf(replayed).empty());
    CHECK(replayed.turns[0].steps[1].text == "Done: did mop; Error: The call was not approved: enough;");
    REQUIRE(replayed.turns[0].steps[0].calls[0].edited);
    CHECK(ledger->count("mop") == 1);
}

TEST_CASE("a turn that was left with open calls, and one whose answer was stopped, are replayed as they were left") {
    const auto ledger = std::make_shared<Ledger>();
    const auto control = std::make_shared<sg::RunControl>();
    agent::Options options{.model = worker(), .tools = {work(ledger, "work", gated())}, .compile = stored()};
    const agent::Agent helper(options);
    helper.say("dust", {.thread_id = "t"});  // two calls wait
    helper.say("paint", {.thread_id = "t"});
    auto state = helper.graph().getState({.thread_id = "t"}).values;
    const agent::Replayed left = agent::replay(agent::recordOf("t", state.messages), options);
    CHECK(kindsOf(left).empty());
    CHECK(left.isSame());
    REQUIRE(left.turns[1].input.size() == 3);
    CHECK(left.turns[1].input[1].result->text().starts_with("The call was not run"));

    // The answer to "paint" is left out, and what had come of another one is there.
    model::Message aborted = model::assistant("I th");
    aborted.id = "answer-0";
    aborted.finish_reason = model::FinishReason::aborted;
    std::vector<model::Message> messages{model::user("dust"), aborted, model::user("Go on.")};
    messages.push_back(model::assistant("I went on."));
    messages.back().id = "answer-1";
    std::vector<std::string> asked;
    options.model = model::scripted([&asked](const model::Request& request) {
        std::string all;
        for (const model::Message& each : request.messages) all += each.text() + "|";
        asked.push_back(all);
        return model::assistant("I went on.");
    });
    const agent::Replayed stopped = agent::replay(agent::recordOf("u", messages), options);
    CHECK(kindsOf(stopped).empty());
    CHECK(asked == std::vector<std::string>{"dust|", "dust|I th|Go on.|"});
}

TEST_CASE("a branch is replayed as it is, and not what became of the thread elsewhere") {
    const Recorded recorded;
    const auto at = recorded.helper.graph().getState({.thread_id = "t"});
    recorded.helper.say("wood", {.thread_id = "t"});
    const auto branch = agent::recordOf(recorded.helper, at.config);
    CHECK(branch.turns.size() == 2);
    CHECK(agent::replay(branch, recorded.options).isSame());
    CHECK(recorded.record().turns.size() == 3);
}

TEST_CASE("a model that fails in a replay is a difference, which says what was expected") {
    const Recorded recorded;
    agent::Options broken = recorded.options;
    broken.model = model::scripted([](const model::Request& request) -> model::Message {
        if (request.messages.size() > 1) throw model::ModelError("no credit", {});
        return model::assistant({call("c", "dust"), call("d", "dust")});
    });
    const agent::Replayed replayed = agent::replay(recorded.record(), broken);
    CHECK(kindsOf(replayed) == std::vector<std::string>{"0.1 failure"});
    CHECK(replayed.differences[0].recorded == "Done: did dust; did dust;");
    CHECK(replayed.differences[0].replayed.find("no credit") != std::string::npos);
    CHECK_FALSE(replayed.is_complete);
}

TEST_CASE("questions of middleware are answered by a function, and end a replay without one") {
    Recorded recorded;
    agent::Middleware asks{.name = "asks"};
    asks.around_model = [](agent::ModelCall& made, const agent::NextModel& next) -> sg::Task<model::Reply> {
        (void)sg::interrupt<bool>(made.runtime, "May I?");
        auto asked = next();
        auto reply = co_await std::move(asked);
        co_return reply;
    };
    recorded.options.middleware = {asks};
    const agent::Replayed ended = agent::replay(recorded.record(), recorded.options);
    CHECK(kindsOf(ended) == std::vector<std::string>{"0.0 question"});
    const auto yes = [](const sg::Interrupt&) -> std::optional<sg::Value> { return sg::Value(true); };
    CHECK(agent::replay(recorded.record(), recorded.options, {.answer_question = yes}).isSame());
}

TEST_CASE("several records are scored in a table, which keeps what a scorer throws") {
    const Recorded recorded;
    std::vector<agent::Record> records{recorded.record(), recorded.record()};
    records[1].thread_id = "u";
    records[1].turns.pop_back();
    agent::Options other = recorded.options;
    other.model = model::scripted([](const model::Request& request) -> model::Message {
        const std::string text = request.messages.back().text();
        if (text == "paint") return model::assistant("Never.");
        if (request.messages.back().role != model::Role::user) return model::assistant("Done: did dust; did dust;");
        return model::assistant({call("c1", text), call("c2", text)});
    });
    const std::vector<agent::Scorer> scorers{
        {"calls", agent::sameCalls},
        {"same", [](const agent::Replayed& each) { return sg::Value(each.isSame()); }},
        {"faulty", [](const agent::Replayed&) -> sg::Value { throw std::runtime_error("no"); }}};
    const agent::ScoreTable table = agent::scoreReplays(records, other, scorers);
    REQUIRE(table.rows.size() == 2);
    CHECK(table.rows[0].scores[0].as<double>() == doctest::Approx(0.5));
    CHECK(table.rows[1].scores[0].as<double>() == doctest::Approx(1.0));
    CHECK(table.rows[1].scores[1].as<bool>());
    CHECK(table.rows[0].error == "faulty: no");
    REQUIRE(table.means[0]);
    CHECK(*table.means[0] == doctest::Approx(0.75));
    CHECK_FALSE(table.means[1]);
    CHECK(sg::toJson(table).find(R"("scorers":["calls","same","faulty"])") != std::string::npos);
}

TEST_CASE("the order of a call's arguments is no difference, and an answer that was edited counts as it is now") {
    const Recorded recorded;
    const auto twice = [](const std::string& arguments) {
        return model::scripted({model::assistant({{{}, "c1", "work", arguments}}), model::assistant("Twice.")});
    };
    agent::Options options = recorded.options;
    options.model = twice(R"({"what":"wood","times":2})");
    const agent::Agent helper(options);
    helper.say("wood", {.thread_id = "w"});
    const agent::Record record = agent::recordOf(helper, {.thread_id = "w"});
    options.model = twice(R"( {"times":2, "what":"wood"} )");
    CHECK(kindsOf(agent::replay(record, options)).empty());

    model::Message edited = helper.graph().getState({.thread_id = "w"}).values.messages.back();
    edited.content = {model::Text{"Thrice."}};
    helper.graph().updateState({.thread_id = "w"}, {sg::add(&agent::State::messages, edited)}, {.as_node = "model"});
    const agent::Replayed other = agent::replay(agent::recordOf(helper, {.thread_id = "w"}), options);
    CHECK(kindsOf(other) == std::vector<std::string>{"0.1 answer"});
    CHECK(other.differences[0].recorded == "Thrice.");
    CHECK(other.differences[0].replayed == "Twice.");
}
