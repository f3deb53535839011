#pragma once
#include <optional>
#include <span>

#include <stategraph/saver_rules.hpp>

namespace stategraph::commands {

/// The first commit of a log (oldest first) that cannot be read from the commits that are there; none: all can. One is
/// read from its ancestors back to the first that is its own base.
std::optional<std::size_t> findUnreadable(std::span<const checkpoint::CommitLinks> log);

}  // namespace stategraph::commands
