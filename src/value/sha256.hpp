#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace stategraph::detail {

/// SHA-256 (FIPS 180-4). Cost: about a microsecond for a short text.
std::array<std::uint8_t, 32> sha256(std::string_view bytes) noexcept;

}  // namespace stategraph::detail
