#pragma once
#include <map>
#include <string>

#include <stategraph/json.hpp>

#include "tests/conformance/scenario.hpp"

namespace conformance {

namespace sg = stategraph;

/// The values that an expression can use: a node's input (the state, or a Send's argument) and the variables set so
/// far.
struct Environment {
    const json::value* input = nullptr;
    std::map<std::string, json::value> variables = {};
};

json::value evaluate(const json::value& expression, const Environment& environment);
bool isTrue(const json::value& value);

/// Evaluates a node's name, or {"send": node, "arg": expression}.
sg::Target evaluateTarget(const json::value& target, const Environment& environment);

}  // namespace conformance
