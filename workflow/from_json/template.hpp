#pragma once
#include <memory>

#include <boost/json.hpp>

#include <stategraph/workflow/definition.hpp>

namespace stategraph::workflow::from_json {

/// A template (fromTemplate), which is parsed once.
class Template {
public:
    /// Throws InvalidArgumentError for a path whose first part does not exist.
    explicit Template(const boost::json::value& json);
    boost::json::value fill(const Scope& scope) const;

    struct Part;

private:
    std::shared_ptr<const Part> root_;
};

}  // namespace stategraph::workflow::from_json
