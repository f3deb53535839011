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
constexpr int customer_count = 700;

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
            app.invoke({sg::set(&State::foo, doingOf(i))}, {.thread_id = "thread " + std::to_string(i),
                                                            .durability = sg::Durability::exit,
                                                            .metadata = {{"customer", sg::Value(i % customer_count)}}});
        } catch (const sg::NodeError&) {
            // This failure is expected.
        }
    }
}

// As an earlier version of the library leaves an index: it knows what the threads wait for, and nothing else.
void dropSummaries(sg::BaseCheckpointSaver& saver) {
    const auto threads = saver.newestThreads({.limit = 2 * thread_count});
    for (const sg::IndexedThread& thread : *threads) {
        saver.put({.log = {thread.place.thread_id},
                   .expected_head = thread.place.since,
                   .commits = {},
                   .writes = {},
                   .outlook = thread.outlook});
    }
}

std::vector<ThreadView> allPages(sg::BaseCheckpointSaver& saver, ThreadFilter filter) {
    std::vector<ThreadView> all;
    for (int pages = 0; pages < 100; ++pages) {
        const ThreadList list = sg::inspect::listThreadsOf(saver, filter);
        CHECK(list.threads.size() <= filter.limit);
        all.insert(all.end(), list.threads.begin(), list.threads.end());
        if (!list.next) return all;
        if (filter.looks_max > thread_count && filter.reads_max > thread_count)
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

TEST_CASE("a search by metadata or by the text of questions reads only the threads that it finds") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        fillWithMany(saver);
        ListCountingSaver counting(*saver);
        const auto reads = [&](const ThreadFilter& filter, std::size_t found) {
            counting.read = 0;
            CHECK(allPages(counting, filter).size() == found);
            return counting.read;
        };
        const ThreadFilter of_customer{
            .metadata = {{"customer", sg::Value(5)}}, .limit = 50, .looks_max = 10'000, .reads_max = 10'000};
        ThreadFilter asks = of_customer;
        asks.metadata.clear();
        asks.text = "colour";
        CHECK(reads(of_customer, 3) == 3);
        CHECK(reads(asks, 5) == 5);
        asks.text = "thread 77";
        CHECK(reads(asks, 11) == 11);
        asks.text = "nothing has this";
        CHECK(reads(asks, 0) == 0);
        asks.text = "colour";
        asks.metadata = {{"customer", sg::Value(1500 % customer_count)}};
        CHECK(reads(asks, 1) == 1);

        // Whether a thread is found does not depend on the index.
        dropSummaries(*saver);
        for (const std::size_t others : {std::size_t{thread_count} - 3, std::size_t{0}})
            CHECK(reads(of_customer, 3) == 3 + others);
        CHECK(reads(of_customer, 3) == 3);
    });
}

TEST_CASE("a search that finds little returns after a bounded number of threads, and says where it continues") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    fillWithMany(saver);
    ListCountingSaver counting(*saver);
    ThreadFilter filter{.metadata = {{"customer", sg::Value(5)}}, .limit = 50, .looks_max = 600, .reads_max = 10'000};
    const ThreadList first = sg::inspect::listThreadsOf(counting, filter);
    CHECK(first.threads.size() < 3);
    REQUIRE(first.next);
    CHECK(allPages(counting, filter).size() == 3);
    CHECK(counting.read == first.threads.size() + 3);

    dropSummaries(*saver);
    filter.looks_max = 10'000;
    filter.reads_max = 100;
    filter.limit = 1;
    std::size_t found = 0;
    int pages = 0;
    do {
        counting.read = 0;
        const ThreadList page = sg::inspect::listThreadsOf(counting, filter);
        CHECK(counting.read <= 100);
        found += page.threads.size();
        filter.before = page.next;
        ++pages;
    } while (filter.before && pages < 1000);
    CHECK(found == 3);
    CHECK(pages > thread_count / 100 / 2);
}

TEST_CASE("a search finds what a summary has no room for, and nothing that is redacted") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    fillWithMany(saver);
    Graph graph;
    graph.addNode("x", [](const State& state, sg::Runtime& rt) -> Update {
        return bar(sg::interrupt<std::string>(rt, std::string(3000, '?') + state.foo));
    });
    graph.addEdge(sg::START, "x");
    const App app = graph.compile({.checkpointer = saver});
    app.invoke({sg::set(&State::foo, "the end of a long question")},
               {.thread_id = "long",
                .metadata = {{"account", sg::Value(std::string(3000, 'a'))}, {"token", sg::Value("secret")}}});
    const auto names = [&](ThreadFilter filter) {
        std::set<std::string> found;
        for (const ThreadView& thread : allPages(*saver, std::move(filter))) found.insert(thread.thread_id);
        return found;
    };
    const std::set<std::string> only{"long"};
    CHECK(names({.text = "end of a long"}) == only);
    CHECK(names({.metadata = {{"account", sg::Value(std::string(3000, 'a'))}}}) == only);
    CHECK(names({.metadata = {{"token", sg::Value("secret")}}}) == only);
    const auto hide = [](sg::Value value, const std::string& name) {
        return name == "token" || name.empty() ? sg::Value("hidden") : value;
    };
    CHECK(names({.metadata = {{"token", sg::Value("secret")}}, .shown = hide}).empty());
    CHECK(names({.metadata = {{"token", sg::Value("hidden")}}, .shown = hide}) == only);
    CHECK(names({.text = "end of a long", .shown = hide}).empty());
    CHECK(names({.text = "colour", .shown = hide}).empty());
    CHECK(names({.text = "hidden", .shown = hide}).size() == 6);
}
