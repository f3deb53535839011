#include "serve/account.hpp"

#include <algorithm>
#include <exception>
#include <optional>

namespace stategraph::serve {

namespace {

namespace json = boost::json;

json::object usageJson(const model::Usage& usage) {
    const std::int64_t cached = usage.cached_tokens + usage.cache_write_tokens;
    return {{"inputTokens", usage.input_tokens},
            {"inputTokenDetails",
             {{"noCacheTokens", std::max<std::int64_t>(usage.input_tokens - cached, 0)},
              {"cacheReadTokens", usage.cached_tokens},
              {"cacheWriteTokens", usage.cache_write_tokens}}},
            {"outputTokens", usage.output_tokens},
            {"outputTokenDetails",
             {{"textTokens", std::max<std::int64_t>(usage.output_tokens - usage.reasoning_tokens, 0)},
              {"reasoningTokens", usage.reasoning_tokens}}},
            {"totalTokens", usage.totalTokens()}};
}

}  // namespace

std::string accountJson(const agent::Account& account) {
    json::object shown{{"usage", usageJson(account.turn)}, {"threadUsage", usageJson(account.thread)}};
    if (account.turn_cost) shown["cost"] = account.turn_cost->money.text();
    if (account.thread_cost) {
        shown["threadCost"] = account.thread_cost->money.text();
        if (const auto& unpriced = account.thread_cost->unpriced; !unpriced.empty())
            shown["unpricedModels"] = json::array(unpriced.begin(), unpriced.end());
    }
    return json::serialize(shown);
}

std::string accountAt(Endpoint& endpoint, const Protocol& protocol, const ThreadId& thread,
                      const CheckpointId& checkpoint_id) noexcept {
    try {
        if (protocol.account) return endpoint.account({.thread_id = thread, .checkpoint_id = checkpoint_id});
    } catch (const std::exception&) {  // a thread that was deleted meanwhile, or a store that does not answer
    }
    return {};
}

json::object endMetadata(const Closing& closing) {
    json::object metadata;
    if (!closing.account.empty()) metadata = json::parse(closing.account).get_object();
    metadata["status"] = toString(closing.ending);
    return metadata;
}

}  // namespace stategraph::serve
