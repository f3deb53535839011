#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/agent/agent.hpp>
#include <stategraph/model/scripted_model.hpp>

#include "tests/books/agents.hpp"
#include "tests/books/history.hpp"

// Random agents of one graph that hand a conversation over to each other, also to two at the same time. However their
// process dies, and in whatever order their questions are answered, the conversation is the same in the end.
namespace books {

/// The state of the graph around the agents.
struct Desk {
    std::vector<model::Message> messages = {};
    std::string active = "a0";
    static constexpr auto channels() {
        return sg::channels(sg::channel("messages", &Desk::messages, sg::addMessages),
                            sg::channel("active", &Desk::active, sg::reduce("last", last)));
    }
    static std::string last(const std::string& /*before*/, const std::string& given) { return given; }
};
using Swarm = sg::CompiledGraph<Desk>;
inline const std::vector<std::string> swarm_agents{"a0", "a1", "a2"};

/// Answers from the agent's name and the conversation alone, and ends it after some rounds.
inline model::Message swarmAnswer(std::uint64_t seed, const std::string& name, const model::Request& request) {
    std::uint64_t count = 0, rounds = 0;
    for (const model::Message& each : request.messages) {
        if (each.role == model::Role::user) rounds = 0;
        count += each.role == model::Role::assistant;
        rounds += each.role == model::Role::assistant;
    }
    Random random = randomOf(seed, name, count);
    const std::string prefix = name + "m" + std::to_string(count);
    model::Message answer = model::assistant("I am " + prefix + ".");
    if (rounds > 6 || random.chance(20)) return answer;
    for (std::size_t i = 0, calls = 1 + random.below(3); i < calls; ++i) {
        const std::size_t kind = random.below(100);
        const std::string what = prefix + "." + std::to_string(i);
        model::ToolCall call{{}, what, kind < 35 ? "plain" : "gated", R"({"what":")" + what + R"(","n":1})"};
        if (kind >= 60) {
            std::string other = random.oneOf(swarm_agents);
            if (other == name) other = name == "a0" ? "a1" : "a0";
            call.name = "transfer_to_" + other;
            call.arguments = "{}";
        }
        answer.calls.push_back(std::move(call));
    }
    return answer;
}

inline Swarm swarmOf(std::uint64_t seed, const SharedWorld& world, std::shared_ptr<sg::BaseCheckpointSaver> saver) {
    const auto worker = [world](const Job& job, agent::ToolContext& context) {
        const std::size_t which = world->begin(job.what, context.call().id, context.call().name, job.n);
        std::string result = "did " + job.what + ".";
        world->end(job.what, which, result);
        return result;
    };
    sg::StateGraph<Desk> graph;
    std::vector<std::string> ends = swarm_agents;
    ends.emplace_back(sg::END);
    for (const std::string& name : swarm_agents) {
        agent::Options options;
        options.model =
            model::scripted([seed, name](const model::Request& request) { return swarmAnswer(seed, name, request); });
        options.stop_when = {agent::stepCountIs(20)};
        agent::ToolOptions gated;
        gated.approval = true;
        options.tools = {agent::tool<Job>("plain", {}, worker), agent::tool<Job>("gated", gated, worker)};
        for (const std::string& other : swarm_agents) {
            if (other != name) options.tools.push_back(agent::handOff(other, {}, sg::add<&Desk::active>(other)));
        }
        if (seed % 3 == 0) options.middleware = {counting()};
        graph.addNode(name, agent::Agent(std::move(options)).graph(), {.ends = sg::NodeNames(ends)});
    }
    graph.addConditionalEdges(sg::START, [](const Desk& desk) { return desk.active; }, {"a0", "a1", "a2"});
    sg::CompileOptions compile;
    compile.checkpointer = std::move(saver);
    compile.recursion_limit = 100;
    return graph.compile(compile);
}

/// What the conversation says, without ids.
inline std::string conversationOf(const Desk& desk) {
    std::string all;
    for (const model::Message& each : desk.messages) {
        all += (each.result ? "  = " + each.result->text() : each.text());
        for (const model::ToolCall& call : each.calls) all += " [" + call.name + " " + call.arguments + "]";
        all += "\n";
    }
    return all + "active: " + desk.active + "\n";
}

class SwarmHistory final : public History {
public:
    using History::History;

    void run() {
        const std::string expected = undisturbed();
        open();
        for (const char* const text : {"go", "and now?"}) turn(text);
        const std::string found = conversationOf(graph_->getState({.thread_id = "t"}).values);
        if (found != expected) world_->complain("the conversation is\n" + found + "and without deaths\n" + expected);
        compareJournal();
        graph_.reset();
        closeSavers();
    }

private:
    static sg::Update<Desk> saying(const char* text) { return {sg::add(&Desk::messages, model::user(text))}; }
    static sg::Command<> approving(const sg::Interrupt& question) {
        return sg::resume({{question.id, sg::Value(agent::Decision{.approved = true})}});
    }

    /// The conversation of another process that nothing happens to, and that answers in order.
    std::string undisturbed() const {
        const Swarm swarm = swarmOf(seed_, std::make_shared<World>(), std::make_shared<sg::MemorySaver>());
        for (const char* const text : {"go", "and now?"}) {
            auto result = swarm.invoke(saying(text), {.thread_id = "t"});
            while (result.status == sg::Status::interrupted)
                result = swarm.invoke(approving(result.interrupts.front()), {.thread_id = "t"});
        }
        return conversationOf(swarm.getState({.thread_id = "t"}).values);
    }
    void open() {
        openSavers();
        graph_.emplace(swarmOf(seed_, world_, fault_));
    }
    /// Says something until it is stored, and then goes on until nothing is due.
    void turn(const char* text) {
        const auto before = graph_->getState({.thread_id = "t"}).values.messages.size();
        for (int i = 0; world_->wrong().empty(); ++i) {
            if (i > 300) return world_->complain("the turn does not come to an end");
            const auto at = graph_->getState({.thread_id = "t"});
            const bool is_said = !at.next.empty() || at.values.messages.size() > before;
            if (is_said && at.next.empty()) return;
            sg::RunConfig config{.thread_id = "t"};
            config.durability = random_.chance(50) ? sg::Durability::sync : sg::Durability::async;
            if (isDisturbing() && i < 60 && random_.chance(60))
                fault_->arm({.fail_at = 1 + random_.below(40), .once = false, .calls = sg::testing::SaverCalls::put});
            readCertain("t");
            try {
                const auto open = at.interrupts();
                if (!is_said) {
                    graph_->invoke(saying(text), config);
                } else if (!open.empty()) {
                    graph_->invoke(approving(random_.oneOf(open)), config);
                } else {
                    graph_->invoke(sg::RESUME, config);
                }
            } catch (const sg::Error& error) {
                tell(std::string(error.what()) + "\n");
                if (fault_->failures() == 0) world_->complain(std::string("a run failed: ") + error.what());
            }
            const bool is_dead = fault_->failures() > 0;
            fault_->disarm();
            if (!is_dead) continue;
            ++disturbed_;
            graph_.reset();
            closeSavers();
            open();
        }
    }
    void compareJournal() {
        for (const auto& [what, executions] : world_->journal()) {
            if (static_cast<int>(executions.size()) > 1 + disturbed_)
                world_->complain(what + " was executed " + std::to_string(executions.size()) + " times");
        }
    }

    std::optional<Swarm> graph_;
};

}  // namespace books
