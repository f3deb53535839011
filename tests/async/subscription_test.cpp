#include <atomic>
#include <memory>
#include <thread>

#include <stategraph/control.hpp>
#include <stategraph/stream_hub.hpp>

#include "tests/async/support.hpp"
#include "tests/support/drivers.hpp"
#include "tests/support/hand_home.hpp"
#include "tests/support/savers.hpp"
#include "tests/support/until.hpp"

// A thread's events, awaited.
using namespace graphs;
using sg::StreamMode;
using sg::Until;

namespace {

const sg::StreamModes modes = {StreamMode::updates, StreamMode::custom, StreamMode::runs};

Graph talks() {
    Graph graph;
    for (const char* name : {"a", "b"}) {
        graph.addNode(name, [name](const State&, sg::Runtime& runtime) -> Update {
            for (int i = 0; i < 3; ++i) runtime.write(i);
            return bar(name);
        });
    }
    graph.addEdge(sg::START, "a").addEdge("a", "b");
    return graph;
}

Task<Strings> readAll(sg::Subscription& subscription) {
    Strings texts;
    for (;;) {
        const auto event = co_await subscription.asyncNext();
        if (!event) break;
        texts.push_back(std::string(toString(event->mode)) +
                        (event->mode == StreamMode::runs ? "" : event->data.toJson()));
    }
    co_return texts;
}

/// A reader whose work the test does step by step.
struct Reader {
    explicit Reader(Task<> task) : task_(std::move(task)) {
        task_.handle().promise().startWith(
            task_.handle(), [](void* over) { *static_cast<bool*>(over) = true; }, &is_over, home.home());
    }
    HandHome home;
    bool is_over = false;

private:
    Task<> task_;
};

}  // namespace

TEST_CASE("awaited events of a subscription are those of one that blocks, in every driver") {
    for (const drivers::Driver& driver : drivers::affordable()) {
        CAPTURE(driver.name);
        const App app = talks().compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
        sg::StreamHub hub(app);
        auto awaited = hub.subscribe("t", {.modes = modes, .until = Until::run_end});
        auto blocking = hub.subscribe("t", {.modes = modes, .until = Until::run_end});
        auto reading = sg::spawn(twoThreads(), readAll(awaited));
        (void)driver.run(app, Update{}, {.thread_id = "t", .hub = &hub}).get();
        Strings expected;
        while (const auto event = blocking.next()) {
            expected.push_back(std::string(toString(event->mode)) +
                               (event->mode == StreamMode::runs ? "" : event->data.toJson()));
        }
        CHECK(reading.get() == expected);
        CHECK(expected.size() == 10);
    }
}

TEST_CASE("a thousand readers wait on two threads") {
    const App app = talks().compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    sg::StreamHub hub(app);
    std::vector<std::unique_ptr<sg::Subscription>> subscriptions;
    std::vector<sg::Spawning<Strings>> readers;
    const auto executor = twoThreads();
    for (int i = 0; i < 1000; ++i) {
        subscriptions.push_back(
            std::make_unique<sg::Subscription>(hub.subscribe("t", {.modes = modes, .until = Until::run_end})));
        readers.push_back(sg::spawn(executor, readAll(*subscriptions.back())));
    }
    app.invoke(Update{}, {.thread_id = "t", .hub = &hub});
    for (auto& reader : readers) CHECK(reader.get().size() == 10);
}

TEST_CASE("a reader that is destroyed while it waits takes nothing, and another one follows") {
    const App app = talks().compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    sg::StreamHub hub(app);
    auto subscription = hub.subscribe("t", {.modes = modes, .until = Until::run_end});
    for (int i = 0; i < 3; ++i) {
        const auto waits = [&]() -> Task<> { (void)co_await subscription.asyncNext(); };
        Reader reader(waits());
        (void)reader.home.runOne(1ms);
        CHECK(!reader.is_over);
    }
    {
        const auto waits = [&]() -> Task<> { (void)co_await subscription.asyncNext(1h); };
        Reader reader(waits());
        app.invoke(Update{}, {.thread_id = "t", .hub = &hub});  // wakes it, and it is destroyed before it gets there
    }
    CHECK(sg::syncWait(readAll(subscription)).size() == 10);
}

TEST_CASE("a subscription that is destroyed, closed or assigned while a reader awaits it ends the wait with none") {
    const App app = talks().compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    sg::StreamHub hub(app);
    for (int how = 0; how < 3; ++how) {
        CAPTURE(how);
        auto subscription = std::make_unique<sg::Subscription>(hub.subscribe("t", {.modes = modes}));
        std::optional<sg::HubEvent> event = sg::HubEvent();
        Task<std::optional<sg::HubEvent>> next = subscription->asyncNext();
        const auto waits = [&]() -> Task<> { event = co_await std::move(next); };
        Reader reader(waits());
        CHECK(!reader.is_over);
        if (how == 0) subscription.reset();
        if (how == 1) subscription->close();
        if (how == 2) *subscription = hub.subscribe("t", {.modes = modes});
        while (!reader.is_over) (void)reader.home.runOne(100ms);
        CHECK(!event);
        CHECK(hub.subscribers() == (how == 0 ? 0U : 1U));
    }
}

TEST_CASE("a subscription that was moved from has ended, however it is read") {
    const App app = talks().compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    sg::StreamHub hub(app);
    sg::Subscription from = hub.subscribe("t", {.from = sg::StreamPosition(), .modes = modes});
    sg::Subscription to = std::move(from);
    CHECK(from.isClosed());  // NOLINT(bugprone-use-after-move): that is what is tested
    CHECK(!from.next());
    CHECK(!from.next(1h));
    CHECK(!sg::syncWait(from.asyncNext()));
    CHECK(!sg::syncWait(from.asyncNext(1h)));
    from.wake();
    from.close();
    CHECK((from.position() == sg::StreamPosition()));
    CHECK(!from.wasDisconnected());
    CHECK(from.dropped() + from.waiting() == 0);
    CHECK(!to.isClosed());
    from = std::move(to);
    CHECK(!from.isClosed());
    CHECK(hub.subscribers() == 1);
}

TEST_CASE("an awaited wait may be practically unlimited, and is not negative") {
    const App app = talks().compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    sg::StreamHub hub(app);
    auto subscription = hub.subscribe("t", {.modes = modes});
    CHECK_THROWS_WITH_AS(subscription.asyncNext(-1ms), doctest::Contains("a wait is at least 0 ms"),
                         sg::InvalidArgumentError);
    bool has_event = true;
    const auto waits = [&]() -> Task<> {
        has_event = (co_await subscription.asyncNext(std::chrono::milliseconds::max())).has_value();
    };
    Reader reader(waits());
    CHECK(!reader.is_over);
    subscription.close();
    while (!reader.is_over) (void)reader.home.runOne(100ms);
    CHECK(!has_event);
}

TEST_CASE("a wait for an event ends after its time, when somebody wakes it, and is refused while another one waits") {
    const App app = talks().compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    sg::StreamHub hub(app);
    auto subscription = hub.subscribe("t", {.modes = modes});
    CHECK(!sg::syncWait(subscription.asyncNext(1ms)));
    CHECK(!sg::syncWait(subscription.asyncNext(0ms)));
    subscription.wake();
    CHECK(!sg::syncWait(subscription.asyncNext()));
    std::jthread wakes([&] { subscription.wake(); });
    CHECK(!sg::syncWait(subscription.asyncNext()));
    wakes.join();
    std::jthread wakes_blocking([&] { subscription.wake(); });
    CHECK(!subscription.next());
    wakes_blocking.join();
    CHECK(!subscription.isClosed());
    const auto waits = [&]() -> Task<> { (void)co_await subscription.asyncNext(); };
    Reader reader(waits());
    CHECK_THROWS_WITH_AS(sg::syncWait(subscription.asyncNext()), doctest::Contains("read by two"),
                         sg::InvalidArgumentError);
}

TEST_CASE("a node that awaits another thread's events stops waiting when its run is stopped") {
    const App told = talks().compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    sg::StreamHub hub(told);
    auto subscription = hub.subscribe("t", {.modes = modes});
    std::atomic<bool> waits = false;
    std::atomic<bool> ended = false;
    const App app = chainOf([&](const State&, sg::Runtime& runtime) -> Task<Update> {
                        waits = true;
                        try {
                            (void)co_await subscription.asyncNext(runtime);
                        } catch (const sg::CancelledError&) {
                            ended = true;
                            throw;
                        }
                        co_return bar("told");
                    }).compile();
    const auto control = std::make_shared<sg::RunControl>();
    auto run = sg::spawn(twoThreads(), app.asyncInvoke(Update{}, {.control = control}));
    patience::until([&]() -> bool { return waits; });
    control->requestStop();
    CHECK((run.get().status == sg::Status::cancelled));
    patience::until([&]() -> bool { return ended; });
    auto again = sg::spawn(twoThreads(), app.asyncInvoke(Update{}));
    told.invoke(Update{}, {.thread_id = "t", .hub = &hub});
    CHECK(again.get().values.bar == Strings{"told"});
}

TEST_CASE("a node whose run was stopped takes no waiting event, and the next reader is not woken by that") {
    const App told = talks().compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    sg::StreamHub hub(told);
    auto subscription = hub.subscribe("t", {.modes = modes});
    told.invoke(Update{}, {.thread_id = "t", .hub = &hub});
    const std::size_t waiting = subscription.waiting();
    REQUIRE(waiting > 0);
    const auto control = std::make_shared<sg::RunControl>();
    const App app = chainOf([&](const State&, sg::Runtime& runtime) -> Task<Update> {
                        control->requestStop();
                        (void)co_await subscription.asyncNext(runtime);
                        co_return bar("told");
                    }).compile();
    CHECK((sg::syncWait(app.asyncInvoke(Update{}, {.control = control})).status == sg::Status::cancelled));
    for (std::size_t i = 0; i < waiting; ++i) CHECK(subscription.next(5min).has_value());
}

TEST_CASE("an awaited subscription that is slow has the limits of one that blocks") {
    const App app = talks().compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    sg::StreamHub hub(app);
    auto slow = hub.subscribe("t", {.modes = modes, .capacity = 2, .until = Until::run_end});
    auto gone = hub.subscribe("t", {.modes = modes, .capacity = 2, .on_full = sg::OnFull::disconnect});
    app.invoke(Update{}, {.thread_id = "t", .hub = &hub});
    CHECK(slow.waiting() == 2);
    CHECK(slow.dropped() > 0);
    const Strings seen = sg::syncWait(readAll(slow));
    CHECK(seen.back() == "runs");
    CHECK(sg::syncWait(readAll(gone)).empty());
    CHECK(gone.wasDisconnected());
}

TEST_CASE("awaited waits and wakes race without losing an event") {
    const App app = talks().compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    const auto executor = twoThreads();
    for (int round = 0; round < 50; ++round) {
        sg::StreamHub hub(app);
        const std::string thread = std::to_string(round);
        auto subscription = hub.subscribe(thread, {.modes = modes, .until = Until::run_end});
        const auto polls = [&]() -> Task<int> {
            int events = 0;
            while (!subscription.isClosed()) {
                const auto event = co_await subscription.asyncNext(std::chrono::milliseconds(round % 2));
                events += event.has_value();
            }
            co_return events;
        };
        auto reading = sg::spawn(executor, polls());
        app.invoke(Update{}, {.thread_id = thread, .hub = &hub});
        CHECK(reading.get() == 10);
    }
}
