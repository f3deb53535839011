#include <map>
#include <string>
#include <utility>

#include <stategraph/agent/ready_middleware.hpp>
#include <stategraph/value.hpp>

namespace stategraph::agent {

Middleware cachePrompt(std::string name) {
    return beforeModel(
        [](ModelCall& call) {
            std::map<std::string, Value> extra;
            if (!call.settings.extra.isNull()) extra = call.settings.extra.as<std::map<std::string, Value>>();
            extra.emplace("cache_control", Value(std::map<std::string, std::string>{{"type", "ephemeral"}}));
            call.settings.extra = Value(extra);
        },
        std::move(name));
}

}  // namespace stategraph::agent
