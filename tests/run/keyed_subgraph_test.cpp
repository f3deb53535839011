#include <set>

#include <doctest/doctest.h>

#include <stategraph/async.hpp>
#include <stategraph/codec_std.hpp>
#include <stategraph/json.hpp>

#include "tests/support/graphs.hpp"
#include "tests/support/recording_saver.hpp"
#include "tests/support/savers.hpp"

// Subgraphs with a log for each key that lives with the thread (perThread).
using namespace graphs;

namespace {

struct Desk {
    std::string customer = {};
    int visits = 0;
    Strings said = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("customer", &Desk::customer), sg::channel("visits", &Desk::visits, sg::sum),
                            sg::channel("said", &Desk::said, sg::append));
    }
};

std::string customerOf(const Desk& desk) { return desk.customer; }

// Adds one to visits, and reports the customer and the number of the visit.
sg::Update<Desk> serve(const Desk& desk) {
    return {sg::add(&Desk::visits, 1), sg::add(&Desk::said, desk.customer + " " + std::to_string(desk.visits + 1))};
}

sg::CompiledGraph<Desk> deskOf(const sg::Checkpointer& checkpointer) {
    sg::StateGraph<Desk> graph;
    graph.addNode("serve", serve).addEdge(sg::START, "serve");
    return graph.compile({.checkpointer = checkpointer});
}

Update lastSaid(const Desk& desk) { return bar(desk.said.empty() ? "nothing" : desk.said.back()); }

// START → desk, which serves the customer named in foo.
App shopOf(const sg::CompiledGraph<Desk>& desk, const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    Graph graph;
    graph.addNode(
        "desk", desk, [](const State& state) -> sg::Update<Desk> { return {sg::set(&Desk::customer, state.foo)}; },
        lastSaid);
    graph.addEdge(sg::START, "desk");
    return graph.compile({.checkpointer = saver});
}

Update allSaid(const Desk& desk) { return {sg::add(&State::bar, desk.said)}; }

// START → one desk for each name, all at once.
App hallOf(const sg::CompiledGraph<Desk>& desk, const Strings& names,
           const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    Graph graph;
    graph.addNode(
        "desk", desk, [](const State&) -> sg::Update<Desk> { return {}; }, allSaid);
    graph.addConditionalEdges(sg::START,
                              [names](const State&) {
                                  std::vector<sg::Send> sends;
                                  for (const auto& name : names) sends.emplace_back("desk", Desk{.customer = name});
                                  return sends;
                              },
                              {"desk"});
    return graph.compile({.checkpointer = saver});
}

Strings linesOf(const App& hall) {
    return hall.invoke({sg::overwrite(&State::bar, Strings{})}, {.thread_id = "t"}).values.bar;
}

std::set<std::string> namespacesOf(sg::BaseCheckpointSaver& saver, const std::string& thread) {
    std::set<std::string> all;
    for (const auto& row : saver.list({.thread_id = thread})) all.insert(row.checkpoint_ns);
    return all;
}

const auto by_customer = [] { return sg::perThread(customerOf); };

}  // namespace

TEST_CASE("a subgraph with a key has a log for each key of a thread, and each continues with its own") {
    savers::onEach([](savers::Store& store) {
        const auto visit = [&](const char* thread, const char* customer) {
            return shopOf(deskOf(by_customer()), store.open())
                .invoke({sg::set(&State::foo, customer)}, {.thread_id = thread})
                .values.bar.back();
        };
        CHECK(visit("t", "ann") == "ann 1");
        CHECK(visit("t", "bob") == "bob 1");
        CHECK(visit("t", "ann") == "ann 2");
        CHECK(visit("other", "ann") == "ann 1");
        CHECK(visit("t", "bob") == "bob 2");
        CHECK(namespacesOf(*store.open(), "t") == std::set<std::string>{"", "desk:=ann", "desk:=bob"});
    });
}

TEST_CASE("a member of the subgraph's state can be the key") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const App app = shopOf(deskOf(sg::perThread(&Desk::customer)), saver);
    app.invoke({sg::set(&State::foo, "ann")}, {.thread_id = "t"});
    CHECK(app.invoke({sg::set(&State::foo, "ann")}, {.thread_id = "t"}).values.bar == Strings{"ann 1", "ann 2"});
}

TEST_CASE("visits with different keys are made at once, in one superstep") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const auto once = hallOf(deskOf(by_customer()), {"bob", "ann", "cid"}, saver);
        CHECK(linesOf(once) == Strings{"bob 1", "ann 1", "cid 1"});
        const auto again = hallOf(deskOf(by_customer()), {"cid", "dan", "ann"}, saver);
        CHECK(linesOf(again) == Strings{"cid 1", "cid 2", "dan 1", "ann 1", "ann 2"});
        CHECK(namespacesOf(*saver, "t") ==
              std::set<std::string>{"", "desk:=ann", "desk:=bob", "desk:=cid", "desk:=dan"});
    });
}

TEST_CASE("two visits with one key in one superstep are refused, and neither is made") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const auto hall = hallOf(deskOf(by_customer()), {"ann", "bob", "ann"}, saver);
        const auto error = thrown<sg::InvalidUpdateError>([&] { hall.invoke(Update{}, {.thread_id = "t"}); });
        CHECK(contains(error.what(), "'ann'"));
        CHECK(error.context().node == "desk");
        CHECK(namespacesOf(*saver, "t") == std::set<std::string>{"", "desk:=bob"});
        CHECK(hallOf(deskOf(by_customer()), {"ann"}, saver).invoke(Update{}, {.thread_id = "t"}).values.bar ==
              Strings{"bob 1", "ann 1"});
    });
}

TEST_CASE("without a saver a key names the visits' events, and nothing is refused") {
    const auto hall = hallOf(deskOf(by_customer()), {"ann", "ann"}, nullptr);
    CHECK(hall.invoke(Update{}).values.bar == Strings{"ann 1", "ann 1"});
    std::set<std::string> seen;
    for (const auto& event : hall.stream(Update{}, {}, {.modes = {sg::StreamMode::updates}, .subgraphs = true})) {
        for (const auto& segment : event.ns) seen.insert(segment);
    }
    CHECK(seen == std::set<std::string>{"desk:=ann"});
}

TEST_CASE("visits with keys that ask at once are shown with their logs and resume inside, each when it is answered") {
    savers::onEach([](savers::Store& store) {
        Log log;
        sg::StateGraph<Desk> inner;
        inner.addNode("serve", [&log](const Desk& desk) {
            log.add("serve " + desk.customer);
            return serve(desk);
        });
        inner.addNode("ask", [](const Desk& desk, sg::Runtime& runtime) -> sg::Update<Desk> {
            return {sg::add(&Desk::said,
                            desk.customer + ":" + sg::interrupt<std::string>(runtime, "for " + desk.customer))};
        });
        inner.addEdge(sg::START, "serve").addEdge("serve", "ask");
        const auto desk = inner.compile({.checkpointer = by_customer()});
        const auto app = [&] { return hallOf(desk, {"ann", "bob"}, store.open()); };

        const auto asked = app().invoke(Update{}, {.thread_id = "t"});
        REQUIRE(asked.interrupts.size() == 2);
        const auto state = app().getState({.thread_id = "t"}, {.subgraphs = true});
        REQUIRE(state.tasks.size() == 2);
        CHECK(state.tasks[0].state_config->checkpoint_ns == "desk:=ann");
        CHECK(state.tasks[1].state_config->checkpoint_ns == sg::keyedNamespace("desk", "bob"));
        REQUIRE(state.tasks[1].state);
        CHECK(state.tasks[1].state->next == Strings{"ask"});

        CHECK((app().invoke(sg::Command<>{.answers = {{asked.interrupts[1].id, "yes"}}}, {.thread_id = "t"}).status ==
               sg::Status::interrupted));
        const auto done = app().invoke(sg::Command<>{.resume = "no"}, {.thread_id = "t"});
        CHECK(done.values.bar == Strings{"ann 1", "ann:no", "bob 1", "bob:yes"});
        CHECK(log.takeSorted() == Strings{"serve ann", "serve bob"});
    });
}

TEST_CASE("under a replay each log with a key is read as it was then") {
    savers::onEach([](savers::Store& store) {
        const App app = shopOf(deskOf(by_customer()), store.open());
        for (const char* customer : {"ann", "bob", "ann"})
            app.invoke({sg::set(&State::foo, customer)}, {.thread_id = "t"});
        std::vector<sg::Config> before;  // all visits, newest first
        for (const auto& snapshot : app.getStateHistory({.thread_id = "t"})) {
            if (snapshot.next == Strings{"desk"}) before.push_back(snapshot.config);
        }
        REQUIRE(before.size() == 3);
        CHECK(app.invoke(sg::RESUME, before[2]).values.bar == Strings{"ann 1"});
        CHECK(app.invoke(sg::RESUME, before[1]).values.bar == Strings{"ann 1", "bob 1"});
    });
}

TEST_CASE("a key that fails is its node's failure, and one that cannot be a key says why") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto visit = [&](auto key) {
        shopOf(deskOf(sg::perThread(std::move(key))), saver).invoke(Update{}, {.thread_id = "t"});
    };
    const auto error = thrown<sg::NodeError>(
        [&] { visit([](const Desk&) -> std::string { throw std::runtime_error("no customer"); }); });
    CHECK(error.context().node == "desk");
    CHECK(error.reason() == "no customer");
    const auto refused = [&](std::string key) {
        return thrown<sg::InvalidUpdateError>([&] { visit([key](const Desk&) { return key; }); }).message();
    };
    CHECK(contains(refused(""), "is empty"));
    CHECK(contains(refused(std::string(257, 'x')), "257 bytes"));
    CHECK(contains(refused("\xFF"), "UTF-8"));
    CHECK_NOTHROW(visit([](const Desk&) { return std::string(256, 'x'); }));
    CHECK(namespacesOf(*saver, "t") == std::set<std::string>{"", "desk:=" + std::string(256, 'x')});
}

TEST_CASE("a state whose key fails can be read, and its thread resumed with a key that works") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    bool fails = true;
    const App app = shopOf(deskOf(sg::perThread([&fails](const Desk&) -> std::string {
                               if (fails) throw std::runtime_error("no customer");
                               return "ann";
                           })),
                           saver);
    CHECK_THROWS_AS(app.invoke(Update{}, {.thread_id = "t"}), sg::NodeError);
    const auto state = app.getState({.thread_id = "t"}, {.subgraphs = true});
    CHECK(state.next == Strings{"desk"});
    CHECK(!state.tasks.at(0).state_config);
    CHECK_THROWS_AS(app.invoke(sg::RESUME, {.thread_id = "t"}), sg::NodeError);
    fails = false;
    CHECK((app.invoke(sg::RESUME, {.thread_id = "t"}).status == sg::Status::done));
}

TEST_CASE("a key that takes another type than the graph's state is a fault, and a graph with one cannot be the root") {
    const auto other = sg::perThread([](const State& state) { return state.foo; });
    CHECK_THROWS_WITH_AS(deskOf(other), doctest::Contains("perThread"), sg::InvalidGraphError);
    CHECK_THROWS_AS(deskOf(by_customer()).invoke(sg::Update<Desk>{}, {.thread_id = "t"}), sg::InvalidArgumentError);
}

TEST_CASE("any text can be a key: what separates namespaces is written as %XX") {
    CHECK(sg::keyedNamespace("desk", "a|b:c=%\n") == "desk:=a%7Cb:c=%25%0A");
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const Strings keys{"a|b", "a:b", "a%7Cb", "=", ":", "ä", " "};
        const auto hall = hallOf(deskOf(by_customer()), keys, saver);
        linesOf(hall);
        linesOf(hall);
        for (const auto& key : keys) {
            const auto state = hall.getState({.thread_id = "t", .checkpoint_ns = sg::keyedNamespace("desk", key)});
            CHECK(sg::Decoder(state.values_as_cbor.bytes()).map() == 3);
            CHECK(contains(state.values_as_cbor.toJson(), "\"visits\":2"));
        }
        CHECK(namespacesOf(*saver, "t").size() == keys.size() + 1);
    });
}

TEST_CASE("a subgraph's log is read and edited with its own type of state, and an update of another type is refused") {
    savers::onEach([](savers::Store& store) {
        const App app = shopOf(deskOf(by_customer()), store.open());
        app.invoke({sg::set(&State::foo, "ann")}, {.thread_id = "t"});
        const sg::Config log{.thread_id = "t", .checkpoint_ns = "desk:=ann"};
        CHECK(app.getState<Desk>(log).values.visits == 1);
        CHECK(app.getState(log).values == State{});
        CHECK_THROWS_WITH_AS(app.updateState(log, Update{sg::set(&State::foo, "x")}),
                             doctest::Contains("another type of state"), sg::InvalidUpdateError);
        CHECK_THROWS_AS(app.updateState({.thread_id = "t"}, sg::Update<Desk>{sg::add(&Desk::visits, 1)}),
                        sg::InvalidUpdateError);
        app.updateState(log, sg::Update<Desk>{sg::add(&Desk::visits, 10)});
        CHECK(app.invoke({sg::set(&State::foo, "ann")}, {.thread_id = "t"}).values.bar.back() == "ann 12");
        std::vector<int> visits;
        for (const auto& snapshot : app.getStateHistory<Desk>(log)) visits.push_back(snapshot.values.visits);
        CHECK(visits == std::vector<int>{12, 11, 11, 11, 1, 0, 0});
    });
}

TEST_CASE("a keyed visit of a run that was lost before the graph around it was stored is passed over") {
    const auto saver = std::make_shared<RecordingSaver>();
    bool is_dying = false;
    saver->after_put = [&](const sg::PutRequest& request) {
        if (is_dying && !request.log.checkpoint_ns.empty())
            saver->before_put = [](std::size_t) { throw std::runtime_error("gone"); };
    };
    const App app = shopOf(deskOf(by_customer()), saver);
    const auto visit = [&](const char* customer) {
        return app.invoke({sg::set(&State::foo, customer)}, {.thread_id = "t", .durability = sg::Durability::exit})
            .values.bar.back();
    };
    CHECK(visit("ann") == "ann 1");
    CHECK(visit("bob") == "bob 1");
    is_dying = true;
    CHECK_THROWS(visit("ann"));
    saver->before_put = {};
    is_dying = false;
    CHECK(visit("ann") == "ann 2");
    CHECK(visit("bob") == "bob 2");
}

TEST_CASE("logs with keys outlive pruning, as PER_THREAD's one does") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const App app = shopOf(deskOf(by_customer()), saver);
        for (const char* customer : {"ann", "bob", "cid"})
            app.invoke({sg::set(&State::foo, customer)}, {.thread_id = "t"});
        saver->prune({.thread_id = "t", .keep_last = 1});
        CHECK(namespacesOf(*saver, "t").size() == 4);
        CHECK(app.invoke({sg::set(&State::foo, "ann")}, {.thread_id = "t"}).values.bar.back() == "ann 2");
    });
}

TEST_CASE("an awaited run keeps keys apart too") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    Graph graph;
    graph.addNode(
        "desk", deskOf(by_customer()),
        [](const State& state) -> sg::Update<Desk> { return {sg::set(&Desk::customer, state.foo)}; }, lastSaid);
    graph.addNode("hand", [](const State&) -> sg::Task<Update> { co_return Update{}; });
    graph.addEdge(sg::START, "desk").addEdge(sg::START, "hand");
    const App app = graph.compile({.checkpointer = saver});
    for (const char* said : {"ann 1", "ann 2"}) {
        CHECK(sg::syncWait(app.asyncInvoke({sg::set(&State::foo, "ann")}, {.thread_id = "t"})).values.bar.back() ==
              said);
    }
    CHECK(sg::syncWait(app.asyncInvoke({sg::set(&State::foo, "bob")}, {.thread_id = "t"})).values.bar.back() ==
          "bob 1");
}

TEST_CASE("a JSON graph's key is a function of its JsonState") {
    const auto schema = sg::JsonSchema().channel("customer").channel("said", sg::JsonReducer::append());
    sg::StateGraph<sg::JsonState> inner(schema);
    inner.addNode("serve", [](const sg::JsonState& state) -> sg::Update<sg::JsonState> {
        return {
            sg::write("said", boost::json::array{state.find("said") != nullptr ? state["said"].as_array().size() : 0})};
    });
    inner.addEdge(sg::START, "serve");
    const auto desk = inner.compile({.checkpointer = sg::perThread([](const sg::JsonState& state) {
                                         return std::string(state["customer"].as_string());
                                     })});
    sg::StateGraph<sg::JsonState> graph(schema);
    graph.addNode("desk", desk).addEdge(sg::START, "desk");
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto app = graph.compile({.checkpointer = saver});
    for (const char* customer : {"ann", "bob", "ann"}) {
        app.invoke(sg::Update<sg::JsonState>{sg::write("customer", customer)}, {.thread_id = "t"});
    }
    CHECK(namespacesOf(*saver, "t") == std::set<std::string>{"", "desk:=ann", "desk:=bob"});
}
