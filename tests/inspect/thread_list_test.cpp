#include "inspect/thread_list.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>

#include "tests/support/graphs.hpp"
#include "tests/support/list_counting_saver.hpp"
#include "tests/support/savers.hpp"

// The list of threads of a store with so many threads that the index provides them.
using namespace graphs;
using sg::inspect::ThreadFilter;
using sg::inspect::ThreadList;
using sg::inspect::ThreadView;

namespace {

constexpr int thread_count = 2100;

/// Every 500th thread asks, and every 700th fails; the others are finished.
std::string doingOf(int thread) {
    if (thread % 500 == 0) return "asks";
    return thread % 700 == 0 ? "fails" : "ends";
}

void fillWithMany(const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    Graph graph;
    graph.addNode("x", [](const State& state, sg::Runtime& rt) -> Update {
        if (state.foo == "asks") return bar(sg::interrupt<std::string>(rt, "which colour?"));
        if (state.foo == "fails") throw std::runtime_error("broken");
        return bar("x");
    });
    graph.addEdge(sg::START, "x");
    const App app = graph.compile({.checkpointer = saver});
    for (int i = 0; i < thread_count; ++i) {
        try {
            app.invoke({sg::set(&State::foo, doingOf(i))},
                       {.thread_id = "thread " + std::to_string(i), .durability = sg::Durability::exit});
        } catch (const sg::NodeError&) {
            // This failure is expected.
        }
    }
}

std::vector<ThreadView> allPages(sg::BaseCheckpointSaver& saver, ThreadFilter filter) {
    std::vector<ThreadView> all;
    for (int pages = 0; pages < 100; ++pages) {
        const ThreadList list = sg::inspect::listThreadsOf(saver, filter);
        CHECK(list.threads.size() <= filter.limit);
        all.insert(all.end(), list.threads.begin(), list.threads.end());
        if (!list.next) return all;
        CHECK(list.threads.size() == filter.limit);
        filter.before = list.next;
    }
    FAIL("the pages do not end");
    return all;
}

}  // namespace

TEST_CASE("a list by status reads the threads that it shows, and those that nobody has said anything of once") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    fillWithMany(saver);
    ListCountingSaver counting(*saver);
    CHECK(allPages(counting, {.status = "failed", .limit = 50}).size() == 2);
    CHECK(counting.read == 2);
    counting.read = 0;
    CHECK(sg::inspect::listThreadsOf(counting, {.status = "interrupted", .limit = 2}).threads.size() == 2);
    CHECK(counting.read == 3);  // the third says that there is another page
    // Nothing is known of these threads. Each of them is read, and then its status is known.
    for (int i = 0; i < 10; ++i) {
        const std::string name = "thread " + std::to_string(i);
        const auto head = saver->list({.thread_id = name, .checkpoint_ns = "", .heads = true})[0].id;
        saver->put({.log = {name}, .expected_head = head, .commits = {}, .writes = {}});
    }
    for (const std::size_t unknown : {10U, 0U}) {
        counting.read = 0;
        CHECK(allPages(counting, {.status = "failed", .limit = 50}).size() == 2);
        CHECK(counting.read == 2 + unknown);
    }
}

TEST_CASE("a list of many threads comes in pages, each thread once and the newest first") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        fillWithMany(saver);
        const auto all = allPages(*saver, {.limit = 64});
        CHECK(all.size() == thread_count);
        std::set<std::string> names;
        for (const ThreadView& thread : all) names.insert(thread.thread_id);
        CHECK(names.size() == thread_count);
        CHECK(std::ranges::is_sorted(all, std::ranges::greater{}, &ThreadView::checkpoint_id));
        CHECK(allPages(*saver, {.limit = 700}).size() == thread_count);

        const auto asking = allPages(*saver, {.status = "interrupted", .limit = 2});
        REQUIRE(asking.size() == 5);
        CHECK(asking[0].thread_id == "thread 2000");
        CHECK(asking[0].questions.size() == 1);
        CHECK(allPages(*saver, {.status = "failed", .limit = 50}).size() == 2);
        CHECK(allPages(*saver, {.status = "open", .limit = 50}).size() == 7);
        CHECK(allPages(*saver, {.status = "done", .limit = 500}).size() == thread_count - 7);
        const auto counts = sg::inspect::listThreadsOf(*saver, {.limit = 1}).counts;
        CHECK(counts.at("done") == thread_count - 7);
        CHECK(counts.at("open") == 7);
        CHECK(counts.at("interrupted") == 5);
        CHECK(counts.at("failed") == 2);
        CHECK_FALSE(counts.contains("in_flight"));

        CHECK(allPages(*saver, {.text = "colour", .limit = 2}).size() == 5);
        CHECK(allPages(*saver, {.text = "thread 77", .limit = 4}).size() == 11);
        CHECK(allPages(*saver, {.text = "nothing has this", .limit = 4}).empty());
        CHECK(allPages(*saver, {.since = std::chrono::hours(1), .limit = 500}).size() == thread_count);
        CHECK(allPages(*saver, {.since = std::chrono::seconds(-3600), .limit = 500}).empty());

        saver->deleteThread("thread 2000");
        CHECK(allPages(*saver, {.status = "interrupted", .limit = 2}).size() == 4);
    });
}
