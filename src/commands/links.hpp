#pragma once
#include <optional>
#include <span>

#include "src/checkpoint/commit_links.hpp"

namespace stategraph::commands {

/// Returns the index of the first commit of a log (oldest first) that cannot be read from the commits that exist, or
/// none if all can be read. A commit is read from its ancestors back to the first that is its own base.
std::optional<std::size_t> findUnreadable(std::span<const checkpoint::CommitLinks> log);

}  // namespace stategraph::commands
