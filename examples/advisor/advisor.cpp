#include "advisor.hpp"

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/graph.hpp>

#include "scripts.hpp"

namespace advisor {

namespace agent = stategraph::agent;
namespace model = stategraph::model;

namespace {

/// Decides which model an agent uses. No other function does.
std::shared_ptr<const model::Model> modelFor(model::ScriptedModel::Answer script, const AdvisorOptions& options) {
    if (options.model) return options.model;
    return model::scripted(std::move(script), options.pause);
}

agent::Tool searchTool() {
    agent::ToolOptions options;
    options.description = "Searches the web for pages about a topic.";
    return agent::tool<Query>("webSearch", std::move(options), [](const Query& search) {
        return std::vector<Page>{{"The first page about " + search.query, "https://search.example/1"},
                                 {"The second page about " + search.query, "https://search.example/2"}};
    });
}

agent::Tool bookingTool() {
    agent::ToolOptions options;
    options.description = "Books a course. It costs money, so the learner is asked.";
    options.approval = true;
    return agent::tool<Booking>("bookCourse", std::move(options), [](const Booking& booking) {
        return "booked: " + booking.course + ", " + std::to_string(booking.price) + " euros";
    });
}

agent::Agent profiler(const AdvisorOptions& options) {
    return agent::Agent(
        {.model = modelFor(profileScript, options),
         .instructions = "Describe the learner: the goal, the level, the hours a week and what is needed.",
         .output = agent::output<Profile>("profile")});
}
agent::Agent researcher(const AdvisorOptions& options) {
    return agent::Agent(
        {.model = modelFor(researchScript, options),
         .instructions = "Search the web until you know what helps this learner. Then sum up what you found.",
         .tools = {searchTool()},
         .stop_when = {agent::stepCountIs(20)},
         .at_limit = agent::AtLimit::answer,
         .output = agent::output<Research>("research")});
}
agent::Agent planner(const AdvisorOptions& options) {
    return agent::Agent({.model = modelFor(synthesisScript, options),
                         .instructions = "Make a plan for the learner from the research. Book a course if one helps.",
                         .tools = {bookingTool()},
                         .output = agent::output<Plan>("plan")});
}

/// Returns an agent's typed answer. A step whose agent ended without one fails.
template <class T>
T answerOf(const agent::State& state) {
    if (state.output.isNull()) throw std::runtime_error("the agent ended without an answer: " + state.stop_reason);
    return state.output.as<T>();
}

}  // namespace

sg::CompiledGraph<State> makeAdvisor(const AdvisorOptions& options) {
    sg::StateGraph<State> graph;
    graph.addNode(
        "profile", profiler(options).graph(), [](const State& state) { return agent::said(state.request); },
        [](const agent::State& inner) -> sg::Update<State> {
            return {sg::set(&State::profile, answerOf<Profile>(inner))};
        });
    graph.addNode(
        "research", researcher(options).graph(),
        [](const State& state) { return agent::said(sg::toJson(state.profile)); },
        [](const agent::State& inner) -> sg::Update<State> {
            return {sg::set(&State::research, answerOf<Research>(inner))};
        });
    graph.addNode(
        "synthesis", planner(options).graph(),
        [](const State& state) { return agent::said(sg::toJson(state.profile) + "\n" + sg::toJson(state.research)); },
        [](const agent::State& inner) -> sg::Update<State> { return {sg::set(&State::plan, answerOf<Plan>(inner))}; });
    graph.addEdge(sg::START, "profile")
        .addEdge("profile", "research")
        .addEdge("research", "synthesis")
        .addEdge("synthesis", sg::END);
    return graph.compile({.checkpointer = options.saver});
}

agent::Agent makeTutor(const AdvisorOptions& options) {
    agent::Options tutor;
    tutor.model = modelFor(tutorScript, options);
    tutor.instructions = "Talk with the learner. Search before you advise.";
    tutor.tools = {searchTool(), bookingTool()};
    tutor.compile.checkpointer = options.saver;
    return agent::Agent(std::move(tutor));
}

}  // namespace advisor
