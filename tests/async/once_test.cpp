#include <chrono>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/codec_std.hpp>
#include <stategraph/executor.hpp>
#include <stategraph/retry.hpp>

#include "tests/async/support.hpp"
#include "tests/support/savers.hpp"

// Effects that are awaited (onceAsync).
using namespace graphs;
using namespace std::chrono_literals;

namespace {

// Returns an effect that takes time, and is logged when it happens.
auto effect(Log& log, std::string name, bool& fails) {
    return [&log, name = std::move(name), &fails]() -> sg::Task<std::string> {
        co_await sg::sleepFor(std::chrono::milliseconds(1));
        log.add(name);
        if (fails) throw std::runtime_error(name + " is broken");
        co_return name + " done";
    };
}

template <class Node>
App withNode(const std::shared_ptr<sg::BaseCheckpointSaver>& saver, Node node, const sg::RetryPolicy& retry = {}) {
    Graph graph;
    graph.addNode("node", std::move(node), {.retry = retry}).addEdge(sg::START, "node");
    return graph.compile({.checkpointer = saver});
}

}  // namespace

TEST_CASE("an awaited effect happens once, however often its node runs") {
    savers::onEachAndLater([](savers::Store& store) {
        Log log;
        bool no = false;
        int failures = 2;
        const auto node = [&](const State&, sg::Runtime& runtime) -> sg::Task<Update> {
            auto pay = effect(log, "pay", no);
            auto tell = effect(log, "tell", no);
            const std::string paid = co_await sg::onceAsync(runtime, "pay", std::move(pay));
            if (failures-- > 0) throw std::runtime_error("after paying");
            const std::string told = co_await sg::onceAsync(runtime, "tell", std::move(tell));
            co_return bar(paid + ", " + told);
        };
        const App app = withNode(store.open(), node, {.max_attempts = 2, .initial_interval = 0ms});
        CHECK_THROWS_AS(sg::syncWait(app.asyncInvoke(Update{}, {.thread_id = "t"})), sg::NodeError);
        const auto done = sg::syncWait(app.asyncInvoke(sg::RESUME, {.thread_id = "t"}));
        CHECK(done.values.bar == Strings{"pay done, tell done"});
        CHECK(log.take() == Strings{"pay", "tell"});
    });
}

TEST_CASE("of an awaited effect that fails nothing is kept") {
    Log log;
    bool fails = true;
    const auto node = [&](const State&, sg::Runtime& runtime) -> sg::Task<Update> {
        auto pay = effect(log, "pay", fails);
        const std::string paid = co_await sg::onceAsync(runtime, "pay", std::move(pay));
        co_return bar(paid);
    };
    const App app = withNode(std::make_shared<sg::MemorySaver>(), node);
    const auto error = thrown<sg::NodeError>([&] { sg::syncWait(app.asyncInvoke(Update{}, {.thread_id = "t"})); });
    CHECK(error.reason() == "pay is broken");
    fails = false;
    CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).values.bar == Strings{"pay done"});
    CHECK(log.take() == Strings{"pay", "pay"});
}

TEST_CASE(
    "an awaited effect without a result, and one whose result was stored by Runtime::once, are known by their keys") {
    Log log;
    bool fails = true;
    const auto node = [&](const State&, sg::Runtime& runtime) -> sg::Task<Update> {
        const int stored = runtime.once("number", [&] { return 41; });
        auto count = [&]() -> sg::Task<int> {
            log.add("never");
            co_return 0;
        };
        auto ring = [&]() -> sg::Task<> {
            log.add("ring");
            co_return;
        };
        const int number = co_await sg::onceAsync(runtime, "number", std::move(count));
        co_await sg::onceAsync(runtime, "ring", std::move(ring));
        if (fails) throw std::runtime_error("later");
        co_return bar(std::to_string(stored) + " " + std::to_string(number));
    };
    const App app = withNode(std::make_shared<sg::MemorySaver>(), node);
    CHECK_THROWS_AS(app.invoke(Update{}, {.thread_id = "t"}), sg::NodeError);
    fails = false;
    CHECK(sg::syncWait(app.asyncInvoke(sg::RESUME, {.thread_id = "t"})).values.bar == Strings{"41 41"});
    CHECK(log.take() == Strings{"ring"});
}

TEST_CASE("in doubt somebody is asked about an awaited effect, and answers with its result or to repeat it") {
    for (const bool happened : {true, false}) {
        Log log;
        bool fails = true;
        const auto node = [&](const State&, sg::Runtime& runtime) -> sg::Task<Update> {
            auto pay = effect(log, "pay", fails);
            const std::string paid = co_await sg::onceAsync(runtime, "pay", std::move(pay), sg::OnDoubt::ask);
            co_return bar(paid);
        };
        const App app = withNode(std::make_shared<sg::MemorySaver>(), node);
        CHECK_THROWS_AS(app.invoke(Update{}, {.thread_id = "t"}), sg::NodeError);
        fails = false;
        const auto asked = sg::syncWait(app.asyncInvoke(sg::RESUME, {.thread_id = "t"}));
        REQUIRE((asked.status == sg::Status::interrupted));
        CHECK(contains(asked.interrupts.at(0).value.toJson(), R"("effect":"pay")"));
        using Answer = std::map<std::string, std::string>;
        const sg::Value answer = happened ? sg::Value(Answer{{"result", "paid by hand"}}) : sg::Value("repeat");
        const auto done = app.invoke(sg::Command<>{.resume = answer}, {.thread_id = "t"});
        CHECK(done.values.bar == Strings{happened ? "paid by hand" : "pay done"});
        CHECK(log.take().size() == (happened ? 1U : 2U));
    }
}

TEST_CASE("effects that are awaited at the same time on several threads end in any order, and the node may ask after") {
    const auto executor = std::make_shared<sg::Executor>(sg::ExecutorOptions{.threads_max = 4});
    Log log;
    const auto node = [&](const State&, sg::Runtime& runtime) -> sg::Task<Update> {
        std::vector<sg::Task<int>> effects;
        effects.reserve(16);
        for (int i = 0; i < 16; ++i) {
            effects.push_back(sg::onceAsync(runtime, std::to_string(i), [&log, i]() -> sg::Task<int> {
                co_await sg::sleepFor(std::chrono::milliseconds(1));
                log.add("effect");
                co_return i;
            }));
        }
        const std::vector<int> all = co_await sg::whenAll(std::move(effects));
        int sum = 0;
        for (const int each : all) sum += each;
        co_return bar(std::to_string(sum) + sg::interrupt<std::string>(runtime, "?"));
    };
    Graph graph;
    graph.addNode("node", node).addEdge(sg::START, "node");
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>(), .executor = executor});
    for (int i = 0; i < 20; ++i) {
        const std::string thread = std::to_string(i);
        const auto asked = sg::spawn(executor, app.asyncInvoke(Update{}, {.thread_id = thread})).get();
        REQUIRE(asked.interrupts.size() == 1);
        const auto done = sg::spawn(executor, app.asyncInvoke(Command{.resume = "!"}, {.thread_id = thread})).get();
        CHECK(done.values.bar == Strings{"120!"});
    }
    CHECK(log.take().size() == 20 * 16);
}
