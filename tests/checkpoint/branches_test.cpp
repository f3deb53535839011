#include <numeric>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/messages.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/support/savers.hpp"

// Reads one of many branches, and prunes threads whose lists are edited.
namespace sg = stategraph;

namespace {

struct Notes {
    std::vector<std::string> log = {};
    static constexpr auto channels() { return sg::channels(sg::channel("log", &Notes::log, sg::append)); }
};

std::size_t bytesOf(const sg::CheckpointTuple& tuple) {
    return std::accumulate(tuple.commits.begin(), tuple.commits.end(), std::size_t{0},
                           [](std::size_t sum, const sg::StoredCommit& commit) { return sum + commit.bytes.size(); });
}

struct Chat {
    std::vector<sg::Message> messages = {};
    static constexpr auto channels() { return sg::channels(sg::channel("messages", &Chat::messages, sg::addMessages)); }
};

}  // namespace

TEST_CASE("what reading a checkpoint takes does not grow with the other branches") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        sg::StateGraph<Notes> graph;
        int run = 0;
        graph.addNode("n", [&run](const Notes&) -> sg::Update<Notes> {
            return {sg::add(&Notes::log, std::to_string(run) + std::string(1000, 'x'))};
        });
        graph.addEdge(sg::START, "n");
        graph.addConditionalEdges(
            "n", [](const Notes& notes) { return std::string(notes.log.size() % 10 != 0 ? "n" : sg::END); },
            {"n", sg::END});
        const auto app = graph.compile({.checkpointer = saver});
        app.invoke({}, {.thread_id = "t"});
        sg::Config root;
        for (const auto& past : app.getStateHistory({.thread_id = "t"}, {.values = false})) {
            if (past.step == 1) root = past.config;
        }
        std::vector<std::pair<sg::Config, std::vector<std::string>>> ends;
        for (run = 1; run <= 40; ++run) {
            const auto result = app.invoke(sg::RESUME, {.thread_id = "t", .checkpoint_id = root.checkpoint_id});
            ends.emplace_back(result.config, result.values.log);
        }
        const auto newest = saver->getTuple({.log = {"t"}});
        REQUIRE(newest);
        CHECK(bytesOf(*newest) < 80'000);  // of 400,000 that the log holds
        CHECK(app.getState({.thread_id = "t"}).values.log == ends.back().second);
        for (const auto& [config, log] : ends) {
            CHECK(app.getState(config).values.log == log);
            const auto tuple = saver->getTuple({.log = {"t"}, .checkpoint_id = config.checkpoint_id});
            REQUIRE(tuple);
            CHECK(tuple->next.has_value() == (config.checkpoint_id != ends.back().first.checkpoint_id));
        }
        std::size_t past = 0;
        for (const auto& each : app.getStateHistory({.thread_id = "t"}, {.values = false})) past += each.step >= 0;
        CHECK(past > 300);
    });
}

TEST_CASE("a thread in which messages were replaced is pruned to what the rules keep") {
    for (const int edits : {0, 1, 2}) {
        CAPTURE(edits);
        savers::onEach([edits](savers::Store& store) {
            const auto saver = store.open();
            sg::StateGraph<Chat> graph;
            graph.addNode("n", [edits](const Chat& chat) -> sg::Update<Chat> {
                const std::size_t size = chat.messages.size();
                sg::Update<Chat> update{sg::add(
                    &Chat::messages, sg::Message{"assistant", std::string(100, 'a'), "id" + std::to_string(size)})};
                if ((edits == 1 && size == 5) || (edits == 2 && size % 10 == 5)) {
                    update.with(sg::add(&Chat::messages, sg::Message{"assistant", "edited", "id1"}));
                }
                return update;
            });
            graph.addEdge(sg::START, "n").addEdge("n", sg::END);
            const auto app = graph.compile({.checkpointer = saver});
            for (int i = 0; i < 40; ++i)
                app.invoke({sg::add(&Chat::messages, sg::Message{"user", "q"})}, {.thread_id = "chat"});
            const auto shown = [&] {
                std::vector<std::string> values;
                for (const auto& past : app.getStateHistory({.thread_id = "chat"}))
                    values.push_back(past.valuesAsJson());
                return values;
            };
            auto before = shown();
            CHECK(saver->prune({.keep_last = 10}) > 0);
            before.resize(10);
            CHECK(shown() == before);
            app.invoke({sg::add(&Chat::messages, sg::Message{"user", "q"})}, {.thread_id = "chat"});
            CHECK(app.getState({.thread_id = "chat"}).values.messages.size() == 82);
        });
    }
}
