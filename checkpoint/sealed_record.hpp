#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include <stategraph/ids.hpp>
#include <stategraph/record.hpp>

// Sealed records as far as they can be read without keys; the grammar is in record.hpp. Encrypting is
// encrypted_box.hpp's.
namespace stategraph::checkpoint {

inline constexpr std::size_t nonce_size = 12;
inline constexpr std::size_t tag_size = 16;

/// Which kind of row a record is; part of what it is bound to.
enum class RowKind : char { commit = 'c', pending_write = 'w', graph = 'g', summary = 's' };

/// Views into the record.
struct SealedFields {
    std::string_view head;   // of these three
    std::string_view clear;  // a CBOR map
    std::string_view key_id;
    std::string_view nonce;  // nonce_size bytes
    std::string_view box;    // the ciphertext, then tag_size bytes of tag
};

/// Whether the version says so.
bool isSealed(std::string_view bytes) noexcept;

/// The part in the clear, of a commit and of a pending write.
std::string writeClearLinks(CheckpointId own, const RecordLinks& links);
std::string writeClearOpen(bool is_open);

std::string writeSealedHead(std::string_view clear, std::string_view key_id, std::string_view nonce);
/// Errors of these: CorruptCheckpointError naming the key. Nothing here says that the bytes are genuine.
SealedFields readSealed(const RowKey& key, std::string_view bytes);
RecordLinks readSealedLinks(const RowKey& key, std::string_view bytes);
bool readSealedOpen(const RowKey& key, std::string_view bytes);

/// The text after its size, 8 bytes, big endian.
void appendSized(std::string& out, std::string_view text);

/// What the box authenticates in addition to its content.
std::string boundTo(const RowKey& key, RowKind kind, std::string_view head);

}  // namespace stategraph::checkpoint
