// NOT WITH: sanitize
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "tests/support/documents.hpp"

// What people who know another library try first is named by the page for them, next to the call that is right.

namespace guesses {

struct Guess {
    const char* page;
    const char* tried;
    const char* right;
};

constexpr Guess all[] = {
    {"coming_from_langgraph.md", "RemoveMessage(", "sg::removeMessage(id)"},
    {"coming_from_langgraph.md", "list(get_state_history", "app.getStateHistory(config)"},
    {"coming_from_langgraph.md", "metadata[\"step\"]", "snapshot.step"},
    {"coming_from_langgraph.md", "store.put/search", "store.search({"},
    {"coming_from_langgraph.md", "`@tool`", "agent::tool(\"name\", \"what it does\", f)"},
    {"coming_from_langgraph.md", "app.invoke({\"topic\"", "sg::set<&Draft::topic>(\"owls\")"},
    {"coming_from_langgraph.md", "app.invoke(state)", "sg::parseJson(text)"},
    {"coming_from_langgraph.md", "graph.invoke(", "graph.compile().invoke("},
    {"coming_from_langgraph.md", "state[\"reviews\"] += 1", "sg::add<&Draft::reviews>(1)"},
    {"coming_from_langgraph.md", "interrupt(\"May we?\")", "sg::interrupt<bool>(runtime"},
    {"coming_from_langgraph.md", "subgraph.invoke(x)", "runtime.invoke(subgraph"},
    {"coming_from_langgraph.md", "with a question inside", "runtime.invoke(subgraph"},
    {"coming_from_langgraph.md", "app.get_state(\"1\")", "app.getState({.thread_id = \"1\"})"},
    {"coming_from_langgraph.md", "stream_mode=\"updates\"", "sg::StreamMode::updates"},
    {"coming_from_langgraph.md", "len(history)", "app.getStateHistory(config)"},
    {"coming_from_langgraph.md", "print(state", "sg::toJson(snapshot.values.log)"},
    {"coming_from_mastra.md", "await suspend(", "context.suspend(question)"},
    {"coming_from_mastra.md", "inputData", "first parameter"},
    {"coming_from_mastra.md", ".parallel([a, b])", ".parallel(a, b)"},
    {"coming_from_mastra.md", ".branch([[", "wf::when(condition, a)"},
    {"coming_from_mastra.md", "{concurrency: 4}", "{.concurrency = 4}"},
    {"coming_from_mastra.md", ".sleep(1000)", ".sleep(1s)"},
    {"coming_from_mastra.md", "getStepResult(\"price\")", "context.result(price)"},
    {"coming_from_mastra.md", "retries: 2", ".max_attempts = 3"},
    {"coming_from_mastra.md", "createRun()", "flow.start("},
    {"coming_from_mastra.md", "result.status ===", "wf::RunStatus::suspended"},
    {"coming_from_mastra.md", "result.steps.price.output", "run.view.steps.at("},
    {"coming_from_mastra.md", "run.watch(", "RunOptions::on_event"},
    {"coming_from_mastra.md", "mastra.getWorkflow(", "wf::Workflow"},
    {"coming_from_mastra.md", "agent.generate(", "helper.say("},
    {"coming_from_mastra.md", "agent.stream(", "helper.graph().stream("},
};

}  // namespace guesses

TEST_CASE("each guess that was wrong is named next to the right call") {
    for (const guesses::Guess& guess : guesses::all) {
        CAPTURE(guess.page);
        CAPTURE(guess.tried);
        const auto lines = documents::linesOf(documents::home() / "docs" / guess.page);
        const auto has_both = [&](const std::string& line) {
            const std::size_t tried = line.find(guess.tried);
            return tried != std::string::npos && line.find(guess.right, tried) != std::string::npos;
        };
        CHECK(std::any_of(lines.begin(), lines.end(), has_both));
    }
}
