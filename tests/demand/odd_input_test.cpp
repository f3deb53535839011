#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include <stategraph/cache.hpp>
#include <stategraph/control.hpp>
#include <stategraph/executor.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/history_graphs.hpp"
#include "tests/support/savers.hpp"

// Unusual input that some program will pass: ids, texts, clocks and exceptions of every kind. Each is refused with a
// sentence, or works to the end.
using namespace graphs;
using namespace std::chrono_literals;

namespace {

Graph chain() {
    Graph graph;
    graph.addNode("a", appends("a")).addNode("b", appends("b")).addEdge(sg::START, "a").addEdge("a", "b");
    return graph;
}

using Moment = std::chrono::system_clock::time_point;

class Clock final : public sg::IdSource {
public:
    explicit Clock(std::function<Moment()> now) : now_(std::move(now)) {}
    Moment now() override { return now_(); }
    std::uint64_t uniqueBits() override { return 7; }

private:
    std::function<Moment()> now_;
};

struct NoText final : std::exception {
    const char* what() const noexcept override { return nullptr; }
};

struct Thrown {
    std::string name;
    std::function<void()> raise;
    std::string text;
};

std::vector<Thrown> everyKind() {
    const std::string not_utf8("\xFF\xFE\x80");
    return {{"a number", [] { throw 1; }, "unknown exception"},
            {"a null pointer", [] { throw nullptr; }, "unknown exception"},
            {"a literal", [] { throw "a literal"; }, "a literal"},
            {"a string", [] { throw std::string("a string"); }, "a string"},
            {"no memory", [] { throw std::bad_alloc(); }, std::bad_alloc().what()},
            {"an exception whose what() is null", [] { throw NoText(); }, "an exception without a text"},
            {"a text that is not UTF-8", [=] { throw std::runtime_error(not_utf8); }, not_utf8},
            {"a long text", [] { throw std::runtime_error(std::string(1'000'000, 'w')); }, std::string(1'000'000, 'w')},
            {"the library's own", [] { throw sg::ConcurrentUpdateError("mine"); }, "mine"},
            {"a nested one",
             [] {
                 try {
                     throw 3;
                 } catch (...) {
                     std::throw_with_nested(std::runtime_error("outer"));
                 }
             },
             "outer"}};
}

}  // namespace

TEST_CASE("threads whose ids are any bytes are kept apart, listed, copied and deleted") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const App app = chain().compile({.checkpointer = saver});
        const Strings ids{std::string(1, '\0'),
                          std::string(119, '\0'),
                          std::string(119, '\xFF'),
                          "\xFF",
                          "a",
                          std::string("a\0", 2),
                          std::string("a\0b", 3),
                          "a|b",
                          "a:b",
                          "/",
                          "..",
                          "\n",
                          " "};
        for (const auto& id : ids) app.invoke(bar(id), {.thread_id = id});
        CHECK(saver->list({.heads = true}).size() == ids.size());
        for (const auto& id : ids) {
            CHECK(app.getState({.thread_id = id}).values.bar == Strings{id, "a", "b"});
            saver->copyThread(id, "copy");
            CHECK(app.getState({.thread_id = "copy"}).values.bar == Strings{id, "a", "b"});
            saver->deleteThread("copy");
            saver->deleteThread(id);
            CHECK(saver->list({.thread_id = id}).empty());
        }
        CHECK(saver->list({}).empty());
    });
}

TEST_CASE("a saver copies a thread to an id that is too long for runs, and back: nothing is lost") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const auto app = chain().compile({.checkpointer = saver});
        app.invoke(bar("i"), {.thread_id = "t"});
        const std::string much(300, 'x');
        saver->copyThread("t", much);
        CHECK_THROWS_AS(app.getState({.thread_id = much}), sg::InvalidArgumentError);
        saver->deleteThread("t");
        saver->copyThread(much, "t");
        CHECK(app.getState({.thread_id = "t"}).values.bar == Strings{"i", "a", "b"});
        CHECK(saver->list({.heads = true}).size() == 2);
    });
}

TEST_CASE("for any exception of a node, the error names the node, what it threw is shown, and the thread continues") {
    for (const auto durability : {sg::Durability::async, sg::Durability::sync, sg::Durability::exit}) {
        for (const Thrown& thrown : everyKind()) {
            CAPTURE(thrown.name);
            bool fails = true;
            Log log;
            Graph graph;
            graph.addNode("a", appends(log, "a")).addNode("bad", [&](const State&) -> Update {
                if (fails) thrown.raise();
                return bar("bad");
            });
            graph.addEdge(sg::START, "a").addEdge(sg::START, "bad");
            const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
            const auto error = graphs::thrown<sg::NodeError>(
                [&] { app.invoke(Update{}, {.thread_id = "t", .durability = durability}); });
            CHECK(error.context().node == "bad");
            const auto state = app.getState({.thread_id = "t"});
            CHECK(state.tasks.at(1).error.value_or("none") == thrown.text);
            CHECK_FALSE(sg::toJson(state).empty());
            fails = false;
            CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).values.bar == Strings{"a", "bad"});
            CHECK(log.count("a") == 1);
        }
    }
}

TEST_CASE("ids ascend on clocks that stop, go backwards, are before 1970 or far ahead") {
    static constexpr Moment now(1'700'000'000s);
    Moment falling = now;
    std::uint64_t random = 1;
    const std::vector<std::pair<std::string, std::function<Moment()>>> clocks{
        {"still", [] { return now; }},
        {"backwards", [&] { return falling -= 1s; }},
        {"zero", [] { return Moment(); }},
        {"before 1970", [] { return Moment(-5000s); }},
        {"the least", [] { return Moment::min(); }},
        {"the greatest", [] { return Moment::max(); }},
        {"random", [&] {
             return Moment(Moment::duration(
                 static_cast<std::int64_t>(random = random * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U)));
         }}};
    for (const auto& [name, clock] : clocks) {
        CAPTURE(name);
        const auto saver = std::make_shared<sg::MemorySaver>();
        const App app = chain().compile({.checkpointer = saver, .ids = std::make_shared<Clock>(clock)});
        app.invoke(bar("1"), {.thread_id = "t"});
        CHECK(app.invoke(bar("2"), {.thread_id = "t"}).values.bar == Strings{"1", "a", "b", "2", "a", "b"});
        const auto past = history::pastOf(app, {.thread_id = "t"});
        REQUIRE(past.size() == 8);
        app.invoke(sg::RESUME, past.at(1).config);
        app.updateState(past.at(2).config, bar("edit"), {.as_node = "a"});
        std::set<std::string> ids;
        for (const auto& snapshot : app.getStateHistory({.thread_id = "t"})) {
            CHECK_NOTHROW(snapshot.createdAt());
            CHECK((ids.empty() || snapshot.config.checkpoint_id.toString() < *ids.begin()));
            ids.insert(snapshot.config.checkpoint_id.toString());
        }
        CHECK(ids.size() == 12);
    }
}

TEST_CASE("a node may sleep until any time there is") {
    for (const Moment until : {Moment::min(), Moment(-1ns), Moment(), Moment::max()}) {
        CAPTURE(until.time_since_epoch().count());
        Graph graph;
        graph.addNode("sleeper", [until](const State&, sg::Runtime& runtime) -> Update {
            runtime.sleepUntil(until);
            return bar("awake");
        });
        graph.addEdge(sg::START, "sleeper");
        const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
        const auto result = app.invoke(Update{}, {.thread_id = "t"});
        CHECK((result.status == (until > Moment() ? sg::Status::sleeping : sg::Status::done)));
        if (until > Moment()) CHECK(result.wake_at == std::chrono::floor<std::chrono::milliseconds>(until));
        CHECK(app.recover().empty());
        CHECK_FALSE(sg::toJson(app.getState({.thread_id = "t"})).empty());
    }
}

TEST_CASE("limits may be as long as a duration can be, for every driver") {
    constexpr auto ever = std::chrono::milliseconds::max();
    const auto executor = std::make_shared<sg::Executor>(sg::ExecutorOptions{.threads_max = 2, .idle = ever});
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        Graph graph;
        std::atomic<int> failures{1};
        graph.addNode("a",
                      [&failures](const State&, sg::Runtime& runtime) -> Update {
                          runtime.heartbeat();
                          if (failures-- > 0) throw std::runtime_error("once");
                          return bar("a");
                      },
                      {.retry = {.max_attempts = 2, .initial_interval = 0ms, .max_interval = ever, .jitter = false},
                       .cache = {.ttl = ever},
                       .timeout = ever,
                       .idle_timeout = ever});
        graph.addEdge(sg::START, "a");
        const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>(),
                                       .executor = executor,
                                       .cache = std::make_shared<sg::MemoryCache>()});
        const sg::RunConfig config{
            .thread_id = "t", .on_busy = sg::OnBusy::wait, .busy_timeout = ever, .timeout = ever};
        const auto outcome = driver.run(app, bar("in"), config);
        REQUIRE(outcome.what() == "");
        CHECK((outcome.status == sg::Status::done));
        CHECK(outcome.values.bar == Strings{"in", "a"});
    }
}

TEST_CASE("a run that may wait for its turn as long as a duration can be gets it") {
    const App app = chain().compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    const auto ever = std::chrono::milliseconds::max();
    const auto run = [&] {
        app.invoke(bar("in"), {.thread_id = "t", .on_busy = sg::OnBusy::wait, .busy_timeout = ever});
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back(run);
    for (auto& thread : threads) thread.join();
    CHECK(app.getState({.thread_id = "t"}).values.bar.size() == 12);
}

TEST_CASE("texts that are not UTF-8, or have NUL bytes, come back as they were, wherever a text may be") {
    const std::string odd("\xFF\xFE\0x", 4);
    savers::onEach([&](savers::Store& store) {
        const auto saver = store.open();
        Graph graph;
        graph.addNode("asks", [&](const State&, sg::Runtime& runtime) -> Update {
            runtime.write(odd);
            const std::string effect = runtime.once(odd, [&] { return odd; });
            return {sg::set(&State::foo, effect + sg::interrupt<std::string>(runtime, odd)), sg::add(&State::bar, odd)};
        });
        graph.addEdge(sg::START, "asks");
        const App app = graph.compile({.checkpointer = saver});
        const sg::StreamModes modes{sg::StreamMode::values, sg::StreamMode::updates, sg::StreamMode::tasks,
                                    sg::StreamMode::debug, sg::StreamMode::custom};
        const auto asked =
            app.stream(bar(odd), {.thread_id = "t", .metadata = sg::Metadata{{odd, odd}}}, {.modes = modes},
                       [](const sg::StreamEvent& event) { CHECK_FALSE(sg::toJson(event).empty()); });
        REQUIRE(asked.interrupts.size() == 1);
        CHECK(asked.interrupts[0].value.as<std::string>() == odd);
        const auto done = app.invoke(sg::Command<>{.resume = odd}, {.thread_id = "t"});
        CHECK(done.values == State{.foo = odd + odd, .bar = {odd, odd}});
        CHECK(app.getState({.thread_id = "t"}).values == done.values);
        CHECK(history::historyOf(app, {.thread_id = "t"}, {.filter = {{odd, odd}}}).size() == 2);
        CHECK_FALSE(sg::toJson(saver->stats()).empty());
    });
}
