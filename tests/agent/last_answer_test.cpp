#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include <stategraph/run_control.hpp>

#include "tests/agent/tools.hpp"

// The last answer at a limit is asked for without tools, also if it is asked for again.
using namespace tools;

namespace {

/// A model that calls a tool whenever it is offered one, and otherwise says its texts. It notes whether it was.
class Eager final : public model::Model {
public:
    explicit Eager(std::vector<std::string> texts) : texts_(std::move(texts)) {}
    mutable std::vector<bool> offered;
    std::shared_ptr<sg::RunControl> stops_at_text;  // set: the first text is broken off by a stop

    sg::Task<model::Reply> ask(model::Request request, const model::Asking& asking) const override {
        const bool may_call = !request.tools.empty() && request.tool_choice != model::ToolChoice::none;
        offered.push_back(may_call);
        model::Reply reply;
        if (may_call) {
            reply.message = model::assistant({call("c" + std::to_string(offered.size()), "x")});
            co_return reply;
        }
        const std::string text = texts_.at(said_++);
        if (stops_at_text && said_ == 1) {
            asking.tell({.text = text});
            stops_at_text->requestStop();
            throw sg::CancelledError("stopped");
        }
        reply.message = model::assistant(text);
        co_return reply;
    }

private:
    std::vector<std::string> texts_;
    mutable std::size_t said_ = 0;
};

}  // namespace

TEST_CASE("a last answer of the wrong shape is mended without tools, and says why the turn ended") {
    const auto ledger = std::make_shared<Ledger>();
    const auto eager = std::make_shared<Eager>(std::vector<std::string>{"not JSON", R"({"what":"rain"})"});
    const agent::Agent helper({.model = eager,
                               .tools = {work(ledger)},
                               .stop_when = {agent::stepCountIs(1)},
                               .at_limit = agent::AtLimit::answer,
                               .output = agent::output<Job>()});
    const auto ended = helper.say("go");
    CHECK(eager->offered == std::vector{true, false, false});
    CHECK(ledger->count("x") == 1);
    CHECK(ended.values.stop_reason == "max-steps");
    CHECK(ended.values.output.as<Job>().what == "rain");
}

TEST_CASE("a last answer that a stop broke off is asked for again without tools") {
    for (const bool by_call : {true, false}) {
        CAPTURE(by_call);
        const auto ledger = std::make_shared<Ledger>();
        const auto eager = std::make_shared<Eager>(std::vector<std::string>{"I th", "I think so."});
        eager->stops_at_text = std::make_shared<sg::RunControl>();
        const agent::Agent helper({.model = eager,
                                   .tools = {work(ledger)},
                                   .stop_when = {by_call ? agent::hasToolCall("work") : agent::stepCountIs(1)},
                                   .at_limit = agent::AtLimit::answer,
                                   .compile = stored()});
        sg::RunConfig config{.thread_id = "t"};
        config.control = eager->stops_at_text;
        CHECK((helper.say("go", config).status == sg::Status::cancelled));
        const auto ended = helper.graph().invoke(sg::RESUME, {.thread_id = "t"});
        CHECK(eager->offered == std::vector{true, false, false});
        CHECK(ledger->count("x") == 1);
        CHECK(ended.values.text() == "I think so.");
        CHECK(ended.values.stop_reason == (by_call ? "tool-called" : "max-steps"));
    }
}
