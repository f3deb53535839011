#pragma once
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <stategraph/memory_saver.hpp>
#include <stategraph/workflow/from_json.hpp>
#include <stategraph/workflow/run.hpp>
#include <stategraph/workflow/step.hpp>

#include "tests/fuzz/found.hpp"
#include "tests/fuzz_products/targets.hpp"

namespace fuzz {

inline int runWorkflowJson(std::string_view bytes) {
    namespace wf = stategraph::workflow;
    using stategraph::Value;
    wf::Functions offered;
    offered.limits = {.value_bytes_max = 1U << 14U, .iterations_max = 20};
    offered.steps["id"] = [](const Value& input, wf::StepContext&) { return input; };
    offered.steps["list"] = [](const Value& input, wf::StepContext&) {
        return Value(std::vector<Value>{input, input});
    };
    offered.steps["ask"] = [](const Value& input, wf::StepContext& context) -> Value {
        if (context.resumeData() != nullptr) return *context.resumeData();
        context.suspend(input);
        std::terminate();  // the call above does not return, but compilers cannot see that of a virtual function
    };
    offered.conditions["is set"] = [](const wf::Scope& scope) { return scope.input() != Value(); };
    std::optional<wf::Flow> flow;
    const auto saver = std::make_shared<stategraph::MemorySaver>();
    if (!accepts("fromJson", [&] { flow = wf::Flow(wf::fromJson(bytes, offered), {.checkpointer = saver}); })) return 0;
    accepts("start", [&] {
        const auto run = flow->start("run", stategraph::parseJson(R"({"n":[1,2],"t":"x"})"),
                                     {.timeout = std::chrono::milliseconds(300)});
        if (run.result && run.result->toJson().size() > std::size_t{1} << 20U)
            found("a result is larger than its limit");
    });
    accepts("get", [&] { (void)flow->get("run"); });
    return 0;
}

}  // namespace fuzz
