#pragma once
#include <cstddef>
#include <memory>

#include <boost/json.hpp>

#include <stategraph/workflow/definition.hpp>

#include "workflow/from_json/path.hpp"

namespace stategraph::workflow::from_json {

/// A template (fromTemplate), which is parsed once.
class Template {
public:
    /// Throws InvalidArgumentError for a path whose first part does not exist.
    Template(const boost::json::value& json, std::size_t bytes_max);
    /// Throws InvalidArgumentError if the value would have more bytes than it may, or than are left, of which it takes
    /// its own.
    boost::json::value fill(Roots& roots, std::size_t& left) const;
    boost::json::value fill(const Scope& scope) const;

    struct Part;

private:
    std::shared_ptr<const Part> root_;
    std::size_t bytes_max_;
};

}  // namespace stategraph::workflow::from_json
