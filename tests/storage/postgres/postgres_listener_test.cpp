// Notifications: what is sent, what a listener receives, and connections that break.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/postgres_listener.hpp>
#include <stategraph/stategraph.hpp>
#include <stategraph/stream_hub.hpp>

#include "storage/postgres/postgres_notices.hpp"
#include "tests/support/until.hpp"
#include "tests/worker/queue/postgres_queue_helper.hpp"

namespace sg = stategraph;
using namespace std::chrono_literals;
using postgres_tests::Queue;
using postgres_tests::Raw;

namespace {

/// What a listener reports, in order.
class Heard {
public:
    using One = std::pair<sg::PostgresNotice, std::string>;

    sg::PostgresListenerOptions options() {
        return {.on_notice =
                    [this](sg::PostgresNotice notice, const std::string& name) {
                        add({notice, name});
                    },
                .on_error =
                    [this](const std::exception_ptr& error) {
                        const std::lock_guard lock(mutex_);
                        errors_.push_back(postgres_tests::databaseError([&] { std::rethrow_exception(error); }));
                        changed_.notify_all();
                    }};
    }
    /// Waits until the notice has come, and takes it with all before it; the time limit of the test ends endless waits.
    void await(sg::PostgresNotice notice, const std::string& name = {}) {
        std::unique_lock lock(mutex_);
        const One wanted{notice, name};
        changed_.wait(lock, [&] { return std::ranges::find(all_, wanted) != all_.end(); });
        all_.erase(all_.begin(), std::next(std::ranges::find(all_, wanted)));
    }
    std::string awaitError() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return !errors_.empty(); });
        return errors_.front();
    }
    std::size_t count(sg::PostgresNotice notice) {
        const std::lock_guard lock(mutex_);
        return static_cast<std::size_t>(std::ranges::count(all_, notice, &One::first));
    }

private:
    void add(One one) {
        const std::lock_guard lock(mutex_);
        all_.push_back(std::move(one));
        changed_.notify_all();
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<One> all_;
    std::vector<std::string> errors_;
};

sg::PostgresSaverOptions telling() { return {.notify = {.work = true, .commits = true, .interval = 1ms}}; }

std::string named(const sg::PostgresNotice notice, const std::string& name) {
    const auto back = sg::checkpoint::decodeNotice(sg::checkpoint::encodeNotice(notice, name));
    return back ? std::string(toString(back->notice)) + " " + back->name : "none";
}

}  // namespace

TEST_CASE("a notice with any name is a text that PostgreSQL accepts, and is read back") {
    CHECK(named(sg::PostgresNotice::work, "") == "work ");
    CHECK(named(sg::PostgresNotice::work, "queue: 'a'") == "work queue: 'a'");
    CHECK(named(sg::PostgresNotice::cancel, "") == "cancel ");
    const std::string bytes("\0\xff'\"; NOTIFY x", 14);
    CHECK(named(sg::PostgresNotice::commit, bytes) == "commit " + bytes);
    CHECK(sg::checkpoint::encodeNotice(sg::PostgresNotice::commit, std::string(2500, '\xff')).size() < 8000);
    for (const char* const text : {"", "x1", "c1", "cxy", "q", "p12"}) CHECK(!sg::checkpoint::decodeNotice(text));
    for (const std::string& schema : {std::string("stategraph"), std::string(63, 'x'), bytes}) {
        const std::string channel = sg::checkpoint::postgresChannel(schema);
        CHECK(channel.size() == 27);
        CHECK(channel.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789") == std::string::npos);
    }
}

TEST_CASE("a listener hears of inputs, wakes, retries, answers, cancellations and commits, and of nothing unasked") {
    Queue on(telling());
    Heard heard;
    const sg::PostgresListener listener(on.saver, heard.options());
    heard.await(sg::PostgresNotice::listening);

    (void)on.submit("t", {}, "a queue");
    heard.await(sg::PostgresNotice::work, "a queue");
    CHECK(on.queue.wake("t"));
    heard.await(sg::PostgresNotice::work);
    CHECK(on.queue.cancel("t"));
    heard.await(sg::PostgresNotice::cancel);
    CHECK(!on.queue.wake("unknown"));
    CHECK(!on.queue.retry("t"));

    const std::string name("any \xff bytes");
    sg::testing::putOne(*on.saver, {name}, {}, sg::testing::makeCommit(1, 0));
    heard.await(sg::PostgresNotice::commit, name);

    Heard only_commits;
    Queue quiet;
    const sg::PostgresListener other(quiet.saver, only_commits.options());
    only_commits.await(sg::PostgresNotice::listening);
    const auto same_schema = quiet.schema.open({.notify = {.commits = true, .interval = 1ms}});
    (void)quiet.submit("t");
    sg::testing::putOne(*quiet.saver, {"silent"}, {}, sg::testing::makeCommit(1, 0));
    sg::testing::putOne(*same_schema, {"loud"}, {}, sg::testing::makeCommit(1, 0));
    only_commits.await(sg::PostgresNotice::commit, "loud");
    CHECK(only_commits.count(sg::PostgresNotice::work) == 0);
    CHECK(other.received() == 2);  // what it sent to itself, and "loud"
    CHECK(quiet.saver->notifications() == 0);
}

TEST_CASE("notifications are statements of their own: a put and a submission make no more round trips") {
    const auto begin = std::chrono::steady_clock::now();
    Queue plain;
    Queue notifying({.notify = {.work = true, .commits = true, .interval = 1min}});
    const auto trips = [](Queue& on) {
        const auto before = on.saver->roundTrips();
        for (unsigned n = 0; n < 50; ++n) {
            (void)on.submit("t");
            sg::testing::putOne(*on.saver, {"t"}, n == 0 ? sg::CheckpointId() : sg::testing::nthId(n),
                                sg::testing::makeCommit(n + 1, n));
        }
        return on.saver->roundTrips() - before;
    };
    const auto without = trips(plain);
    CHECK(without >= 100);
    const auto with = trips(notifying);
    const auto sent = notifying.saver->notifications();
    CHECK(with < without + 20 * (1 + sent));  // one statement of a minute, perhaps on a second connection
    CHECK(sent <= 1 + static_cast<std::uint64_t>((std::chrono::steady_clock::now() - begin) / 1min));
}

TEST_CASE("more notifications than are kept become one that names nothing") {
    Queue on;
    Heard heard;
    const sg::PostgresListener listener(on.saver, heard.options());
    heard.await(sg::PostgresNotice::listening);
    std::vector<sg::QueuedInput> inputs;
    for (int i = 0; i < 3'000; ++i)
        inputs.push_back({.thread_id = "t" + std::to_string(i), .graph = "g", .queue = "q" + std::to_string(i)});
    {
        // The first of them may go at once, and all others when the saver ends, long before the minute is over.
        const std::shared_ptr<sg::PostgresSaver> sender = on.schema.open({.notify = {.work = true, .interval = 1min}});
        (void)sg::PostgresQueue(sender).submit(inputs);
    }
    heard.await(sg::PostgresNotice::work);
    CHECK(listener.received() <= 2'010);
}

TEST_CASE("a schema with a hostile name has a channel, and hears nothing of another schema") {
    const std::string name = "s\"; NOTIFY x; -- '\\ " + std::to_string(::getpid());
    sg::PostgresSaverOptions options = telling();
    options.schema = name;
    options.set_up = true;
    const auto saver =
        std::make_shared<sg::PostgresSaver>(postgres_tests::conninfo(), postgres_tests::patient(options));
    Heard heard;
    {
        const sg::PostgresListener listener(saver, heard.options());
        heard.await(sg::PostgresNotice::listening);
        Queue other(telling());
        (void)other.submit("other");
        sg::PostgresQueue queue(saver);
        (void)queue.submit({.thread_id = "t", .graph = "g", .queue = "'; NOTIFY x; --"});
        heard.await(sg::PostgresNotice::work, "'; NOTIFY x; --");
        CHECK(listener.received() == 2);
    }
    Raw().run("SET client_min_messages=error; DROP SCHEMA \"s\"\"; NOTIFY x; -- '\\ " + std::to_string(::getpid()) +
              "\" CASCADE");
}

TEST_CASE("texts of other programs on the channel are counted and ignored") {
    Queue on(telling());
    Heard heard;
    const sg::PostgresListener listener(on.saver, heard.options());
    heard.await(sg::PostgresNotice::listening);
    const std::string channel = sg::checkpoint::postgresChannel(on.schema.name());
    for (const char* const text : {"", "nonsense", "c0", "cgg", "x1", "\xC3\xA4"})
        Raw().run("SELECT pg_notify('" + channel + "', '" + text + "')");
    (void)on.submit("t");
    heard.await(sg::PostgresNotice::work, "default");
    CHECK(listener.received() == 8);
}

TEST_CASE("a listener whose connection is cut connects again, says so, and hears what is sent from then on") {
    Queue on(telling());
    const std::string name = "listens_to_" + on.schema.name();
    const auto through = std::make_shared<sg::PostgresSaver>(
        postgres_tests::conninfo() + " application_name=" + name,
        postgres_tests::patient<sg::PostgresSaverOptions>({.schema = on.schema.name()}));
    Heard heard;
    const sg::PostgresListener listener(through, heard.options());
    heard.await(sg::PostgresNotice::listening);
    for (int round = 0; round < 3; ++round) {
        Raw().run("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = '" + name +
                  "'");
        heard.await(sg::PostgresNotice::listening);
        (void)on.submit("t" + std::to_string(round));
        heard.await(sg::PostgresNotice::work, "default");
    }
    CHECK(listener.connections() == 4);
    POSTGRES_SAYS(heard.awaitError(), "SaverError: ");
}

TEST_CASE("a listener waits for a server that is down, and ends while it does") {
    const postgres_tests::Server server;
    sg::PostgresSaverOptions options = telling();
    options.set_up = true;
    options.reconnect_for = 0ms;
    const auto saver = std::make_shared<sg::PostgresSaver>(server.conninfo(), postgres_tests::patient(options));
    Heard heard;
    const sg::PostgresListener listener(saver, heard.options());
    Heard second;
    auto ends = std::make_unique<sg::PostgresListener>(saver, second.options());
    heard.await(sg::PostgresNotice::listening);
    second.await(sg::PostgresNotice::listening);
    server.down();
    POSTGRES_SAYS(heard.awaitError(), "SaverError: ");
    (void)second.awaitError();
    ends.reset();
    server.up();
    heard.await(sg::PostgresNotice::listening);
    sg::PostgresQueue queue(std::make_shared<sg::PostgresSaver>(server.conninfo(), postgres_tests::patient(options)));
    (void)queue.submit({.thread_id = "t", .graph = "g", .queue = "after"});
    heard.await(sg::PostgresNotice::work, "after");
}

TEST_CASE("a subscriber in another process reads a commit when it is notified, not when it polls") {
    Queue on(telling());
    struct State {
        int n = 0;
        static constexpr auto channels() { return sg::channels(sg::channel("n", &State::n)); }
    };
    sg::StateGraph<State> graph;
    graph.addNode("add", [](const State& state) { return sg::Update<State>{sg::set<&State::n>(state.n + 1)}; });
    graph.addEdge(sg::START, "add").addEdge("add", sg::END);
    const auto app = graph.compile({.checkpointer = on.saver});

    const std::shared_ptr<sg::PostgresSaver> reading = on.schema.open();
    // [begin follow]
    sg::StreamHub hub(reading);
    const auto look = [&hub](sg::PostgresNotice notice, const std::string& name) {
        if (notice == sg::PostgresNotice::commit && !name.empty()) hub.notify(sg::ThreadId(name));
    };
    const sg::PostgresListener listener(reading, {.on_notice = look});
    // [end follow]
    patience::until([&] { return listener.connections() != 0; });
    auto subscription = hub.subscribe(sg::ThreadId("t"), {.poll = 1h});
    (void)app.invoke({sg::set<&State::n>(1)}, {.thread_id = "t"});
    const auto event = subscription.next();
    REQUIRE(event);
    CHECK(event->durable);
}

TEST_CASE("what cannot be listened to, or notified, is an error that says why") {
    Queue on;
    const auto listening = [&](sg::PostgresSaverOptions options) {
        return postgres_tests::databaseError([&] {
            const std::shared_ptr<sg::PostgresSaver> saver = on.schema.open(options);
            Heard heard;
            const sg::PostgresListener listener(saver, heard.options());
        });
    };
    POSTGRES_SAYS(listening({.prepared_statements = false}), "pooler in transaction mode");
    POSTGRES_SAYS(listening({.read_only = true, .notify = {.work = true}}), "notify: a read_only saver stores nothing");
    POSTGRES_SAYS(listening({.notify = {.work = true, .interval = 0ms}}), "notify.interval is 0 ms");
    POSTGRES_SAYS(postgres_tests::databaseError([&] { sg::PostgresListener(on.saver, {}); }), "needs on_notice");
    POSTGRES_SAYS(postgres_tests::databaseError(
                      [&] { sg::PostgresListener({}, {.on_notice = [](sg::PostgresNotice, const std::string&) {}}); }),
                  "needs a PostgresSaver");
    CHECK(listening({.read_only = true}).empty());
}
