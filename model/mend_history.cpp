#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>

#include <stategraph/model/message.hpp>

#include "model/broken_off.hpp"

namespace stategraph::model {

namespace {

/// The places of the results in a conversation, by the call that they answer. If a call has several results, the last
/// counts.
using Results = std::map<std::string_view, std::size_t>;

bool isResult(const Message& message) { return message.role == Role::tool && message.result.has_value(); }

/// Returns whether the results of the calls of `messages[at]` directly follow it, in order and without others.
bool isAnswered(const std::vector<Message>& messages, std::size_t at) {
    const std::vector<ToolCall>& calls = messages[at].calls;
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const std::size_t place = at + 1 + i;
        if (place >= messages.size() || !isResult(messages[place]) || messages[place].result->call_id != calls[i].id)
            return false;
    }
    return true;
}

bool isValid(const std::vector<Message>& messages) {
    for (std::size_t at = 0; at < messages.size(); ++at) {
        if (messages[at].role == Role::tool) return false;  // results in their places are skipped below
        if (messages[at].calls.empty()) continue;
        if (!isAnswered(messages, at)) return false;
        at += messages[at].calls.size();
    }
    return true;
}

}  // namespace

std::optional<std::vector<Message>> mendHistory(const std::vector<Message>& messages) {
    if (isValid(messages)) return {};
    Results results;
    for (std::size_t at = 0; at < messages.size(); ++at) {
        if (isResult(messages[at])) results[messages[at].result->call_id] = at;
    }
    std::vector<Message> mended;
    mended.reserve(messages.size());
    for (const Message& message : messages) {
        if (message.role == Role::tool) continue;
        mended.push_back(message);
        for (const ToolCall& call : message.calls) {
            const auto found = results.find(call.id);
            mended.push_back(found != results.end() ? messages[found->second] : toolResult(call, broken_off, true));
        }
    }
    return mended;
}

}  // namespace stategraph::model
