#include <stategraph/model/prune.hpp>

#include <algorithm>
#include <set>
#include <string_view>
#include <variant>

namespace stategraph::model {

namespace {

using Ids = std::set<std::string_view>;

/// Returns how many messages come before the last `count`.
std::size_t before(const std::vector<Message>& messages, std::size_t count) {
    return messages.size() - std::min(count, messages.size());
}

/// Decides which calls are left out.
class Calls {
public:
    Calls(const std::vector<Message>& messages, const PruneOptions& options) : options_(options) {
        if (!options.calls_but_last) return;
        for (std::size_t at = before(messages, *options.calls_but_last); at < messages.size(); ++at) keep(messages[at]);
        keepSiblings(messages);
    }
    bool isOut(const ToolCall& call) const { return isOut(call.name, call.id, kept_); }
    bool isOut(const ToolResult& result) const { return isOut(result.name, result.call_id, kept_); }
    bool isOut(const ProviderPart& part) const {
        const bool is_call = part.kind == ProviderPartKind::call || part.kind == ProviderPartKind::result;
        return is_call && isOut(part.name, part.call_id, kept_by_provider_);
    }

private:
    void keep(const Message& message) {
        for (const ToolCall& call : message.calls) kept_.insert(call.id);
        if (message.result) kept_.insert(message.result->call_id);
        for (const Part& part : message.content) {
            if (const auto* const own = std::get_if<ProviderPart>(&part)) kept_by_provider_.insert(own->call_id);
        }
    }
    // Providers with signed thoughts refuse a message of which some calls are missing.
    void keepSiblings(const std::vector<Message>& messages) {
        const auto isKept = [&](const ToolCall& call) { return kept_.contains(call.id); };
        for (const Message& message : messages) {
            if (!std::any_of(message.calls.begin(), message.calls.end(), isKept)) continue;
            for (const ToolCall& call : message.calls) kept_.insert(call.id);
        }
    }
    bool isOut(const std::string& tool, std::string_view id, const Ids& kept) const {
        if (!options_.calls_but_last || kept.contains(id)) return false;
        const std::vector<std::string>& tools = options_.tools;
        return tools.empty() || std::find(tools.begin(), tools.end(), tool) != tools.end();
    }

    const PruneOptions& options_;
    Ids kept_, kept_by_provider_;
};

bool isMetadata(const Part& part) {
    const auto* const own = std::get_if<ProviderPart>(&part);
    return own != nullptr && (own->kind == ProviderPartKind::metadata || own->kind == ProviderPartKind::options);
}

bool isWithoutContent(const Message& message) {
    return std::all_of(message.content.begin(), message.content.end(), isMetadata);
}

/// Leaves out the thoughts that led to calls which are left out: providers refuse a message that ends with thoughts.
void dropLastThoughts(Message& message) {
    const auto isThought = [](const Part& part) { return std::holds_alternative<Reasoning>(part); };
    const auto isOther = [&](const Part& part) { return !isThought(part) && !isMetadata(part); };
    const auto last = std::find_if(message.content.rbegin(), message.content.rend(), isOther).base();
    message.content.erase(std::remove_if(last, message.content.end(), isThought), message.content.end());
}

}  // namespace

std::vector<Message> pruneMessages(const std::vector<Message>& messages, const PruneOptions& options) {
    const Calls calls(messages, options);
    const std::size_t thoughtless = options.reasoning_but_last ? before(messages, *options.reasoning_but_last) : 0;
    std::vector<Message> pruned;
    for (std::size_t at = 0; at < messages.size(); ++at) {
        Message message = messages[at];
        std::size_t left_out = std::erase_if(message.content, [&](const Part& part) {
            const auto* const own = std::get_if<ProviderPart>(&part);
            return (at < thoughtless && std::holds_alternative<Reasoning>(part)) ||
                   (own != nullptr && calls.isOut(*own));
        });
        left_out += std::erase_if(message.calls, [&](const ToolCall& call) { return calls.isOut(call); });
        if (left_out > 0 && message.calls.empty()) dropLastThoughts(message);
        if (message.result && calls.isOut(*message.result)) continue;
        const bool is_empty = isWithoutContent(message) && message.calls.empty() && !message.result;
        if (left_out == 0 || !is_empty) pruned.push_back(std::move(message));
    }
    return pruned;
}

}  // namespace stategraph::model
