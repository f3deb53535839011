#pragma once
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/agent/agent.hpp>

#include "agent/inbox.hpp"

namespace stategraph::agent::detail {

/// The checked options of an agent, which its nodes use. Only the inbox changes.
struct Plan {
    /// Errors: InvalidGraphError with every fault.
    explicit Plan(Options given);

    /// Returns null if there is no such tool.
    const Tool* find(std::string_view tool) const noexcept;
    /// Returns whether some calls may be refused, and the graph therefore has a node for them.
    bool refusesCalls() const noexcept {
        return !options.middleware.empty() || options.repair_call || options.tool_choice == model::ToolChoice::none;
    }
    /// Returns whether a hook is called around the execution of tools.
    bool wrapsTools() const noexcept {
        return std::ranges::any_of(options.middleware, [](const Middleware& each) { return bool(each.around_tool); });
    }
    /// Returns whether the call must be approved, because the run, the agent or the tool requires it.
    bool needsApproval(const Tool& tool, const Value& arguments, const RunApproval& run) const noexcept;

    Options options;
    // The names of the tools, in order.
    std::vector<std::string> names;
    std::vector<model::ToolDescription> descriptions;
    // What is sent while runs are under way. It has locks of its own.
    mutable Inbox inbox;
};

}  // namespace stategraph::agent::detail
