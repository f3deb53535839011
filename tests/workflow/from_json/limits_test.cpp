#include <memory>
#include <string>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>
#include <stategraph/workflow/from_json.hpp>
#include <stategraph/workflow/run.hpp>

// What a workflow whose text comes from somebody else may use of memory and time.
namespace sg = stategraph;
namespace wf = stategraph::workflow;

namespace {

wf::Functions functions() {
    wf::Functions offered;
    offered.steps["same"] = [](const sg::Value& input, wf::StepContext&) { return input; };
    return offered;
}

std::string resultOf(const wf::RunView& run) {
    CAPTURE(run.error);
    REQUIRE((run.status == wf::RunStatus::success));
    return run.result ? run.result->toJson() : "null";
}

}  // namespace

TEST_CASE(
    "a run of a workflow from JSON keeps no more than sixteen of the largest values, and stores no more in a loop") {
    auto few = functions();
    few.limits.value_bytes_max = 10'000;
    const auto ends = [&](const std::string& json, std::size_t bytes) {
        const wf::Flow flow(wf::fromJson(json, few), {.checkpointer = std::make_shared<sg::MemorySaver>()});
        return flow.start("r", sg::Value(std::string(bytes, 'x')));
    };
    const auto maps = [](int count) {
        std::string json = R"({"id":"w","entries":[)";
        for (int i = 0; i < count; ++i)
            json += (i == 0 ? "" : ",") + std::string(R"({"map":{"$":"input"},"id":"m)") + std::to_string(i) + "\"}";
        return json + "]}";
    };
    CHECK((ends(maps(16), 9900).status == wf::RunStatus::success));
    CHECK((ends(maps(160), 990).status == wf::RunStatus::success));
    CHECK(ends(maps(160), 1100).error.find("more than 992 bytes") != std::string::npos);
    const std::string loop =
        R"({"id":"w","steps":{"same":{}},"entries":[{"dowhile":"same","when":{"path":"iteration","lt":100}}]})";
    CHECK((ends(loop, 1500).status == wf::RunStatus::success));
    CHECK(ends(loop, 1700).error.find("the turns of the loop have made more than 160000 bytes") != std::string::npos);
}

TEST_CASE("loops inside of loops in a workflow from JSON run a tenth as often, and those within these a hundredth") {
    auto few = functions();
    few.limits.iterations_max = 200;
    const auto loop = [](const std::string& body, int turns) {
        return R"({"id":"w","steps":{"body":)" + body +
               R"(},"entries":[{"dowhile":"body","when":{"path":"iteration","lt":)" + std::to_string(turns) + "}}]}";
    };
    const auto nested = [](const std::string& workflow) { return R"({"workflow":)" + workflow + "}"; };
    const auto run = [&](const std::string& json) {
        return wf::Flow(wf::fromJson(json, few), {.checkpointer = std::make_shared<sg::MemorySaver>()})
            .start("r", sg::Value(1));
    };
    const std::string same = R"({"run":"same"})";
    CHECK(resultOf(run(loop(same, 200))) == "1");
    CHECK(resultOf(run(loop(nested(loop(same, 20)), 3))) == "1");
    CHECK(run(loop(nested(loop(same, 21)), 3)).error.find("has run 20 times") != std::string::npos);
    CHECK(resultOf(run(loop(nested(loop(nested(loop(same, 2)), 3)), 2))) == "1");
    CHECK(run(loop(nested(loop(nested(loop(same, 3)), 3)), 2)).error.find("has run 2 times") != std::string::npos);
    // Not inside of a loop.
    const std::string after =
        R"({"id":"w","steps":{"body":)" + nested(loop(same, 200)) + R"(},"entries":[{"then":"body"}]})";
    CHECK(resultOf(run(after)) == "1");
    const std::string each =
        R"({"id":"w","steps":{"body":)" + nested(loop(same, 21)) + R"(},"entries":[{"map":[1,2]},{"foreach":"body"}]})";
    CHECK(run(each).error.find("has run 20 times") != std::string::npos);
}

TEST_CASE("a condition of a workflow from JSON makes no more than eight of the largest values") {
    auto few = functions();
    few.limits.value_bytes_max = 10'000;
    const auto branch = [&](int comparisons) {
        std::string when = R"({"all":[)";
        for (int i = 0; i < comparisons; ++i)
            when += (i == 0 ? "" : ",") + std::string(R"({"path":"init","eq":{"$":"init"}})");
        const std::string json =
            R"({"id":"w","steps":{"same":{}},"entries":[{"branch":[{"when":)" + when + R"(]},"step":"same"}]}]})";
        return wf::Flow(wf::fromJson(json, few), {.checkpointer = std::make_shared<sg::MemorySaver>()})
            .start("r", sg::Value(std::string(9000, 'x')));
    };
    CHECK((branch(8).status == wf::RunStatus::success));
    CHECK(branch(9).error.find("see workflow::JsonLimits::value_bytes_max") != std::string::npos);
}
