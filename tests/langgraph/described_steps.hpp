#pragma once
#include <stdexcept>
#include <string>
#include <utility>

#include <boost/json.hpp>

#include <stategraph/command.hpp>
#include <stategraph/json.hpp>
#include <stategraph/runtime.hpp>
#include <stategraph/value.hpp>

#include "tests/langgraph/json_members.hpp"

// What the nodes of described graphs do (tests/langgraph/recorded/README.md, "A graph").
namespace described {

namespace sg = stategraph;
namespace json = boost::json;

/// What a run's request gives to the nodes: the maps `configurable` and `context`. A run whose nodes read either has
/// one of these as its RunConfig::context.
struct RequestContext {
    sg::Value configurable = {};
    sg::Value context = {};
};

/// The error of the step `fail`, with the name that clients see.
class NamedError : public std::runtime_error {
public:
    NamedError(std::string name, const std::string& message) : std::runtime_error(message), name_(std::move(name)) {}
    const std::string& name() const noexcept { return name_; }

private:
    std::string name_;
};

using json_members::get;
using json_members::text;

/// Throws std::runtime_error with `where` if a step has no known `op`.
void checkSteps(const json::value& steps, const std::string& where);

/// Performs the steps of a node, whose sleeps last `slower` times as long as described.
sg::Command<sg::JsonState> perform(const json::value& steps, const json::value& state, int slower,
                                   sg::Runtime& runtime);

}  // namespace described
