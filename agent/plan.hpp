#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/agent/agent.hpp>

namespace stategraph::agent::detail {

/// What an agent's nodes work by: its options, checked. Never changed.
struct Plan {
    /// Errors: InvalidGraphError with every fault.
    explicit Plan(Options given);

    /// Null if there is none.
    const Tool* find(std::string_view tool) const noexcept;
    /// For messages to models: "a, b".
    std::string toolNames() const;
    /// Whether somebody must approve the call, because the run, the agent or the tool requires it.
    bool needsApproval(const Tool& tool, const Value& arguments, const RunApproval& run) const noexcept;

    Options options;
    // Of the tools, in order.
    std::vector<std::string> names;
    std::vector<model::ToolDescription> descriptions;
};

}  // namespace stategraph::agent::detail
