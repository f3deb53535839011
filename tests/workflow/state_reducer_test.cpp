#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>
#include <stategraph/workflow/workflow.hpp>

namespace sg = stategraph;
namespace wf = stategraph::workflow;
using wf::RunStatus;
using Names = std::vector<std::string>;

namespace {

const auto append = [](const Names& before, const Names& added) {
    Names all = before;
    all.insert(all.end(), added.begin(), added.end());
    return all;
};
const auto sum = [](const int& a, const int& b) { return a + b; };

// Notes its name and counts its calls.
auto note(std::string name) {
    return wf::step(name, [name](const int& n, wf::Context& context) {
        context.setState("log", Names{name});
        context.setState("count", 1);
        context.setState("last", name);
        return n;
    });
}

Names logOf(const wf::RunView& run) { return run.state.at("log").as<Names>(); }

wf::Chain<int, int> chain(std::string id) {
    return wf::workflow<int>(std::move(id)).reducer("log", append).reducer("count", sum);
}
sg::CompileOptions stored() { return {.checkpointer = std::make_shared<sg::MemorySaver>()}; }

}  // namespace

TEST_CASE("updates of the state meet in its reducers, in the order of the members of a block") {
    const auto flow = chain("w").then(note("first")).parallel(note("a"), note("b"), note("c")).commit(stored());
    wf::RunOptions options;
    options.state = wf::Values{{"count", 10}};
    const auto run = flow.start("1", 1, options);
    CHECK(logOf(run.view) == Names{"first", "a", "b", "c"});
    CHECK(run.view.state.at("count").as<int>() == 14);
    CHECK(run.view.state.at("last").as<std::string>() == "c");
    CHECK(logOf(flow.get("1").view) == Names{"first", "a", "b", "c"});
}

TEST_CASE("a step that sets a key twice has both reduced, and an attempt that fails none") {
    const auto calls = std::make_shared<int>(0);
    const auto twice =
        wf::step("twice",
                 [calls](const int& n, wf::Context& context) {
                     context.setState("log", Names{"x"});
                     context.setState("log", Names{"y"});
                     if (++*calls == 1) throw std::runtime_error("once");
                     return n;
                 },
                 {.retry = sg::RetryPolicy{.max_attempts = 2, .initial_interval = std::chrono::milliseconds(1)}});
    CHECK(logOf(chain("w").then(twice).commit(stored()).start("1", 1).view) == Names{"x", "y"});
}

TEST_CASE("elements of a foreach are reduced in their order, whatever the window") {
    const auto element = wf::step("each", [](const std::string& name, wf::Context& context) {
        context.setState("log", Names{name});
        return name;
    });
    for (const int concurrency : {1, 2, 5}) {
        CAPTURE(concurrency);
        const auto flow = wf::workflow<Names>("w")
                              .reducer("log", append)
                              .foreach (element, {.concurrency = concurrency})
                              .commit(stored());
        CHECK(logOf(flow.start("1", {"a", "b", "c", "d"}).view) == Names{"a", "b", "c", "d"});
    }
}

TEST_CASE("what a nested workflow adds is reduced once, also when it suspends in between and next to others") {
    const auto ask = wf::step("ask", [](const int& n, wf::Suspending<std::string, int>& context) {
        context.setState("log", Names{context.resumeData() ? "answered" : "asked"});
        return n + context.suspend("how much?");
    });
    const auto inner = wf::workflow<int>("inner").then(note("before")).then(ask).then(note("after")).commit({});
    SUBCASE("alone") {
        const auto flow = chain("w").then(note("first")).then("inside", inner).then(note("end")).commit(stored());
        auto run = flow.start("1", 1);
        REQUIRE((run.status == RunStatus::suspended));
        CHECK(logOf(run.view) == Names{"first", "before", "asked"});
        run = flow.resume("1", {.step = "inside.ask"}, 1);
        CHECK(run.result == 2);
        CHECK(logOf(run.view) == Names{"first", "before", "asked", "answered", "after", "end"});
        CHECK(run.view.state.at("count").as<int>() == 4);
    }
    SUBCASE("in a block") {
        wf::Definition definition = *chain("w").then(note("first")).commit({}).definition();
        definition.entries.push_back(
            {.kind = wf::Entry::Kind::parallel,
             .steps = {{.id = "inside", .workflow = inner.definition()}, note("beside").step}});
        const wf::Flow flow(definition, stored());
        auto run = flow.start("1", 1);
        CHECK(logOf(run) == Names{"first", "before", "asked", "beside"});
        run = flow.resume("1", {.step = "inside"}, 1);
        CHECK((run.status == RunStatus::success));
        CHECK(logOf(run) == Names{"first", "before", "asked", "beside", "answered", "after"});
        CHECK(run.state.at("count").as<int>() == 4);
    }
}

TEST_CASE("a reducer that throws fails the run") {
    const auto fails = [](const int&, const int&) -> int { throw std::runtime_error("cannot add"); };
    const auto block = wf::workflow<int>("w").reducer("count", fails).parallel(note("a"), note("b")).commit(stored());
    auto both = block.start("1", 1);
    CHECK((both.status == RunStatus::failed));
    CHECK(both.error == "cannot add");
    const auto line = wf::workflow<int>("w").reducer("count", fails).then(note("a")).then(note("b")).commit(stored());
    auto run = line.start("1", 1);
    CHECK((run.status == RunStatus::failed));
    CHECK(run.error == "cannot add");
}

TEST_CASE("a reducer that is no function is a fault of the definition") {
    wf::Definition definition = *chain("w").then(note("a")).commit({}).definition();
    definition.reducers["x"] = nullptr;
    CHECK_THROWS_WITH_AS(wf::Flow(definition, {}), doctest::Contains("the reducer of 'x'"), sg::InvalidGraphError);
}
