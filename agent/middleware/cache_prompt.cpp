#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/agent/ready_middleware.hpp>
#include <stategraph/value.hpp>

#include "agent/middleware/estimate.hpp"

namespace stategraph::agent {

namespace {

constexpr const char* format = "anthropic";
constexpr const char* mark = R"({"cache_control":{"type":"ephemeral"}})";

void markMessage(model::Message& message) {
    message.content.insert(message.content.begin(), model::providerOptions(format, mark));
}

/// Keeps what the caller has set for the instructions.
void markInstructions(Value& extra) {
    std::map<std::string, Value> formats;
    if (!extra.isNull()) formats = extra.as<std::map<std::string, Value>>();
    std::map<std::string, Value> members;
    if (const auto own = formats.find(format); own != formats.end() && !own->second.isNull())
        members = own->second.as<std::map<std::string, Value>>();
    for (auto& [name, value] : parseJson(mark).as<std::map<std::string, Value>>()) members.emplace(name, value);
    formats[format] = Value(members);
    extra = Value(formats);
}

}  // namespace

Middleware cachePrompt(std::string name) {
    return beforeModel(
        [](ModelCall& call) {
            markInstructions(call.settings.instructions_extra);
            std::vector<model::Message> sent = call.sent();
            if (sent.empty()) return;
            const std::size_t begin = detail::turnBegin(sent);
            if (begin + 1 < sent.size()) markMessage(sent[begin]);
            markMessage(sent.back());
            call.messages = std::move(sent);
        },
        std::move(name));
}

}  // namespace stategraph::agent
