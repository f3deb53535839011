#include <chrono>
#include <exception>
#include <memory>
#include <string>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>
#include <stategraph/workflow/from_json.hpp>
#include <stategraph/workflow/run.hpp>
#include <stategraph/workflow/step.hpp>

#include "tests/workflow/refusal.hpp"

namespace sg = stategraph;
namespace wf = stategraph::workflow;

namespace {

wf::Functions functions() {
    wf::Functions offered;
    offered.steps["double"] = [](const sg::Value& input, wf::StepContext&) { return sg::Value(2 * input.as<int>()); };
    offered.steps["ask"] = [](const sg::Value& input, wf::StepContext& context) -> sg::Value {
        if (context.resumeData() != nullptr) return *context.resumeData();
        context.suspend(input);
        std::terminate();  // the call above does not return, but compilers cannot see that of a virtual function
    };
    offered.conditions["is small"] = [](const wf::Scope& scope) { return scope.input().as<int>() < 10; };
    offered.maps["length"] = [](const wf::Scope& scope) {
        return sg::Value(static_cast<int>(scope.input().as<std::vector<sg::Value>>().size()));
    };
    return offered;
}

wf::Flow flowOf(std::string_view text) {
    return wf::Flow(wf::fromJson(text, functions()), {.checkpointer = std::make_shared<sg::MemorySaver>()});
}

std::string resultOf(const wf::RunView& run) {
    CAPTURE(run.error);
    REQUIRE((run.status == wf::RunStatus::success));
    return run.result ? run.result->toJson() : "null";
}

std::vector<std::string> faultsOf(std::string_view text) {
    try {
        (void)wf::fromJson(text, functions());
    } catch (const sg::InvalidGraphError& error) {
        return {error.what()};
    }
    return {};
}

}  // namespace

TEST_CASE("a workflow from JSON that doubles its value again and again, or whose loop never ends, is broken off") {
    std::string doubling = R"({"id":"w","steps":{"ask":{}},"entries":[)";
    for (int i = 0; i < 30; ++i)
        doubling += R"({"map":{"a":{"$":"input"},"b":[{"$":"input"}]},"id":"m)" + std::to_string(i) + "\"},";
    doubling += R"({"then":"ask"}]})";
    const auto grown = flowOf(doubling).start("r", sg::Value("x"));
    CHECK((grown.status == wf::RunStatus::failed));
    CHECK(grown.error.find("bytes; see workflow::JsonLimits::value_bytes_max") != std::string::npos);

    // Steps in parallel that return their input double it as well, also inside of workflows.
    std::string steps = R"("ask":{})";
    std::string entries;
    for (int i = 0; i < 30; ++i) {
        const std::string n = std::to_string(i);
        steps += R"(,"a)" + n + R"(":{"run":"same"},"b)" + n + R"(":{"workflow":{"id":"n)" + n +
                 R"(","steps":{"same":{}},"entries":[{"then":"same"}]}})";
        entries += R"({"parallel":["a)" + n + R"(","b)" + n + R"("]},)";
    }
    const std::string arms = R"({"id":"w","steps":{)" + steps + R"(},"entries":[)" + entries + R"({"then":"ask"}]})";
    auto more = functions();
    more.steps["same"] = [](const sg::Value& input, wf::StepContext&) { return input; };
    const wf::Flow parallel(wf::fromJson(arms, more), {.checkpointer = std::make_shared<sg::MemorySaver>()});
    const auto wide = parallel.start("r", sg::Value("x"));
    CHECK((wide.status == wf::RunStatus::failed));
    CHECK(wide.error.find("bytes; see workflow::JsonLimits::value_bytes_max") != std::string::npos);

    std::string text(1000, 'x');
    for (const char* const map : {R"(["${input}${input}"])", R"({"$":"input"})"}) {
        auto few = functions();
        few.limits.value_bytes_max = 1500;
        const wf::Flow flow(wf::fromJson(std::string(R"({"id":"w","entries":[{"map":)") + map + "}]}", few),
                            {.checkpointer = std::make_shared<sg::MemorySaver>()});
        const bool fits = std::string_view(map).starts_with('{');
        CHECK(((flow.start("r", sg::Value(text)).status == wf::RunStatus::success) == fits));
    }

    for (const bool is_while : {true, false}) {
        const std::string kind = is_while ? "dowhile" : "dountil";
        auto few = functions();
        few.limits.iterations_max = 5;
        const auto looping = [&](const std::string& when) {
            const std::string json =
                R"({"id":"w","steps":{"double":{}},"entries":[{")" + kind + R"(":"double","when":)" + when + "}]}";
            return wf::Flow(wf::fromJson(json, few), {.checkpointer = std::make_shared<sg::MemorySaver>()})
                .start("r", sg::Value(1));
        };
        const auto endless = looping(is_while ? "true" : "false");
        CHECK((endless.status == wf::RunStatus::failed));
        CHECK(endless.error.find("has run 5 times") != std::string::npos);
        const char* const ends = is_while ? R"({"path":"iteration","lt":5})" : R"({"path":"iteration","ge":5})";
        CHECK(resultOf(looping(ends)) == "32");
    }
}

TEST_CASE("the elements of a list in a workflow from JSON do not make one large value many times") {
    const std::string listed =
        R"({"id":"w","steps":{"big":{"workflow":{"id":"n","entries":[{"map":"${init}"}]}}},"entries":[
        {"map":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]},{"foreach":"big","concurrency":CONCURRENCY}]})";
    for (const char* const concurrency : {"1", "7"}) {
        CAPTURE(concurrency);
        std::string json = listed;
        json.replace(json.find("CONCURRENCY"), 11, concurrency);
        json.replace(json.find("${init}"), 7, std::string(1000, 'y'));
        for (const std::size_t most : {1500U, 4000U}) {
            auto few = functions();
            few.limits.value_bytes_max = most;
            const wf::Flow flow(wf::fromJson(json, few), {.checkpointer = std::make_shared<sg::MemorySaver>()});
            const auto run = flow.start("r", sg::Value(1));
            CHECK((run.status == (most < 2500 ? wf::RunStatus::failed : wf::RunStatus::success)));
            if (most < 2500) CHECK(run.error.find("of 20 has more than 600 bytes") != std::string::npos);
        }
    }
}

TEST_CASE("a workflow from JSON runs every operator") {
    const auto flow = flowOf(R"json({
        "id": "all", "input": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}},
        "steps": {
            "twice": {"run": "double"}, "again": {"run": "double"}, "loop": {"run": "double"}, "each": {"run": "double"},
            "left": {"run": "double"}, "right": {"run": "double"},
            "inner": {"workflow": {"id": "inside", "steps": {"double": {}}, "entries": [{"then": "double"}]}}},
        "entries": [
            {"map": {"$": "input.n"}},
            {"then": "twice"},
            {"parallel": ["again", "inner"]},
            {"map": {"$": "input.inner"}, "id": "pick"},
            {"branch": [{"when": "is small", "step": "left"}, {"when": {"path": "input", "ge": 4}, "step": "right"}]},
            {"map": {"$": "input.right"}, "id": "pick again"},
            {"dountil": "loop", "when": {"any": [{"path": "iteration", "eq": 2}, {"path": "input", "gt": 1000}]}},
            {"map": [{"$": "input"}, {"$": "init.n"}, 7], "id": "list"},
            {"foreach": "each", "concurrency": 2},
            {"sleep": 0},
            {"map": {"of": "${init.n} gave ${input} and ${steps.nothing}!", "all": {"$": "input"}}, "id": "end"}]
    })json");
    CHECK(resultOf(flow.start("run", sg::parseJson(R"({"n": 1})"))) ==
          R"({"of":"1 gave [64,2,14] and !","all":[64,2,14]})");
}

TEST_CASE("functions compute where templates do not suffice") {
    const auto flow = flowOf(R"({"id": "f", "entries": [{"transform": "length", "id": "count"}]})");
    CHECK(resultOf(flow.start("run", sg::parseJson("[1, 2, 3]"))) == "3");
}

TEST_CASE("schemas check the input, the answer, the output and what is asked, and nothing runs that they refuse") {
    const auto flow = flowOf(R"json({
        "id": "checked", "input": {"type": "integer", "minimum": 1},
        "steps": {"ask": {
            "suspend": {"type": "integer", "maximum": 5},
            "resume": {"type": "object", "required": ["ok"], "properties": {"ok": {"type": "boolean"}, "by": {"default": "nobody"}}},
            "output": {"type": "object", "required": ["by"], "properties": {"by": {"enum": ["nobody", "ann"]}}}}},
        "entries": [{"then": "ask"}]
    })json");
    CHECK_THROWS_WITH_AS(flow.start("run", 0), doctest::Contains("input is not what the workflow takes"),
                         wf::RefusedError);
    CHECK((flow.get("run").status == wf::RunStatus::pending));
    CHECK((flow.start("asks too much", 6).status == wf::RunStatus::failed));
    REQUIRE((flow.start("run", 3).status == wf::RunStatus::suspended));
    CHECK_THROWS_WITH_AS(flow.resume("run", {.step = "ask"}, sg::parseJson(R"({"ok": 1})")), doctest::Contains("$[ok]"),
                         wf::RefusedError);
    CHECK((flow.get("run").status == wf::RunStatus::suspended));
    SUBCASE("a default is filled in") {
        CHECK(resultOf(flow.resume("run", {.step = "ask"}, sg::parseJson(R"({"ok": true})"))) ==
              R"({"by":"nobody","ok":true})");
    }
    SUBCASE("an output that the schema refuses fails the step") {
        const auto run = flow.resume("run", {.step = "ask"}, sg::parseJson(R"({"ok": true, "by": "bob"})"));
        CHECK((run.status == wf::RunStatus::failed));
        CHECK(run.error.find("$[by]") != std::string::npos);
    }
}

TEST_CASE("the schema of an output is for outputs: typed steps ask and bail as they do without it") {
    wf::Functions offered = functions();
    const auto ask = wf::step(
        "ask", [](const int& n, wf::Suspending<std::string, int>& context) { return n + context.suspend("?"); });
    const auto bail =
        wf::step("bail", [](const int&, wf::Context& context) -> int { context.bail(std::string("early")); });
    offered.steps["typed ask"] = ask.step.execute;
    offered.steps["bail"] = bail.step.execute;
    const auto load = [&](const std::string& entries) {
        const std::string steps = R"("ask": {"run": "typed ask", "output": {"type": "integer", "maximum": 9}},
            "bail": {"output": {"type": "integer"}},
            "inner": {"output": {"type": "integer", "maximum": 5}, "workflow":
                {"id": "i", "steps": {"double": {}}, "entries": [{"then": "double"}]}})";
        return wf::Flow(
            wf::fromJson(R"({"id": "w", "steps": {)" + steps + R"(}, "entries": [)" + entries + "]}", offered),
            {.checkpointer = std::make_shared<sg::MemorySaver>()});
    };
    const auto asks = load(R"({"then": "ask"})");
    REQUIRE((asks.start("run", 1).status == wf::RunStatus::suspended));
    CHECK(resultOf(asks.resume("run", {}, 3)) == "4");
    REQUIRE((asks.start("run", 1).status == wf::RunStatus::suspended));
    CHECK((asks.resume("run", {}, 9).status == wf::RunStatus::failed));
    CHECK(resultOf(load(R"({"then": "bail"})").start("run", 1)) == R"("early")");

    const auto inside = load(R"({"then": "inner"})");
    CHECK(resultOf(inside.start("run", 2)) == "4");
    const auto refused = inside.start("run", 3);
    CHECK((refused.status == wf::RunStatus::failed));
    CHECK((refused.steps.at("inner").status == wf::StepStatus::failed));
    CHECK((refused.steps.at("inner.double").status == wf::StepStatus::success));
}

TEST_CASE("a time to sleep until may have a fraction of a second and an offset") {
    const auto sleeping = [](const std::string& time) {
        return flowOf(R"({"id": "s", "entries": [{"sleepUntil": ")" + time + R"("}]})").start("run", 1).status;
    };
    for (const char* past : {"2020-01-31T08:00:00Z", "2020-01-31T08:00:00.250Z", "2020-01-31T08:00:00.123456789012Z",
                             "2020-01-31T08:00:00+02:00", "2020-01-31T08:00:00.5-02:30", "1969-07-20T20:17:40.5Z",
                             "0000-01-01T00:00:00Z"}) {
        CAPTURE(past);
        CHECK((sleeping(past) == wf::RunStatus::success));
    }
    CHECK((sleeping("2200-01-31T08:00:00.250+02:00") == wf::RunStatus::waiting));
    CHECK((sleeping("9999-12-31T23:59:59Z") == wf::RunStatus::waiting));  // the clock ends before
    for (const char* none : {"2020-01-31", "2020-01-31T08:00:00", "2020-01-31T08:00:00.Z", "2020-01-31T08:00:00.5",
                             "2020-01-31T08:00:00+2:00", "2020-01-31T08:00:00+24:00", "2020-01-31T08:00:00+02:60",
                             "2020-01-31T-8:00:00Z", "2020-01-31T08:00:00ZZ", "2020-02-30T08:00:00Z"}) {
        CAPTURE(none);
        CHECK(faultsOf(std::string(R"({"id": "s", "entries": [{"sleepUntil": ")") + none + R"("}]})").size() == 1);
    }
    // The offset says how far the place is ahead of UTC, so an hour ahead is an hour earlier.
    const auto wakesAt = [](const std::string& time) {
        const auto flow = flowOf(R"({"id": "s", "entries": [{"sleepUntil": ")" + time + R"("}]})");
        REQUIRE((flow.start("run", 1).status == wf::RunStatus::waiting));
        return std::chrono::round<std::chrono::minutes>(flow.dueRuns().at(0).at.value());
    };
    CHECK(wakesAt("2200-01-31T08:00:00Z") - wakesAt("2200-01-31T08:00:00.5+01:00") == std::chrono::minutes(60));
}

TEST_CASE("a step from JSON has a time limit, a description and metadata") {
    wf::Functions offered = functions();
    offered.steps["hangs"] = [](const sg::Value& input, wf::StepContext& context) {
        context.runtime().waitFor(std::chrono::hours(1));
        return input;
    };
    const wf::Flow flow(wf::fromJson(R"({"id": "w", "entries": [{"then": "hangs"}], "steps": {"hangs":
        {"timeout_ms": 20, "description": "It hangs.", "metadata": {"team": "north"}}}})",
                                     offered),
                        {.checkpointer = std::make_shared<sg::MemorySaver>()});
    CHECK((flow.start("run", 1).status == wf::RunStatus::failed));
    const std::string snapshot = flow.snapshot("run");
    CHECK(snapshot.find(R"("description":"It hangs.","metadata":{"team":"north"})") != std::string::npos);
    CHECK(faultsOf(R"({"id": "w", "entries": [{"then": "double"}], "steps": {"double": {"timeout_ms": 0}}})").size() ==
          1);
}

TEST_CASE("every fault of a workflow's text is reported with its place") {
    const auto faults = faultsOf(R"json({
        "id": "bad", "name": 1, "input": {"type": 5}, "retry": {"max_attempts": 0},
        "steps": {"a": {"run": "nothing"}, "b": {"run": "double", "times": 2}},
        "entries": [{"then": "c"}, {"go": "a"}, {"branch": [{"when": {"path": "inptu"}, "step": "b"}]},
                    {"map": {"$": "nowhere.x"}}, {"sleepUntil": "tomorrow"}, {"dowhile": "b"}, {"then": "b", "id": "x"}]
    })json");
    REQUIRE(faults.size() == 1);
    for (const char* part :
         {"workflow: it has an unknown member 'name'", "workflow.input: the keyword 'type' must be",
          "workflow.retry.max_attempts: ",
          "workflow.steps.a.run: there is no function 'nothing'; there are 'ask', 'double'",
          "workflow.steps.b: it has an unknown member 'times'", "workflow.entries[0].then: there is no step 'c'",
          "workflow.entries[1]: it must be an object with one of then",
          "workflow.entries[2].branch[0].when: ", "workflow.entries[3].map: the path 'nowhere.x'",
          "workflow.entries[4].sleepUntil: ", "workflow.entries[5].when: a condition is missing",
          "workflow.entries[6]: it has an unknown member 'id'"}) {
        CAPTURE(part);
        CHECK(faults.front().find(part) != std::string::npos);
    }
    CHECK(faultsOf("{").size() == 1);
    CHECK(faultsOf("[]").size() == 1);
}

TEST_CASE("a comparison of what has no order fails the run, and says what it met") {
    const auto flow = flowOf(R"({"id": "f", "steps": {"double": {}},
        "entries": [{"branch": [{"when": {"path": "input", "lt": "x"}, "step": "double"}]}]})");
    const auto run = flow.start("run", 1);
    CHECK((run.status == wf::RunStatus::failed));
    CHECK(run.error.find("two numbers or two texts") != std::string::npos);
}

TEST_CASE("a schema lists what is wrong, survives hostile values, and refuses to be no schema") {
    const auto check = wf::schemaCheck(R"({"type": "array", "items": {"type": "string", "pattern": "^(a|b)*$"}})");
    CHECK_NOTHROW(check(sg::parseJson(R"(["ab", "ba"])")));
    CHECK_THROWS_WITH(check(sg::parseJson(R"(["ab", 1, "c"])")), doctest::Contains("$[1]"));
    CHECK_NOTHROW(check(sg::Value(std::vector<std::string>{std::string(1'000'000, 'a')})));
    CHECK_THROWS_AS(wf::schemaCheck("5"), sg::InvalidArgumentError);
    CHECK_THROWS_AS(wf::schemaCheck("{"), sg::InvalidArgumentError);
    for (const char* text :
         {R"({"$ref": "http://example.com/schema"})", R"({"$ref": "#"})", R"({"allOf": [{"$ref": "#"}]})",
          R"({"definitions": {"a": {"$ref": "#/definitions/b"}, "b": {"not": {"$ref": "#/definitions/a"}}}})",
          R"({"$ref": "#/nowhere"})", R"({"pattern": "("})", R"({"enum": 5})"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(wf::schemaCheck(text), sg::InvalidArgumentError);
    }
    // A recursive schema that descends into the value terminates.
    const auto tree = wf::schemaCheck(R"({"type": "object", "properties": {"child": {"$ref": "#"}}})");
    CHECK_NOTHROW(tree(sg::parseJson(R"({"child": {"child": {}}})")));
    CHECK_THROWS_WITH(tree(sg::parseJson(R"({"child": {"child": 5}})")), doctest::Contains("$[child][child]"));
}

TEST_CASE("templates and predicates serve typed workflows too") {
    wf::Definition definition{.id = "typed"};
    definition.entries.push_back({.kind = wf::Entry::Kind::map,
                                  .id = "greeting",
                                  .transform = wf::fromTemplate(R"("Hello ${input.name}, ${context.title}")")});
    const wf::Flow flow(std::move(definition));
    wf::RunOptions options;
    options.context["title"] = "Dr";
    CHECK(resultOf(flow.start("run", sg::parseJson(R"({"name": "Ann"})"), options)) == R"("Hello Ann, Dr")");
    CHECK_THROWS_AS(wf::fromPredicate(R"({"path": "input", "like": "x"})"), sg::InvalidArgumentError);
    CHECK_THROWS_AS(wf::fromPredicate(R"({"path": "input", "exists": 1})"), sg::InvalidArgumentError);
}

TEST_CASE("workflows from JSON may be inside each other as deeply as values may be nested") {
    constexpr int inside = 40;  // each adds three levels
    std::string text = R"({"id": "w0", "steps": {"double": {}}, "entries": [{"then": "double"}]})";
    for (int i = 1; i <= inside; ++i) {
        const std::string id = "s" + std::to_string(i);
        text = R"({"id": "w)" + std::to_string(i) + R"(", "steps": {")" + id + R"(": {"workflow": )" + text +
               R"(}}, "entries": [{"then": ")" + id + R"("}]})";
    }
    CHECK(resultOf(flowOf(text).start("run", sg::Value(4))) == "8");
}

TEST_CASE("the input of a workflow inside is checked as its step and the workflow say") {
    const auto flowWith = [](const std::string& of_step, const std::string& of_workflow) {
        return flowOf(R"({"id": "w", "entries": [{"then": "inner"}], "steps": {"inner": {)" + of_step +
                      R"("workflow": {"id": "i", )" + of_workflow +
                      R"("steps": {"double": {}}, "entries": [{"then": "double"}]}}}})");
    };
    const std::string check = R"("input": {"type": "integer", "maximum": 9}, )";
    for (const auto& flow : {flowWith(check, ""), flowWith("", check)}) {
        const wf::RunView refused = flow.start("1", 10);
        CHECK((refused.status == wf::RunStatus::failed));
        CHECK((refused.steps.at("inner").status == wf::StepStatus::failed));
        CHECK(!refused.steps.contains("inner.double"));
        CHECK(resultOf(flow.start("2", 9)) == "18");
    }
}

TEST_CASE("a workflow and a step say what their request context must be") {
    const std::string schema = R"({"type": "object", "required": ["tenant"]})";
    const std::string step = R"("entries": [{"then": "double"}], "steps": {"double": )";
    wf::RunOptions options;
    options.context = {{"tenant", "t"}};
    const auto whole = flowOf(R"({"id": "w", "context": )" + schema + ", " + step + "{}}}");
    CHECK((refusalOf([&] { whole.start("1", 1); }) == wf::Refusal::invalid_context));
    CHECK(resultOf(whole.start("1", 1, options)) == "2");
    const auto part = flowOf(R"({"id": "p", )" + step + R"({"context": )" + schema + "}}}");
    CHECK((part.start("1", 1).status == wf::RunStatus::failed));
    CHECK(resultOf(part.start("2", 1, options)) == "2");
}
