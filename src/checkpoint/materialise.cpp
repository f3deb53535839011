#include "src/checkpoint/materialise.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/error.hpp>

namespace stategraph::checkpoint {
namespace {

void readList(Decoder& in, std::vector<std::string_view>& items) {
    for (std::size_t count = in.array(); count > 0; --count) items.push_back(in.raw());
}

void edit(Decoder& in, std::vector<std::string_view>& items) {
    for (std::size_t count = in.array(); count > 0; --count) {
        const std::size_t parts = in.array();
        const std::uint64_t at = in.unsignedInteger();
        if (parts == 1 && at < items.size()) {
            items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
        } else if (parts == 2 && at < items.size()) {
            items[at] = in.raw();
        } else if (parts == 2 && at == items.size()) {
            items.push_back(in.raw());
        } else {
            throw WrongTypeError("an edit outside the list");
        }
    }
}

using Entry = std::pair<std::string_view, std::string_view>;

void readEntries(Decoder& in, std::vector<Entry>& entries) {
    for (std::size_t count = in.map(); count > 0; --count) {
        const std::string_view key = in.raw();
        const std::string_view value = in.raw();
        const auto found =
            std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) { return entry.first == key; });
        if (found == entries.end()) {
            entries.emplace_back(key, value);
        } else {
            found->second = value;
        }
    }
}

// Joins edits of a list that follow each other.
std::string joinEdits(std::span<const LogPiece> edits) {
    std::vector<std::string_view> entries;
    for (const LogPiece& piece : edits) {
        Decoder in(piece.value);
        readList(in, entries);
    }
    std::string cbor;
    Encoder out(cbor);
    out.array(entries.size());
    for (const auto entry : entries) out.raw(entry);
    return cbor;
}

}  // namespace

std::string materialise(std::span<const LogPiece> pieces) {
    if (pieces.size() == 1 && pieces[0].op == LogOp::set) return std::string(pieces[0].value);
    std::string out;
    Encoder encoder(out);
    if (pieces.empty()) {
        encoder.null();
        return out;
    }
    const LogOp last = pieces.back().op;
    if (last == LogOp::put) {
        std::vector<Entry> entries;
        for (const LogPiece& piece : pieces) {
            if (piece.op != LogOp::put && piece.op != LogOp::set)
                throw WrongTypeError("operations of a list and of a map");
            Decoder in(piece.value);
            readEntries(in, entries);
        }
        // Deterministic encoding orders keys by their encoded form.
        std::sort(entries.begin(), entries.end());
        encoder.map(entries.size());
        for (const auto& [key, value] : entries) {
            encoder.raw(key);
            encoder.raw(value);
        }
        return out;
    }
    std::vector<std::string_view> items;
    for (const LogPiece& piece : pieces) {
        Decoder in(piece.value);
        if (piece.op == LogOp::edit) {
            edit(in, items);
        } else if (piece.op == LogOp::set || piece.op == LogOp::append) {
            readList(in, items);
        } else {
            throw WrongTypeError("operations of a list and of a map");
        }
    }
    encoder.array(items.size());
    for (const auto item : items) encoder.raw(item);
    return out;
}

void writeWhole(std::string_view channel, std::span<const LogPiece> pieces, Encoder& out) {
    const LogOp first = pieces.front().op;
    const bool all_alike =
        std::all_of(pieces.begin(), pieces.end(), [&](const LogPiece& piece) { return piece.op == first; });
    if (first != LogOp::set && !all_alike) {
        throw WrongTypeError("channel '" + std::string(channel) +
                             "' was never set, and its operations are of several kinds");
    }
    writeLoggedOp(out, channel, first);
    out.raw(first == LogOp::edit ? joinEdits(pieces) : materialise(pieces));
}

}  // namespace stategraph::checkpoint
