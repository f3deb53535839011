#include <atomic>
#include <future>
#include <set>
#include <stdexcept>

#include <doctest/doctest.h>

#include "tests/support/graphs.hpp"
#include "tests/support/history_graphs.hpp"
#include "tests/support/savers.hpp"

// Reports of users about branches, joins and questions, as tests that are named after the ideas.
using namespace graphs;

TEST_CASE("three branches ask; answered 3, 1, 2 while a fourth computes: nothing runs again, nothing reverts") {
    savers::onEach([](savers::Store& store) {
        Log log;
        Signal computing;
        Signal go;
        std::atomic<bool> waits{false};
        Graph graph;
        for (const char* name : {"1", "2", "3"}) {
            graph.addNode(name, [&log, name](const State&, sg::Runtime& rt) -> Update {
                const auto answer = sg::interrupt<std::string>(rt, name);
                log.add(name);  // after the question: once for each
                return bar(name + (":" + answer));
            });
            graph.addEdge(sg::START, name);
        }
        graph.addNode("4", [&](const State&) -> Update {
            log.add("4");
            if (waits) {
                computing.give();
                REQUIRE(go.await());
            }
            return bar("4");
        });
        graph.addEdge(sg::START, "4").addNode("join", appends(log, "join")).addEdge({"1", "2", "3", "4"}, "join");
        const App app = graph.compile({.checkpointer = store.open()});

        waits = true;
        auto first = std::async(std::launch::async, [&] { return app.invoke(Update{}, {.thread_id = "t"}); });
        REQUIRE(computing.await());
        // An answer that comes while the fourth task computes waits for it. The questions' ids are known from the
        // thread.
        std::vector<sg::Interrupt> open;
        while (open.size() < 3) open = app.getState({.thread_id = "t"}).interrupts();
        const auto answer = [&](std::size_t i) {
            return app.invoke(sg::Command<>{.answers = {{open[i].id, "answer " + std::to_string(i + 1)}}},
                              {.thread_id = "t", .on_busy = sg::OnBusy::wait});
        };
        auto third = std::async(std::launch::async, [&] { return answer(2); });
        go.give();
        CHECK((first.get().status == sg::Status::interrupted));
        CHECK(third.get().interrupts.size() == 2);
        CHECK(app.getState({.thread_id = "t"}).values.bar == Strings{"3:answer 3", "4"});
        CHECK(answer(0).interrupts.size() == 1);
        CHECK(app.getState({.thread_id = "t"}).values.bar == Strings{"1:answer 1", "3:answer 3", "4"});
        const auto done = answer(1);
        CHECK((done.status == sg::Status::done));
        CHECK(done.values.bar == Strings{"1:answer 1", "2:answer 2", "3:answer 3", "4", "join"});
        for (const char* name : {"1", "2", "3", "4", "join"}) CHECK(log.count(name) == 1);
    });
}

TEST_CASE("one node asks in a loop and twice in one body, and its parallel instances have ids of their own") {
    savers::onEach([](savers::Store& store) {
        Graph graph;
        graph.addNode("ask", [](const int& item, sg::Runtime& rt) -> Update {
            const auto first = sg::interrupt<std::string>(rt, item);
            return bar(first + sg::interrupt<std::string>(rt, item + 100));
        });
        graph.addNode("round", [](const State&) -> Update { return {sg::add(&State::n, 1)}; });
        graph.addEdge("ask", "round");
        graph.addConditionalEdges(sg::START, [](const State&) {
            return std::vector<sg::Send>{{"ask", 1}, {"ask", 2}, {"ask", 3}};
        });
        graph.addConditionalEdges("round", [](const State& s) {
            return s.n < 3 ? std::vector<sg::Send>{{"ask", 1}, {"ask", 2}, {"ask", 3}} : std::vector<sg::Send>{};
        });
        const App app = graph.compile({.checkpointer = store.open()});
        std::set<sg::TaskId> ids;
        auto result = app.invoke(Update{}, {.thread_id = "t"});
        for (int round = 1; round <= 3; ++round) {
            for (int question = 0; question < 2; ++question) {
                REQUIRE(result.interrupts.size() == 3);
                sg::Command<> answers;
                for (std::size_t i = 0; i < 3; ++i) {
                    const auto& asked = result.interrupts[i];
                    CHECK(asked.value.as<int>() == static_cast<int>(i) + 1 + 100 * question);
                    CHECK(asked.index == static_cast<std::uint64_t>(question));
                    CHECK(ids.insert(asked.id).second);
                    answers.answers.push_back(
                        {asked.id, std::to_string(round) + std::to_string(i) + (question == 0 ? "a" : "b")});
                }
                result = app.invoke(answers, {.thread_id = "t"});
            }
        }
        CHECK((result.status == sg::Status::done));
        CHECK(result.values.bar ==
              Strings{"10a10b", "11a11b", "12a12b", "20a20b", "21a21b", "22a22b", "30a30b", "31a31b", "32a32b"});
    });
}

TEST_CASE(
    "a fast branch of three nodes and a slow sibling: the join fires once, and an untaken branch does not block it") {
    savers::onEach([](savers::Store& store) {
        Log log;
        Graph graph;
        graph.addNode("start", appends(log, "start"));
        for (const char* name : {"f1", "f2", "f3", "slow", "never", "join"}) graph.addNode(name, appends(log, name));
        graph.addEdge(sg::START, "start").addEdge("start", "f1").addEdge("f1", "f2").addEdge("f2", "f3");
        graph.addConditionalEdges("start", [](const State&) { return std::string("slow"); }, {"slow", "never"});
        graph.addEdge({"f3", "slow"}, "join");
        graph.addEdge("never", "join");  // a plain edge, from a branch that is not taken
        const App app = graph.compile({.checkpointer = store.open()});
        CHECK(app.invoke(Update{}, {.thread_id = "t"}).values.bar ==
              Strings{"start", "f1", "slow", "f2", "f3", "join"});
        CHECK(log.count("join") == 1);
        CHECK(log.count("never") == 0);
    });
}

TEST_CASE("a fan-out of a thousand with limits 1, 2 and 16: all run, and at most that many at once") {
    for (const int limit : {1, 2, 16}) {
        CAPTURE(limit);
        std::atomic<int> running{0};
        std::atomic<int> most{0};
        Graph graph;
        graph.addNode("work", [&](const int& item) -> Update {
            const int now = ++running;
            for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
            }
            std::this_thread::yield();
            --running;
            return {sg::add(&State::n, 1), sg::add(&State::bar, std::to_string(item))};
        });
        graph.addConditionalEdges(sg::START, [](const State&) {
            std::vector<sg::Send> sends;
            for (int i = 0; i < 1000; ++i) sends.emplace_back("work", i);
            return sends;
        });
        const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
        const auto result = app.invoke(Update{}, {.thread_id = "t", .max_concurrency = limit});
        CHECK(result.values.n == 1000);
        for (std::size_t i = 0; i < 1000; ++i) CHECK(result.values.bar.at(i) == std::to_string(i));
        CHECK(most <= limit);
    }
}

TEST_CASE("a failed attempt's writes never appear later") {
    savers::onEach([](savers::Store& store) {
        int tries = 0;
        Graph graph;
        // The writes are made, and then the router after the node fails. The attempt fails, and its writes are dropped.
        graph.addNode("a", [&](const State&) -> Update { return bar("attempt " + std::to_string(++tries)); });
        graph.addNode("sibling", appends("sibling"));
        graph.addConditionalEdges("a", [&](const State&) -> std::string {
            if (tries % 3 != 0) throw std::runtime_error("router");
            return std::string(sg::END);
        });
        graph.addEdge(sg::START, "a").addEdge(sg::START, "sibling");
        const App app = graph.compile({.checkpointer = store.open()});
        CHECK_THROWS_AS(app.invoke(Update{}, {.thread_id = "t"}), sg::NodeError);
        CHECK_THROWS_AS(app.invoke(sg::RESUME, {.thread_id = "t"}), sg::NodeError);
        CHECK(app.getState({.thread_id = "t"}).values.bar == Strings{"sibling"});
        CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).values.bar == Strings{"attempt 3", "sibling"});
        for (const auto& snapshot : app.getStateHistory({.thread_id = "t"})) {
            const std::string shown = toJson(snapshot);
            CHECK(shown.find("attempt 1") == std::string::npos);
            CHECK(shown.find("attempt 2") == std::string::npos);
        }
    });
}
