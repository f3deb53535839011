#include <functional>
#include <memory>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include <stategraph/answer.hpp>
#include <stategraph/fork.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// Each question has an id of its own, and an answer that fits no question that waits is refused before anything is
// written.
using namespace graphs;
using Reason = sg::UnknownInterruptError::Reason;

namespace {

/// A node that asks twice and then fails once, if `fails`; then a node that does nothing.
App transfer(const std::shared_ptr<sg::BaseCheckpointSaver>& saver, bool is_inside = false, bool* fails = nullptr) {
    Graph graph;
    graph.addNode("transfer", [fails](const State&, sg::Runtime& runtime) -> Update {
        const auto draft = sg::interrupt<std::string>(runtime, "Save a draft?");
        if (fails != nullptr && std::exchange(*fails, false)) throw std::runtime_error("no");
        return bar(draft + sg::interrupt<std::string>(runtime, "Send 1,000,000?"));
    });
    graph.addNode("end", [](const State&) { return Update{}; });
    graph.addEdge(sg::START, "transfer").addEdge("transfer", "end");
    if (!is_inside) return graph.compile({.checkpointer = saver});
    Graph outer;
    outer.addNode("inside", graph.compile());
    outer.addEdge(sg::START, "inside");
    return outer.compile({.checkpointer = saver});
}

/// What the saver has of a thread.
std::string rowsOf(sg::BaseCheckpointSaver& saver, const std::string& thread) {
    std::string all;
    for (const auto& listed : saver.list({.thread_id = thread, .with_writes = true})) {
        all += listed.checkpoint_ns + listed.id.toString() + std::string(listed.bytes);
        for (const auto& write : listed.writes) all += write.path + std::string(write.bytes);
    }
    return all;
}

struct Refusal {
    Reason reason;
    Strings ids;
    Strings pending;
    bool is_answered;
};

/// Checks that the call is refused and writes nothing.
Refusal refusalOf(sg::BaseCheckpointSaver& saver, const std::string& thread, const std::function<void()>& call) {
    const std::string before = rowsOf(saver, thread);
    try {
        call();
    } catch (const sg::UnknownInterruptError& error) {
        CHECK(rowsOf(saver, thread) == before);
        CHECK((error.code() == sg::Errc::unknown_interrupt));
        Refusal refusal{error.reason(), error.ids(), {}, error.isAnswered()};
        for (const sg::Interrupt& asked : error.pending()) refusal.pending.push_back(asked.id.toString());
        return refusal;
    }
    FAIL("it was not refused");
    return {};
}

Strings idsOf(const std::vector<sg::Interrupt>& asked) {
    Strings ids;
    for (const auto& each : asked) ids.push_back(each.id.toString());
    return ids;
}

}  // namespace

TEST_CASE("an answer that is given twice is refused as answered, whatever has happened since") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        for (const drivers::Driver& driver : drivers::all()) {
            for (const bool is_inside : {false, true}) {
                CAPTURE(driver.name);
                CAPTURE(is_inside);
                const App app = transfer(saver, is_inside);
                const std::string thread = driver.name + (is_inside ? "inside" : "");
                const sg::RunConfig config{.thread_id = thread};
                const auto first = driver.run(app, Update{}, config).get().interrupts.at(0);
                const auto twice = [&](const sg::Interrupt& asked, const Strings& waits) {
                    for (const bool runs : {true, false}) {
                        const Refusal refused = refusalOf(*saver, thread, [&] {
                            if (runs) {
                                (void)driver.run(app, sg::resume({{asked.id, "yes"}}), config).get();
                            } else {
                                (void)sg::answer(*saver, {.thread_id = thread}, {{asked.id, "yes"}});
                            }
                        });
                        CHECK((refused.reason == Reason::not_pending));
                        CHECK(refused.ids == Strings{asked.id.toString()});
                        CHECK(refused.pending == waits);
                        CHECK(refused.is_answered);
                    }
                };
                const auto second = driver.run(app, sg::resume({{first.id, "yes"}}), config).get().interrupts.at(0);
                CHECK(second.id != first.id);
                CHECK(second.index == 1);
                twice(first, {second.id.toString()});
                CHECK((driver.run(app, sg::resume({{second.id, "no"}}), config).get().status == sg::Status::done));
                twice(first, {});
                twice(second, {});
            }
        }
    });
}

TEST_CASE("a question that is asked again because it has no answer keeps its id; a fork and a new visit ask anew") {
    for (const bool is_inside : {false, true}) {
        CAPTURE(is_inside);
        const auto saver = std::make_shared<sg::MemorySaver>();
        bool fails = true;
        const App app = transfer(saver, is_inside, &fails);
        const sg::RunConfig config{.thread_id = "1"};
        const auto first = app.invoke(Update{}, config).interrupts.at(0).id;
        CHECK(app.invoke(sg::RESUME, config).interrupts.at(0).id == first);
        CHECK_THROWS_AS(app.invoke(sg::resume({{first, "yes"}}), config), sg::NodeError);
        const auto second = app.invoke(sg::RESUME, config).interrupts.at(0).id;
        CHECK(second != first);
        CHECK(app.invoke(sg::RESUME, config).interrupts.at(0).id == second);
        std::set<sg::TaskId> ids{first, second};
        (void)sg::fork(*saver, {.thread_id = "1"});
        ids.insert(app.invoke(sg::RESUME, config).interrupts.at(0).id);
        ids.insert(app.invoke(Update{}, config).interrupts.at(0).id);
        CHECK(ids.size() == 4);
    }
}

TEST_CASE("answers that fit no question are refused with the reason, and nothing of their Command is written") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        Log log;
        Graph graph;
        graph.addNode("a", asks(log, "a")).addNode("b", asks(log, "b"));
        graph.addEdge(sg::START, "a").addEdge(sg::START, "b");
        const App app = graph.compile({.checkpointer = saver});
        for (const drivers::Driver& driver : drivers::all()) {
            CAPTURE(driver.name);
            const sg::RunConfig config{.thread_id = driver.name};
            const auto asked = driver.run(app, Update{}, config).get().interrupts;
            (void)log.take();
            const auto refused = [&](Command command) {
                command.update = bar("beside");
                const Refusal refusal =
                    refusalOf(*saver, driver.name, [&] { (void)driver.run(app, std::move(command), config).get(); });
                CHECK(refusal.pending == idsOf(asked));
                CHECK(!refusal.is_answered);
                CHECK(log.entries().empty());
                return refusal;
            };
            const sg::TaskId wrong(1, 2);
            const Refusal unknown = refused({.answers = {{asked[0].id, "yes"}, {wrong, "yes"}}});
            CHECK((unknown.reason == Reason::not_pending));
            CHECK(unknown.ids == Strings{wrong.toString()});
            CHECK((refused({.answers = std::vector<sg::Answer>()}).reason == Reason::empty_map));
            CHECK((refused({.resume = "yes"}).reason == Reason::ambiguous));
            const Refusal doubled = refused({.answers = {{asked[0].id, "yes"}, {asked[0].id, "no"}}});
            CHECK((doubled.reason == Reason::ambiguous));
        }
        const auto refusal = refusalOf(*saver, drivers::blocking().name, [&] {
            (void)sg::answer(*saver, {.thread_id = drivers::blocking().name}, std::vector<sg::Answer>());
        });
        CHECK((refusal.reason == Reason::empty_map));
    });
}

TEST_CASE("a bare answer to a thread that asks nothing is refused") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const App app = transfer(saver);
    const sg::RunConfig config{.thread_id = "1"};
    (void)app.invoke(Update{}, config);
    (void)app.invoke(sg::resume("yes"), config);
    (void)app.invoke(sg::resume("yes"), config);
    const Refusal refused = refusalOf(*saver, "1", [&] { (void)app.invoke(sg::resume("yes"), config); });
    CHECK((refused.reason == Reason::not_pending));
    CHECK(refused.ids.empty());
}
