#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <stategraph/async.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/workflow/async.hpp>
#include <stategraph/workflow/workflow.hpp>

#include "tests/workflow/refusal.hpp"

// What a workflow and its steps require of the request context.
namespace sg = stategraph;
namespace wf = stategraph::workflow;

namespace {

struct Caller {
    std::string user = {};
    int level = 0;
    static constexpr auto fields() { return sg::fields<&Caller::user, &Caller::level>(); }
};

sg::CompileOptions stored() { return {.checkpointer = std::make_shared<sg::MemorySaver>()}; }

wf::RunOptions with(wf::Values context) {
    wf::RunOptions options;
    options.context = std::move(context);
    return options;
}

auto asking() {
    return wf::step("ask", [](const int& n, wf::Suspending<std::string, int>& context) {
        const int more = context.suspend("how many?");
        return context.requestContext<Caller>().user + std::to_string(n + more);
    });
}

/// Returns a check that refuses a context without a tenant, and sets a region.
wf::Check tenancy() {
    return [](sg::Value context) {
        auto values = context.as<wf::Values>();
        if (!values.contains("tenant")) throw std::invalid_argument("there is no tenant");
        return sg::Value(wf::Values{{"region", "north"}});
    };
}

wf::Step returning(std::string id, std::string key) {
    wf::Step step{.id = std::move(id)};
    step.execute = [key = std::move(key)](const sg::Value&, wf::StepContext& context) {
        const auto found = context.requestContext().find(key);
        return found == context.requestContext().end() ? sg::Value() : found->second;
    };
    return step;
}

wf::Entry then(wf::Step step) {
    wf::Entry entry;
    entry.steps.push_back(std::move(step));
    return entry;
}

}  // namespace

TEST_CASE("a run begins only with a request context of the type that its workflow requires") {
    const auto ask = asking();
    const auto flow = wf::workflow<int>("typed").requestContext<Caller>().then(ask).commit(stored());
    CHECK((refusalOf([&] { flow.start("1", 1); }) == wf::Refusal::invalid_context));
    CHECK((refusalOf([&] { flow.start("1", 1, with({{"user", 7}, {"level", 1}})); }) == wf::Refusal::invalid_context));
    CHECK((flow.get("1").status == wf::RunStatus::pending));
    REQUIRE((flow.start("1", 1, with({{"user", "ann"}, {"level", 1}, {"other", true}})).status ==
             wf::RunStatus::suspended));

    CHECK((refusalOf([&] { flow.resume("1", {}, 2, with({{"level", "high"}})); }) == wf::Refusal::invalid_context));
    CHECK((flow.get("1").status == wf::RunStatus::suspended));
    // What the first caller passed under other keys still counts.
    CHECK(flow.resume("1", {}, 2, with({{"user", "bob"}})).view.result->as<std::string>() == "bob3");
    CHECK((refusalOf([&] { flow.timeTravel("1", ask, 5, with({{"user", 0}})); }) == wf::Refusal::invalid_context));
    CHECK((flow.timeTravel("1", ask, 5, with({{"user", "eve"}})).status == wf::RunStatus::suspended));
}

TEST_CASE("a restart and an awaited start are refused for the same reason") {
    const auto same = wf::step("same", [](const int& n) { return n; });
    const auto flow =
        wf::workflow<int>("sleeps").requestContext<Caller>().then(same).sleep(std::chrono::hours(1)).commit(stored());
    CHECK((refusalOf([&] { (void)sg::syncWait(wf::asyncStart(flow, "1", 1)); }) == wf::Refusal::invalid_context));
    REQUIRE((sg::syncWait(wf::asyncStart(flow, "1", 1, with({{"user", "ann"}, {"level", 1}}))).status ==
             wf::RunStatus::waiting));
    CHECK((refusalOf([&] { flow.restart("1", with({{"level", "high"}})); }) == wf::Refusal::invalid_context));
    CHECK((flow.restart("1", with({{"level", 2}})).status == wf::RunStatus::waiting));
    CHECK(flow.get("1").view.context.at("level").as<int>() == 2);
}

TEST_CASE("a check adds keys to the request context and keeps the others") {
    wf::Definition definition{.id = "tenants",
                              .entries = {then(returning("a", "region")), then(returning("b", "tenant"))}};
    definition.context = tenancy();
    const wf::Flow flow(definition, stored());
    const wf::RunView view = flow.start("1", 1, with({{"tenant", "t1"}, {"region", "south"}}));
    REQUIRE((view.status == wf::RunStatus::success));
    CHECK(view.steps.at("a").output->as<std::string>() == "north");
    CHECK(view.result->as<std::string>() == "t1");
    CHECK(view.context.at("region").as<std::string>() == "north");
}

TEST_CASE("a step or a workflow inside whose request context is refused has failed, and is not called") {
    int calls = 0;
    wf::Step step{.id = "guarded"};
    step.execute = [&](const sg::Value& input, wf::StepContext&) {
        ++calls;
        return input;
    };
    wf::Step plain = step;
    plain.context = tenancy();
    wf::Step nested{.id = "nested"};
    wf::Definition inner{.id = "inner", .entries = {then(step)}};
    inner.context = tenancy();
    nested.workflow = std::make_shared<const wf::Definition>(inner);
    for (const wf::Step& each : {plain, nested}) {
        CAPTURE(each.id);
        const wf::Flow flow(wf::Definition{.id = "outer", .entries = {then(each)}}, stored());
        const wf::RunView refused = flow.start("1", 1);
        CHECK((refused.status == wf::RunStatus::failed));
        CHECK(refused.error.find("there is no tenant") != std::string::npos);
        CHECK(calls == 0);
        CHECK((flow.start("2", 1, with({{"tenant", "t"}})).status == wf::RunStatus::success));
        CHECK(std::exchange(calls, 0) == 1);
    }
}
