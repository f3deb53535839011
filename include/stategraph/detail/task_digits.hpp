#pragma once
#include <cstddef>

#include <stategraph/ids.hpp>

namespace stategraph::detail {

inline constexpr std::size_t task_digits = 32;

/// Writes the digits of TaskId::toString to `out`, without an allocation, for texts that contain them.
void writeDigits(TaskId id, char* out) noexcept;

}  // namespace stategraph::detail
