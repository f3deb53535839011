#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

// Converts numbers to bytes and to hexadecimal digits, and back; and orders bytes.
namespace stategraph::detail {

/// Writes 8 bytes, the highest first. It has no loop, so that compilers turn it into one instruction.
inline void storeBigEndian(std::uint64_t number, char* out) noexcept {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        ((out[I] = static_cast<char>(number >> (56U - 8U * I) & 0xffU)), ...);
    }(std::make_index_sequence<8>());
}
/// Writes 8 bytes, the lowest first.
inline void storeLittleEndian(std::uint64_t number, char* out) noexcept {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        ((out[I] = static_cast<char>(number >> (8U * I) & 0xffU)), ...);
    }(std::make_index_sequence<8>());
}
inline void appendBigEndian(std::string& out, std::uint64_t number) {
    char bytes[8];
    storeBigEndian(number, bytes);
    out.append(bytes, sizeof bytes);
}
/// Returns the number with these bytes, of which there are at most 8, the highest first.
inline std::uint64_t loadBigEndian(std::string_view bytes) noexcept {
    if (bytes.size() == 8) {  // the common case, as of an id's half or a checksum: the compiler turns it into one load
        const auto at = [&](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(bytes[i])}; };
        return at(0) << 56U | at(1) << 48U | at(2) << 40U | at(3) << 32U | at(4) << 24U | at(5) << 16U | at(6) << 8U |
               at(7);
    }
    std::uint64_t number = 0;
    for (const char c : bytes) number = number << 8U | static_cast<unsigned char>(c);
    return number;
}

/// Returns the number in the head of a CBOR item (RFC 8949, section 3): the value of an integer, -1 - n of a negative
/// integer n, a length, a count, or the bits of a real number. `head` must be exactly one head.
inline std::uint64_t headNumber(std::string_view head) noexcept {
    return head.size() == 1 ? static_cast<unsigned char>(head.front()) & 0x1fU : loadBigEndian(head.substr(1));
}

inline constexpr std::string_view hex_digits = "0123456789abcdef";

inline void appendHex(std::string& out, unsigned char byte, std::string_view digits = hex_digits) {
    out += digits[byte >> 4U];
    out += digits[byte & 15U];
}
/// Returns 16 digits.
inline std::string hexOf(std::uint64_t number) {
    std::string out;
    for (int shift = 56; shift >= 0; shift -= 8) appendHex(out, static_cast<unsigned char>(number >> shift & 0xffU));
    return out;
}
/// Returns the value of a hexadecimal digit in either case, or -1 for any other character.
constexpr int hexDigit(char c) noexcept {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/// Returns the least key that is greater than every key with this prefix, which must not be all 0xFF.
inline std::string prefixEnd(std::string prefix) {
    while (prefix.back() == '\xFF') prefix.pop_back();
    prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
    return prefix;
}

/// Spreads a hash over all of its bits, so that its highest bits can choose a shard.
constexpr std::uint64_t spread(std::uint64_t hash) noexcept { return hash * 0x9E3779B97F4A7C15ULL; }

}  // namespace stategraph::detail
