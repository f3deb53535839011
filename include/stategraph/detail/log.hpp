#pragma once
#include <cstdint>
#include <string_view>

#include <stategraph/encoding.hpp>

namespace stategraph::checkpoint {

/// An operation of the log: how a superstep changed a channel. src/checkpoint/record.hpp has the grammar.
enum class LogOp : char { set = '=', append = '+', put = '|', edit = '~', clear = '-' };

/// How a task writes a channel, before the reducer.
enum class WriteKind : char { set = '=', add = '+', overwrite = '!', write = 'w', clear = '-' };

/// One operation on a channel as it is stored: `value` is CBOR.
struct LogPiece {
    LogOp op;
    std::string_view value;
};

/// These begin an entry of a commit's operations, or of a list of writes; the value follows, except for a clear.
void writeLoggedOp(Encoder& out, std::string_view channel, LogOp op);
void writeLoggedWrite(Encoder& out, std::string_view channel, WriteKind kind);

}  // namespace stategraph::checkpoint
