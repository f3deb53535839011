#pragma once
#include <cstddef>
#include <string_view>

namespace stategraph::checkpoint {

// The order of namespaces and threads in listings of a memory saver, the same as a durable saver's: its keys begin with
// the size as rocksdb_keys.cpp's varint, whose low bits come first. Below 128 bytes that is the order of sizes.
struct BySizeThenText {
    using is_transparent = void;
    bool operator()(std::string_view a, std::string_view b) const noexcept {
        return a.size() != b.size() ? isVarintLess(a.size(), b.size()) : a < b;
    }

private:
    static bool isVarintLess(std::size_t a, std::size_t b) noexcept {
        for (;; a >>= 7U, b >>= 7U) {
            const std::size_t first = a < 0x80 ? a : (a & 0x7FU) | 0x80U;
            const std::size_t second = b < 0x80 ? b : (b & 0x7FU) | 0x80U;
            if (first != second) return first < second;
        }
    }
};

}  // namespace stategraph::checkpoint
