#include "src/commands/links.hpp"

#include <algorithm>

namespace stategraph::commands {

// A parent is older than its child, so the loop has already found it readable.
std::optional<std::size_t> findUnreadable(std::span<const checkpoint::CommitLinks> log) {
    for (std::size_t i = 0; i < log.size(); ++i) {
        const checkpoint::CommitLinks& commit = log[i];
        if (commit.base == commit.id) continue;
        const auto before = log.first(i);
        const auto parent = std::ranges::lower_bound(before, commit.parent, {}, &checkpoint::CommitLinks::id);
        if (parent == before.end() || parent->id != commit.parent) return i;
    }
    return {};
}

}  // namespace stategraph::commands
