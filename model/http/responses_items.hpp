#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include <stategraph/model/message.hpp>

// The items of an answer of the Responses API, in their order. The model's thoughts among them are needed in the next
// request, each directly before what it led to.
namespace stategraph::model::http {

/// The ProviderPart::format of this format's parts.
inline constexpr std::string_view responses_format = "openai-responses";

/// Who wrote an answer. Its thoughts can be read by this model only.
struct ItemOrigin {
    std::string host;
    std::string model;
};

/// Returns whether the item is a call of a tool that the provider executes.
bool isOwnCall(const boost::json::object& item);

/// Collects the items of one answer.
class ResponsesItems {
public:
    /// Adds an item that is complete, with its place in the answer. `text_size` is the number of bytes that it added to
    /// the answer's text.
    void add(std::int64_t place, boost::json::object item, std::size_t text_size);
    /// Returns the items as a part of the answer, without what the message itself has: texts, arguments of calls, and
    /// items that are parts of their own. None if the message alone says everything.
    std::optional<ProviderPart> part(const ItemOrigin& origin) const;

private:
    std::map<std::int64_t, boost::json::object> items_;  // by place
    bool is_needed_ = false;
};

/// Returns what `part` made for this message, or none if it has nothing from this origin.
std::optional<boost::json::array> keptItems(const Message& message, const ItemOrigin& origin);

}  // namespace stategraph::model::http
