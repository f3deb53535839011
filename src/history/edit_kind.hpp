#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/command.hpp>
#include <stategraph/detail/writes.hpp>

namespace stategraph::engine {

/// One edit: the result that a node's task would have, without running it.
struct StateEdit {
    detail::Writes writes;
    std::optional<std::string> as_node;
    std::vector<Target> go_to;
};

/// In whose name the edits are made: nodes (`none`), or a special name, whose edit must be the only one.
enum class EditKind : std::uint8_t { none, end, input, copy, again };

/// As `as_node`: stores the checkpoint once more, after itself, with its values and the same tasks due, without their
/// results and answers. LangGraph does that for an edit that has neither values nor a node; the library's own calls
/// have no such edit, because an Update is never null.
inline constexpr const char* edit_again = "__again__";

/// `is_inner` says that the edited log is a subgraph's. Errors: InvalidUpdateError for a special edit that is not the
/// only one, or that is not allowed for such a log.
EditKind kindOf(const std::vector<StateEdit>& edits, bool is_inner);

}  // namespace stategraph::engine
