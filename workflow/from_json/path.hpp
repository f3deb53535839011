#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/workflow/definition.hpp>

namespace stategraph::workflow::from_json {

/// A place in the values that a condition or a map sees, such as "steps.price.items.0.name".
class Path {
public:
    /// Throws InvalidArgumentError for a path whose first part does not exist.
    explicit Path(std::string_view text);
    /// Returns null if there is no value at the place.
    boost::json::value read(const Scope& scope) const;

private:
    boost::json::value readRoot(const Scope& scope, std::size_t& used) const;

    std::vector<std::string> parts_;
};

/// Returns whether two values are equal. Numbers are compared by value, and objects independent of the order of their
/// members.
bool isEqual(const boost::json::value& a, const boost::json::value& b);

}  // namespace stategraph::workflow::from_json
