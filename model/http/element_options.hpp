#pragma once
#include <cstddef>
#include <string_view>

#include <boost/json.hpp>

#include <stategraph/model/message.hpp>
#include <stategraph/value.hpp>

// Options of the caller for single elements of a request: a message, a part, a tool, the instructions.
namespace stategraph::model::http {

/// Adds the members that `extra` has for this format to the element. Errors: ModelError that begins with `what`, if it
/// is not an object of objects.
void putElementExtra(boost::json::object& element, const Value& extra, std::string_view format, std::string_view what);

/// Returns whether the message has options for this format.
bool hasOptions(const Message& message, std::string_view format);

/// Puts the options in a message's content where they belong. Call `take` for each part of the content, in order, after
/// the elements of the part were added to the list.
class PartOptions {
public:
    PartOptions(std::string_view format, const boost::json::array& list) noexcept
        : format_(format), begin_(list.size()) {}
    /// Adds the part's options, if it has any for this format, to the last element of the list, or, before the
    /// message's first element, to the message. Errors: ModelError if they are not a JSON object.
    void take(const Part& part, boost::json::array& list);
    /// Adds the options for the message to its element.
    void putOnMessage(boost::json::object& element) const;

private:
    std::string_view format_;
    std::size_t begin_;
    boost::json::object message_;
};

}  // namespace stategraph::model::http
