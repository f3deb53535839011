#pragma once
#include <string_view>

#include <stategraph/encoding.hpp>

#include "checkpoint/commit_fields.hpp"

// The header of a commit: one table of its fields (commit_header.cpp), from which they are written, read and cleared.
namespace stategraph::checkpoint {

void writeHeader(const CommitFields& commit, Encoder& out);
/// `ns`: of the log. The fields are as `clearHeader` leaves them, and the id is known. Errors: WrongTypeError.
void readHeader(std::string_view ns, Decoder& in, CommitFields& commit);
/// Each field is as if it were absent; lists keep their memory.
void clearHeader(CommitFields& commit);

}  // namespace stategraph::checkpoint
