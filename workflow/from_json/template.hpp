#pragma once
#include <memory>

#include <boost/json.hpp>

#include <stategraph/workflow/definition.hpp>

namespace stategraph::workflow::from_json {

/// A template (fromTemplate), read once.
class Template {
public:
    /// Errors: InvalidArgumentError for a path that begins with nothing that there is.
    explicit Template(const boost::json::value& json);
    boost::json::value fill(const Scope& scope) const;

    struct Part;

private:
    std::shared_ptr<const Part> root_;
};

}  // namespace stategraph::workflow::from_json
