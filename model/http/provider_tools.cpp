#include "model/http/provider_tools.hpp"

#include <string>
#include <utility>

#include "model/http/json_access.hpp"

namespace stategraph::model::http {

namespace json = boost::json;

namespace {

json::object declarationOf(const ToolDescription& tool) {
    return parseObject(tool.provider, "the declaration of the provider's tool '" + tool.name + "'");
}

}  // namespace

std::optional<json::object> providerTool(const ToolDescription& tool) {
    json::object declaration = declarationOf(tool);
    if (member(declaration, "type") == nullptr) return {};
    return declaration;
}

void putProviderMembers(json::object& body, std::span<const ToolDescription> tools) {
    for (const ToolDescription& tool : tools) {
        if (tool.provider.empty()) continue;
        json::object declaration = declarationOf(tool);
        if (member(declaration, "type") != nullptr) continue;
        for (auto& each : declaration) {
            const bool is_new = body.emplace(each.key(), each.value()).second;
            if (is_new) continue;
            throw ModelError("the declaration of the provider's tool '" + tool.name + "' has the member '" +
                                 std::string(each.key()) +
                                 "', which the request has already; leave it out, or use Settings::extra",
                             {});
        }
    }
}

ProviderBlocks::ProviderBlocks(std::span<const Message> messages, std::string_view format) {
    for (const Message& message : messages) {
        if (message.role == Role::user) open_.clear();  // the results of these calls are no longer expected
        if (message.role != Role::assistant) continue;
        for (const Part& part : message.content) {
            const auto* const own = std::get_if<ProviderPart>(&part);
            if (own != nullptr && own->format == format) take(*own);
        }
    }
    for (auto& [id, open] : open_) sent_.emplace(open.call, std::move(open.block));
    open_.clear();
}

void ProviderBlocks::take(const ProviderPart& part) {
    if (part.kind != ProviderPartKind::call && part.kind != ProviderPartKind::result) return;
    std::optional<json::value> parsed = parseJsonText(part.data);
    if (!parsed || !parsed->is_object()) return;
    const auto found = open_.find(part.call_id);
    if (part.kind == ProviderPartKind::call) {
        if (found == open_.end()) open_.emplace(part.call_id, Open{&part, std::move(parsed->get_object())});
        return;
    }
    if (found == open_.end()) return;
    sent_.emplace(found->second.call, std::move(found->second.block));
    sent_.emplace(&part, std::move(parsed->get_object()));
    open_.erase(found);
}

const json::object* ProviderBlocks::of(const ProviderPart& part) const {
    const auto found = sent_.find(&part);
    return found != sent_.end() ? &found->second : nullptr;
}

}  // namespace stategraph::model::http
