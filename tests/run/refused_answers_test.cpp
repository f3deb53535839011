#include <map>

#include <doctest/doctest.h>

#include <stategraph/json.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/savers.hpp"

// Answers, payloads and edits from outside: invalid ones are refused, and nothing of them is stored.
namespace sg = stategraph;

namespace {

struct Approval {
    bool ok = false;
    std::string note = "none";
    static constexpr auto fields() {
        return sg::fields(sg::field("ok", &Approval::ok), sg::field("note", &Approval::note, sg::defaulted));
    }
};
struct Ticket {
    std::string title = {};
    int priority = 0;
    static constexpr auto fields() {
        return sg::fields(sg::field("title", &Ticket::title), sg::field("priority", &Ticket::priority));
    }
};
struct State {
    std::vector<std::string> log = {};
    std::string name = {};
    Ticket ticket = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("log", &State::log, sg::append), sg::channel("name", &State::name),
                            sg::channel("ticket", &State::ticket));
    }
};
using Graph = sg::StateGraph<State>;
using App = sg::CompiledGraph<State>;
using Update = sg::Update<State>;
using Saver = std::shared_ptr<sg::BaseCheckpointSaver>;

std::string shown(const Approval& approval) { return (approval.ok ? "yes " : "no ") + approval.note; }

App asking(const Saver& saver) {
    Graph graph;
    graph.addNode("ask", [](const State&, sg::Runtime& runtime) -> Update {
        const auto first = sg::interrupt<Approval>(runtime, "one?");
        const auto second = sg::interrupt<Approval>(runtime, "two?");
        return {sg::add(&State::log, shown(first)), sg::add(&State::log, shown(second))};
    });
    graph.addEdge(sg::START, "ask");
    return graph.compile({.checkpointer = saver});
}

sg::Command<> answer(std::string_view json) { return {.resume = sg::parseJson(json)}; }

// Whether a record of the thread contains the answer. The text of an error may name its members.
bool isStored(const Saver& saver, const std::string& thread, std::string_view json) {
    const sg::Value answer = sg::parseJson(json);
    const auto tuple = saver->getTuple({.log = {thread, ""}, .checkpoint_id = {}});
    for (const auto& write : tuple->writes) {
        if (write.bytes.find(answer.bytes()) != std::string::npos) return true;
    }
    return false;
}

constexpr std::string_view wrong[] = {R"({"nonsense":1})", R"({"ok":true,"nonsense":1})", R"({"note":"nonsense"})",
                                      R"({"ok":"nonsense"})", R"("nonsense")"};

}  // namespace

TEST_CASE("an answer that is not what was asked for is refused by every driver, and the question stays open") {
    savers::onEach([](savers::Store& store) {
        const Saver saver = store.open();
        for (const bool is_new_process : {false, true}) {
            CAPTURE(is_new_process);
            for (const drivers::Driver& driver : drivers::all()) {
                CAPTURE(driver.name);
                const sg::RunConfig thread{.thread_id = driver.name + (is_new_process ? " anew" : "")};
                const sg::Config config{.thread_id = thread.thread_id};
                App app = asking(saver);
                REQUIRE(driver.run(app, Update{}, thread).what() == "");
                for (int question = 0; question < 2; ++question) {
                    const auto open = app.getState(config).interrupts();
                    REQUIRE(open.size() == 1);
                    for (const std::string_view json : wrong) {
                        CAPTURE(json);
                        if (is_new_process)
                            app = asking(saver);  // it learns the type of the answer only when the node asks
                        const auto outcome = driver.run(app, answer(json), thread);
                        REQUIRE(outcome.as<sg::WrongTypeError>() != nullptr);
                        CHECK(outcome.what().find("stays open") != std::string::npos);
                        CHECK(outcome.as<sg::WrongTypeError>()->context().node == "ask");
                        CHECK(app.getState(config).interrupts() == open);
                        CHECK_FALSE(isStored(saver, thread.thread_id.toString(), json));
                    }
                    REQUIRE(driver.run(app, answer(R"({"ok":true})"), thread).what() == "");
                }
                CHECK(app.getState(config).values.log == std::vector<std::string>{"yes none", "yes none"});
            }
        }
    });
}

TEST_CASE("where the process asked the question, a wrong answer is refused before anything is stored or runs") {
    int calls = 0;
    Graph graph;
    graph.addNode("ask", [&](const State&, sg::Runtime& runtime) -> Update {
        ++calls;
        return {sg::add(&State::log, shown(sg::interrupt<Approval>(runtime, "?")))};
    });
    graph.addEdge(sg::START, "ask");
    Graph outer;
    const Saver saver = std::make_shared<sg::MemorySaver>();
    outer.addNode("inner", graph.compile()).addEdge(sg::START, "inner");
    for (const App& app : {graph.compile({.checkpointer = saver}), outer.compile({.checkpointer = saver})}) {
        const sg::RunConfig thread{.thread_id = "t" + std::to_string(calls)};
        const sg::Config config{.thread_id = thread.thread_id};
        app.invoke(Update{}, thread);
        const int before = calls;
        const auto stored = saver->storedBytes();
        CHECK_THROWS_WITH_AS(
            app.invoke(answer(R"({"nonsense":1})"), thread),
            doctest::Contains("the answer to node 'ask' is of the wrong type: member 'nonsense' is unknown"),
            sg::WrongTypeError);
        CHECK(calls == before);
        CHECK(saver->storedBytes() == stored);
        CHECK(app.invoke(answer(R"({"ok":false,"note":"no"})"), thread).values.log ==
              std::vector<std::string>{"no no"});
    }
}

TEST_CASE("an answer that was taken is read by later versions of the program as what was stored is") {
    const Saver saver = std::make_shared<sg::MemorySaver>();
    const sg::RunConfig thread{.thread_id = "t"};
    // In the previous version the first question accepted any number.
    Graph before;
    before.addNode("ask", [](const State&, sg::Runtime& runtime) -> Update {
        const auto first = sg::interrupt<std::map<std::string, bool>>(runtime, "one?");
        return {sg::add(&State::log, std::to_string(first.size()) + sg::interrupt<std::string>(runtime, "two?"))};
    });
    before.addEdge(sg::START, "ask");
    const App old = before.compile({.checkpointer = saver});
    old.invoke(Update{}, thread);
    old.invoke(answer(R"({"ok":true,"gone":true})"), thread);
    CHECK(asking(saver).invoke(answer(R"({"ok":false})"), thread).values.log ==
          std::vector<std::string>{"yes none", "no none"});
}

TEST_CASE("the answer about an effect in doubt must be the effect's result") {
    const Saver saver = std::make_shared<sg::MemorySaver>();
    const sg::RunConfig thread{.thread_id = "t"};
    Graph graph;
    bool fails = true;
    graph.addNode("n", [&](const State&, sg::Runtime& runtime) -> Update {
        const auto result = runtime.once(
            "effect",
            [&]() -> Approval {
                if (fails) throw std::runtime_error("down");
                return {};
            },
            sg::OnDoubt::ask);
        return {sg::add(&State::log, shown(result))};
    });
    graph.addEdge(sg::START, "n");
    const App app = graph.compile({.checkpointer = saver});
    CHECK_THROWS_AS(app.invoke(Update{}, thread), sg::NodeError);
    fails = false;
    REQUIRE(app.invoke(sg::RESUME, thread).interrupts.size() == 1);
    CHECK_THROWS_AS(app.invoke(answer(R"({"result":{"nonsense":1}})"), thread), sg::WrongTypeError);
    CHECK(app.invoke(answer(R"({"result":{"ok":true}})"), thread).values.log == std::vector<std::string>{"yes none"});
}

TEST_CASE("a payload that is JSON becomes what the node takes, or the Send is refused") {
    for (const bool is_boost : {false, true}) {
        CAPTURE(is_boost);
        std::string json = R"({"title":"leak","priority":2.0})";
        Graph graph;
        graph.addNode("plan",
                      [&](const State&) -> sg::Command<State> {
                          if (is_boost)
                              return {.go_to = sg::Send("work", boost::json::value(boost::json::parse(json)))};
                          return {.go_to = sg::Send("work", sg::parseJson(json))};
                      },
                      {.ends = {"work"}});
        graph.addNode("work", [](const Ticket& ticket) -> Update {
            return {sg::add(&State::log, ticket.title + std::to_string(ticket.priority))};
        });
        graph.addEdge(sg::START, "plan");
        const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
        for (const drivers::Driver& driver : drivers::all()) {
            CAPTURE(driver.name);
            json = R"({"title":"leak","priority":2.0})";
            CHECK(driver.run(app, Update{}, {.thread_id = driver.name}).values.log ==
                  std::vector<std::string>{"leak2"});
            json = R"({"title":"leak"})";
            const auto outcome = driver.run(app, Update{}, {.thread_id = driver.name});
            CHECK(outcome.what().find("member 'priority' is missing") != std::string::npos);
        }
    }
}

TEST_CASE("an edit or an input that is JSON is checked by the state's table") {
    Graph graph;
    graph.addNode("n", [](const State&) -> Update { return {}; }).addEdge(sg::START, "n");
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    const sg::RunConfig thread{.thread_id = "t"};
    app.invoke(Update::of(sg::parseJson(R"({"log":["a"],"ticket":{"title":"x","priority":1}})")), thread);
    app.updateState({.thread_id = "t"}, Update::of(sg::parseJson(R"({"log":["b"],"name":"n"})")));
    const State values = app.getState({.thread_id = "t"}).values;
    CHECK(values.log == std::vector<std::string>{"a", "b"});
    CHECK(values.ticket.title == "x");
    CHECK_THROWS_WITH_AS(Update::of(sg::parseJson(R"({"lag":[],"name":1,"ticket":{"title":"x"}})")),
                         doctest::Contains("member 'lag' is unknown: known are 'log', 'name', 'ticket'"),
                         sg::WrongTypeError);
    CHECK_THROWS_WITH_AS(Update::of(sg::parseJson(R"({"ticket":{"title":"x"}})")),
                         doctest::Contains("member 'ticket': member 'priority' is missing"), sg::WrongTypeError);
    CHECK_THROWS_AS(Update::of(sg::parseJson("[]")), sg::WrongTypeError);
}

TEST_CASE("a snapshot's values are listed as the state's table lists them") {
    Graph graph;
    graph.addNode("n",
                  [](const State&) -> Update {
                      return {sg::set(&State::ticket, Ticket{"x", 1})};
                  })
        .addEdge(sg::START, "n");
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    app.invoke(Update{sg::add(&State::log, "a")}, {.thread_id = "t"});
    CHECK(app.getState({.thread_id = "t"}).valuesAsJson() == R"({"log":["a"],"ticket":{"title":"x","priority":1}})");
    CHECK(app.getState({.thread_id = "none"}).valuesAsJson() ==
          app.getState({.thread_id = "none"}).values_as_cbor.toJson());
    CHECK(sg::toJson(app.getState({.thread_id = "t"}).values) ==
          R"({"log":["a"],"name":"","ticket":{"title":"x","priority":1}})");
}
