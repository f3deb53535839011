// Workflows from an installed stategraph: one with typed steps and, if that was built, one that is loaded from JSON.
#include <stategraph/memory_saver.hpp>
#include <stategraph/workflow/workflow.hpp>
#if HAS_WORKFLOW_JSON
#include <stategraph/workflow/from_json.hpp>
#endif

namespace sg = stategraph;
namespace wf = stategraph::workflow;

int main() {
    const auto inc = wf::step("inc", [](const int& n) { return n + 1; });
    const auto flow = wf::workflow<int>("w").then(inc).commit({.checkpointer = std::make_shared<sg::MemorySaver>()});
    bool is_right = flow.start("1", 1).result == 2;
#if HAS_WORKFLOW_JSON
    const auto definition =
        wf::fromJson(R"({"id": "j", "input": {"type": "integer"}, "entries": [{"map": "${input}!"}]})", {});
    is_right = is_right && wf::Flow(definition).start("1", 1).result == sg::Value("1!");
#endif
    return is_right ? 0 : 1;
}
