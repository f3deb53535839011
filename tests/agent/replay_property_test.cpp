#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/agent/replay.hpp>
#include <stategraph/async.hpp>

#include "tests/agent/tools.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/seed.hpp"

// A replay with the model that gave the recorded answers has no differences, whatever the agent and its people did.
using namespace tools;

namespace {

class Hash {
public:
    void add(std::string_view text) {
        for (const char each : text) value_ = (value_ ^ static_cast<unsigned char>(each)) * 0x100'0000'01B3ULL;
        value_ = (value_ ^ 0xFFU) * 0x100'0000'01B3ULL;
    }
    /// A number below `end`, another one for each call.
    std::uint64_t below(std::uint64_t end) {
        add("next");
        return (value_ >> 20U) % end;
    }

private:
    std::uint64_t value_ = 0xCBF2'9CE4'8422'2325ULL;
};

/// A model whose answers depend on everything that the request says, but for the ids of calls.
model::Message answerTo(const model::Request& request, std::uint64_t seed, bool fails) {
    Hash hash;
    hash.add(std::to_string(seed));
    hash.add(request.instructions);
    int rounds = 0;
    for (const model::Message& each : request.messages) {
        hash.add(each.text());
        for (const model::ToolCall& made : each.calls) hash.add(made.name + made.arguments);
        if (each.result) hash.add(each.result->text() + (each.result->is_error ? "!" : "."));
        rounds = each.role == model::Role::user ? 0 : rounds + (each.calls.empty() ? 0 : 1);
    }
    if (fails && hash.below(12) == 0) throw model::ModelError("broken", {});
    if (rounds >= 3 || hash.below(4) == 0) return model::assistant("text " + std::to_string(hash.below(1000)));
    static const std::vector<std::string> names{"work",   "work",   "own",    "awaited",
                                                "client", "broken", "helper", "nobody"};
    std::vector<model::ToolCall> calls;
    const std::uint64_t count = 1 + hash.below(4);
    for (std::uint64_t i = 0; i < count; ++i) {
        model::ToolCall made{{}, "c" + std::to_string(i), names[hash.below(names.size())], {}};
        const std::string what = std::to_string(hash.below(3));
        made.arguments = made.name == "helper" ? R"({"request":")" + what + R"("})" : R"({"what":")" + what + R"("})";
        if (hash.below(10) == 0) made.arguments = hash.below(2) == 0 ? "{" : R"({"wrong":1})";
        calls.push_back(std::move(made));
    }
    model::Message answer = model::assistant(std::move(calls));
    if (hash.below(2) == 0) answer.content.emplace_back(model::Text{"I think so."});
    return answer;
}

class History {
public:
    explicit History(std::uint64_t seed) : random_(static_cast<std::mt19937::result_type>(seed)), seed_(seed) {
        options_.model = modelOf(seed, chance(3));
        addTools();
        if (chance(2)) addMiddleware();
        if (chance(3)) {
            options_.repair_call = [](const agent::State&, const model::ToolCall& made,
                                      std::string_view) -> std::optional<model::ToolCall> {
                model::ToolCall repaired = made;
                repaired.name = "work";
                return repaired;
            };
        }
        if (chance(3)) options_.at_limit = agent::AtLimit::answer;
        options_.stop_when = {agent::stepCountIs(2 + below(4))};
        options_.compile = stored();
        helper_.emplace(options_);
    }

    void run() {
        const int turns = 1 + below(4);
        for (int turn = 0; turn < turns; ++turn) {
            try {
                auto result = helper_->say("turn " + std::to_string(turn), {.thread_id = "t"});
                while (result.status == sg::Status::interrupted && !chance(6)) {
                    result = helper_->graph().invoke(decide(), {.thread_id = "t"});
                }
            } catch (const sg::NodeError&) {
                // The next turn follows what had come.
            }
        }
    }

    void check() {
        const int executed = *count_;
        const auto head = helper_->graph().getState({.thread_id = "t"}).config.checkpoint_id;
        const agent::Record record = agent::recordOf(*helper_, {.thread_id = "t"});
        const agent::Replayed replayed = agent::replay(record, options_);
        for (const agent::Difference& each : replayed.differences) CAPTURE(sg::toJson(each));
        CHECK(sg::toJson(replayed.differences) == "[]");
        CHECK(replayed.isSame());
        CHECK(replayed.unrecorded.empty());
        CHECK(replayed.unused.empty());
        CHECK(*count_ == executed);
        CHECK((helper_->graph().getState({.thread_id = "t"}).config.checkpoint_id == head));
    }

private:
    int below(int end) { return static_cast<int>(random_() % static_cast<unsigned>(end)); }
    bool chance(int in) { return below(in) == 0; }

    static std::shared_ptr<const model::Model> modelOf(std::uint64_t seed, bool fails) {
        return model::scripted([=](const model::Request& request) { return answerTo(request, seed, fails); });
    }
    agent::ToolOptions some() {
        agent::ToolOptions options;
        options.approval = chance(2);
        return options;
    }
    void addTools() {
        // What a tool returns depends on how often tools were called, so that only the record knows it.
        const auto count = count_;
        const auto did = [count](const Job& job) { return "did " + job.what + " as " + std::to_string(++*count); };
        options_.tools.push_back(agent::tool("work", some(), did));
        agent::ToolOptions own = some();
        own.retry = sg::RetryPolicy{.max_attempts = 2, .initial_interval = std::chrono::milliseconds(0)};
        options_.tools.push_back(agent::tool("own", own, [did, count](const Job& job) {
            if (*count % 3 == 0) throw std::runtime_error("try again " + std::to_string(++*count));
            return did(job);
        }));
        options_.tools.push_back(
            agent::tool("awaited", some(), [did](const Job& job) -> sg::Task<std::string> { co_return did(job); }));
        options_.tools.push_back(agent::tool("broken", some(), [count](const Job& job) -> std::string {
            throw std::runtime_error("boom " + job.what + " at " + std::to_string(++*count));
        }));
        options_.tools.push_back(agent::clientTool<Job>("client", some()));
        agent::Options inner{.model = modelOf(seed_ + 1, false), .tools = {agent::tool("work", some(), did)}};
        options_.tools.push_back(agent::agentTool("helper", some(), agent::Agent(inner)));
    }
    void addMiddleware() {
        agent::Middleware counts{.name = "counts"};
        counts.before_model = [](agent::ModelCall& made) {
            const std::int64_t so_far = made.kept().isNull() ? 0 : made.kept().as<std::int64_t>();
            made.keep(sg::Value(so_far + 1));
            made.instructions += "call " + std::to_string(so_far);
        };
        agent::Middleware marks{.name = "marks"};
        marks.around_tool = [](const agent::ToolUse& use, const agent::NextTool& next) -> sg::Task<sg::Value> {
            auto rest = next();
            const sg::Value result = co_await std::move(rest);
            co_return sg::Value("<" + use.call.name + " " + result.toJson() + ">");
        };
        marks.after_model = [](agent::ModelCall&, model::Reply& reply) {
            reply.message.content.emplace_back(model::Text{" (marked)"});
        };
        options_.middleware = {counts, marks};
    }
    /// Decides or answers some of the open calls, at least one.
    sg::Command<> decide() {
        sg::Command<> all;
        const auto open = helper_->openCalls("t");
        const std::size_t first = random_() % open.size();
        for (std::size_t i = 0; i < open.size(); ++i) {
            if (i != first && chance(2)) continue;
            sg::Command<> one;
            if (open[i].is_for_client) {
                one = helper_->give("t", open[i].id, {sg::Value(++*count_), chance(3)});
            } else {
                agent::Decision decision{.approved = !chance(3), .reason = chance(2) ? "I say so" : ""};
                if (decision.approved && open[i].tool != "helper" && chance(3))
                    decision.arguments = sg::Value(Job{.what = std::to_string(below(3)) + "!"});
                one = helper_->decide("t", open[i].id, decision);
            }
            all.answers.push_back(one.answers.front());
        }
        return all;
    }

    std::mt19937 random_;
    std::uint64_t seed_;
    std::shared_ptr<std::atomic<int>> count_ = std::make_shared<std::atomic<int>>(0);
    agent::Options options_;
    std::optional<agent::Agent> helper_;
};

}  // namespace

TEST_CASE("a replay with the model that gave the recorded answers has no difference, for random agents and people") {
    const unsigned seed = tests::seed();
    MESSAGE("seed " << seed);
    for (unsigned i = 0; i < sanitized::some(150); ++i) {
        CAPTURE(i);
        History history(seed + i);
        history.run();
        history.check();
    }
}
