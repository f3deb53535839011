#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

#include "json/schema/rules.hpp"

namespace stategraph::schema {

/// Receives the schemas and the patterns that are found in a schema.
class Schemas {
public:
    virtual ~Schemas() = default;
    /// Returns the number of a schema, which is read later. `base` is the document, or the part of it with an `$id`,
    /// that its references begin at. Errors: InvalidArgumentError if it cannot be a schema.
    virtual std::size_t add(const boost::json::value& written, const boost::json::value& base) = 0;
    virtual void addPattern(std::string_view pattern) = 0;
};

/// Reads the keywords of a schema, except for `$ref`. Keywords that are annotations, and unknown ones, are passed over.
/// Errors: InvalidArgumentError for a keyword that does not say what it must, and for one that is not checked here.
std::vector<Rule> rulesOf(const boost::json::object& schema, const boost::json::value& base, Schemas& schemas);

inline std::string_view textOf(const boost::json::value& text) {
    return {text.get_string().data(), text.get_string().size()};
}
/// A value or a text for an error; a long one is cut.
std::string shown(const boost::json::value& value);
std::string shownText(std::string_view text);

}  // namespace stategraph::schema
