#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/workflow/async.hpp>

#include "tests/support/savers.hpp"
#include "tests/workflow/definitions.hpp"

// Time travel with an answer to steps of workflows inside.
namespace sg = stategraph;
namespace wf = stategraph::workflow;
using sg::Value;
using wf::RunStatus;
using Kind = wf::Entry::Kind;

namespace {

using definitions::inc;
using definitions::inside;
using definitions::then;

// Returns the sum of its input and the answer.
wf::Step asks(std::string id) {
    return {.id = std::move(id), .execute = [](const Value& in, wf::StepContext& context) {
                if (context.resumeData() == nullptr) context.suspend(Value("how much?"));
                return Value(in.as<int>() + context.resumeData()->as<int>());
            }};
}
wf::Entry list() {
    return {.kind = Kind::map, .id = "list", .transform = [](const wf::Scope& scope) {
                return Value(std::vector<Value>{scope.input()});
            }};
}
wf::Entry only() {
    return {.kind = Kind::map, .id = "only", .transform = [](const wf::Scope& scope) {
                return scope.input().as<std::vector<Value>>().front();
            }};
}

/// A flow in a store, which is opened anew for each call, as by another process.
class Runs {
public:
    Runs(savers::Store& store, bool is_awaited, wf::Definition definition)
        : store_(store), is_awaited_(is_awaited), definition_(std::move(definition)) {}

    wf::RunView start() const { return flow().start("1", Value(1)); }
    wf::RunView travel(const std::string& step, std::optional<Value> data) const {
        return is_awaited_ ? sg::syncWait(wf::asyncTimeTravel(flow(), "1", step, {}, std::move(data)))
                           : flow().timeTravel("1", step, {}, std::move(data));
    }
    wf::RunView resume(const std::string& step, int answer) const {
        return is_awaited_ ? sg::syncWait(wf::asyncResume(flow(), "1", {.step = step}, Value(answer)))
                           : flow().resume("1", {.step = step}, Value(answer));
    }

private:
    wf::Flow flow() const { return {definition_, {.checkpointer = store_.open()}}; }

    savers::Store& store_;
    bool is_awaited_;
    wf::Definition definition_;
};

}  // namespace

TEST_CASE("an answer that time travel brings to a step inside a workflow reaches the question there, and those after") {
    const std::vector<wf::Entry> asking[] = {
        {then(inc("a")), then(asks("ask")), then(inc("b"))},
        {then(inc("a")), list(), {.kind = Kind::foreach, .steps = {asks("ask")}}, only(), then(inc("b"))},
        {then(inc("a")), then(inside("deep", {then(asks("ask"))})), then(inc("b"))},
        {then(inc("a")),
         {.kind = Kind::dountil, .steps = {asks("ask")}, .conditions = {[](const wf::Scope&) { return true; }}},
         then(inc("b"))},
    };
    savers::onEachAndLater([&](savers::Store& store) {
        int number = 0;
        for (const std::vector<wf::Entry>& entries : asking) {
            for (const bool is_deep : {false, true}) {
                for (const bool is_awaited : {false, true}) {
                    for (const std::string target : {"a", "ask"}) {
                        CAPTURE(number);
                        wf::Step in = inside("in", entries);
                        if (is_deep) in = inside("outer", {then(in)});
                        const Runs runs(store, is_awaited,
                                        {.id = "w" + std::to_string(++number), .entries = {then(in), then(inc("c"))}});
                        CHECK((runs.start().status == RunStatus::suspended));
                        const bool has_ask = entries[1].kind != Kind::then || entries[1].steps[0].id == "ask";
                        const std::string step = target == "a" ? "a" : !has_ask ? "deep.ask" : "ask";
                        const std::string path = (is_deep ? "outer.in." : "in.") + step;
                        CHECK(runs.travel(path, Value(10)).result == Value(14));
                    }
                }
            }
        }
    });
}

TEST_CASE("an answer that time travel left for a later step inside is dropped when the run is resumed") {
    savers::onEachAndLater([](savers::Store& store) {
        int number = 0;
        for (const bool is_awaited : {false, true}) {
            CAPTURE(is_awaited);
            const Runs runs(store, is_awaited,
                            {.id = "w" + std::to_string(++number),
                             .entries = {then(inside("in", {then(asks("first")), then(asks("second"))}))}});
            CHECK((runs.start().status == RunStatus::suspended));
            CHECK((runs.resume("in.first", 10).status == RunStatus::suspended));
            // The question that was open is the second one, and the first one is asked again before it.
            CHECK((runs.travel("in.first", Value(5)).suspended ==
                   std::vector<std::vector<std::string>>{{"in", "first"}}));
            CHECK((runs.resume("in.first", 20).suspended == std::vector<std::vector<std::string>>{{"in", "second"}}));
            CHECK(runs.resume("in.second", 30).result == Value(51));
        }
    });
}
