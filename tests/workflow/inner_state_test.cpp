#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/workflow/async.hpp>

#include "tests/support/savers.hpp"

// The state that workflows next to each other set.
namespace sg = stategraph;
namespace wf = stategraph::workflow;
using sg::Value;
using wf::RunStatus;
using Kind = wf::Entry::Kind;

namespace {

// Sets the key "last" to its input, and asks.
wf::Step sets(std::string id) {
    return {.id = std::move(id), .execute = [](const Value& in, wf::StepContext& context) {
                context.setState({{"last", in}});
                if (context.resumeData() == nullptr) context.suspend(Value("?"));
                return in;
            }};
}
wf::Step inside(std::string id, wf::Step step) {
    return {.id = id,
            .workflow = std::make_shared<wf::Definition>(
                wf::Definition{.id = id, .entries = {{.kind = Kind::then, .steps = {std::move(step)}}}})};
}
wf::Step getting(wf::Step step, int n) {
    step.input = [n](const Value&) { return Value(n); };
    return step;
}

// Three workflows inside set the key to 1, 2 and 3: as elements or members, one or two levels deep.
std::vector<wf::Definition> workflows() {
    std::vector<wf::Definition> all;
    for (const bool is_deep : {false, true}) {
        const auto one = [&](const std::string& id) {
            return is_deep ? inside(id, inside("deep", sets("set"))) : inside(id, sets("set"));
        };
        const std::string id = is_deep ? "deep" : "flat";
        all.push_back(
            {.id = id + " list", .entries = {{.kind = Kind::foreach, .steps = {one("each")}, .concurrency = 3}}});
        all.push_back({.id = id + " block",
                       .entries = {{.kind = Kind::parallel,
                                    .steps = {getting(one("a"), 1), getting(one("b"), 2), getting(one("c"), 3)}}}});
    }
    return all;
}

}  // namespace

TEST_CASE("a value that a workflow inside sets counts even if the key had it before") {
    savers::onEachAndLater([](savers::Store& store) {
        for (const wf::Definition& definition : workflows()) {
            for (const bool is_awaited : {false, true}) {
                CAPTURE(definition.id);
                CAPTURE(is_awaited);
                const wf::Flow flow(definition, {.checkpointer = store.open()});
                const std::string run = is_awaited ? "a" : "b";
                wf::RunView view = flow.start(run, Value(std::vector<int>{1, 2, 3}));
                CHECK(view.state.at("last") == Value(3));
                const bool is_list = definition.entries[0].kind == Kind::foreach;
                while (view.status == RunStatus::suspended) {
                    // All elements of the list are answered together, the members of the block one by one.
                    const wf::ResumeTarget target{.step = is_list ? "each" : view.questions.front().path,
                                                  .all = is_list};
                    view = is_awaited ? sg::syncWait(wf::asyncResume(flow, run, target, Value(true)))
                                      : flow.resume(run, target, Value(true));
                }
                CHECK((view.status == RunStatus::success));
                CHECK(view.state.at("last") == Value(3));
            }
        }
    });
}
