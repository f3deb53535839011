#include <algorithm>
#include <array>
#include <numeric>
#include <thread>

#include <doctest/doctest.h>

#include <stategraph/codec_std.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/fixed_ids.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/recording_saver.hpp"

// What is stored is the same, byte for byte, in whatever order the tasks of a superstep finish.
using namespace graphs;

namespace {

/// Lets the tasks of a superstep finish in a given order. A task has finished when its record is stored.
class Turns {
public:
    explicit Turns(std::vector<std::size_t> order) : order_(std::move(order)) {}

    /// Returns when it is `task`'s turn; the numbers of later supersteps follow those of the first one.
    void await(std::size_t task) {
        std::unique_lock lock(mutex_);
        const bool came = next_.wait_for(lock, std::chrono::minutes(5), [&] { return whose() == task; });
        if (!came) throw std::runtime_error("the turn never came");
    }
    void pass() {
        const std::lock_guard lock(mutex_);
        ++passed_;
        next_.notify_all();
    }
    std::size_t passed() {
        const std::lock_guard lock(mutex_);
        return passed_;
    }

private:
    std::size_t whose() const { return passed_ / order_.size() * order_.size() + order_[passed_ % order_.size()]; }

    std::vector<std::size_t> order_;
    std::mutex mutex_;
    std::condition_variable next_;
    std::size_t passed_ = 0;
};

std::shared_ptr<RecordingSaver> passingSaver(Turns& turns) {
    auto saver = std::make_shared<RecordingSaver>();
    saver->after_put = [&turns](const sg::PutRequest& request) {
        if (request.commits.empty()) turns.pass();
    };
    return saver;
}

// All commits and pending writes.
std::string dump(sg::BaseCheckpointSaver& saver) {
    std::string all;
    for (const auto& row : saver.list({.with_writes = true})) {
        all += row.thread_id + '\0' + row.checkpoint_ns + '\0' + row.id.toString() + '\0';
        all.append(row.bytes).push_back('\0');
        for (const auto& write : row.writes) all += write.path + '\0' + write.bytes + '\0';
    }
    return all;
}

template <class F>
void forEachOrder(std::size_t tasks, F body) {
    std::vector<std::size_t> order(tasks);
    std::iota(order.begin(), order.end(), 0);
    do {
        body(order);
    } while (std::next_permutation(order.begin(), order.end()));
}

struct Job {
    int number = 0;
    static constexpr auto fields() { return sg::fields(sg::field("number", &Job::number)); }
};

// Two supersteps of five tasks each: a plain node, a Command with a goto, a router with Sends, a Command with a Send,
// and a node that writes nothing; then the nodes and Sends that result from them; then a join.
App wideGraph(Turns& turns, const std::shared_ptr<RecordingSaver>& saver) {
    Graph graph;
    const auto plain = [&turns](const char* name, std::size_t turn) {
        return [&turns, name, turn](const State&) -> Update {
            turns.await(turn);
            return {sg::add(&State::bar, name), sg::add(&State::n, 1)};
        };
    };
    graph.addNode("a", plain("a", 0));
    graph.addNode("b", [&turns](const State&) -> Command {
        turns.await(1);
        return {.update = {sg::add(&State::bar, "b"), sg::set(&State::foo, "b")}, .go_to = {"x"}};
    });
    graph.addNode("c", plain("c", 2));
    graph.addConditionalEdges("c", [](const State&) { return std::vector<sg::Send>{{"w", Job{7}}, {"w", Job{8}}}; });
    graph.addNode("d", [&turns](const State&) -> Command {
        turns.await(3);
        return {.update = {sg::add(&State::n, 10)}, .go_to = {sg::Send("w", Job{9}), "y"}};
    });
    graph.addNode("e", [&turns](const State&) -> Update {
        turns.await(4);
        return {};
    });
    graph.addNode("x", plain("x", 5)).addNode("y", plain("y", 6));
    graph.addNode("w", [&turns](const Job& job) -> Update {
        turns.await(static_cast<std::size_t>(job.number));
        return {sg::add(&State::bar, "w" + std::to_string(job.number))};
    });
    graph.addNode("z", appends("z"));
    for (const char* node : {"a", "b", "c", "d", "e"}) graph.addEdge(sg::START, node);
    graph.addEdge(std::vector<std::string>{"a", "x", "w"}, "z").addEdge("z", sg::END);
    return graph.compile({.checkpointer = saver, .ids = FixedIds::make()});
}

}  // namespace

TEST_CASE("all completion orders of five tasks, Sends, Commands and routers among them, store the same bytes") {
    std::string expected;
    std::size_t orders = 0;
    forEachOrder(5, [&](const std::vector<std::size_t>& order) {
        Turns turns(order);
        const auto saver = passingSaver(turns);
        const App app = wideGraph(turns, saver);
        const auto result = app.invoke(bar("i"), {.thread_id = "t"});
        REQUIRE(turns.passed() == 10);
        REQUIRE(result.values.bar == Strings{"i", "a", "b", "c", "x", "y", "w7", "w8", "w9", "z"});
        REQUIRE(app.getState({.thread_id = "t"}).values == result.values);  // quirk 8: what is read back is what ran
        const std::string stored = dump(*saver);
        if (expected.empty()) expected = stored;
        REQUIRE((stored == expected));
        ++orders;
    });
    CHECK(orders == 120);
}

TEST_CASE("every driver stores the same bytes as the others, in every order") {
    std::string expected;
    std::size_t number = 0;
    std::vector<std::size_t> order{0, 1, 2, 3, 4};
    for (const drivers::Driver& driver : drivers::crossed()) {
        CAPTURE(driver.name);
        for (int i = 0; i < 4; ++i) {
            // Each driver tries different orders; together they cover the list.
            for (std::size_t steps = 1 + number++ % 7; steps > 0; --steps)
                std::next_permutation(order.begin(), order.end());
            Turns turns(order);
            const auto saver = passingSaver(turns);
            const App app = wideGraph(turns, saver);
            const auto outcome = driver.run(app, bar("i"), {.thread_id = "t"});
            REQUIRE(outcome.what() == "");
            REQUIRE(outcome.values.bar == Strings{"i", "a", "b", "c", "x", "y", "w7", "w8", "w9", "z"});
            const std::string stored = dump(*saver);
            if (expected.empty()) expected = stored;
            REQUIRE((stored == expected));
        }
    }
}

TEST_CASE("two to four tasks too, and where the saver is slow") {
    for (std::size_t tasks = 2; tasks <= 4; ++tasks) {
        for (const bool is_slow : {false, true}) {
            std::string expected;
            forEachOrder(tasks, [&](const std::vector<std::size_t>& order) {
                Turns turns(order);
                const auto saver = passingSaver(turns);
                saver->is_slow = is_slow;
                Graph graph;
                for (std::size_t i = 0; i < tasks; ++i) {
                    const std::string name(1, static_cast<char>('a' + i));
                    graph.addNode(name, [&turns, i, name](const State&) -> Update {
                        turns.await(i);
                        return bar(name);
                    });
                    graph.addEdge(sg::START, name);
                }
                const App app = graph.compile({.checkpointer = saver, .ids = FixedIds::make()});
                app.invoke(bar("i"), {.thread_id = "t"});
                const std::string stored = dump(*saver);
                if (expected.empty()) expected = stored;
                REQUIRE((stored == expected));
            });
        }
    }
}

TEST_CASE("a superstep that fails and asks stores the same records in every order, and reports the same") {
    std::string expected;
    std::string expected_error;
    forEachOrder(4, [&](const std::vector<std::size_t>& order) {
        Turns turns(order);
        const auto saver = passingSaver(turns);
        Graph graph;
        graph.addNode("ask", [&turns](const State&, sg::Runtime& runtime) -> Update {
            turns.await(0);
            return bar(sg::interrupt<std::string>(runtime, "?"));
        });
        graph.addNode("bad", [&turns](const State&) -> Update {
            turns.await(1);
            throw std::runtime_error("first");
        });
        graph.addNode("good", [&turns](const State&) -> Update {
            turns.await(2);
            return bar("good");
        });
        graph.addNode("worse", [&turns](const State&) -> Update {
            turns.await(3);
            throw std::runtime_error("second");
        });
        for (const char* node : {"ask", "bad", "good", "worse"}) graph.addEdge(sg::START, node);
        const App app = graph.compile({.checkpointer = saver, .ids = FixedIds::make()});
        const auto error = thrown<sg::NodeError>([&] { app.invoke(bar("i"), {.thread_id = "t"}); });
        const std::string stored = dump(*saver);
        if (expected.empty()) {
            expected = stored;
            expected_error = error.what();
        }
        REQUIRE((stored == expected));
        REQUIRE(error.what() == expected_error);
        REQUIRE(error.reason() == "first");
    });
}

TEST_CASE(
    "what a run stores does not depend on what its thread of execution ran before: a graph with logs that live with "
    "the thread") {
    const auto stored = [](bool after_another) {
        std::string all;
        // A new thread has no memory left from earlier runs.
        std::thread([&] {
            if (after_another) {
                Graph inner;
                inner.addNode("in", [](const State&) -> Update { return bar("in"); }).addEdge(sg::START, "in");
                Graph outer;
                outer.addNode("sub", inner.compile({.checkpointer = sg::PER_THREAD})).addEdge(sg::START, "sub");
                outer.compile({.checkpointer = std::make_shared<sg::MemorySaver>(), .ids = FixedIds::make()})
                    .invoke(Update{}, {.thread_id = "other"});
            }
            Graph plain;
            plain.addNode("a", [](const State&) -> Update { return bar("a"); }).addEdge(sg::START, "a");
            const auto saver = std::make_shared<sg::MemorySaver>();
            plain.compile({.checkpointer = saver, .ids = FixedIds::make()}).invoke(Update{}, {.thread_id = "t"});
            all = dump(*saver);
        }).join();
        return all;
    };
    CHECK(stored(true) == stored(false));
}
