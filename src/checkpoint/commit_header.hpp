#pragma once
#include <string_view>

#include <stategraph/detail/staged_encoder.hpp>
#include <stategraph/encoding.hpp>

#include "src/checkpoint/commit_fields.hpp"

// The header of a commit. One table of its fields (commit_header.cpp) defines how they are written, read and cleared.
namespace stategraph::checkpoint {

void writeHeader(const CommitFields& commit, detail::StagedEncoder& out);
/// `ns` is the log's namespace. The fields must be as `clearHeader` leaves them, and the id must be set. Errors:
/// WrongTypeError.
void readHeader(std::string_view ns, Decoder& in, CommitFields& commit);
/// Resets each field to the value that an absent field has; lists keep their memory.
void clearHeader(CommitFields& commit);

}  // namespace stategraph::checkpoint
