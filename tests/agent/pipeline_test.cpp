#include <doctest/doctest.h>

#include <algorithm>
#include <future>
#include <thread>

#include <stategraph/stream_hub.hpp>
#include <stategraph/workflow/workflow.hpp>

#include "tests/agent/tools.hpp"

// These tests use agents as steps of workflows.

using namespace tools;
namespace wf = stategraph::workflow;
using namespace std::chrono_literals;

namespace {

struct Profile {
    std::string goal = {};
    int hours = 0;
    static constexpr auto fields() { return sg::fields<&Profile::goal, &Profile::hours>(); }
};
struct Research {
    std::string summary = {};
    static constexpr auto fields() { return sg::fields<&Research::summary>(); }
};
struct Plan {
    std::string title = {};
    std::vector<std::string> weeks = {};
    static constexpr auto fields() { return sg::fields<&Plan::title, &Plan::weeks>(); }
};

/// Returns an agent with an answer of type Out, as a step that takes an In.
template <class In, class Out>
auto stepOf(std::string id, std::vector<model::Message> script, std::vector<agent::Tool> tools = {}) {
    agent::Options options{.model = model::scripted(std::move(script)), .tools = std::move(tools)};
    options.output = agent::output<Out>(id);
    return wf::step(
        std::move(id), agent::Agent(std::move(options)).graph(),
        [](const In& input) { return agent::said(sg::toJson(input)); },
        [](const agent::State& state) { return state.output.as<Out>(); });
}

constexpr const char* profile_text = R"({"goal":"servers","hours":5})";
constexpr const char* research_text = R"({"summary":"coroutines help"})";
constexpr const char* plan_text = R"({"title":"Servers in a week","weeks":["io","tls"]})";

auto advisor(std::vector<agent::Tool> tools, std::shared_ptr<sg::BaseCheckpointSaver> saver) {
    return wf::workflow<std::string>("advisor")
        .then(stepOf<std::string, Profile>("profile", {model::assistant(profile_text)}))
        .then(stepOf<Profile, Research>(
            "research", {model::assistant({call("c1", "servers", "search")}), model::assistant(research_text)},
            std::move(tools)))
        .then(stepOf<Research, Plan>("synthesis", {model::assistant(plan_text)}))
        .commit({.checkpointer = std::move(saver)});
}

}  // namespace

TEST_CASE("three agents in a row hand on answers of their types") {
    const auto ledger = std::make_shared<Ledger>();
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto run = advisor({work(ledger, "search")}, saver).start("1", "I want to write servers");
    REQUIRE((run.status == wf::RunStatus::success));
    REQUIRE(run.result.has_value());
    CHECK(run.result->title == "Servers in a week");
    CHECK(run.result->weeks == std::vector<std::string>{"io", "tls"});
    CHECK(run.view.steps.at("profile").output.value().as<Profile>().hours == 5);
    CHECK(run.view.steps.at("research").output.value().as<Research>().summary == "coroutines help");
    CHECK(ledger->count("servers") == 1);
}

TEST_CASE("what a tool of an agent in a step reports reaches the workflow's subscribers while the tool runs") {
    std::promise<void> seen;
    std::atomic<bool> was_in_time = false;
    const auto search = agent::tool<Job>("search", {}, [&](const Job& job, agent::ToolContext& context) {
        context.write("halfway");
        // The tool ends when the subscriber has its report. If reports were passed on only at the end, it would never
        // end.
        was_in_time = seen.get_future().wait_for(5min) == std::future_status::ready;
        return "did " + job.what;
    });
    const auto flow = advisor({search}, std::make_shared<sg::MemorySaver>());
    const auto hub = flow.flow().makeHub();
    auto subscription = hub->subscribe(
        flow.flow().threadOf("1"),
        {.modes = {sg::StreamMode::custom, sg::StreamMode::messages}, .subgraphs = true, .until = sg::Until::run_end});
    std::map<std::string, std::string> texts;  // by the first segment of the namespace: the step
    std::string reported_by;
    std::thread reader([&] {
        while (const auto event = subscription.next()) {
            const std::string step = event->ns.empty() ? "" : event->ns[0].substr(0, event->ns[0].find(':'));
            if (event->mode == sg::StreamMode::custom) {
                const std::string json = event->data.toJson();
                if (json.find("halfway") == std::string::npos) continue;
                CHECK(json.find("search") != std::string::npos);
                reported_by = step;
                seen.set_value();
            } else {
                const auto told = event->data.as<std::map<std::string, sg::Value>>();
                if (told.at("delta").as<bool>())
                    texts[step] += told.at("message").as<agent::Piece>().content.value_or("");
            }
        }
    });
    wf::RunOptions options;
    options.hub = hub.get();
    const auto run = flow.start("1", "I want to write servers", options);
    reader.join();  // it ends with the run
    CHECK((run.status == wf::RunStatus::success));
    CHECK(was_in_time);
    CHECK(reported_by == "research");
    CHECK(texts == std::map<std::string, std::string>{
                       {"profile", profile_text}, {"research", research_text}, {"synthesis", plan_text}});
}

namespace {

/// What a reader that comes when all is over finds of the graphs inside: each event's node and data, by its step.
std::map<std::string, std::vector<std::string>> readLate(sg::StreamHub& hub, const sg::ThreadId& thread) {
    auto reader = hub.subscribe(thread, {.from = sg::StreamPosition(), .subgraphs = true, .until = sg::Until::idle});
    std::map<std::string, std::vector<std::string>> inside;
    while (const auto event = reader.next()) {
        CHECK(event->durable);
        if (event->ns.empty()) continue;
        const std::string& outermost = event->ns.front();
        inside[outermost.substr(0, outermost.find(':'))].push_back(event->node + " " + event->data.toJson());
    }
    return inside;
}

bool mentions(const std::vector<std::string>& events, const std::string& text) {
    return std::any_of(events.begin(), events.end(),
                       [&](const std::string& event) { return event.find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE("a reader that comes when a workflow is over finds what the agents of its steps wrote") {
    const auto ledger = std::make_shared<Ledger>();
    const auto flow = advisor({work(ledger, "search")}, std::make_shared<sg::MemorySaver>());
    REQUIRE((flow.start("1", "I want to write servers").status == wf::RunStatus::success));
    const auto hub = flow.flow().makeHub();
    const auto inside = readLate(*hub, flow.flow().threadOf("1"));
    REQUIRE(inside.contains("research"));
    CHECK(mentions(inside.at("research"), "did servers"));
    CHECK(mentions(inside.at("research"), "coroutines help"));
    CHECK(mentions(inside.at("synthesis"), "Servers in a week"));
}

TEST_CASE("a reader that comes when an agent's turn is over finds what its sub-agent wrote") {
    const auto ledger = std::make_shared<Ledger>();
    const agent::Agent inner(
        {.model = model::scripted({model::assistant({call("i1", "deep")}), model::assistant("found it")}),
         .tools = {work(ledger)}});
    const model::ToolCall ask{{}, "o1", "research", R"({"request":"look"})"};
    const auto saver = std::make_shared<sg::MemorySaver>();
    const agent::Agent outer({.model = model::scripted({model::assistant({ask}), model::assistant("thanks")}),
                              .tools = {agent::agentTool("research", {.description = "Looks things up"}, inner)},
                              .compile = stored(saver)});
    outer.graph().invoke(agent::said("go"), {.thread_id = "t"});
    sg::StreamHub with_graph(outer.graph());
    sg::StreamHub alone(saver);
    for (sg::StreamHub* hub : {&with_graph, &alone}) {
        const auto inside = readLate(*hub, "t");
        REQUIRE(inside.size() == 1);
        const auto& events = inside.begin()->second;
        CHECK(mentions(events, "did deep"));
        CHECK(mentions(events, "found it"));
        CHECK(!mentions(events, "thanks"));  // which the agent itself wrote
    }
}
