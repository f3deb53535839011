#include <algorithm>
#include <utility>

#include <stategraph/agent/agent.hpp>

namespace stategraph::agent {

StopCondition stepCountIs(std::int64_t steps) {
    return [steps](const State& state) -> std::optional<std::string> {
        if (state.steps >= steps) return "max-steps";
        return {};
    };
}

StopCondition hasToolCall(std::string tool) {
    return [tool = std::move(tool)](const State& state) -> std::optional<std::string> {
        // One that was stopped midway is asked for again.
        const auto isAnswer = [](const model::Message& message) {
            return message.role == model::Role::assistant && message.finish_reason != model::FinishReason::aborted;
        };
        const auto last = std::find_if(state.messages.rbegin(), state.messages.rend(), isAnswer);
        if (last == state.messages.rend()) return {};
        const auto isIt = [&](const model::ToolCall& call) { return call.name == tool; };
        if (std::any_of(last->calls.begin(), last->calls.end(), isIt)) return "tool-called";
        const auto isOwn = [&](const model::Part& part) {
            const auto* const own = std::get_if<model::ProviderPart>(&part);
            return own != nullptr && own->kind == model::ProviderPartKind::call && own->name == tool;
        };
        if (std::any_of(last->content.begin(), last->content.end(), isOwn)) return "tool-called";
        return {};
    };
}

StopCondition tokensAre(std::int64_t tokens) {
    return [tokens](const State& state) -> std::optional<std::string> {
        if (state.usage.totalTokens() >= tokens) return "max-tokens";
        return {};
    };
}

Account accountOf(const State& state, const model::Prices& prices) {
    const model::UsageByModel thread = state.threadUsage();
    Account account{.turn = state.usage, .thread = thread.total()};
    if (prices.empty()) return account;
    account.turn_cost = model::costOf(state.usage, prices);
    account.thread_cost = model::costOf(thread, prices);
    return account;
}

std::string State::text() const {
    const auto isAnswer = [](const model::Message& message) { return message.role == model::Role::assistant; };
    const auto last = std::find_if(messages.rbegin(), messages.rend(), isAnswer);
    return last == messages.rend() ? std::string() : last->text();
}

}  // namespace stategraph::agent
