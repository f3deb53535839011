// A workflow that is a file: its steps are functions of the program, its order, conditions, maps and JSON Schemas are
// data.
#include <iostream>

#include <stategraph/memory_saver.hpp>
#include <stategraph/workflow/from_json.hpp>
#include <stategraph/workflow/run.hpp>

namespace sg = stategraph;
namespace wf = stategraph::workflow;

// A program would read this from a file.
constexpr const char* text = R"json({
  "id": "refund",
  "input": {
    "type": "object",
    "required": ["customer", "amount"],
    "properties": {"customer": {"type": "string"}, "amount": {"type": "number", "minimum": 0}, "reason": {"default": "none given"}}
  },
  "steps": {
    "score":   {"retry": {"max_attempts": 3, "initial_interval_ms": 100}},
    "approve": {"run": "ask a person",
                "resume": {"type": "object", "required": ["approved"], "properties": {"approved": {"type": "boolean"}}}},
    "pay":     {}
  },
  "entries": [
    {"then": "score"},
    {"branch": [{"when": {"any": [{"path": "init.amount", "gt": 100}, {"path": "input.risk", "ge": 0.5}]}, "step": "approve"}]},
    {"map": {"customer": {"$": "init.customer"}, "amount": {"$": "init.amount"}, "approval": {"$": "input.approve"}}},
    {"then": "pay"},
    {"map": "${init.customer} was paid ${input.paid} (${init.reason})", "id": "summary"}
  ]
})json";

int main() {
    wf::Functions functions;
    functions.steps["score"] = [](const sg::Value&, wf::StepContext&) { return sg::parseJson(R"({"risk": 0.2})"); };
    functions.steps["ask a person"] = [](const sg::Value&, wf::StepContext& context) -> sg::Value {
        if (const sg::Value* const answer = context.resumeData()) return *answer;
        context.suspend("Refund " + context.init().toJson() + "?");
        return {};
    };
    functions.steps["pay"] = [](const sg::Value& order, wf::StepContext&) {
        std::cout << "pays " << order << '\n';
        return sg::parseJson(R"({"paid": 250})");
    };

    const wf::Flow refund(wf::fromJson(text, functions), {.checkpointer = std::make_shared<sg::MemorySaver>()});

    try {
        refund.start("run-1", sg::parseJson(R"({"amount": -1})"));
    } catch (const wf::RefusedError& error) {
        std::cout << error.message() << '\n';
    }
    auto run = refund.start("run-1", sg::parseJson(R"({"customer": "Ann", "amount": 250})"));
    std::cout << toString(run.status) << ": " << run.questions.at(0).payload << '\n';
    run = refund.resume("run-1", {.step = "approve"}, sg::parseJson(R"({"approved": true})"));
    std::cout << toString(run.status) << ": " << *run.result << '\n';
}
