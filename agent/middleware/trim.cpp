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

using model::Message;

bool prunes(const model::PruneOptions& options) noexcept {
    return options.reasoning_but_last.has_value() || options.calls_but_last.has_value();
}

void trimCall(const TrimOptions& options, ModelCall& call) {
    if (prunes(options.prune)) call.messages = model::pruneMessages(call.sent(), options.prune);
    const std::span<const Message> sent(call.sent());
    const std::size_t turn = detail::turnBegin(sent);
    std::size_t begin = 0;
    std::int64_t tokens = detail::tokensIn(sent);
    while (begin < turn && tokens > options.max_tokens) {
        do {
            tokens -= detail::tokensIn(sent.subspan(begin, 1));
            ++begin;
        } while (begin < turn && sent[begin].role != model::Role::user);
    }
    if (begin > 0) call.messages = std::vector<Message>(sent.begin() + static_cast<std::ptrdiff_t>(begin), sent.end());
}

}  // namespace

Middleware trim(TrimOptions options) {
    std::string name = options.name;
    return {.name = std::move(name),
            .before_model = [options = std::move(options)](ModelCall& call) { trimCall(options, call); }};
}

}  // namespace stategraph::agent
