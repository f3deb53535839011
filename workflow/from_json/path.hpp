#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/workflow/definition.hpp>

namespace stategraph::workflow::from_json {

/// The values that paths begin with, as JSON. Each is made once, however many paths lead into it. The scope must
/// outlive it.
class Roots {
public:
    explicit Roots(const Scope& scope) : scope_(scope) {}

    /// Returns the value with which a path of these parts begins, and how many of the parts name it.
    const boost::json::value& find(const std::vector<std::string>& parts, std::size_t& used);

private:
    boost::json::value make(const std::string& root, const std::string* name) const;

    const Scope& scope_;
    std::map<std::string, boost::json::value> made_;
};

/// A place in the values that a condition or a map sees, such as "steps.price.items.0.name".
class Path {
public:
    /// Throws InvalidArgumentError for a path whose first part does not exist.
    explicit Path(std::string_view text);
    /// Returns null if there is no value at the place. The value is a part of `roots`.
    const boost::json::value& in(Roots& roots) const;

private:
    std::vector<std::string> parts_;
};

/// Returns whether two values are equal. Numbers are compared by value, and objects independent of the order of their
/// members.
bool isEqual(const boost::json::value& a, const boost::json::value& b);

}  // namespace stategraph::workflow::from_json
