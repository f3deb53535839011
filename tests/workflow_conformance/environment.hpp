#pragma once
#include <string_view>

#include "tests/workflow_conformance/json.hpp"

namespace workflow_conformance {

/// The data that the paths of expressions read: a scope and, in a step, its context. Decodes only the values that are
/// read.
class Environment {
public:
    explicit Environment(const flow::Scope& scope) : scope_(scope) {}
    explicit Environment(const flow::StepContext& step) : scope_(step), step_(&step) {}

    /// The value at a path (names joined by dots), or null if it does not exist.
    json::value at(std::string_view path) const;

private:
    json::value root(std::string_view name) const;

    const flow::Scope& scope_;
    const flow::StepContext* step_ = nullptr;
};

}  // namespace workflow_conformance
