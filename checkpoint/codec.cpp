#include <stategraph/channel.hpp>
#include <stategraph/codec.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>

#include <stategraph/error.hpp>

namespace stategraph::detail {
namespace {

[[noreturn]] void failRange(const std::string& min, const std::string& max, const std::string& found) {
    throw WrongTypeError("expected an integer from " + min + " to " + max + ", found " + found);
}

[[noreturn]] void failInMember(std::string_view name, const WrongTypeError& error) {
    throw WrongTypeError("member '" + std::string(name) + "': " + error.message(), error.context());
}

const TableName* findName(TableView table, std::size_t guess, std::string_view name) noexcept {
    // Bytes of this version of the struct have the keys in the table's order.
    if (guess < table.names_size && table.names[guess].name == name) return table.names + guess;
    for (std::size_t i = 0; i < table.names_size; ++i) {
        if (table.names[i].name == name) return table.names + i;
    }
    return nullptr;
}

bool isText(Decoder::Type type) noexcept { return type == Decoder::Type::text || type == Decoder::Type::bytes; }

}  // namespace

std::int64_t decodeSigned(Decoder& decoder, std::int64_t min, std::int64_t max) {
    const std::int64_t value = decoder.integer();
    if (value < min || value > max) failRange(std::to_string(min), std::to_string(max), std::to_string(value));
    return value;
}

std::uint64_t decodeUnsigned(Decoder& decoder, std::uint64_t max) {
    const std::uint64_t value = decoder.unsignedInteger();
    if (value > max) failRange("0", std::to_string(max), std::to_string(value));
    return value;
}

float decodeFloat(Decoder& decoder) {
    const double value = decoder.real();
    if (std::isfinite(value) && std::fabs(value) > std::numeric_limits<float>::max()) {
        throw WrongTypeError("expected a number that fits a float, found " + std::to_string(value));
    }
    return static_cast<float>(value);
}

void decodeBytes(Decoder& decoder, std::vector<std::byte>& value) {
    const std::string_view bytes = decoder.bytes();
    value.resize(bytes.size());
    if (!bytes.empty()) std::memcpy(value.data(), bytes.data(), bytes.size());
}

void requireCount(Decoder& decoder, std::size_t count) {
    const std::size_t found = decoder.array();
    if (found != count) {
        throw WrongTypeError("expected an array of " + std::to_string(count) + " items, found one of " +
                             std::to_string(found));
    }
}

void failVariantIndex(std::uint64_t index, std::size_t count) {
    throw WrongTypeError("expected the index of one of " + std::to_string(count) + " alternatives, found " +
                         std::to_string(index));
}

void failValueless() {
    throw WrongTypeError(
        "expected a variant with a value, found one that lost it to an exception; it cannot be stored");
}

void appendSorted(Encoder& encoder, std::string_view scratch, std::vector<Piece>& pieces) {
    const auto key = [&](const Piece& piece) { return scratch.substr(piece.begin, piece.key_end - piece.begin); };
    const auto before = [&](const Piece& a, const Piece& b) { return key(a) < key(b); };
    if (std::is_sorted(pieces.begin(), pieces.end(), before)) return encoder.raw(scratch);
    std::sort(pieces.begin(), pieces.end(), before);
    for (const Piece& piece : pieces) encoder.raw(scratch.substr(piece.begin, piece.end - piece.begin));
}

namespace {

template <class DecodeAt>
void decodeEntries(Decoder& decoder, TableView table, unsigned char* seen, DecodeAt decode_at) {
    // How much a value is worth: a later one counts only if it is worth more.
    constexpr unsigned char as_former = 1;
    constexpr unsigned char as_current = 2;
    const Decoder::Nesting nesting(decoder);
    std::string_view name;
    const std::size_t count = decoder.map();
    std::size_t guess = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (!isText(decoder.peek())) {
            decoder.skip();
            decoder.skip();
            continue;
        }
        name = decoder.text();
        const TableName* const found = findName(table, guess, name);
        if (found == nullptr) {
            decoder.skip();
            continue;
        }
        guess = static_cast<std::size_t>(found - table.names) + 1;
        const unsigned char worth = found->former ? as_former : as_current;
        if (worth <= seen[found->index]) {
            decoder.skip();
            continue;
        }
        seen[found->index] = worth;
        try {
            decode_at(found->index);
        } catch (const WrongTypeError& error) {
            failInMember(name, error);
        }
    }
}

}  // namespace

void decodeTable(Decoder& decoder, void* object, TableView table, unsigned char* seen) {
    decodeEntries(decoder, table, seen, [&](std::size_t index) { table.members[index](decoder, object); });
}

void decodeState(const Schema& schema, Decoder& decoder, void* state) {
    const std::span<const TableName> names = schema.tableNames();
    std::vector<unsigned char> seen(schema.size());
    decodeEntries(decoder, {names.data(), names.size(), nullptr}, seen.data(), [&](std::size_t index) {
        const ChannelSpec& channel = schema.channel(index);
        channel.behaviour->decode(decoder, schema.value(state, channel));
    });
}

}  // namespace stategraph::detail
