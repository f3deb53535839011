#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/command.hpp>
#include <stategraph/detail/writes.hpp>

namespace stategraph::engine {

/// One edit: what a node's task would come to, without its running.
struct StateEdit {
    detail::Writes writes;
    std::optional<std::string> as_node;
    std::vector<Target> go_to;
};

/// What edits stand for: nodes (`none`), or one that is no node's and stands alone.
enum class EditKind : std::uint8_t { none, end, input, copy };

/// `is_inner`: the edited log is a subgraph's. Errors: InvalidUpdateError for one that does not stand alone, or is not
/// for such a log.
EditKind kindOf(const std::vector<StateEdit>& edits, bool is_inner);

}  // namespace stategraph::engine
