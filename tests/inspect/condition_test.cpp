#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/inspect/command.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/stategraph.hpp>
#include <stategraph/timeline.hpp>
#include <stategraph/value.hpp>

#include "inspect/condition.hpp"
#include "inspect/first_step.hpp"
#include "tests/inspect/inspected_api.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/savers.hpp"
#include "tests/support/seed.hpp"

// Conditions over a state, and the first step at which one holds, on every kind of saver.
namespace sg = stategraph;
using sg::inspect::Condition;
using sg::inspect::Exit;

namespace conditions {

bool holds(const std::string& text) {
    static const sg::Value state = sg::parseJson(
        R"({"total": -3, "ratio": 1.0, "paid": false, "note": "no stock", "log": ["a", {"b": 2}], "open": {"x/y": 1},)"
        R"( "or": 7, "none": null, "größe": 4})");
    return Condition(text).holds(state);
}

std::string fault(const std::string& text) {
    try {
        Condition condition(text);
    } catch (const sg::InvalidArgumentError& wrong) {
        return wrong.what();
    }
    return "";
}

struct Account {
    int total = 0;
    std::vector<std::string> log = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("total", &Account::total, sg::sum),
                            sg::channel("log", &Account::log, sg::append));
    }
};

/// A thread whose total is 5, 3, 1, -1, -3 and then, by "refund", 7.
void run(const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    sg::StateGraph<Account> graph;
    graph.addNode("spend", [](const Account&) {
        return sg::Update<Account>{sg::add<&Account::total>(-2), sg::add<&Account::log>("spent")};
    });
    graph.addNode("refund", [](const Account&) { return sg::add<&Account::total>(10); });
    graph.addConditionalEdges("spend", [](const Account& account) { return account.total < -2 ? "refund" : "spend"; },
                              {"spend", "refund"});
    graph.addEdge(sg::START, "spend").addEdge("refund", sg::END);
    graph.compile({.checkpointer = saver}).invoke({sg::add<&Account::total>(5)}, {.thread_id = "account"});
}

struct Answer {
    Exit exit;
    std::string out;
    std::string error;
};

Answer find(const std::shared_ptr<sg::BaseCheckpointSaver>& saver, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "find");
    std::ostringstream out;
    std::ostringstream error;
    const sg::inspect::CommandOptions options{.open = [&](const std::string&, bool) { return saver; }};
    const Exit exit = sg::inspect::runCommand(arguments, out, error, options);
    return {exit, out.str(), error.str()};
}

}  // namespace conditions

TEST_CASE("a condition compares values of a state by their kinds") {
    for (const char* text : {"total < 0",
                             "total<0",
                             "total == -3.0",
                             "ratio == 1",
                             "total <= -3 and total >= -3",
                             "not paid",
                             "!paid",
                             "paid == false",
                             "note == \"no stock\"",
                             "note contains \"stock\"",
                             "log contains \"a\"",
                             "log[0] == \"a\"",
                             "log[1].b == 2",
                             "size(log) == 2",
                             "size(note) > 7",
                             "size(open) == 1",
                             "open contains \"x/y\"",
                             "open[\"x/y\"] == 1",
                             "[\"or\"] == 7",
                             "none == null",
                             "missing == null",
                             "missing.deep[3] == null",
                             "log[9] == null",
                             "paid or total < 0",
                             "paid || note",
                             "(paid or note) and total != 0",
                             "not (paid or none)",
                             "größe == 4",
                             "0 > total",
                             "total",
                             "paid != null",
                             "note < \"z\"",
                             "not not note"}) {
        CAPTURE(text);
        CHECK(conditions::holds(text));
    }
    for (const char* text : {"total > 0", "paid", "none", "missing", "note < 3", "log < 3", "log > \"a\"", "not note",
                             "paid and note", "total < 0 and paid or missing", "size(total) == 1", "note contains 3",
                             "total contains 3", "missing < 0", "missing >= 0", "log[1] == 2", "false", "null"}) {
        CAPTURE(text);
        CHECK_FALSE(conditions::holds(text));
    }
}

TEST_CASE("a condition that is not understood says what was expected, and points at the place") {
    CHECK(conditions::fault("total <") ==
          "the condition is not understood: a channel, a number or a text was expected at character 8\n"
          "  total <\n"
          "         ^");
    CHECK(conditions::fault("größe = 4") ==
          "the condition is not understood: '==' for a comparison was expected at character 7\n"
          "  größe = 4\n"
          "        ^");
    for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{
             {"", "a channel, a number or a text was expected at character 1"},
             {"total < 0 paid", "'and', 'or' or the end was expected at character 11"},
             {"(total < 0", "')' was expected at character 11"},
             {"log[", "a name in quotes, or a number of at most 9 digits was expected at character 5"},
             {"log[12345678901]", "a number of at most 9 digits was expected at character 5"},
             {"log[1", "']' was expected"},
             {"[0]", "the channel's name in quotes"},
             {"note == \"no", "a text that ends with a quotation mark"},
             {"note == \"\\x\"", "a text as in JSON"},
             {"total == 1.2.3", "a number"},
             {"total == --1", "a number"},
             {"a.", "a name was expected at character 3"},
             {"size(3)", "a channel"},
         }) {
        CAPTURE(text);
        CHECK(conditions::fault(text).find(expected) != std::string::npos);
    }
}

TEST_CASE("a condition is limited in its length and in its depth") {
    const auto nested = [](std::size_t levels) {
        return std::string(levels, '(') + "total < 0" + std::string(levels, ')');
    };
    CHECK(conditions::holds(nested(60)));
    CHECK(conditions::fault(nested(70)).find("less than 64 levels") != std::string::npos);
    CHECK(conditions::fault(nested(2000)).find("less than 64 levels") != std::string::npos);
    CHECK(conditions::fault(std::string(100'000, '(')).find("at most 4096 bytes") != std::string::npos);
    std::string many = "total < 0";
    while (many.size() < 4000) many += " and total < 0";
    CHECK(conditions::holds(many));
}

TEST_CASE("any text is a condition that can be evaluated, or is refused with a mark at a place inside of it") {
    const unsigned seed = tests::seed();
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto below = [&](std::size_t end) { return random() % end; };
    const std::vector<std::string> pieces{"total", "log[1].b", "[\"or\"]", "size(",        ")",  "(",  "not ",
                                          "!",     " and ",    " or ",     "||",           "&&", "==", "!=",
                                          "<",     ">=",       "contains", "\"a\\u00e9\"", "\"", "\\", "-1.5e3",
                                          "7",     "null",     "größe",    "\xff",         "\n", ".",  "[",
                                          "]",     "true",     "=",        "open"};
    std::size_t accepted = 0;
    for (unsigned i = 0; i < sanitized::some(5000); ++i) {
        std::string text;
        for (std::size_t left = 1 + below(12); left > 0; --left) text += pieces[below(pieces.size())];
        CAPTURE(text);
        try {
            static_cast<void>(conditions::holds(text));
            ++accepted;
        } catch (const sg::InvalidArgumentError& wrong) {
            const std::string why = wrong.what();
            const std::size_t mark = why.rfind("\n  ");
            REQUIRE(why.ends_with('^'));
            REQUIRE(why.size() - (mark + 3) <= text.size() + 1);
        }
    }
    CHECK(accepted > 0);
}

TEST_CASE("find shows the first step at which a condition holds, who made it, and the values before and after") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        conditions::run(saver);
        const auto negative = conditions::find(saver, {"account", "total < 0"});
        CHECK(negative.exit == Exit::done);
        CHECK(negative.out.starts_with("step 3  "));
        CHECK(negative.out.find("  spend\ntotal  1 → -1\n") != std::string::npos);
        const auto refunded = conditions::find(saver, {"account", "total > 5 and size(log) > 3"});
        CHECK(refunded.out.find("  refund\n") != std::string::npos);
        CHECK(refunded.out.find("total  -3 → 7\n") != std::string::npos);
        CHECK(refunded.out.find("size(log)  4\n") != std::string::npos);
        const auto early = conditions::find(saver, {"account@2", "total < 0"});
        CHECK(early.exit == Exit::no);
        CHECK(early.error == "stategraph: the condition holds at none of the 4 checkpoints of 'account@2'\n");
        const auto json = conditions::find(saver, {"account", "total < 0", "--json"});
        CHECK(sg::parseJson(json.out).toJson().find(R"("ran":["spend"])") != std::string::npos);
    });
}

TEST_CASE("find looks at no more checkpoints than its limit, and says so") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    conditions::run(saver);
    const auto cut = conditions::find(saver, {"account", "total > 100", "--limit", "2"});
    CHECK(cut.exit == Exit::no);
    CHECK(cut.error.find("none of the 2 checkpoints of 'account'; older ones were not looked at: --limit N") !=
          std::string::npos);
    const auto held = conditions::find(saver, {"account", "total < 0", "--limit", "2"});
    CHECK(held.exit == Exit::done);
    CHECK(held.out.find("it may have held before; older ones were not looked at") != std::string::npos);
    CHECK(conditions::find(saver, {"nobody", "total < 0"}).exit == Exit::no);
    CHECK(conditions::find(saver, {"account", "total <"}).exit == Exit::usage);
    CHECK(conditions::find(saver, {"account", "total < 0", "--limit", "100001"}).exit == Exit::usage);
}

TEST_CASE("a search for a step reads no more of the log and of states than it may, and continues where it ended") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    conditions::run(saver);
    const auto newest = sg::readTimeline(*saver, {.thread_id = "account"}, {.limit = 1}).front().id;
    const sg::Config at{.thread_id = "account", .checkpoint_id = newest};
    const Condition negative("total < 0");
    const auto whole = sg::inspect::findFirstStep(*saver, at, negative, {});
    REQUIRE(whole.found);
    CHECK_FALSE(whole.more);
    std::uint64_t looked_at = 0;
    sg::inspect::FirstStepSearch part;
    sg::CheckpointId from;
    do {
        part = sg::inspect::findFirstStep(*saver, at, negative, {.states_bytes = 0}, from);
        CHECK(part.looked_at == 1);
        looked_at += part.looked_at;
        from = part.more ? sg::CheckpointId(*part.more) : sg::CheckpointId();
    } while (part.more);
    CHECK(looked_at == whole.looked_at);
    REQUIRE(part.found);
    CHECK(part.found->checkpoint_id == whole.found->checkpoint_id);
    CHECK(part.found->ran == std::vector<std::string>{"spend"});
    const auto one = sg::inspect::findFirstStep(*saver, at, negative, {.reads = 1});
    CHECK(one.looked_at == 1);
    CHECK(one.more);
    // It begins nowhere else if the branch does not have the place.
    CHECK_THROWS_WITH_AS(sg::inspect::findFirstStep(*saver, at, negative, {}, sg::CheckpointId(1, 2)),
                         doctest::Contains("any more; search anew"), sg::InvalidArgumentError);
    const auto cut = sg::inspect::findFirstStep(*saver, at, negative, {.entries = 0});
    CHECK(cut.is_cut);
    CHECK(cut.looked_at == 1);
}

TEST_CASE("find is also an operation of the interface, and is refused where values are hidden") {
    inspected_api::Store store;
    const auto first = [](const std::string& condition) {
        return inspected_api::Place{{"threads", "asks", "checkpoints", "newest", "first"}, {{"condition", condition}}};
    };
    const auto found = store.ok(first("total > 0"));
    CHECK(inspected_api::json::serialize(found).find("\"ran\":[\"left\",\"right\",\"price\",\"price\"]") !=
          std::string::npos);
    CHECK(store.ok(first("total > 100")).as_object().at("found").is_null());
    CHECK_THROWS_AS(store.get(first("total >")), sg::InvalidArgumentError);  // a client gets 400
    CHECK_THROWS_AS(store.get(first("")), sg::InvalidArgumentError);
    CHECK(found.as_object().at("more").is_null());
    inspected_api::Store hidden({.redact = {"topic"}});
    CHECK(hidden.get(first("total > 0")).status == 403);
}
