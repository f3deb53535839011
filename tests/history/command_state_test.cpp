#include <memory>
#include <stdexcept>

#include <doctest/doctest.h>
#include <stategraph/stategraph.hpp>

#include "tests/support/history_graphs.hpp"
#include "tests/support/history_savers.hpp"

// A Command's update given to invoke, and answers: where they are stored, and what shows them.
namespace sg = stategraph;
using namespace history;

namespace {

const sg::Config T{.thread_id = "t"};

sg::Command<Line> writing(std::string word) { return {.update = says(std::move(word))}; }

}  // namespace

TEST_CASE("\"a Command's update given to invoke\" joins an unfinished superstep: getState shows it, history does not") {
    onBothSavers([](const SharedSaver& saver) {
        const auto broken = std::make_shared<bool>(true);
        const auto seen = std::make_shared<Words>();
        LineGraph graph;
        graph
            .addNode("two",
                     [broken, seen](const Line& line) -> sg::Update<Line> {
                         *seen = line.v;
                         if (*broken) throw std::runtime_error("broken");
                         return says("two");
                     })
            .addNode("one", saying("one"));
        const LineApp app = graph.addEdge(sg::START, "two").addEdge(sg::START, "one").compile({.checkpointer = saver});
        errorOf<sg::NodeError>([&] { return app.invoke(says("i"), {.thread_id = "t"}); });
        const auto past = pastOf(app, T);
        errorOf<sg::NodeError>([&] { return app.invoke(writing("cmd"), {.thread_id = "t"}); });
        CHECK(*seen == Words{"i", "cmd"});
        CHECK(app.getState(T).values.v == Words{"i", "cmd", "one"});
        CHECK(historyOf(app, T).size() == past.size());
        for (std::size_t i = 0; i < past.size(); ++i) CHECK(pastOf(app, T)[i].values.v == past[i].values.v);
        CHECK(app.getState(past.back().config).values.v == Words{"i"});

        *broken = false;
        CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).values.v == Words{"i", "cmd", "one", "two"});
        CHECK(app.getState(T).values.v == Words{"i", "cmd", "one", "two"});
        CHECK(app.getState(past.back().config).values.v == Words{"i"});
    });
}

TEST_CASE("on a finished thread a Command's update is an input checkpoint of its own") {
    // quirk 44
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = chainOf({"a"}).compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        const auto head = app.getState(T);
        const Bytes before = bytesOf(*saver);
        app.invoke(writing("cmd"), {.thread_id = "t"});
        const auto state = app.getState(T);
        CHECK((state.source == sg::Source::input));
        CHECK(state.parent_config == head.config);
        CHECK(state.step == head.step + 1);
        CHECK(state.values.v == Words{"i", "a", "cmd"});
        CHECK(app.getState(head.config).values.v == head.values.v);
        CHECK(keeps(bytesOf(*saver), before));
    });
}

TEST_CASE("on a fresh thread a Command's update is applied once") {
    // quirk 3
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = chainOf({"a"}).compile({.checkpointer = saver});
        sg::Command<Line> command = writing("cmd");
        command.go_to = {"a"};
        CHECK(app.invoke(std::move(command), {.thread_id = "t"}).values.v == Words{"cmd", "a"});
        CHECK(app.getState(T).values.v == Words{"cmd", "a"});
    });
}

TEST_CASE("an answer belongs to its question: it never answers a later one") {
    // quirk 1
    onBothSavers([](const SharedSaver& saver) {
        LineGraph graph;
        graph.addNode("p", asking("p")).addNode("q", asking("q")).addEdge(sg::START, "p").addEdge("p", "q");
        const LineApp app = graph.compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        CHECK(app.invoke(sg::Command<>{.resume = "1"}, {.thread_id = "t"}).interrupts.size() == 1);
        for (int n = 0; n < 3; ++n) {
            const auto again = app.invoke(sg::RESUME, {.thread_id = "t"});
            CHECK((again.status == sg::Status::interrupted));
            CHECK(again.values.v == Words{"i", "p:1"});
        }
        CHECK(app.invoke(says("j"), {.thread_id = "t"}).interrupts[0].value == sg::Value("qp"));
    });
}

TEST_CASE("an answer is kept before anything runs on it") {
    onBothSavers([](const SharedSaver& saver) {
        const auto broken = std::make_shared<bool>(true);
        LineGraph graph;
        graph.addNode("ask", [broken](const Line&, sg::Runtime& runtime) -> sg::Update<Line> {
            const auto answer = sg::interrupt<std::string>(runtime, "?");
            if (*broken) throw std::runtime_error("after the answer");
            return says(answer);
        });
        const LineApp app = graph.addEdge(sg::START, "ask").compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        errorOf<sg::NodeError>([&] { return app.invoke(sg::Command<>{.resume = "yes"}, {.thread_id = "t"}); });
        const auto state = app.getState(T);
        CHECK(state.interrupts().empty());
        CHECK(state.next == Words{"ask"});
        CHECK(taskOf(state, "ask").error == "after the answer");
        CHECK(taskOf(state, "ask").interrupts.size() == 1);
        *broken = false;
        CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).values.v == Words{"i", "yes"});
    });
}
