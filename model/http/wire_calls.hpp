#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <stategraph/model/message.hpp>

namespace stategraph::model::http {

/// The names that calls have in one request, as providers want them: 1 to 40 letters, digits, '_' and '-', each used
/// once. A call keeps the provider's name if it is such a one; else it gets one from its place, which is the same in
/// each request that has the same messages before. A result has the name of the last call before it with its call_id.
class WireIds {
public:
    /// Cost: a pass over the messages.
    explicit WireIds(std::span<const Message> messages);
    const std::string& ofCall(std::size_t message, std::size_t call) const { return calls_[message][call]; }
    /// Empty: there is no such call before it, and a provider would refuse it.
    const std::string& ofResult(std::size_t message) const { return results_[message]; }

private:
    std::vector<std::vector<std::string>> calls_;  // by message
    std::vector<std::string> results_;
};

/// A call's arguments as a JSON object's text, which providers insist on: `{}` for none, and `{"unparsed": TEXT}` for
/// what is no JSON object.
std::string wireArguments(const ToolCall& call);

}  // namespace stategraph::model::http
