#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

// Numbers as RocksDB's files have them.
namespace stategraph::checkpoint {

/// Returns the number that all the bytes are, the least significant one first.
inline std::uint64_t fixedNumber(std::string_view bytes) {
    std::uint64_t result = 0;
    for (std::size_t i = bytes.size(); i-- > 0;) result = result << 8U | static_cast<unsigned char>(bytes[i]);
    return result;
}

/// Takes a varint from the beginning of the bytes; none if they end within it, or if it is too long.
inline std::optional<std::uint64_t> takeVarint(std::string_view& bytes) {
    std::uint64_t result = 0;
    for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
        const auto byte = static_cast<unsigned char>(bytes.front());
        bytes.remove_prefix(1);
        result |= std::uint64_t{byte & 0x7FU} << shift;
        if (byte < 0x80U) return result;
    }
    return std::nullopt;
}

}  // namespace stategraph::checkpoint
