#pragma once
#include <map>
#include <optional>
#include <span>
#include <string_view>

#include <boost/json.hpp>

#include <stategraph/model/model.hpp>

// Tools that the provider executes: how a request declares them, and which of their calls and results are sent back.
namespace stategraph::model::http {

/// Returns ToolDescription::provider in the form for the request's `tools`, or none if it belongs in the body. Errors:
/// ModelError if it is no JSON object.
std::optional<boost::json::object> providerTool(const ToolDescription& tool);
/// Adds the members of declarations without a type to the body. Errors: ModelError for a member that the body already
/// has, such as `messages`.
void putProviderMembers(boost::json::object& body, std::span<const ToolDescription> tools);

/// The blocks of calls and results that a provider of this format accepts in one request: each result after its call,
/// each call with its result. A call whose result is still to come is sent, as long as no message of the user follows
/// it.
class ProviderBlocks {
public:
    /// The messages must outlive this object. Cost: a pass over the messages, and a parse of each block.
    ProviderBlocks(std::span<const Message> messages, std::string_view format);
    /// Returns null if the part is not to be sent.
    const boost::json::object* of(const ProviderPart& part) const;

private:
    void take(const ProviderPart& part);

    struct Open {
        const ProviderPart* call = nullptr;
        boost::json::object block;
    };
    std::map<std::string_view, Open> open_;  // calls without a result so far, by id
    std::map<const ProviderPart*, boost::json::object> sent_;
};

}  // namespace stategraph::model::http
