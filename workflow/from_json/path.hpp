#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/workflow/definition.hpp>

namespace stategraph::workflow::from_json {

/// A place in what a condition or a map sees: "steps.price.items.0.name".
class Path {
public:
    /// Errors: InvalidArgumentError for one that begins with nothing that there is.
    explicit Path(std::string_view text);
    /// Null where there is nothing.
    boost::json::value read(const Scope& scope) const;

private:
    boost::json::value readRoot(const Scope& scope, std::size_t& used) const;

    std::vector<std::string> parts_;
};

/// Numbers by their value, objects independent of the order of their members.
bool isEqual(const boost::json::value& a, const boost::json::value& b);

}  // namespace stategraph::workflow::from_json
