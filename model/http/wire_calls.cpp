#include "model/http/wire_calls.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <stategraph/model/model.hpp>

#include "model/http/json_access.hpp"
#include "model/http/text.hpp"

namespace stategraph::model::http {

namespace {

bool isUsable(std::string_view id) {
    const auto fits = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    };
    return !id.empty() && id.size() <= 40 && std::all_of(id.begin(), id.end(), fits);
}

}  // namespace

WireIds::WireIds(std::span<const Message> messages)
    : calls_(messages.size()), results_(messages.size()), is_of_provider_(messages.size()) {
    std::set<std::string> taken;
    // The names of providers are taken first, so that no generated name equals one of them.
    for (std::size_t m = 0; m < messages.size(); ++m) {
        for (const ToolCall& call : messages[m].calls) {
            const bool keeps = isUsable(call.provider_id) && taken.insert(call.provider_id).second;
            calls_[m].push_back(keeps ? call.provider_id : std::string());
        }
    }
    struct Named {
        std::string_view id;
        bool is_of_provider = false;
    };
    std::map<std::string_view, Named> last;
    for (std::size_t m = 0; m < messages.size(); ++m) {
        for (std::size_t c = 0; c < calls_[m].size(); ++c) {
            std::string& id = calls_[m][c];
            const std::string place = "call-" + std::to_string(m) + "-" + std::to_string(c);
            for (std::size_t n = 1; id.empty(); ++n) {
                std::string candidate = n == 1 ? place : place + "-" + std::to_string(n);
                if (taken.insert(candidate).second) id = std::move(candidate);
            }
            last[messages[m].calls[c].id] = {id, !messages[m].calls[c].provider_id.empty()};
        }
        if (!messages[m].result) continue;
        const auto found = last.find(messages[m].result->call_id);
        if (found == last.end()) continue;
        results_[m] = found->second.id;
        is_of_provider_[m] = found->second.is_of_provider;
    }
}

const std::string& answeredCall(const WireIds& ids, const Message& message, std::size_t at) {
    if (message.result && !ids.ofResult(at).empty()) return ids.ofResult(at);
    throw ModelError(
        "message " + std::to_string(at) + " is a tool's, and no call before it is the one it answers; see mendHistory",
        {});
}

std::string wireArguments(const ToolCall& call) {
    if (call.arguments.empty()) return "{}";
    const auto parsed = parseJsonText(call.arguments);
    if (parsed && parsed->is_object()) return call.arguments;
    return boost::json::serialize(boost::json::object{{"unparsed", validUtf8(call.arguments)}});
}

}  // namespace stategraph::model::http
