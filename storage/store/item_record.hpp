#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// What a store's rows hold:
//
//   record  := version checksum body
//   version := 01
//   checksum := XXH3-64 of the body, seeded with XXH3-64 of the row's key, 8 bytes, big endian; so rows cannot be swapped unnoticed
//   item    := [created, updated, ttl_ms, expires_at, vectors, value]     times in microseconds since 1970; 0: no time to live
//   vectors := [dims, bytes]                                              floats, 4 bytes each, little endian, one vector after the other
//
// Bodies are CBOR.
namespace stategraph::stores {

struct ItemRecord {
    std::int64_t created_at_unix_us = 0;
    std::int64_t updated_at_unix_us = 0;
    std::int64_t ttl_ms = 0;
    std::int64_t expires_at_unix_us = 0;
    std::uint64_t vectors = 0;  // how many vectors are stored in the rows next to it
    std::string_view value;

    bool isOver(std::int64_t now_unix_us) const noexcept {
        return expires_at_unix_us != 0 && expires_at_unix_us <= now_unix_us;
    }
};

std::string writeItem(std::string_view row_key, const ItemRecord& record);
/// The result has views into the bytes. Errors: CorruptStoreError naming the item.
ItemRecord readItem(std::string_view row_key, std::string_view bytes);

/// `floats` must be whole vectors with `dims` elements.
std::string writeVectors(std::string_view row_key, std::size_t dims, std::span<const float> floats);
/// Replaces `floats`. Errors: CorruptStoreError naming the item; StoreError if the vectors are not of the index's size.
void readVectors(std::string_view row_key, std::string_view bytes, std::size_t dims, std::uint64_t count,
                 std::vector<float>& floats);

/// Throws CorruptStoreError naming the item.
[[noreturn]] void corrupt(std::string_view row_key, const std::string& why);

}  // namespace stategraph::stores
