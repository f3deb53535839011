#pragma once
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>

#include <boost/json.hpp>

#include <stategraph/model/model.hpp>

// Tools that the provider executes: what declares them in a request, and what is sent back of their calls.
namespace stategraph::model::http {

/// ToolDescription::provider as it goes into the request's `tools`; none if it is for the body. Errors: ModelError if
/// it is no JSON object.
std::optional<boost::json::object> providerTool(const ToolDescription& tool);
/// Adds the members of declarations that have no type to the body. Errors: ModelError for a member that the body has
/// already, such as `messages`.
void putProviderMembers(boost::json::object& body, std::span<const ToolDescription> tools);

/// The blocks of calls and results in one request that a provider of this format accepts: each result after its call,
/// each call with its result. A call whose result is still to come is sent as long as no user's message follows it.
class ProviderBlocks {
public:
    /// The messages must outlive this. Cost: a pass over the messages, and a parse of each block.
    ProviderBlocks(std::span<const Message> messages, std::string_view format);
    /// Null if the part is not to be sent.
    const boost::json::object* of(const ProviderPart& part) const;

private:
    void take(const ProviderPart& part);

    struct Open {
        const ProviderPart* call = nullptr;
        boost::json::object block;
    };
    std::unordered_map<std::string_view, Open> open_;  // calls without a result so far, by id
    std::unordered_map<const ProviderPart*, boost::json::object> sent_;
};

}  // namespace stategraph::model::http
