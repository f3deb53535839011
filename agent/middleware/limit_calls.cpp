#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/agent/ready_middleware.hpp>

#include "agent/middleware/estimate.hpp"

namespace stategraph::agent {

namespace {

/// Returns how many calls are left in this turn.
std::size_t leftIn(const LimitCallsOptions& options, const State& state) {
    const std::span<const model::Message> messages(state.messages);
    std::size_t made = 0;
    for (const model::Message& message : messages.subspan(detail::turnBegin(messages))) {
        made += static_cast<std::size_t>(std::ranges::count_if(message.calls, [&](const model::ToolCall& call) {
            return options.tool.empty() || call.name == options.tool;
        }));
    }
    return options.per_turn - std::min(options.per_turn, made);
}

}  // namespace

Middleware limitCalls(LimitCallsOptions options) {
    std::string name = options.name;
    const auto shared = std::make_shared<const LimitCallsOptions>(std::move(options));
    return {.name = std::move(name),
            .before_model =
                [shared](ModelCall& call) {
                    if (leftIn(*shared, call.state) > 0) return;
                    std::erase_if(call.tools, [&](const std::string& tool) {
                        return shared->tool.empty() || tool == shared->tool;
                    });
                },
            .after_model =
                [shared](ModelCall& call, model::Reply& reply) {
                    std::size_t left = leftIn(*shared, call.state);
                    std::erase_if(reply.message.calls, [&](const model::ToolCall& made) {
                        if (!shared->tool.empty() && made.name != shared->tool) return false;
                        if (left == 0) return true;
                        --left;
                        return false;
                    });
                }};
}

}  // namespace stategraph::agent
