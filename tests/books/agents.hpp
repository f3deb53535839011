#pragma once
#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/agent/agent.hpp>
#include <stategraph/async.hpp>
#include <stategraph/json.hpp>

#include "tests/books/world.hpp"

// Random agents, whose tools keep the journal, and whose model compares each request with it.
namespace books {

namespace agent = stategraph::agent;
namespace model = stategraph::model;

/// The arguments of tools. `what` is unique in a history; a person may edit `n`.
struct Job {
    std::string what = {};
    std::int64_t n = 0;
    static constexpr auto fields() { return sg::fields<&Job::what, &Job::n>(); }
};

/// What a call is about; empty for a call with wrong arguments.
inline std::string whatOf(const model::ToolCall& call) {
    try {
        if (call.name == "helper") {
            const auto given = sg::parseJson(call.arguments).as<std::map<std::string, std::string>>();
            return given.at("request");
        }
        return sg::parseJson(call.arguments).asStrict<Job>().what;
    } catch (const std::exception&) {
        return {};
    }
}

/// Compares what a result says with the journal. `where` is for the message.
inline void judgeResult(World& world, const model::ToolCall& call, const std::string& text, const std::string& where) {
    const std::string what = whatOf(call);
    const std::vector<Execution> executions = world.of(what);
    const std::string about = where + ": the call " + what + " of " + call.name + " is told as \"" + text + "\"";
    const auto isThere = [&](auto condition) { return std::any_of(executions.begin(), executions.end(), condition); };
    if (text.starts_with("did ")) {
        if (!isThere([&](const Execution& each) { return each.result == text; }))
            world.complain(about + ", which the journal does not have");
        if (!isThere([&](const Execution& each) { return each.result == text && each.call_id == call.id; }))
            world.complain(about + ", and was executed as another call");
        const auto n = sg::parseJson(call.arguments).as<Job>().n;
        if (isThere([&](const Execution& each) { return each.result == text && each.n != n; }))
            world.complain(about + ", with the arguments " + call.arguments);
        return;
    }
    if (world.isCertain(what)) world.complain(about + ", and its result is stored");
    if (has(text, "was not run") || has(text, "was not approved")) return world.toldAsNotRun(what, about);
    if (has(text, "boom")) {
        if (!isThere([](const Execution& each) { return each.has_thrown; }))
            world.complain(about + ", and threw nothing");
        return;
    }
    if (has(text, "may have run") || has(text, "It may have been, and is not repeated")) return;
    if (what.empty() || call.name == "nobody") {
        if (!text.starts_with("Error: ")) world.complain(about + ", which cannot be executed");
        return;
    }
    if (!world.allows(text)) world.complain(about + ", which nobody has said");
}

/// Compares the results of a conversation with the journal. In a request each call has its result in its place.
inline void judgeConversation(World& world, std::span<const model::Message> messages, bool is_request,
                              const std::string& where) {
    for (std::size_t at = 0; at < messages.size(); ++at) {
        const std::vector<model::ToolCall>& calls = messages[at].calls;
        for (std::size_t i = 0; i < calls.size(); ++i) {
            const model::Message* result = nullptr;
            for (const model::Message& each : messages) {
                if (each.result && each.result->call_id == calls[i].id) result = &each;
            }
            const bool is_in_place = at + 1 + i < messages.size() && result == &messages[at + 1 + i];
            if (is_request && !is_in_place)
                world.complain(where + ": the call " + whatOf(calls[i]) + " has no result in its place");
            if (result != nullptr) judgeResult(world, calls[i], result->result->text(), where);
        }
    }
}

/// Returns the ids of the calls that wait for a decision.
inline std::set<std::string> undecidedCalls(const agent::Agent& on) {
    std::set<std::string> ids;
    for (const agent::OpenCall& call : on.openCalls("t")) {
        if (!call.is_for_client && !call.is_in_doubt) ids.insert(call.id);
    }
    return ids;
}

/// A call that nobody has decided has not begun, so nobody is told that it may have run.
inline void judgeUndecided(World& world, const std::set<std::string>& undecided,
                           std::span<const model::Message> messages) {
    for (const model::Message& each : messages) {
        if (each.result && undecided.contains(each.result->call_id) && has(each.result->text(), "may have run"))
            world.complain("a call that nobody has decided is told as \"" + each.result->text() + "\"");
    }
}

/// The ids of the calls that have results.
inline std::set<std::string> resultsOf(const agent::State& state) {
    std::set<std::string> ids;
    for (const model::Message& each : state.messages) {
        if (each.result) ids.insert(each.result->call_id);
    }
    return ids;
}
/// The ids of the calls since the user wrote last.
inline std::set<std::string> callsOfTurn(const agent::State& state) {
    std::set<std::string> ids;
    for (const model::Message& each : state.messages) {
        if (each.role == model::Role::user) ids.clear();
        for (const model::ToolCall& call : each.calls) ids.insert(call.id);
    }
    return ids;
}

/// Sends a message to the thread, on which a run is under way.
inline std::function<void()> sending(const SharedWorld& world, const agent::Agent& to, std::string text,
                                     agent::WhileRunning how) {
    return [world, to, text = std::move(text), how] {
        world->trySending(text);
        try {
            to.send("t", text, how);
            world->hasSent(text);
        } catch (const sg::Error&) {
            // The process is dead.
        }
    };
}
/// What was sent is in the conversation once; what was being sent when the process died, at most once.
inline void judgeSent(World& world, const agent::State& state) {
    for (const auto& [text, has_returned] : world.sent()) {
        const auto isIt = [&](const model::Message& each) { return each.text() == text; };
        const auto count = std::ranges::count_if(state.messages, isIt);
        if (count > 1 || (count == 0 && has_returned))
            world.complain("the message \"" + text + "\" was sent, and is there " + std::to_string(count) + " times");
    }
}

/// Answers from the conversation alone: rounds of calls, then a text. Notes what is wrong in each request.
class Speaker final : public model::Model {
public:
    Speaker(std::uint64_t seed, SharedWorld world, bool is_inner)
        : seed_(seed), world_(std::move(world)), is_inner_(is_inner) {}

    sg::Task<model::Reply> ask(model::Request request, const model::Asking& asking) const override {
        judgeConversation(*world_, request.messages, true, is_inner_ ? "request of the helper" : "request");
        world_->touch();
        model::Reply reply;
        reply.message = answerTo(request.messages);
        std::string said;
        for (const std::string piece : {"I ", "think ", "so."}) {
            if (asking.stop.stop_requested()) throw sg::CancelledError("stopped");
            said += piece;
            if (asking.tell) asking.tell({.text = piece});
            world_->touch();
        }
        if (!reply.message.calls.empty()) reply.message.content.emplace_back(model::Text{said});
        co_return reply;
    }

private:
    model::Message answerTo(std::span<const model::Message> messages) const {
        std::string key;
        std::uint64_t count = 0, rounds = 0;
        for (const model::Message& each : messages) {
            if (each.role == model::Role::user) {
                if (is_inner_ && key.empty()) key = each.text() + "/";
                rounds = 0;
            }
            if (each.role != model::Role::assistant) continue;
            ++count;
            ++rounds;
        }
        Random random = randomOf(seed_, key, count);
        const std::string prefix = key + "m" + std::to_string(count);
        model::Message answer;
        answer.role = model::Role::assistant;
        if (rounds < 1 + random.below(is_inner_ ? 2 : 3)) answer.calls = calls(random, prefix);
        if (answer.calls.empty()) {
            // As the pieces, so that a result is the whole of them.
            answer.content.emplace_back(model::Text{"I think so. " + prefix + "."});
            world_->allow(answer.text());
        }
        return answer;
    }
    std::vector<model::ToolCall> calls(Random& random, const std::string& prefix) const {
        static const std::vector<std::string> outer{"plain", "gated",  "asks",   "doubt",  "awaited", "own", "ends",
                                                    "shaky", "client", "asking", "helper", "nobody",  "last"};
        static const std::vector<std::string> inner{"plain", "gated", "doubt", "shaky"};
        std::vector<model::ToolCall> calls;
        const std::size_t count = 1 + random.below(is_inner_ ? 2 : 4);
        for (std::size_t i = 0; i < count; ++i) {
            const std::string what = prefix + "." + std::to_string(i);
            model::ToolCall call;
            call.provider_id = what;
            call.name = random.oneOf(is_inner_ ? inner : outer);
            if (call.name == "helper")
                call.arguments = R"({"request":")" + what + R"("})";
            else if (random.chance(4))
                call.arguments = R"({"what":7})";
            else
                call.arguments = R"({"what":")" + what + R"(","n":)" + std::to_string(i) + "}";
            calls.push_back(std::move(call));
        }
        return calls;
    }

    std::uint64_t seed_;
    SharedWorld world_;
    bool is_inner_;
};

/// Executes a job as the journal has it. Every second job of a tool that `shakes` fails at first.
class Worker {
public:
    Worker(SharedWorld world, bool shakes) : world_(std::move(world)), shakes_(shakes) {}

    std::string operator()(const Job& job, agent::ToolContext& context) const {
        const std::size_t which = world_->begin(job.what, context.call().id, context.call().name, job.n);
        world_->touch();
        if (shakes_ && which == 0 && randomOf(7, job.what).chance(50)) {
            world_->fail(job.what, which);
            throw std::runtime_error("boom " + job.what);
        }
        std::string result =
            "did " + job.what + " with " + std::to_string(job.n) + ", execution " + std::to_string(which) + ".";
        world_->end(job.what, which, result);
        world_->touch();
        return result;
    }

private:
    SharedWorld world_;
    bool shakes_;
};

inline sg::Task<std::string> later(Worker worker, Job job, agent::ToolContext& context) {
    co_await sg::sleepFor(context.runtime(), std::chrono::milliseconds(1));
    co_return worker(job, context);
}

/// Middleware of all kinds, which counts the answers that are stored.
inline agent::Middleware counting() {
    agent::Middleware counting{.name = "count"};
    counting.around_model = [](agent::ModelCall&, const agent::NextModel& next) -> sg::Task<model::Reply> {
        auto asked = next();
        co_return co_await std::move(asked);
    };
    counting.after_model = [](agent::ModelCall& call, model::Reply&) {
        const sg::Value kept = call.kept();
        call.keep(sg::Value((kept.isNull() ? 0 : kept.as<std::int64_t>()) + 1));
    };
    counting.around_tool = [](const agent::ToolUse&, const agent::NextTool& next) -> sg::Task<sg::Value> {
        auto executed = next();
        co_return co_await std::move(executed);
    };
    return counting;
}
/// It counts the answers in the log that no stop has cut off.
inline void judgeCounted(World& world, const agent::State& state) {
    const auto kept = state.kept.find("count");
    if (kept == state.kept.end()) return;
    const auto answers = std::ranges::count_if(state.messages, [](const model::Message& each) {
        return each.role == model::Role::assistant && each.finish_reason != model::FinishReason::aborted;
    });
    if (kept->second.as<std::int64_t>() != answers)
        world.complain("middleware has counted " + kept->second.toJson() + " answers of " + std::to_string(answers));
}

inline agent::Options optionsOf(std::uint64_t seed, const SharedWorld& world, bool is_inner) {
    agent::Options options;
    options.model = std::make_shared<const Speaker>(seed, world, is_inner);
    options.stop_when = {agent::stepCountIs(20)};
    const Worker steady(world, false);
    const Worker shaky(world, true);
    agent::ToolOptions gated, asks, doubt, own, ends;
    gated.approval = true;
    asks.approval = true;
    asks.on_doubt = doubt.on_doubt = sg::OnDoubt::ask;
    own.retry = sg::RetryPolicy{.max_attempts = 2, .initial_interval = std::chrono::milliseconds(1)};
    ends.on_failure = agent::OnToolFailure::end_run;
    options.tools = {agent::tool<Job>("plain", {}, steady), agent::tool<Job>("gated", gated, steady),
                     agent::tool<Job>("doubt", doubt, steady), agent::tool<Job>("shaky", {}, shaky)};
    if (seed % 3 == 0) options.middleware = {counting()};
    if (is_inner) return options;
    using Leaving = std::pair<std::string, sg::Command<agent::State>>;
    options.tools.push_back(agent::tool<Job>("last", {}, [steady](const Job& job, agent::ToolContext& context) {
        return Leaving(steady(job, context), {.go_to = sg::END});
    }));
    options.tools.push_back(agent::tool<Job>("asks", asks, steady));
    options.tools.push_back(agent::tool<Job>("own", own, shaky));
    options.tools.push_back(agent::tool<Job>("ends", ends, shaky));
    options.tools.push_back(agent::clientTool<Job>("client", {}));
    options.tools.push_back(
        agent::tool<Job>("awaited", {}, [steady](const Job& job, agent::ToolContext& context) -> sg::Task<std::string> {
            return later(steady, job, context);
        }));
    options.tools.push_back(agent::tool<Job>("asking", {}, [world](const Job& job, agent::ToolContext& context) {
        std::string said;
        for (const char* const key : {"one", "two"}) {
            const auto given = sg::interrupt<std::string>(context.runtime(), key, sg::Value(job.what + key));
            if (given != job.what + key) world->complain(job.what + " asked for " + key + " and was given " + given);
        }
        world->allow("asked " + job.what);
        return "asked " + job.what;
    }));
    return options;
}

/// The options of the agent of a history, which has another one as a tool.
inline agent::Options agentOptionsOf(std::uint64_t seed, const SharedWorld& world) {
    agent::Options options = optionsOf(seed, world, false);
    options.tools.push_back(agent::agentTool("helper", {}, agent::Agent(optionsOf(seed, world, true))));
    return options;
}

inline agent::Agent agentOf(std::uint64_t seed, const SharedWorld& world,
                            std::shared_ptr<sg::BaseCheckpointSaver> saver,
                            sg::FailurePolicy policy = sg::FailurePolicy::wait) {
    agent::Options options = agentOptionsOf(seed, world);
    options.compile.checkpointer = std::move(saver);
    options.compile.on_failure = policy;
    return agent::Agent(std::move(options));
}

}  // namespace books
