#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <stategraph/model/message.hpp>

namespace stategraph::model::http {

/// The names of calls in one request, in the form that providers require: 1 to 40 letters, digits, '_' and '-', each
/// used once. A call keeps the provider's name if that is valid. Otherwise it gets a name from its place, which is the
/// same in each request that has the same messages before it. A result has the name of the last call before it with its
/// call_id.
class WireIds {
public:
    /// Cost: a pass over the messages.
    explicit WireIds(std::span<const Message> messages);
    const std::string& ofCall(std::size_t message, std::size_t call) const { return calls_[message][call]; }
    /// Returns an empty name if there is no such call before the result, which a provider would refuse.
    const std::string& ofResult(std::size_t message) const { return results_[message]; }
    /// Returns whether the provider gave the call of that result a name.
    bool isOfProvider(std::size_t message) const { return is_of_provider_[message]; }

private:
    std::vector<std::vector<std::string>> calls_;  // by message
    std::vector<std::string> results_;
    std::vector<bool> is_of_provider_;  // by message with a result
};

/// Returns the name of the call that a tool's message answers. Errors: ModelError if the message has no result, or if
/// there is no such call before it.
const std::string& answeredCall(const WireIds& ids, const Message& message, std::size_t at);

/// Returns a call's arguments as the text of a JSON object, which providers require: `{}` for none, and `{"unparsed":
/// TEXT}` for text that is no JSON object.
std::string wireArguments(const ToolCall& call);

}  // namespace stategraph::model::http
