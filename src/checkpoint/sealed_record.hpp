#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include <stategraph/ids.hpp>
#include <stategraph/record.hpp>

// Reads the parts of sealed records that can be read without keys. The grammar is in record.hpp; encrypted_box.hpp
// encrypts.
namespace stategraph::checkpoint {

inline constexpr std::size_t nonce_size = 12;
inline constexpr std::size_t tag_size = 16;

/// The kind of row that a record is, to which the record is bound.
enum class RowKind : char { commit = 'c', pending_write = 'w', graph = 'g', summary = 's' };

/// The parts of a sealed record, as views into it.
struct SealedFields {
    std::string_view head;   // contains the next three
    std::string_view clear;  // a CBOR map
    std::string_view key_id;
    std::string_view nonce;  // nonce_size bytes
    std::string_view box;    // the ciphertext, and then a tag of tag_size bytes
};

/// Returns whether the version says that the record is sealed.
bool isSealed(std::string_view bytes) noexcept;

/// Returns the part in the clear, of a commit and of a pending write.
std::string writeClearLinks(CheckpointId own, const RecordLinks& links);
std::string writeClearOpen(bool is_open);

std::string writeSealedHead(std::string_view clear, std::string_view key_id, std::string_view nonce);
/// These throw CorruptCheckpointError naming the key. They do not prove that the bytes are genuine.
SealedFields readSealed(const RowKey& key, std::string_view bytes);
RecordLinks readSealedLinks(const RowKey& key, std::string_view bytes);
bool readSealedOpen(const RowKey& key, std::string_view bytes);

/// Appends the size of a text (8 bytes, big endian), and then the text.
void appendSized(std::string& out, std::string_view text);

/// Returns what the box authenticates in addition to its content.
std::string boundTo(const RowKey& key, RowKind kind, std::string_view head);

}  // namespace stategraph::checkpoint
