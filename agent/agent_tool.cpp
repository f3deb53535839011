#include <stategraph/agent/agent.hpp>
#include <stategraph/async.hpp>

namespace stategraph::agent {

namespace {

struct Asked {
    std::string request = {};
    static constexpr auto fields() {
        return stategraph::fields(
            field("request", &Asked::request, describe("The task, with everything that is needed to do it")));
    }
};

Task<Value> askAgent(const CompiledGraph<State> graph, const std::string request, ToolContext& context) {
    Update<State> input = said(request);
    Task<State> asked = context.runtime().asyncInvoke(graph, std::move(input), "agent");
    const State state = co_await std::move(asked);
    context.addUsage(state.usage);
    if (!state.output.isNull()) co_return state.output;
    co_return Value(state.text());
}

}  // namespace

Tool agentTool(std::string name, ToolOptions options, const Agent& agent) {
    Tool made = detail::describedTool(std::move(name), std::move(options), jsonSchema<Asked>());
    made.check = detail::checkedAs<Asked>(std::move(made.check));
    made.async_call = [graph = agent.graph()](const Value& arguments, ToolContext& context) {
        return askAgent(graph, arguments.as<Asked>().request, context);
    };
    made.is_effect = false;
    return made;
}

}  // namespace stategraph::agent
