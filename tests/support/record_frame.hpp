#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stategraph/ids.hpp>

// The frame of a record as src/checkpoint/record_frame.cpp writes it: a version byte, the checksum, the body.
namespace frames {

inline constexpr std::size_t frame_size = 9;

/// Corrects the checksum of a record that was altered, so that the reader of the body meets the alteration. A record
/// too short for a frame is not changed.
inline void fixChecksum(stategraph::CheckpointId id, std::string& record) {
    if (record.size() < frame_size) return;
    const std::string_view body = std::string_view(record).substr(frame_size);
    const std::uint64_t sum =
        XXH3_64bits_withSeed(body.data(), body.size(), id.high() * 0x9E3779B97F4A7C15ULL ^ id.low());
    for (std::size_t i = 0; i < 8; ++i) record[1 + i] = static_cast<char>(sum >> (56U - 8U * i));
}

}  // namespace frames
