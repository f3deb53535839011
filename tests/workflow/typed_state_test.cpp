#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>
#include <stategraph/workflow/async.hpp>

// A workflow's state as one struct, whose channels combine the writes of steps with their reducers.
namespace sg = stategraph;
namespace wf = stategraph::workflow;
using wf::RunStatus;
using Strings = std::vector<std::string>;

namespace {

struct Shared {
    std::string owner = "nobody";
    Strings log = {};
    std::map<std::string, int> seen = {};
    int total = 100;
    int largest = 0;

    static constexpr auto channels() {
        return sg::channels(sg::channel<&Shared::owner>(), sg::channel<&Shared::log>(sg::append),
                            sg::channel<&Shared::seen>(sg::merge), sg::channel<&Shared::total>(sg::sum),
                            sg::channel<&Shared::largest>(sg::max));
    }
    bool operator==(const Shared&) const = default;
};

auto writes(std::string name, int amount) {
    return wf::step(name, [name, amount](const int& n, wf::Context& context) {
        context.update(sg::add<&Shared::log>(name), sg::add<&Shared::total>(amount), sg::add<&Shared::largest>(amount),
                       sg::add<&Shared::seen>({{name, n}}));
        return n + 1;
    });
}

wf::Chain<int, int> chain() { return wf::workflow<int>("w").state<Shared>(); }
sg::CompileOptions stored() { return {.checkpointer = std::make_shared<sg::MemorySaver>()}; }

}  // namespace

TEST_CASE("what members of a block write meets in the reducers of the struct, in their order") {
    const auto flow =
        chain().then(writes("first", 1)).parallel(writes("a", 5), writes("b", 20), writes("c", 3)).commit(stored());
    for (const bool is_awaited : {false, true}) {
        const std::string id = is_awaited ? "awaited" : "blocking";
        const auto run = is_awaited ? sg::syncWait(wf::asyncStart(flow, id, 1)) : flow.start(id, 1);
        const Shared expected{.log = {"first", "a", "b", "c"},
                              .seen = {{"first", 1}, {"a", 2}, {"b", 2}, {"c", 2}},
                              .total = 129,
                              .largest = 20};
        CHECK((wf::stateOf<Shared>(run.view.state) == expected));
        CHECK((wf::stateOf<Shared>(flow.get(id).view.state) == expected));
    }
}

TEST_CASE("a step reads the struct, sets what has no reducer, and adds one element or several") {
    std::vector<Shared> seen;
    const auto reads = wf::step("reads", [&](const int& n, wf::Context& context) {
        seen.push_back(context.state<Shared>());
        context.update(sg::set<&Shared::owner>("ann"), sg::add<&Shared::log>(Strings{"x", "y"}));
        return n;
    });
    const auto flow = chain().then(reads).then(wf::clone(reads, "again")).commit(stored());
    wf::RunOptions options;
    options.state = wf::Values{{"owner", "bob"}, {"log", Strings{"begin"}}};
    flow.start("1", 1, options);
    REQUIRE(seen.size() == 2);
    CHECK((seen.at(0) == Shared{.owner = "bob", .log = {"begin"}}));
    CHECK((seen.at(1) == Shared{.owner = "ann", .log = {"begin", "x", "y"}}));
}

TEST_CASE("elements of a list, workflows inside and conditions use the struct too") {
    const auto each = wf::step("each", [](const int& n, wf::Context& context) {
        context.update(sg::add<&Shared::log>(std::to_string(n)));
        return n;
    });
    const auto inner = wf::workflow<int>("i").then(writes("inner", 7)).commit();
    const auto flow =
        chain()
            .then("i", inner)
            .map([](const int& n) {
                return std::vector<int>{n, n + 1, n + 2};
            })
            .foreach (each, {.concurrency = 3})
            .map([](const std::vector<int>& all) { return all.at(0); })
            .dowhile(writes("turn", 50),
                     [](const int&, const wf::Scope& scope) { return wf::stateOf<Shared>(scope.state()).total < 200; })
            .commit(stored());
    const auto run = flow.start("1", 1);
    REQUIRE((run.status == RunStatus::success));
    const auto state = wf::stateOf<Shared>(run.view.state);
    CHECK(state.log == Strings{"inner", "2", "3", "4", "turn", "turn"});
    CHECK(state.total == 207);
}

TEST_CASE("a run begins with values of the struct's types and no others") {
    const auto flow = chain().then(writes("a", 1)).commit(stored());
    const auto refused = [&](wf::Values state) {
        wf::RunOptions options;
        options.state = std::move(state);
        try {
            flow.start("1", 1, options);
        } catch (const wf::RefusedError& error) {
            CHECK((error.why() == wf::Refusal::invalid_state));
            return error.message();
        }
        return std::string();
    };
    CHECK(refused({{"unknown", 1}}).find("'unknown'") != std::string::npos);
    CHECK(refused({{"total", "many"}}).find("'total'") != std::string::npos);
    CHECK((flow.get("1").status == RunStatus::pending));
}

TEST_CASE("an overwrite, which would pass over the reducer, is refused") {
    const auto overwrites = wf::step("overwrites", [](const int& n, wf::Context& context) {
        context.update(sg::overwrite<&Shared::total>(1));
        return n;
    });
    const auto run = chain().then(overwrites).commit(stored()).start("1", 1);
    CHECK((run.status == RunStatus::failed));
    CHECK(run.error.find("'total'") != std::string::npos);
}
