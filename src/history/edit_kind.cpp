#include "src/history/edit_kind.hpp"

#include <stategraph/error.hpp>

namespace stategraph::engine {

EditKind kindOf(const std::vector<StateEdit>& edits, bool is_inner) {
    EditKind kind = EditKind::none;
    for (const StateEdit& edit : edits) {
        if (!edit.as_node) continue;
        if (*edit.as_node == END) kind = EditKind::end;
        if (*edit.as_node == INPUT) kind = EditKind::input;
        if (*edit.as_node == COPY) kind = EditKind::copy;
        if (*edit.as_node == edit_again) kind = EditKind::again;
    }
    const bool is_alone = edits.size() == 1 && edits.front().go_to.empty();
    if (kind == EditKind::end && (!is_alone || !edits.front().writes.empty())) {
        throw InvalidUpdateError(
            "as_node END ends what is due, and can neither write nor lead anywhere nor be combined with other edits");
    }
    if (kind == EditKind::copy && (!is_alone || !edits.front().writes.empty())) {
        throw InvalidUpdateError(
            "as_node COPY creates the same checkpoint once more, and can neither write nor lead anywhere nor be "
            "combined with other edits; edit the copy in a superstep after it");
    }
    if (kind == EditKind::again && (!is_alone || !edits.front().writes.empty())) {
        throw InvalidUpdateError("an edit without values and without as_node must be the only one of its superstep");
    }
    if (kind == EditKind::input && (!is_alone || edits.front().writes.empty())) {
        throw InvalidUpdateError(
            "as_node INPUT is the graph's input: it needs values, and can neither lead anywhere nor be combined with "
            "other edits");
    }
    if (is_inner && (kind == EditKind::copy || kind == EditKind::input)) {
        throw InvalidUpdateError(
            "as_node " + std::string(kind == EditKind::copy ? "COPY" : "INPUT") +
            " is for the graph itself, and not for the log of a subgraph: leave checkpoint_ns out");
    }
    return kind;
}

}  // namespace stategraph::engine
