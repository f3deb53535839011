#include <doctest/doctest.h>

#include <stategraph/control.hpp>

#include "tests/support/graphs.hpp"

// What nodes receive from a run besides the state.
using namespace graphs;

namespace {

struct User {
    std::string name;
    int rights = 0;
};

Graph greets() {
    Graph graph;
    graph.addNode("greets",
                  [](const State&, sg::Runtime& rt) -> Update { return bar("hello " + rt.context<User>().name); });
    graph.addEdge(sg::START, "greets");
    return graph;
}

sg::RunConfig asUser(std::string name) {
    sg::RunConfig config;
    config.context = User{std::move(name), 1};
    return config;
}

}  // namespace

TEST_CASE("nodes see the context of their run, in subgraphs and in attempts of their own too") {
    CHECK(greets().compile().invoke({}, asUser("Ada")).values.bar == Strings{"hello Ada"});
    Graph outer;
    outer.addNode("sub", greets().compile()).addEdge(sg::START, "sub");
    CHECK(outer.compile().invoke({}, asUser("Bo")).values.bar == Strings{"hello Bo"});
    sg::RunConfig config = asUser("Cy");
    config.control = std::make_shared<sg::RunControl>();
    CHECK(greets().compile().invoke({}, config).values.bar == Strings{"hello Cy"});
}

TEST_CASE("a context is shared, not copied, if it is given as a pointer") {
    const auto user = std::make_shared<User>(User{"Di", 2});
    const User* seen = nullptr;
    Graph graph;
    graph.addNode("looks", [&seen](const State&, sg::Runtime& rt) -> Update {
        seen = &rt.context<User>();
        return {};
    });
    graph.addEdge(sg::START, "looks");
    sg::RunConfig config;
    config.context = user;
    graph.compile().invoke({}, config);
    CHECK(seen == user.get());
}

TEST_CASE("a context that is missing or of another type is an error that says what to do") {
    CHECK_THROWS_WITH_AS(greets().compile().invoke({}),
                         doctest::Contains("the run was given none: set RunConfig::context"), sg::NodeError);
    sg::RunConfig config;
    config.context = std::string("Eve");
    CHECK_THROWS_WITH_AS(greets().compile().invoke({}, config), doctest::Contains("is of another type"), sg::NodeError);
}

TEST_CASE("a node knows which superstep is the last that the limit allows") {
    std::vector<bool> last;
    Graph graph;
    graph.addNode("a", [&last](const State&, sg::Runtime& rt) -> Update {
        last.push_back(rt.isLastStep());
        return bar("a");
    });
    graph.addEdge(sg::START, "a").addConditionalEdges("a", [](const State& state) {
        return state.bar.size() < 3 ? std::string("a") : std::string(sg::END);
    });
    sg::RunConfig config;
    config.recursion_limit = 3;
    graph.compile().invoke({}, config);
    CHECK(last == std::vector<bool>{false, false, true});
}

TEST_CASE("a context may have values of several types, and of one type the last one counts") {
    struct Tenant {
        std::string name;
    };
    sg::RunContext context = sg::RunContext(User{"Ada", 1}).with(Tenant{"shop"}).with(7);
    REQUIRE(context.get<User>() != nullptr);
    CHECK(context.get<User>()->name == "Ada");
    CHECK(context.get<Tenant>()->name == "shop");
    CHECK(*context.get<int>() == 7);
    CHECK(context.get<std::string>() == nullptr);
    context = context.with(User{"Bo", 2});
    CHECK(context.get<User>()->name == "Bo");
    CHECK(*context.get<int>() == 7);
    CHECK(sg::RunContext().with(sg::RunContext()).empty());
    CHECK(sg::RunContext().with(7).with(sg::RunContext()).get<int>() != nullptr);
}
