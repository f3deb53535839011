#include <stdexcept>

#include <doctest/doctest.h>

#include "tests/run/effects.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/recording_saver.hpp"
#include "tests/support/savers.hpp"

// Runtime::once: effects that happen once per task and key.
using namespace graphs;
using namespace std::chrono_literals;
using namespace effects;

TEST_CASE("an effect is not repeated when its node is tried again") {
    Log log;
    int tries = 0;
    const App app = payer(
        std::make_shared<sg::MemorySaver>(),
        [&](const State&, sg::Runtime& rt) -> Update {
            const auto receipt = rt.once("charge", [&] {
                log.add("charged");
                return std::string("receipt");
            });
            if (++tries < 3) throw std::runtime_error("later");
            return bar(receipt);
        },
        retries(5));
    CHECK(app.invoke(Update{}, T).values.bar == Strings{"receipt"});
    CHECK(tries == 3);
    CHECK(log.entries() == Strings{"charged"});
}

TEST_CASE("an effect is not repeated when a failed run is resumed, in whatever order the code has them then") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        Log log;
        const auto effect = [&](sg::Runtime& rt, const char* key) {
            return rt.once(key, [&] {
                log.add(key);
                return std::string(key) + "!";
            });
        };
        bool fails = true;
        const App old_code = payer(saver, [&](const State&, sg::Runtime& rt) -> Update {
            effect(rt, "a");
            effect(rt, "b");
            if (fails) throw std::runtime_error("crash");
            return {};
        });
        CHECK_THROWS_AS(old_code.invoke(Update{}, T), sg::NodeError);
        fails = false;
        const App new_code = payer(saver, [&](const State&, sg::Runtime& rt) -> Update {
            return {sg::add(&State::bar, effect(rt, "c")), sg::add(&State::bar, effect(rt, "b")),
                    sg::add(&State::bar, effect(rt, "a"))};
        });
        CHECK(new_code.invoke(sg::RESUME, T).values.bar == Strings{"c!", "b!", "a!"});
        CHECK(log.entries() == Strings{"a", "b", "c"});
    });
}

TEST_CASE("that an effect begins is stored before it, and what it returned before the node continues") {
    const auto saver = std::make_shared<RecordingSaver>();
    int threads = 0;
    for (const auto on_doubt : {sg::OnDoubt::repeat, sg::OnDoubt::repeat_unclaimed})
        for (const auto durability : {sg::Durability::async, sg::Durability::sync}) {
            saver->takeLines();
            Strings seen;
            payer(saver, [&](const State&, sg::Runtime& rt) -> Update {
                saver->takeLines();
                Strings before;
                rt.once(
                    "a",
                    [&] {
                        before = saver->takeLines();
                        return 1;
                    },
                    on_doubt);
                CHECK(before.size() == (on_doubt == sg::OnDoubt::repeat ? 1 : 0));
                seen = saver->takeLines();
                seen.insert(seen.end(), before.begin(), before.end());
                return {};
            }).invoke(Update{}, {.thread_id = sg::ThreadId(std::to_string(++threads)), .durability = durability});
            for (const std::string& line : seen) {
                CHECK(line.starts_with("write once:"));
                CHECK(line.ends_with("fsync") == (durability == sg::Durability::sync));
            }
            CHECK(seen.size() == (on_doubt == sg::OnDoubt::repeat ? 2 : 1));
        }
}

TEST_CASE("effects of parallel tasks and of Sends to one node are distinguished") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    Log log;
    bool fails = true;
    Graph graph;
    graph.addNode("work", [&](const std::string& item, sg::Runtime& rt) -> Update {
        const auto done = rt.once("do", [&] {
            log.add(item);
            return item;
        });
        if (fails) throw std::runtime_error("crash");
        return bar(done);
    });
    graph.addConditionalEdges(sg::START, [](const State&) {
        return std::vector<sg::Send>{
            {"work", std::string("x")}, {"work", std::string("y")}, {"work", std::string("x")}};
    });
    const App app = graph.compile({.checkpointer = saver});
    CHECK_THROWS_AS(app.invoke(Update{}, T), sg::NodeError);
    fails = false;
    CHECK(app.invoke(sg::RESUME, T).values.bar == Strings{"x", "y", "x"});
    CHECK(log.takeSorted() == Strings{"x", "x", "y"});
}

TEST_CASE("effects inside a subgraph are kept with the thread, whatever the subgraph stores") {
    for (const bool stores : {true, false}) {
        const auto saver = std::make_shared<sg::MemorySaver>();
        Log log;
        bool fails = true;
        Graph inner;
        inner.addNode("first", appends(log, "first"));
        inner.addNode("pay", [&](const State&, sg::Runtime& rt) -> Update {
            rt.once("charge", [&] { log.add("charged"); });
            if (fails) throw std::runtime_error("crash");
            return bar("paid");
        });
        inner.addEdge(sg::START, "first").addEdge("first", "pay");
        Graph outer;
        outer.addNode("child", stores ? inner.compile() : inner.compile({.checkpointer = sg::NO_CHECKPOINTER}))
            .addEdge(sg::START, "child");
        const App app = outer.compile({.checkpointer = saver});
        CHECK_THROWS_AS(app.invoke(Update{}, T), sg::NodeError);
        fails = false;
        CHECK(app.invoke(sg::RESUME, T).values.bar == Strings{"first", "paid"});
        CHECK(log.count("charged") == 1);
    }
}

TEST_CASE("every visit of a node has its effects anew") {
    Log log;
    Graph graph;
    graph.addNode("loop", [&](const State& state, sg::Runtime& rt) -> Update {
        rt.once("tick", [&] { log.add("tick " + std::to_string(state.n)); });
        return {sg::add(&State::n, 1)};
    });
    graph.addEdge(sg::START, "loop").addConditionalEdges("loop", [](const State& s) {
        return std::string(s.n < 3 ? "loop" : sg::END);
    });
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    app.invoke(Update{}, T);
    app.invoke(Update{}, T);
    CHECK(log.entries() == Strings{"tick 0", "tick 1", "tick 2", "tick 3"});
}

TEST_CASE("a second call with a key returns what the first one did") {
    int calls = 0;
    payer(std::make_shared<sg::MemorySaver>(), [&](const State&, sg::Runtime& rt) -> Update {
        CHECK(rt.once("k", [&] { return ++calls; }) == 1);
        CHECK(rt.once("k", [&] { return ++calls; }) == 1);
        CHECK(rt.once("other", [&] { return ++calls; }) == 2);
        return {};
    }).invoke(Update{}, T);
}

TEST_CASE("the idempotency key of a task is the same in every attempt and process, and another one elsewhere") {
    savers::onEach([](savers::Store& store) {
        Strings keys;
        bool fails = true;
        const auto node = [&](const State&, sg::Runtime& rt) -> Update {
            keys.push_back(rt.idempotencyKey());
            CHECK(rt.idempotencyKey("mail") != keys.back());
            CHECK(rt.idempotencyKey("mail") == keys.back() + ":mail");
            if (fails) throw std::runtime_error("crash");
            return {};
        };
        auto saver = store.open();
        CHECK_THROWS(payer(saver, node, retries(2)).invoke(Update{}, T));
        saver = nullptr;
        fails = false;
        saver = store.open();
        payer(saver, node).invoke(sg::RESUME, T);
        REQUIRE(keys.size() == 3);
        CHECK(keys[0] == keys[1]);
        CHECK(keys[0] == keys[2]);
        payer(saver, node).invoke(Update{}, T);
        CHECK(keys[3] != keys[0]);
    });
    Strings keys;
    const auto node = [&](const State&, sg::Runtime& rt) -> Update {
        keys.push_back(rt.idempotencyKey());
        return {};
    };
    payer(nullptr, node).invoke(Update{});
    payer(nullptr, node).invoke(Update{});
    CHECK(keys.at(0) != keys.at(1));  // nothing stored distinguishes these runs
}

TEST_CASE("without a saver an effect lasts as long as the run") {
    int calls = 0;
    int tries = 0;
    const App app = payer(
        nullptr,
        [&](const State&, sg::Runtime& rt) -> Update {
            rt.once("k", [&] { ++calls; });
            if (++tries == 1) throw std::runtime_error("later");
            return {};
        },
        retries(2));
    app.invoke(Update{});
    CHECK(calls == 1);
    app.invoke(Update{});
    CHECK(calls == 2);
}

TEST_CASE("with exit durability a paused run keeps its effects") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    Log log;
    const App app = payer(saver, [&](const State&, sg::Runtime& rt) -> Update {
        rt.once("k", [&] { log.add("done"); });
        return bar(sg::interrupt<std::string>(rt, "?"));
    });
    app.invoke(Update{}, {.thread_id = "t", .durability = sg::Durability::exit});
    CHECK(app.invoke(sg::Command<>{.resume = "x"}, {.thread_id = "t", .durability = sg::Durability::exit}).values.bar ==
          Strings{"x"});
    CHECK(log.entries() == Strings{"done"});
}

TEST_CASE("an effect that is forked away from happens again on the other branch") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    Log log;
    const App app = payer(saver, [&](const State&, sg::Runtime& rt) -> Update {
        rt.once("k", [&] { log.add("done"); });
        return {};
    });
    app.invoke(Update{}, T);
    sg::CheckpointId before;
    for (const auto& snapshot : app.getStateHistory({.thread_id = "t"})) {
        if (snapshot.next == Strings{"pay"}) before = snapshot.config.checkpoint_id;
    }
    app.invoke(sg::RESUME, {.thread_id = "t", .checkpoint_id = before});
    CHECK(log.entries() == Strings{"done", "done"});
}

TEST_CASE("an effect's key must be a name, and its stored result of the type that is asked for") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const App bad = payer(saver, [&](const State&, sg::Runtime& rt) -> Update {
        CHECK_THROWS_AS(rt.once("", [] {}), sg::InvalidArgumentError);
        CHECK_THROWS_AS(rt.once(std::string(201, 'x'), [] {}), sg::InvalidArgumentError);
        rt.once(std::string(200, 'x'), [] {});
        rt.once("k", [] { return std::string("text"); });
        throw std::runtime_error("crash");
    });
    CHECK_THROWS_AS(bad.invoke(Update{}, T), sg::NodeError);
    const App changed = payer(saver, [&](const State&, sg::Runtime& rt) -> Update {
        return bar(std::to_string(rt.once("k", [] { return 1; })));
    });
    try {
        changed.invoke(sg::RESUME, T);
        FAIL("it took a text for a number");
    } catch (const sg::NodeError& error) {
        CHECK(error.message().find("the effect 'k'") != std::string::npos);
    }
}

TEST_CASE(
    "a saver that fails while an effect's result is stored leaves the effect in doubt, and the thread resumable") {
    const auto saver = std::make_shared<RecordingSaver>();
    Log log;
    const App app = payer(saver, [&](const State&, sg::Runtime& rt) -> Update {
        rt.once(
            "k", [&] { log.add("done"); },
            [&] {
                log.add("checked");
                return true;
            });
        return bar("x");
    });
    std::size_t fail_at = 3;  // the puts are: input, START, the beginning of the effect, and its result
    saver->before_put = [&](std::size_t number) {
        if (number == fail_at) throw sg::SaverError("disk full");
    };
    CHECK_THROWS_AS(app.invoke(Update{}, T), sg::Error);
    CHECK(log.take() == Strings{"done"});
    saver->before_put = nullptr;
    CHECK(app.invoke(sg::RESUME, T).values.bar == Strings{"x"});
    CHECK(log.take() == Strings{"checked"});
}
