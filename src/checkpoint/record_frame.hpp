#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include <stategraph/detail/staged_encoder.hpp>
#include <stategraph/encoding.hpp>
#include <stategraph/ids.hpp>
#include <stategraph/record.hpp>

// The beginning of every record, and how records name ids. The grammar is in record.hpp.
namespace stategraph::checkpoint {

inline constexpr unsigned char format_version = 1;
inline constexpr unsigned char sealed_version = 2;
/// The version of a commit in which some operations refer to values of its parent's input. Other commits have
/// format_version.
inline constexpr unsigned char naming_version = 3;

/// The size of the version and the checksum.
inline constexpr std::size_t frame_size = 9;

/// Appends the version and a place for the checksum. `closeFrame` fills it in, for everything that was appended since.
std::size_t openFrame(std::string& out, unsigned char version);
void closeFrame(CheckpointId id, std::string& out, std::size_t start);

struct Frame {
    unsigned char version = 0;
    std::string_view body;
};

/// Checks version and checksum. Errors: CorruptCheckpointError naming the key.
Frame readFrame(const RowKey& key, std::string_view bytes);

/// Returns the body of a record that is not sealed. Errors: the same.
std::string_view openRecord(const RowKey& key, std::string_view bytes);
/// Returns what follows the frame, unchecked. Errors: CorruptCheckpointError if the record is too short.
std::string_view bodyOf(const RowKey& key, std::string_view bytes);

/// Throws CorruptCheckpointError naming the key.
[[noreturn]] void corrupt(const RowKey& key, std::string_view why);

void writeId(detail::StagedEncoder& out, CheckpointId id);
CheckpointId readId(Decoder& in);
void writeRef(detail::StagedEncoder& out, CheckpointId own, CheckpointId other);
CheckpointId readRef(Decoder& in, CheckpointId own);

}  // namespace stategraph::checkpoint
