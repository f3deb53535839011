#include "inspect/open_questions.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>

#include "tests/support/graphs.hpp"
#include "tests/support/list_counting_saver.hpp"
#include "tests/support/savers.hpp"
#include "tests/support/without_index.hpp"

// The questions of all threads, in pages.
using namespace graphs;
using sg::inspect::openQuestionsOf;
using sg::inspect::QuestionPage;

namespace {

/// Threads 0, 3, 6 … ask, the threads after them fail, and the others are finished.
void fill(const std::shared_ptr<sg::BaseCheckpointSaver>& saver, int count) {
    Graph graph;
    graph.addNode("x", [](const State& state, sg::Runtime& rt) -> Update {
        if (state.foo == "0") return bar(sg::interrupt<std::string>(rt, "which colour?"));
        if (state.foo == "1") throw std::runtime_error("broken");
        return bar("x");
    });
    graph.addEdge(sg::START, "x");
    const App app = graph.compile({.checkpointer = saver});
    for (int i = 0; i < count; ++i) {
        try {
            app.invoke({sg::set(&State::foo, std::to_string(i % 3))}, {.thread_id = "thread " + std::to_string(i)});
        } catch (const sg::NodeError&) {
            // This failure is expected.
        }
    }
}

/// Two tasks of a superstep that ask.
void fillWithTwoQuestions(const std::shared_ptr<sg::BaseCheckpointSaver>& saver, const std::string& thread) {
    Graph graph;
    for (const std::string node : {"a", "b"}) {
        graph.addNode(node, [node](const State&, sg::Runtime& rt) -> Update {
            return bar(sg::interrupt<std::string>(rt, node + "?"));
        });
        graph.addEdge(sg::START, node);
    }
    graph.compile({.checkpointer = saver}).invoke({sg::set(&State::foo, std::string("x"))}, {.thread_id = thread});
}

std::vector<std::string> namesOf(sg::BaseCheckpointSaver& saver, std::size_t limit) {
    std::vector<std::string> names;
    std::optional<sg::ThreadPlace> before;
    for (int pages = 0; pages < 100; ++pages) {
        const QuestionPage page = openQuestionsOf(saver, before, limit);
        for (const sg::UnfinishedThread& thread : page.threads) {
            CHECK_FALSE(thread.interrupts.empty());
            names.push_back(thread.thread_id);
        }
        if (!page.next) return names;
        CHECK_FALSE(page.threads.empty());
        before = page.next;
    }
    FAIL("the pages do not end");
    return names;
}

TEST_CASE("every open question is on one page, the newest first, with an index and without") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        fill(saver, 30);
        std::vector<std::string> wanted;
        for (int i = 27; i >= 0; i -= 3) wanted.push_back("thread " + std::to_string(i));
        WithoutIndex without(*saver);
        for (const std::size_t limit : {1U, 3U, 9U, 10U, 11U, 1000U}) {
            CAPTURE(limit);
            CHECK(namesOf(*saver, limit) == wanted);
            CHECK(namesOf(without, limit) == wanted);
        }
        CHECK(openQuestionsOf(*saver, {}, 10).next == std::nullopt);
    });
}

TEST_CASE("a page of questions reads the open threads up to its end, and no finished ones") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    fill(saver, 300);
    ListCountingSaver counting(*saver);
    CHECK(openQuestionsOf(counting, {}, 4).threads.size() == 4);
    CHECK(counting.read <= 6);
    CHECK(namesOf(counting, 1000).size() == 100);
    CHECK(counting.read <= 6 + 100);  // threads that failed have no questions, according to the index
}

TEST_CASE("a page of questions ends after a bounded number of threads that ask nothing, and says where it continues") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    fill(saver, 300);
    std::size_t found = 0;
    std::optional<sg::ThreadPlace> before;
    int pages = 0;
    do {
        const QuestionPage page = openQuestionsOf(*saver, before, 9, 20, 1000);
        found += page.threads.size();
        before = page.next;
        ++pages;
    } while (before && pages < 100);
    CHECK(found == 100);
    CHECK(pages >= 10);
}

TEST_CASE("the questions of one thread stay on one page") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    fill(saver, 1);
    fillWithTwoQuestions(saver, "two");
    fillWithTwoQuestions(saver, "newest");
    const QuestionPage page = openQuestionsOf(*saver, {}, 3);
    REQUIRE(page.threads.size() == 2);
    CHECK(page.threads[0].thread_id == "newest");
    CHECK(page.threads[1].interrupts.size() == 2);
    REQUIRE(page.next);
    CHECK(openQuestionsOf(*saver, page.next, 3).threads.at(0).thread_id == "thread 0");
}

}  // namespace
