#pragma once
#include <string_view>

#include "tests/workflow_conformance/json.hpp"

namespace workflow_conformance {

/// What the paths of expressions read: a scope, and in a step its context. Only what is asked for is decoded.
class Environment {
public:
    explicit Environment(const flow::Scope& scope) : scope_(scope) {}
    explicit Environment(const flow::StepContext& step) : scope_(step), step_(&step) {}

    /// null if there is no such path, which is names joined by dots.
    json::value at(std::string_view path) const;

private:
    json::value root(std::string_view name) const;

    const flow::Scope& scope_;
    const flow::StepContext* step_ = nullptr;
};

}  // namespace workflow_conformance
