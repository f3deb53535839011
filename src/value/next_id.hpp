#pragma once
#include <stategraph/ids.hpp>

namespace stategraph::detail {

/// Returns the next greater id. A listing that has it as its limit (ListQuery::before) begins with `id`, which must not
/// be the greatest.
inline CheckpointId nextId(CheckpointId id) noexcept {
    return id.low() + 1 != 0 ? CheckpointId(id.high(), id.low() + 1) : CheckpointId(id.high() + 1, 0);
}

}  // namespace stategraph::detail
