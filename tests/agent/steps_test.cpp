#include <doctest/doctest.h>

#include <stdexcept>

#include <stategraph/error.hpp>
#include <stategraph/model/prune.hpp>

#include "tests/agent/tools.hpp"
#include "tests/support/drivers.hpp"

using namespace tools;
using Texts = std::vector<std::string>;

namespace {

/// Offers these tools in every step.
std::vector<agent::Middleware> offering(Texts names) {
    return {agent::beforeModel([names = std::move(names)](agent::ModelCall& call) { call.tools = names; })};
}

const model::ToolCall& callAt(const agent::State& state, std::size_t place) {
    return state.messages.at(1).calls.at(place);
}

}  // namespace

TEST_CASE("a call of a tool that was not offered in a step is not executed, and its siblings are, in their order") {
    for (const drivers::Driver& driver : drivers::crossed()) {
        CAPTURE(driver.name);
        const auto ledger = std::make_shared<Ledger>();
        agent::ToolOptions gated;
        gated.approval = true;
        const agent::Agent helper(
            {.model = model::scripted({model::assistant({call("c1", "a", "hidden"), call("c2", "b"),
                                                         call("c3", "c", "unknown"), call("c4", "d")}),
                                       model::assistant("ok")}),
             .tools = {work(ledger), work(ledger, "hidden", gated)},
             .middleware = offering({"work"}),
             .compile = stored()});
        const auto outcome = driver.run(helper.graph(), agent::said("go"), {.thread_id = "t"});
        REQUIRE(outcome.what() == "");
        CHECK((outcome.status == sg::Status::done));  // nobody is asked about the hidden tool
        CHECK(results(outcome.values) ==
              Texts{"Error: the tool 'hidden' is not available in this step; available: work", "did b",
                    "Error: there is no tool 'unknown'; there are: work", "did d"});
        CHECK(outcome.values.text() == "ok");
        CHECK(ledger->count("a") == 0);
    }
}

TEST_CASE("a model that may call no tool in a step calls none, and learns so if it tries, in every driver") {
    for (const drivers::Driver& driver : drivers::crossed()) {
        CAPTURE(driver.name);
        const auto ledger = std::make_shared<Ledger>();
        agent::ToolOptions gated;
        gated.approval = true;
        agent::Options options{.model = model::scripted({model::assistant({call("c1", "a"), call("c2", "b", "gated")}),
                                                         model::assistant({call("c3", "c")}), model::assistant("ok")}),
                               .tools = {work(ledger), work(ledger, "gated", gated)},
                               .middleware = {agent::beforeModel([](agent::ModelCall& call) {
                                   if (call.state.steps == 0) call.tool_choice = model::ToolChoice::none;
                               })},
                               .compile = stored()};
        const auto outcome = driver.run(agent::Agent(options).graph(), agent::said("go"), {.thread_id = "t"});
        REQUIRE(outcome.what() == "");
        CHECK((outcome.status == sg::Status::done));  // nobody is asked
        CHECK(results(outcome.values) == Texts{"Error: the tool 'work' is not available in this step; available: none",
                                               "Error: the tool 'gated' is not available in this step; available: none",
                                               "did c"});
        CHECK(ledger->count("a") == 0);

        options.middleware = {};
        options.tool_choice = model::ToolChoice::none;
        const auto never = driver.run(agent::Agent(options).graph(), agent::said("go"), {.thread_id = "u"});
        REQUIRE(never.what() == "");
        CHECK(results(never.values).size() == 3);
        CHECK(ledger->count("c") == 1);  // in the first run
        CHECK(never.values.text() == "ok");
    }
}

TEST_CASE("a model that calls only tools that were not offered is called again, until its budget is used up") {
    const auto ledger = std::make_shared<Ledger>();
    const agent::Agent helper(
        {.model = model::scripted([](const model::Request&) { return model::assistant({call("c", "a", "hidden")}); }),
         .tools = {work(ledger), work(ledger, "hidden")},
         .stop_when = {agent::stepCountIs(3)},
         .middleware = offering({"work"})});
    const auto state = helper.say("go").values;
    CHECK(state.stop_reason == "max-steps");
    CHECK(results(state).size() == 3);
    CHECK(ledger->count("a") == 0);
}

TEST_CASE("a call of a tool that its step offered is executed when it is approved, although that step is over") {
    const auto ledger = std::make_shared<Ledger>();
    agent::ToolOptions gated;
    gated.approval = true;
    const auto later = [](agent::ModelCall& call) {
        call.tools = call.state.steps == 1 ? Texts{"hidden"} : Texts{"work"};
    };
    const agent::Agent helper(
        {.model = model::scripted({model::assistant({call("c1", "a")}), model::assistant({call("c2", "b", "hidden")}),
                                   model::assistant("ok")}),
         .tools = {work(ledger), work(ledger, "hidden", gated)},
         .middleware = {agent::beforeModel(later)},
         .compile = stored()});
    CHECK((helper.say("go", {.thread_id = "t"}).status == sg::Status::interrupted));
    // The step in which the tool was offered is over; the call that it allowed is still approved.
    const auto result = helper.graph().invoke(helper.decide("t", "c2", {.approved = true}), {.thread_id = "t"});
    CHECK(results(result.values) == Texts{"did a", "did b"});
}

TEST_CASE("calls that cannot be executed are repaired, are stored as repaired, and are executed once") {
    for (const drivers::Driver& driver : drivers::crossed()) {
        CAPTURE(driver.name);
        const auto ledger = std::make_shared<Ledger>();
        Texts faults;
        agent::Options options{.model = model::scripted({model::assistant({call("c1", "a", "Work"),
                                                                           {{}, "c2", "work", "{\"what\":\"b\""},
                                                                           {{}, "c3", "work", R"({"times":1})"},
                                                                           call("c4", "d")}),
                                                         model::assistant("ok")}),
                               .tools = {work(ledger)},
                               .compile = stored()};
        options.repair_call = [&](const agent::State& state, const model::ToolCall& broken, std::string_view fault) {
            CHECK(state.messages.size() == 1);
            faults.emplace_back(fault);
            model::ToolCall repaired = broken;
            repaired.name = "work";
            if (broken.arguments.ends_with("\"b\"")) repaired.arguments += "}";
            if (broken.provider_id == "c3") repaired.arguments = R"({"what":"c"})";
            repaired.provider_id = "is not used";
            return std::optional(repaired);
        };
        const auto outcome = driver.run(agent::Agent(options).graph(), agent::said("go"), {.thread_id = "t"});
        REQUIRE(outcome.what() == "");
        CHECK(results(outcome.values) == Texts{"did a", "did b", "did c", "did d"});
        REQUIRE(faults.size() == 3);
        CHECK(faults[0] == "there is no tool 'Work'; there are: work");
        CHECK(faults[1].find("not JSON") != std::string::npos);
        CHECK(faults[2] == "member 'what' is missing");
        CHECK(callAt(outcome.values, 0).name == "work");
        CHECK(callAt(outcome.values, 1).arguments == R"({"what":"b"})");
        CHECK(callAt(outcome.values, 2).provider_id == "c3");
        CHECK(ledger->count("b") == 1);
    }
}

TEST_CASE("a call that is not repaired, or wrongly, or whose repair throws, is a result for the model") {
    const auto ledger = std::make_shared<Ledger>();
    agent::Options options{
        .model = model::scripted(
            {model::assistant({{{}, "none", "work", "x"}, {{}, "wrong", "work", "x"}, {{}, "throws", "work", "x"}}),
             model::assistant("ok")}),
        .tools = {work(ledger)}};
    options.repair_call = [](const agent::State&, const model::ToolCall& broken,
                             std::string_view) -> std::optional<model::ToolCall> {
        if (broken.provider_id == "none") return {};
        if (broken.provider_id == "throws") throw std::runtime_error("no idea");
        model::ToolCall repaired = broken;
        repaired.arguments = "{}";
        return repaired;
    };
    const auto state = agent::Agent(options).say("go").values;
    const auto told = results(state);
    REQUIRE(told.size() == 3);
    CHECK(told[0].find("not JSON") != std::string::npos);
    CHECK(told[1] == "Error: member 'what' is missing");
    CHECK(told[2] == "Error: the call could not be repaired: no idea");
    CHECK(state.text() == "ok");
    for (const model::Message& message : state.messages) {
        if (message.result) CHECK(message.result->is_error);
    }
}

TEST_CASE("a request says whether the model must call a tool, and which one, except in the answer at a limit") {
    struct Told {
        model::ToolChoice choice;
        std::string tool;
    };
    std::vector<Told> told;
    const auto ledger = std::make_shared<Ledger>();
    agent::Options options{.model = model::scripted([&](const model::Request& request) {
                               told.push_back({request.tool_choice, std::string(request.required_tool)});
                               return told.size() < 3 ? model::assistant({call("c", "a")}) : model::assistant("ok");
                           }),
                           .tools = {work(ledger), work(ledger, "other")},
                           .stop_when = {agent::stepCountIs(2)},
                           .at_limit = agent::AtLimit::answer,
                           .tool_choice = model::ToolChoice::required};
    SUBCASE("in every call") {
        CHECK(agent::Agent(options).say("go").values.text() == "ok");
        REQUIRE(told.size() == 3);
        CHECK((told[0].choice == model::ToolChoice::required));
        CHECK((told[1].choice == model::ToolChoice::required));
        CHECK((told[2].choice == model::ToolChoice::none));
    }
    SUBCASE("one of them, in the first call") {
        options.middleware = {agent::beforeModel([](agent::ModelCall& call) {
            CHECK((call.state.steps == 2 || call.tool_choice == model::ToolChoice::required));
            if (call.state.steps != 1) call.required_tool = "work";
        })};
        agent::Agent(options).say("go");
        REQUIRE(told.size() == 3);
        CHECK(told[0].tool == "work");
        CHECK(told[1].tool.empty());
        CHECK(told[2].tool.empty());  // the last answer is without tools
    }
    SUBCASE("in every call by middleware") {
        options.tool_choice = model::ToolChoice::automatic;
        options.middleware = {
            agent::beforeModel([](agent::ModelCall& call) { call.tool_choice = model::ToolChoice::required; })};
        CHECK(agent::Agent(options).say("go").values.text() == "ok");
        REQUIRE(told.size() == 3);
        CHECK((told[1].choice == model::ToolChoice::required));
        CHECK((told[2].choice == model::ToolChoice::none));
    }
    SUBCASE("one that the agent does not have is offered: the run fails") {
        options.middleware = {agent::beforeModel([](agent::ModelCall& call) { call.tools = {"work", "wrok"}; })};
        CHECK_THROWS_WITH_AS(agent::Agent(options).say("go"),
                             doctest::Contains("offers the tool 'wrok', which the agent does not have"), sg::NodeError);
    }
    SUBCASE("and without a model: the run fails") {
        options.middleware = {agent::beforeModel([](agent::ModelCall& call) { call.model = nullptr; })};
        CHECK_THROWS_WITH_AS(agent::Agent(options).say("go"),
                             doctest::Contains("left a call of the model without a model"), sg::NodeError);
    }
    SUBCASE("one that is not offered: the run fails") {
        options.middleware = {agent::beforeModel([](agent::ModelCall& call) {
            call.tools = {"other"};
            call.required_tool = "work";
        })};
        CHECK_THROWS_WITH_AS(agent::Agent(options).say("go"),
                             doctest::Contains("'work', which is not one of the tools"), sg::NodeError);
    }
}

namespace {

enum class Mood : std::uint8_t { glad, sad };
constexpr auto enumNames(Mood) { return sg::enumNames<Mood>({{"glad", Mood::glad}, {"sad", Mood::sad}}); }

template <class T>
agent::State answered(std::vector<std::string> texts, std::string* schema = nullptr) {
    std::size_t next = 0;
    const agent::Agent helper({.model = model::scripted([&](const model::Request& request) {
                                   if (schema != nullptr) *schema = request.output->schema;
                                   return model::assistant(texts.at(next++));
                               }),
                               .output = agent::output<T>()});
    return helper.say("go").values;
}

}  // namespace

TEST_CASE("an answer that is a list, an enum or a number is asked for inside of an object, and is stored alone") {
    std::string schema;
    CHECK(answered<std::vector<Job>>({R"({"answer":[{"what":"dig"},{"what":"rest","times":2}]})"}, &schema)
              .output.as<std::vector<Job>>()
              .at(1)
              .times == 2);
    CHECK(schema.find(R"("type":"object","properties":{"answer":{"type":"array")") != std::string::npos);
    CHECK(answered<Mood>({R"({"answer":"sad"})"}, &schema).output.as<Mood>() == Mood::sad);
    CHECK(schema.ends_with(R"("type":"object","properties":{"answer":{"type":"string","enum":["glad","sad"]}},)"
                           R"("required":["answer"],"additionalProperties":false})"));
    CHECK(answered<int>({R"({"answer":7})"}).output == sg::Value(7));
    CHECK(answered<std::string>({R"({"answer":"tea"})"}).output == sg::Value("tea"));
    // Objects are asked for as they are.
    answered<Job>({R"({"what":"dig"})"}, &schema);
    CHECK(schema == sg::jsonSchema<Job>());
    answered<std::map<std::string, int>>({R"({"a":1})"}, &schema);
    CHECK(schema == sg::jsonSchema<std::map<std::string, int>>());
}

TEST_CASE("a model that answers without the object around a list is understood, and other shapes are sent back") {
    CHECK(answered<std::vector<int>>({"```json\n[1,2]\n```"}).output == sg::Value(std::vector<int>{1, 2}));
    CHECK(answered<Mood>({R"("glad")"}).output.as<Mood>() == Mood::glad);
    const auto repaired = answered<Mood>({R"({"answer":"angry"})", R"({"answer":"sad"})"});
    CHECK(repaired.output.as<Mood>() == Mood::sad);
    CHECK(repaired.repairs == 1);
    CHECK(repaired.messages.at(2).text().find("'answer'") != std::string::npos);
    CHECK(answered<std::vector<int>>({"none", R"({"answer":3})"}).stop_reason == "invalid-output");
}

namespace {

/// A conversation of two turns, each with thoughts, a call of a tool and one of the provider's.
std::vector<model::Message> twoTurns() {
    using Kind = model::ProviderPartKind;
    std::vector<model::Message> messages;
    for (const std::string turn : {"1", "2"}) {
        messages.push_back(model::user("ask " + turn));
        model::Message calls = model::assistant({call("c" + turn, "dig")});
        calls.calls[0].id = "call-" + turn;
        calls.content = {model::Reasoning{"hm", "signature"},
                         model::ProviderPart{Kind::call, "anthropic", "s" + turn, "search", "{}"},
                         model::ProviderPart{Kind::result, "anthropic", "s" + turn, "search", "{}"},
                         model::ProviderPart{Kind::source, "anthropic", "", "", R"({"url":"https://a"})"}};
        messages.push_back(calls);
        messages.push_back(model::toolResult(calls.calls[0], "did it"));
        messages.push_back(model::assistant("answer " + turn));
        messages.back().content.insert(messages.back().content.begin(), model::Reasoning{"so", ""});
    }
    return messages;
}

/// What is left of each message: t(ext), r(easoning), c(all), p(art of the provider's), R(esult).
std::string left(const model::PruneOptions& options) {
    std::string all;
    for (const model::Message& message : model::pruneMessages(twoTurns(), options)) {
        for (const model::Part& part : message.content) all += "trfp"[part.index()];
        if (!message.calls.empty()) all += 'c';
        if (message.result) all += 'R';
        all += ' ';
    }
    return all;
}

}  // namespace

TEST_CASE(
    "a conversation is pruned of thoughts and of calls with their results, and keeps those of the last messages") {
    CHECK(left({}) == "t rpppc R rt t rpppc R rt ");
    CHECK(left({.reasoning_but_last = 0}) == "t pppc R t t pppc R t ");
    CHECK(left({.reasoning_but_last = 1}) == "t pppc R t t pppc R rt ");
    CHECK(left({.calls_but_last = 0}) == "t rp rt t rp rt ");
    // The result of the second call is among the last two messages, so its call stays; the provider's call does not.
    CHECK(left({.calls_but_last = 2}) == "t rp rt t rpc R rt ");
    CHECK(left({.calls_but_last = 3}) == "t rp rt t rpppc R rt ");
    CHECK(left({.calls_but_last = 0, .tools = {"work"}}) == "t rppp rt t rppp rt ");
    CHECK(left({.reasoning_but_last = 0, .calls_but_last = 100}) == "t pppc R t t pppc R t ");
    // A message of which nothing is left is left out, and one that was empty before is not.
    auto calls = model::assistant({call("c", "dig")});
    CHECK(model::pruneMessages({calls, model::assistant("")}, {.calls_but_last = 0}).size() == 1);
    CHECK(!model::mendHistory(model::pruneMessages(twoTurns(), {.calls_but_last = 2})));
}

TEST_CASE("thoughts that led to calls which are left out are left out too, as nothing may end with thoughts") {
    const model::Reasoning thought{"hm", "signature"};
    const model::ProviderPart signatures{model::ProviderPartKind::metadata, "openai", "", "host", "{}"};
    auto calls = model::assistant({call("c", "dig")});
    calls.calls[0].id = "1";
    const auto pruned = [&](std::vector<model::Part> content) {
        calls.content = std::move(content);
        const auto left =
            model::pruneMessages({calls, model::toolResult(calls.calls[0], "did it")}, {.calls_but_last = 0});
        return left.empty() ? std::vector<model::Part>() : left.at(0).content;
    };
    using Parts = std::vector<model::Part>;
    CHECK(pruned({thought}).empty());
    CHECK(pruned({thought, thought, signatures}).empty());
    CHECK(pruned({thought, model::Text{"I dig."}, thought}) == Parts{thought, model::Text{"I dig."}});
    // A message of which nothing was left out stays as it is.
    auto cut = model::assistant("");
    cut.content = {thought};
    CHECK(model::pruneMessages({cut}, {.calls_but_last = 0}).size() == 1);
}

TEST_CASE("calls that were requested together are kept together") {
    auto two = model::assistant({call("c1", "sun"), call("c2", "rain", "other")});
    two.calls[0].id = "1";
    two.calls[1].id = "2";
    const std::vector<model::Message> messages{model::user("weather?"), two, model::toolResult(two.calls[0], "sunny"),
                                               model::toolResult(two.calls[1], "failed"), model::assistant("sunny")};
    // The last two messages have the result of the second call only.
    CHECK(model::pruneMessages(messages, {.calls_but_last = 2}) == messages);
    CHECK(model::pruneMessages(messages, {.calls_but_last = 1}).size() == 2);
    const auto other = model::pruneMessages(messages, {.calls_but_last = 0, .tools = {"work"}});
    REQUIRE(other.size() == 4);
    CHECK(other.at(1).calls.size() == 1);
    CHECK(other.at(1).calls.front().name == "other");
    CHECK(!model::mendHistory(other));
}
