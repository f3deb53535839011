#include <doctest/doctest.h>

#include <stategraph/async.hpp>
#include <stategraph/detail/stop_on_return.hpp>
#include <stategraph/functional.hpp>
#include <stategraph/ndjson.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// Questions with keys: the key, and not the order, assigns each answer to its question.
using namespace graphs;

namespace {

/// Runs a graph of one node up to a question, then continues with each Command, with every driver and saver.
template <class Node, class Check>
void onAll(Node node, Check check) {
    savers::onEach([&](savers::Store& store) {
        Graph graph;
        graph.addNode("n", node).addEdge(sg::START, "n");
        const App app = graph.compile({.checkpointer = store.open()});
        for (const drivers::Driver& driver : drivers::all()) {
            CAPTURE(driver.name);
            const sg::RunConfig config{.thread_id = driver.name};
            const auto run = [&](auto input) { return driver.run(app, std::move(input), config); };
            check(app, run, config);
        }
    });
}

Strings keysOf(const std::vector<sg::Interrupt>& interrupts) {
    Strings keys;
    for (const sg::Interrupt& each : interrupts) keys.push_back(each.key);
    return keys;
}

sg::Command<> answer(std::vector<sg::Answer> answers) { return {.answers = std::move(answers)}; }

}  // namespace

TEST_CASE("a question with a key is shown with it, and is answered by it") {
    const auto node = [](const State&, sg::Runtime& rt) -> Update {
        return {sg::add(&State::bar, sg::interrupt<std::string>(rt, "approve", "may I?"))};
    };
    onAll(node, [](const App& app, auto run, const sg::RunConfig& config) {
        const auto asked = run(Update{});
        REQUIRE(asked.what() == "");
        REQUIRE((asked.status == sg::Status::interrupted));
        REQUIRE(asked.interrupts.size() == 1);
        CHECK(asked.interrupts[0].key == "approve");
        CHECK(asked.interrupts[0].index == 0);
        CHECK(asked.interrupts[0].value == sg::Value("may I?"));
        const auto snapshot = app.getState({.thread_id = config.thread_id});
        CHECK(snapshot.interrupts() == asked.interrupts);
        CHECK(snapshot.tasks.at(0).interrupts == asked.interrupts);
        CHECK(asked.interrupts[0].id != snapshot.tasks.at(0).id);
        CHECK(contains(sg::toJson(snapshot), R"("key":"approve")"));
        const auto done = run(answer({{"approve", "yes"}}));
        REQUIRE(done.what() == "");
        CHECK((done.status == sg::Status::done));
        CHECK(done.values.bar == Strings{"yes"});
    });
}

TEST_CASE(
    "answers to questions with keys stay theirs when the questions change places, and plain ones keep their order") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const auto ask = [](sg::Runtime& rt, const std::string& key) {
            return sg::interrupt<std::string>(rt, key, key + "?");
        };
        const auto plain = [](sg::Runtime& rt, const std::string& question) {
            return sg::interrupt<std::string>(rt, question);
        };
        const auto compile = [&](auto node) {
            Graph graph;
            graph.addNode("n", node).addEdge(sg::START, "n");
            return graph.compile({.checkpointer = saver});
        };
        const App before = compile([&](const State&, sg::Runtime& rt) -> Update {
            const auto a = ask(rt, "a");
            const auto one = plain(rt, "one");
            const auto b = ask(rt, "b");
            const auto two = plain(rt, "two");
            const auto c = ask(rt, "c");
            return {sg::overwrite(&State::bar, Strings{a, b, c, one, two})};
        });
        // The keys in another order, with one more key.
        const App after = compile([&](const State&, sg::Runtime& rt) -> Update {
            const auto c = ask(rt, "c");
            const auto d = ask(rt, "d");
            const auto b = ask(rt, "b");
            const auto one = plain(rt, "one");
            const auto two = plain(rt, "two");
            const auto a = ask(rt, "a");
            return {sg::overwrite(&State::bar, Strings{a, b, c, d, one, two})};
        });
        for (const drivers::Driver& driver : drivers::all()) {
            CAPTURE(driver.name);
            const sg::RunConfig config{.thread_id = driver.name};
            auto outcome = driver.run(before, Update{}, config);
            for (const std::string question : {"a", "one", "b"}) {
                CAPTURE(question);
                REQUIRE((outcome.status == sg::Status::interrupted));
                outcome = driver.run(before, sg::Command<>{.resume = sg::Value("A" + question)}, config);
            }
            CHECK(outcome.interrupts.at(0).value == sg::Value("two"));
            Strings asked;
            outcome = driver.run(after, sg::RESUME, config);
            while (outcome.status == sg::Status::interrupted) {
                const sg::Interrupt& open = outcome.interrupts.at(0);
                asked.push_back(open.key.empty() ? open.value.as<std::string>() : open.key);
                outcome = driver.run(after, sg::Command<>{.resume = sg::Value("A" + asked.back())}, config);
            }
            REQUIRE(outcome.what() == "");
            CHECK(asked == Strings{"c", "d", "two"});
            CHECK(outcome.values.bar == Strings{"Aa", "Ab", "Ac", "Ad", "Aone", "Atwo"});
        }
    });
}

TEST_CASE(
    "two questions with one key get one answer, and in a function that is called once a key is that function's own") {
    const auto node = [](const State&, sg::Runtime& rt) -> Update {
        const auto a = sg::interrupt<std::string>(rt, "k", "first");
        const auto b = sg::interrupt<std::string>(rt, "k", "second");
        const auto c = rt.once("effect", [&] { return sg::interrupt<std::string>(rt, "k", "inside"); });
        const auto d = sg::interrupt<std::string>(rt, "k", "third");
        return {sg::overwrite(&State::bar, Strings{a, b, c, d})};
    };
    onAll(node, [](const App&, auto run, const sg::RunConfig&) {
        auto outcome = run(Update{});
        CHECK(outcome.interrupts.at(0).value == sg::Value("first"));
        outcome = run(answer({{"k", "1"}}));
        REQUIRE((outcome.status == sg::Status::interrupted));
        CHECK(outcome.interrupts.at(0).value == sg::Value("inside"));
        CHECK(keysOf(outcome.interrupts) == Strings{"k"});
        outcome = run(answer({{"k", "2"}}));
        CHECK(outcome.what() == "");
        CHECK(outcome.values.bar == Strings{"1", "1", "2", "1"});
    });
}

TEST_CASE("a node finds out whether an answer exists, and does once what comes before the question") {
    Log log;
    const auto node = [&log](const State&, sg::Runtime& rt) -> Update {
        if (!sg::answerOf<int>(rt, "amount")) log.add("told about amount");
        const int amount = sg::interrupt<int>(rt, "amount", "how much?");
        if (!sg::answerOf<std::string>(rt)) log.add("told about name");
        const auto name = sg::interrupt<std::string>(rt, "who?");
        CHECK(sg::answerOf(rt, "amount") == sg::Value(amount));
        CHECK_FALSE(sg::answerOf(rt, "another"));
        CHECK_FALSE(sg::answerOf(rt));
        return {sg::add(&State::bar, name), sg::add(&State::n, amount)};
    };
    onAll(node, [&log](const App&, auto run, const sg::RunConfig&) {
        (void)log.take();
        (void)run(Update{});
        (void)run(answer({{"amount", 7}}));
        const auto done = run(sg::Command<>{.resume = sg::Value("Ann")});
        REQUIRE(done.what() == "");
        CHECK(done.values.n == 7);
        CHECK(done.values.bar == Strings{"Ann"});
        CHECK(log.entries() == Strings{"told about amount", "told about name"});
    });
}

TEST_CASE("an answer of the wrong type is refused by every reader of it, and the question with a key stays open") {
    for (const bool looks : {false, true}) {
        CAPTURE(looks);
        const auto node = [looks](const State&, sg::Runtime& rt) -> Update {
            if (looks) (void)sg::answerOf<int>(rt, "amount");
            return {sg::add(&State::n, sg::interrupt<int>(rt, "amount", "how much?"))};
        };
        onAll(node, [](const App& app, auto run, const sg::RunConfig& config) {
            (void)run(Update{});
            const auto refused = run(answer({{"amount", "seven"}}));
            REQUIRE(refused.template as<sg::WrongTypeError>() != nullptr);
            CHECK(contains(refused.what(), "'amount'"));
            CHECK(contains(refused.what(), "stays open"));
            CHECK(keysOf(app.getState({.thread_id = config.thread_id}).interrupts()) == Strings{"amount"});
            const auto done = run(answer({{"amount", 7}}));
            REQUIRE(done.what() == "");
            CHECK(done.values.n == 7);
        });
    }
}

TEST_CASE("several questions with keys are open at once, and are answered in any order and number") {
    savers::onEach([](savers::Store& store) {
        const auto flow = sg::entrypoint(
            "flow",
            [](int, sg::Calls& calls) {
                sg::Runtime& rt = calls.runtime();
                std::vector<sg::CallFuture<std::string>> started;
                for (const std::string name : {"a", "b", "c"}) {
                    started.push_back(calls.start(
                        "ask", [&rt](const std::string& key) { return sg::interrupt<std::string>(rt, key, key + "?"); },
                        name));
                }
                std::string all;
                for (const auto& each : started) all += each.get();
                return all;
            },
            {.checkpointer = store.open()});
        using FlowState = decltype(flow)::State;
        for (const drivers::Driver& driver : drivers::all()) {
            CAPTURE(driver.name);
            const sg::RunConfig config{.thread_id = driver.name};
            auto outcome = driver.run(flow.graph(), sg::Update<FlowState>{sg::set(&FlowState::input, 1)}, config);
            REQUIRE(outcome.what() == "");
            CHECK(keysOf(outcome.interrupts) == Strings{"a", "b", "c"});
            outcome = driver.run(flow.graph(), sg::Command<FlowState>{.answers = {{"c", "3"}, {"a", "1"}}}, config);
            REQUIRE(outcome.what() == "");
            CHECK(keysOf(outcome.interrupts) == Strings{"b"});
            CHECK(keysOf(flow.graph().getState({.thread_id = config.thread_id}).interrupts()) == Strings{"b"});
            outcome = driver.run(flow.graph(), sg::Command<FlowState>{.answers = {{"b", "2"}}}, config);
            REQUIRE(outcome.what() == "");
            CHECK(outcome.values.output == "123");
        }
    });
}

TEST_CASE("an answer must name one open question") {
    Graph graph;
    graph.addNode("n", [](const State&, sg::Runtime& rt) -> Update {
        return {sg::add(&State::bar, sg::interrupt<std::string>(rt, "approve", "?"))};
    });
    graph.addConditionalEdges(sg::START, [](const State&) {
        return std::vector<sg::Send>{{"n", State{}}, {"n", State{}}};
    });
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    const sg::RunConfig config{.thread_id = "1"};
    const auto asked = app.invoke(Update{}, config);
    REQUIRE(asked.interrupts.size() == 2);
    const auto twice = thrown<sg::InvalidArgumentError>([&] { app.invoke(answer({{"approve", "x"}}), config); });
    CHECK(contains(twice.what(), "2 open interrupts have the key 'approve'"));
    CHECK(contains(twice.what(), asked.interrupts[1].id.toString()));
    const auto unknown = thrown<sg::InvalidArgumentError>([&] { app.invoke(answer({{"aprove", "x"}}), config); });
    CHECK(contains(unknown.what(), "no open interrupt has the key 'aprove'"));
    CHECK(contains(unknown.what(), "'approve' (n)"));
    const auto rest = app.invoke(answer({{asked.interrupts[1].id, "x"}}), config);
    REQUIRE(rest.interrupts.size() == 1);
    CHECK(rest.interrupts[0] == asked.interrupts[0]);
    CHECK(app.invoke(answer({{"approve", "y"}}), config).values.bar == Strings{"y", "x"});
}

TEST_CASE("a key is a text of 1 to 200 bytes") {
    for (const auto& [key, what] : std::vector<std::pair<std::string, std::string>>{
             {"", "0 bytes"}, {std::string(201, 'k'), "201 bytes"}, {"\xff", "not UTF-8"}}) {
        for (const bool looks : {false, true}) {
            Graph graph;
            graph.addNode("n", [&key, looks](const State&, sg::Runtime& rt) -> Update {
                if (looks) (void)sg::answerOf(rt, key);
                (void)sg::interrupt(rt, key, "?");
                return {};
            });
            graph.addEdge(sg::START, "n");
            const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
            const auto error = thrown<sg::NodeError>([&] { app.invoke(Update{}, {.thread_id = "1"}); });
            CHECK(contains(error.what(), what));
        }
    }
    Graph graph;
    graph.addNode("n", [](const State&, sg::Runtime& rt) -> Update {
        (void)sg::interrupt(rt, std::string(200, 'k'), "?");
        return {};
    });
    graph.addEdge(sg::START, "n");
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    CHECK(app.invoke(Update{}, {.thread_id = "1"}).interrupts.at(0).key == std::string(200, 'k'));
    CHECK_THROWS_AS(graph.compile().invoke(Update{}), sg::MissingCheckpointerError);
}

TEST_CASE("events, unfinished threads and questions from inside a subgraph have the key") {
    Graph inner;
    inner.addNode("asks", [](const State&, sg::Runtime& rt) -> Update {
        return {sg::add(&State::bar, sg::interrupt<std::string>(rt, "approve", "inside?"))};
    });
    inner.addEdge(sg::START, "asks");
    Graph graph;
    graph.addNode("inner", inner.compile()).addEdge(sg::START, "inner");
    const auto saver = std::make_shared<sg::MemorySaver>();
    const App app = graph.compile({.checkpointer = saver});
    Strings keys;
    const auto outcome =
        app.stream(Update{}, {.thread_id = "1"}, {.modes = {sg::StreamMode::updates, sg::StreamMode::runs}},
                   [&](const sg::StreamEvent& event) {
                       for (const sg::Interrupt& each : event.interrupts) keys.push_back(each.key);
                   });
    CHECK(keys == Strings{"approve", "approve"});
    CHECK(keysOf(outcome.interrupts) == Strings{"approve"});
    CHECK(keysOf(saver->unfinishedThreads().at(0).interrupts) == Strings{"approve"});
    const auto snapshot = app.getState({.thread_id = "1"}, {.subgraphs = true});
    CHECK(keysOf(snapshot.interrupts()) == Strings{"approve"});
    REQUIRE(snapshot.tasks.at(0).state);
    CHECK(keysOf(snapshot.tasks.at(0).state->interrupts()) == Strings{"approve"});
    CHECK(app.invoke(answer({{"approve", "yes"}}), {.thread_id = "1"}).values.bar == Strings{"yes"});
}

TEST_CASE("an error handler's question is not its node's, though they have one key") {
    Graph graph;
    graph.addNode("n", [](const State&, sg::Runtime& rt) -> Update {
        throw std::runtime_error("node said " + sg::interrupt<std::string>(rt, "k", "node?"));
    });
    graph.onError("n", [](const State&, const sg::NodeFailure&, sg::Runtime& rt) -> Update {
        return {sg::add(&State::bar, sg::interrupt<std::string>(rt, "k", "handler?"))};
    });
    graph.addEdge(sg::START, "n");
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    CHECK(app.invoke(Update{}, {.thread_id = "1"}).interrupts.at(0).value == sg::Value("node?"));
    const auto second = app.invoke(answer({{"k", "1"}}), {.thread_id = "1"});
    REQUIRE((second.status == sg::Status::interrupted));
    CHECK(second.interrupts.at(0).value == sg::Value("handler?"));
    CHECK(app.invoke(answer({{"k", "2"}}), {.thread_id = "1"}).values.bar == Strings{"2"});
}

TEST_CASE("a node asks several questions at once, and runs again when one of them is answered") {
    const auto node = [](const State&, sg::Runtime& rt) -> Update {
        const auto legal = sg::ask<std::string>(rt, "legal", "may we?");
        const auto price = sg::ask<int>(rt, "price", "how much?");
        if (!legal || !price) sg::stopForAnswers(rt);
        return {sg::add(&State::bar, *legal + " " + std::to_string(*price))};
    };
    onAll(node, [](const App& app, auto run, const sg::RunConfig& config) {
        const auto asked = run(Update{});
        REQUIRE(asked.what() == "");
        CHECK(keysOf(asked.interrupts) == Strings{"legal", "price"});
        CHECK(keysOf(app.getState({.thread_id = config.thread_id}).interrupts()) == Strings{"legal", "price"});
        const auto half = run(answer({{"price", 5}}));
        REQUIRE(half.what() == "");
        CHECK(keysOf(half.interrupts) == Strings{"legal"});
        // The answer is not a text: it is refused, and the question stays open.
        CHECK(contains(run(answer({{"legal", 7}})).what(), "legal"));
        const auto done = run(answer({{"legal", "yes"}}));
        REQUIRE(done.what() == "");
        CHECK(done.values.bar == Strings{"yes 5"});
    });
}

TEST_CASE("what a node asks without stopping is not asked, and stopping without a question is an error") {
    const auto goes_on = [](const State&, sg::Runtime& rt) -> Update {
        return {sg::add(&State::bar, std::string(sg::ask<int>(rt, "later", "?") ? "answered" : "open"))};
    };
    onAll(goes_on, [](const App& app, auto run, const sg::RunConfig& config) {
        const auto done = run(Update{});
        REQUIRE(done.what() == "");
        CHECK((done.status == sg::Status::done));
        CHECK(done.values.bar == Strings{"open"});
        CHECK(app.getState({.thread_id = config.thread_id}).interrupts().empty());
    });
    const auto asks_nothing = [](const State&, sg::Runtime& rt) -> Update { sg::stopForAnswers(rt); };
    onAll(asks_nothing, [](const App&, auto run, const sg::RunConfig&) {
        CHECK(contains(run(Update{}).what(), "stops for answers, and has asked nothing"));
    });
}

TEST_CASE("a node that stops on its return leaves its questions open, and drops what it returns") {
    const auto node = [](const State&, sg::Runtime& rt) -> Update {
        const auto legal = sg::ask<std::string>(rt, "legal", "may we?");
        const auto price = sg::ask<int>(rt, "price", "how much?");
        if (!legal || !price) {
            sg::detail::stopOnReturn(rt);
            return {sg::add(&State::bar, std::string("dropped"))};
        }
        return {sg::add(&State::bar, *legal + " " + std::to_string(*price))};
    };
    onAll(node, [](const App& app, auto run, const sg::RunConfig& config) {
        const auto asked = run(Update{});
        REQUIRE(asked.what() == "");
        CHECK((asked.status == sg::Status::interrupted));
        CHECK(keysOf(asked.interrupts) == Strings{"legal", "price"});
        CHECK(app.getState({.thread_id = config.thread_id}).values.bar.empty());
        CHECK(keysOf(run(answer({{"price", 5}})).interrupts) == Strings{"legal"});
        const auto done = run(answer({{"legal", "yes"}}));
        REQUIRE(done.what() == "");
        CHECK(done.values.bar == Strings{"yes 5"});
    });
    const auto asks_nothing = [](const State&, sg::Runtime& rt) -> Update {
        sg::detail::stopOnReturn(rt);
        return {};
    };
    onAll(asks_nothing, [](const App&, auto run, const sg::RunConfig&) {
        CHECK(contains(run(Update{}).what(), "stops for answers, and has asked nothing"));
    });
}
