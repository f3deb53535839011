#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

#include <stategraph/detail/log.hpp>
#include <stategraph/encoding.hpp>
#include <stategraph/error.hpp>

#include "src/checkpoint/record_frame.hpp"

// What records of commits and of tasks have in common. The grammar is in record.hpp. All functions that read throw
// WrongTypeError.
namespace stategraph::checkpoint {

struct LoggedWrite {
    std::string_view channel;
    WriteKind kind = WriteKind::set;
    std::string_view value = {};
    bool as_logged = false;  // in a commit: whether it equals the operation on the channel
};
struct LoggedSend {
    std::string_view node;
    std::string_view payload;
};

/// Reads the writes of a task, or a commit's input.
std::vector<LoggedWrite> readWrites(std::string_view cbor);
/// Reads one write of a list. In a commit it may refer to an operation.
LoggedWrite readWrite(Decoder& in, bool of_commit);

void writeNames(detail::StagedEncoder& out, const std::vector<std::string_view>& names);
void readNames(Decoder& in, std::vector<std::string_view>& names);
std::vector<std::string_view> readNames(Decoder& in);

void writeSends(detail::StagedEncoder& out, const std::vector<LoggedSend>& sends);
std::vector<LoggedSend> readSends(Decoder& in);

/// Writes the visits of a commit, which have `log` and `id`. `all` says that there are no others.
template <class Visits>
void writeVisits(detail::StagedEncoder& out, const Visits& visits, bool all) {
    if (all) out.array(1);
    out.map(visits.size());
    for (const auto& visit : visits) {
        out.text(visit.log);
        writeId(out, visit.id);
    }
}
/// Calls `take(log, id)` for each visit. Returns whether there are no others.
template <class Take>
bool readVisits(Decoder& in, Take take) {
    const bool all = in.peek() == Decoder::Type::array;
    if (all && in.array() != 1) throw WrongTypeError("expected the visits in a list of one");
    for (std::size_t count = in.map(); count > 0; --count) {
        const std::string_view log = in.text();
        take(log, readId(in));
    }
    return all;
}

/// Returns whether the kind of an operation or a write is one of these letters.
template <std::size_t Size>
bool isOneOf(const char (&letters)[Size], std::string_view kind) noexcept {
    bool found = false;
    for (std::size_t i = 0; i < Size - 1 && kind.size() == 1; ++i) found = found || letters[i] == kind[0];
    return found;
}

}  // namespace stategraph::checkpoint
