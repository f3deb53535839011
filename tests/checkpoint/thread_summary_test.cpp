#include "src/checkpoint/thread_summary.hpp"

#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/saver.hpp>
#include <stategraph/unfinished.hpp>

#include "src/commit/metadata.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/list_counting_saver.hpp"
#include "tests/support/savers.hpp"
#include "tests/support/thread_index.hpp"

// What an index of threads stores of a thread's metadata and questions.
using namespace graphs;

namespace {

std::string summaryOf(const sg::Metadata& metadata, const std::vector<sg::Value>& questions) {
    std::vector<std::string_view> values;
    for (const sg::Value& question : questions) values.push_back(question.bytes());
    return sg::checkpoint::writeSummary(sg::engine::encodeMetadata(metadata), values);
}

App askingApp(const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    Graph graph;
    graph.addNode("x", [](const State& state, sg::Runtime& rt) -> Update {
        if (state.foo != "ends") return bar(sg::interrupt<std::string>(rt, state.foo));
        return bar("x");
    });
    graph.addEdge(sg::START, "x");
    return graph.compile({.checkpointer = saver});
}

}  // namespace

TEST_CASE("a summary has the metadata and the open questions, and one without either takes a byte") {
    CHECK(summaryOf({}, {}) == sg::checkpoint::plain_summary);
    const sg::Metadata metadata{{"customer", sg::Value(7)}, {"by", sg::Value("ann")}};
    const std::vector<sg::Value> questions{sg::Value("which colour?"), sg::Value(std::vector<int>{1, 2})};
    const auto read = sg::readThreadSummary(summaryOf(metadata, questions));
    REQUIRE(read);
    CHECK(read->questions == questions);
    CHECK(read->has_all_questions);
    CHECK(read->has_all_metadata);
    CHECK(read->hasMetadata({{"customer", sg::Value(7)}}) == true);
    CHECK(read->hasMetadata({{"customer", sg::Value(7)}, {"by", sg::Value("bob")}}) == false);
    CHECK(read->hasMetadata({{"nobody", sg::Value(7)}}) == false);
    CHECK(read->hasMetadata({}) == true);
    const auto asks = sg::readThreadSummary(summaryOf({}, questions));
    REQUIRE(asks);
    CHECK(asks->metadata.empty());
    CHECK(asks->questions == questions);
}

TEST_CASE("what does not fit into a summary is left out, and the summary says so") {
    const sg::Metadata metadata{{"large", sg::Value(std::string(600, 'm'))}, {"customer", sg::Value(7)}};
    const std::string bytes =
        summaryOf(metadata, {sg::Value("first"), sg::Value(std::string(2000, 'q')), sg::Value("third")});
    CHECK(bytes.size() < 64);
    const auto read = sg::readThreadSummary(bytes);
    REQUIRE(read);
    CHECK_FALSE(read->has_all_metadata);
    CHECK_FALSE(read->has_all_questions);
    CHECK(read->questions == std::vector<sg::Value>{sg::Value("first")});
    CHECK(read->hasMetadata({{"customer", sg::Value(7)}}) == true);
    CHECK(read->hasMetadata({{"customer", sg::Value(8)}}) == false);
    CHECK_FALSE(read->hasMetadata({{"large", sg::Value(7)}}));
    CHECK_FALSE(read->hasMetadata({{"customer", sg::Value(7)}, {"large", sg::Value(7)}}));
    const auto only_questions = sg::readThreadSummary(summaryOf({}, {sg::Value(std::string(2000, 'q'))}));
    REQUIRE(only_questions);
    CHECK(only_questions->has_all_metadata);
    CHECK_FALSE(only_questions->has_all_questions);
}

TEST_CASE("bytes that are no summary are read as none") {
    CHECK_FALSE(sg::readThreadSummary(""));
    for (const std::string& bytes :
         {std::string("x"), std::string("\x84\xa0\x80\x00\x00", 5), std::string("\x80\x00", 2),
          std::string("\x81\x80", 2), std::string("\x83\xa0\x80\x61", 4)}) {
        CAPTURE(bytes);
        CHECK_FALSE(sg::readThreadSummary(bytes));
    }
    constexpr std::uint64_t seed = 20261126;
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const std::string whole = summaryOf({{"customer", sg::Value(7)}}, {sg::Value("which colour?")});
    for (int i = 0; i < 2000; ++i) {
        std::string bytes = whole.substr(0, random() % (whole.size() + 1));
        if (!bytes.empty()) bytes[random() % bytes.size()] = static_cast<char>(random());
        CAPTURE(i);
        CHECK_NOTHROW((void)sg::readThreadSummary(bytes));
    }
}

TEST_CASE("runs give an index their metadata and their questions with what their threads wait for") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const App app = askingApp(saver);
        for (const auto durability : {sg::Durability::sync, sg::Durability::async, sg::Durability::exit}) {
            const std::string thread = "t" + std::to_string(static_cast<int>(durability));
            CAPTURE(thread);
            const auto summary = [&] {
                const auto threads = saver->newestThreads({.limit = 10, .with_summaries = true});
                for (const sg::IndexedThread& indexed : *threads) {
                    if (indexed.place.thread_id == thread) return sg::readThreadSummary(indexed.summary.value_or(""));
                }
                return std::optional<sg::ThreadSummary>();
            };
            const sg::Metadata metadata{{"customer", sg::Value(7)}};
            app.invoke({sg::set(&State::foo, "which colour?")},
                       {.thread_id = thread, .durability = durability, .metadata = metadata});
            REQUIRE(summary());
            CHECK(summary()->metadata == metadata);
            CHECK(summary()->questions == std::vector<sg::Value>{sg::Value("which colour?")});
            // A run with other metadata that asks again has not made the newest checkpoint.
            const sg::Metadata other{{"customer", sg::Value(8)}};
            app.invoke(sg::RESUME, {.thread_id = thread, .durability = durability, .metadata = other});
            CHECK(wrongInIndex(*saver, thread) == std::vector<std::string>());
            app.invoke(sg::resume("blue"), {.thread_id = thread, .durability = durability, .metadata = other});
            REQUIRE(summary());
            CHECK(summary()->metadata == other);
            CHECK(summary()->questions.empty());
            app.updateState({.thread_id = thread}, {sg::set(&State::foo, "x")}, {.as_node = "x"});
            CHECK(wrongInIndex(*saver, thread) == std::vector<std::string>());
            CHECK(summary());
        }
    });
}

TEST_CASE("unfinished threads are found by metadata without reading the others, and summaries are made up for") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const App app = askingApp(saver);
        for (int i = 0; i < 30; ++i) {
            app.invoke({sg::set(&State::foo, "which?")},
                       {.thread_id = std::to_string(i), .metadata = {{"customer", sg::Value(i % 10)}}});
        }
        ListCountingSaver counting(*saver);
        const sg::UnfinishedQuery query{.metadata = {{"customer", sg::Value(7)}}};
        CHECK(counting.unfinishedThreads(query).size() == 3);
        CHECK(counting.read == 3);
        // A writer that says nothing of them, as an earlier version of the library.
        for (const auto& head : saver->list({.checkpoint_ns = "", .heads = true})) {
            saver->put({.log = {head.thread_id},
                        .expected_head = head.id,
                        .commits = {},
                        .writes = {},
                        .outlook = {sg::Status::interrupted, {}}});
        }
        for (const std::size_t reads : {30U, 3U}) {
            counting.read = 0;
            CHECK(counting.unfinishedThreads(query).size() == 3);
            CHECK(counting.read == reads);
        }
        CHECK(wrongInIndex(*saver) == std::vector<std::string>());
    });
}
