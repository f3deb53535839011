#include <stategraph/channel.hpp>
#include <stategraph/codec.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>

#include <stategraph/error.hpp>
#include <stategraph/value.hpp>

#include "src/value/strict.hpp"

namespace stategraph::detail {
namespace {

[[noreturn]] void failRange(const std::string& min, const std::string& max, const std::string& found) {
    throw WrongTypeError("expected an integer from " + min + " to " + max + ", found " + found);
}

[[noreturn]] void failInMember(std::string_view name, const WrongTypeError& error) {
    throw WrongTypeError("member '" + std::string(name) + "': " + error.message(), error.context());
}

const TableName* findName(TableView table, std::size_t guess, std::string_view name) noexcept {
    // If this version of the struct wrote the bytes, the keys are in the table's order.
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

namespace {

// Reverses what cborToJson does with bytes.
std::string fromBase64Url(std::string_view text) {
    std::string bytes;
    std::uint32_t bits = 0;
    unsigned held = 0;
    for (const char c : text) {
        const bool is_upper = c >= 'A' && c <= 'Z';
        const bool is_lower = c >= 'a' && c <= 'z';
        const bool is_digit = c >= '0' && c <= '9';
        if (!is_upper && !is_lower && !is_digit && c != '-' && c != '_') {
            throw WrongTypeError("expected bytes as base64url, found other text");
        }
        const int six = is_upper ? c - 'A' : is_lower ? c - 'a' + 26 : is_digit ? c - '0' + 52 : c == '-' ? 62 : 63;
        bits = (bits << 6U | static_cast<std::uint32_t>(six)) & 0xffffffU;
        held += 6;
        if (held < 8) continue;
        held -= 8;
        bytes += static_cast<char>(bits >> held & 0xffU);
    }
    if (held >= 6 || (bits & ((1U << held) - 1U)) != 0)
        throw WrongTypeError("expected bytes as base64url, found text that is cut off");
    return bytes;
}

}  // namespace

void decodeBytes(Decoder& decoder, std::vector<std::byte>& value) {
    if (decoder.strict() != nullptr && decoder.peek() == Decoder::Type::text) {
        const std::string decoded = fromBase64Url(decoder.text());
        value.resize(decoded.size());
        if (!decoded.empty()) std::memcpy(value.data(), decoded.data(), decoded.size());
        return;
    }
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

std::string listOf(TableView table) {
    std::vector<std::string_view> names;
    for (std::size_t i = 0; i < table.names_size; ++i) {
        const TableName& each = table.names[i];
        if (each.former) continue;
        if (names.size() <= each.index) names.resize(each.index + 1);
        names[each.index] = each.name;
    }
    if (names.empty()) return "there are none";
    std::string list = "known are ";
    for (const std::string_view name : names) list += (name == names.front() ? "" : ", ") + inQuotes(name);
    return list;
}

// Checks that every required member is present once and that no member is unknown, and reports all faults together.
template <class DecodeAt>
void decodeStrictly(Decoder& decoder, TableView table, unsigned char* seen, DecodeAt decode_at) {
    StrictReading& reading = *decoder.strict();
    const std::string_view tag = std::exchange(reading.tag, {});
    Faults faults;
    bool has_tag = false;
    const std::size_t count = decoder.map();
    for (std::size_t i = 0; i < count; ++i) {
        const bool is_text = isText(decoder.peek());
        const std::string_view key = is_text ? decoder.text() : decoder.raw();
        const TableName* const found = is_text ? findName(table, i, key) : nullptr;
        if (found == nullptr) {
            const bool is_tag = is_text && !tag.empty() && key == tag;
            if (!is_tag && !table.allows_unknown) {
                const std::string shown = inQuotes(is_text ? std::string(key) : cborToJson(key));
                faults.add("member " + shown + " is unknown: " + listOf(table));
            } else if (is_tag && std::exchange(has_tag, true)) {
                faults.add("member " + inQuotes(key) + " occurs twice");
            }
            decoder.skip();
            continue;
        }
        if (std::exchange(seen[found->index], 1) != 0) {
            faults.add("member " + inQuotes(key) + " occurs twice");
            decoder.skip();
            continue;
        }
        const Decoder before = decoder;
        reading.trail.clear();
        try {
            decode_at(found->index);
        } catch (const WrongTypeError& error) {
            faults.addInside("member " + inQuotes(key) + ": ", error, reading);
            reading.tag = {};
            decoder = before;
            decoder.skip();
        }
    }
    for (std::size_t i = 0; i < table.names_size; ++i) {
        const TableName& each = table.names[i];
        if (!each.former && each.required && seen[each.index] == 0)
            faults.add("member " + inQuotes(each.name) + " is missing");
    }
    faults.raise();
}

template <class DecodeAt>
void decodeEntries(Decoder& decoder, TableView table, unsigned char* seen, DecodeAt decode_at) {
    // The rank of a value for a member: a later value counts only if its rank is higher.
    constexpr unsigned char as_former = 1;
    constexpr unsigned char as_current = 2;
    const Decoder::Nesting nesting(decoder);
    if (decoder.strict() != nullptr) return decodeStrictly(decoder, table, seen, decode_at);
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
    const TableView table{names.data(), names.size(), nullptr, schema.state().allows_unknown};
    decodeEntries(decoder, table, seen.data(), [&](std::size_t index) {
        const ChannelSpec& channel = schema.channel(index);
        channel.behaviour->decode(decoder, schema.value(state, channel));
    });
}

void readUpdate(const Schema& schema, std::string_view cbor, Writes& writes) {
    struct Target {
        const Schema& schema;
        Writes& writes;
    } target{schema, writes};
    readStrictly(cbor, &target, [](Decoder& decoder, void* to) {
        const Schema& channels = static_cast<Target*>(to)->schema;
        Writes& into = static_cast<Target*>(to)->writes;
        std::vector<TableName> names(channels.tableNames().begin(), channels.tableNames().end());
        for (TableName& name : names) name.required = false;  // an update may leave out any member
        std::vector<unsigned char> seen(channels.size());
        decodeEntries(decoder, {names.data(), names.size(), nullptr}, seen.data(), [&](std::size_t index) {
            const ChannelSpec& channel = channels.channel(index);
            channel.behaviour->decodeWrite(
                channel, folds(channel.kind) ? checkpoint::WriteKind::add : checkpoint::WriteKind::set, decoder, into);
        });
    });
}

namespace {

std::string namesIn(EnumRows names) {
    std::string list;
    for (std::size_t i = 0; i < names.size; ++i) list += (i == 0 ? "" : ", ") + inQuotes(names.rows[i].name);
    return list;
}

}  // namespace

bool encodeEnumName(Encoder& encoder, std::int64_t number, EnumRows names) {
    for (std::size_t i = 0; i < names.size; ++i) {
        if (names.rows[i].number != number) continue;
        encoder.text(names.rows[i].name);
        return true;
    }
    return false;
}

std::optional<std::int64_t> decodeEnumName(Decoder& decoder, EnumRows names) {
    const Decoder::Type type = decoder.peek();
    if (!isText(type)) {
        if (decoder.strict() != nullptr) Decoder::fail("one of " + namesIn(names), type);
        return {};
    }
    const Decoder before = decoder;
    const std::string_view name = decoder.text();
    for (std::size_t i = 0; i < names.size; ++i) {
        if (names.rows[i].name == name) return names.rows[i].number;
    }
    decoder = before;
    throw WrongTypeError("expected one of " + namesIn(names) + ", found " + inQuotes(name));
}

namespace {

/// The entries of a map, each with its bytes.
struct MapEntry {
    std::string_view name;  // empty if its key is not a text
    std::string_view bytes;
};

std::vector<MapEntry> entriesOf(std::string_view map) {
    Decoder in(map);
    std::vector<MapEntry> entries(in.map());
    for (MapEntry& entry : entries) {
        const std::string_view before = in.rest();
        if (isText(in.peek())) {
            entry.name = in.text();
        } else {
            in.skip();
        }
        in.skip();
        entry.bytes = before.substr(0, before.size() - in.rest().size());
    }
    return entries;
}

}  // namespace

void listAsTable(Encoder& encoder, std::size_t begin, const std::size_t* order, std::size_t size) {
    const std::string stored = encoder.out().substr(begin);
    const std::vector<MapEntry> entries = entriesOf(stored);
    std::vector<const MapEntry*> listed(size);
    for (std::size_t i = 0; i < size; ++i) listed[order[i]] = &entries[i];
    encoder.out().resize(begin);
    encoder.map(size);
    for (const MapEntry* entry : listed) encoder.raw(entry->bytes);
}

void insertTag(Encoder& encoder, std::size_t begin, std::string_view member, std::string_view tag) {
    std::string& out = encoder.out();
    Decoder in(std::string_view(out).substr(begin));
    const std::size_t count = in.map();
    const std::size_t head = out.size() - begin - in.rest().size();
    std::size_t place = out.size() - in.rest().size();
    for (std::size_t left = count; left > 0 && !encoder.isForPeople(); --left) {
        const bool is_text = isText(in.peek());
        const std::string_view name = is_text ? in.text() : in.raw();
        if (storedBefore(member, is_text ? name : std::string_view())) break;
        in.skip();
        place = out.size() - in.rest().size();
    }
    std::string entry;
    Encoder added = encoder.into(entry);
    added.text(member);
    added.text(tag);
    out.insert(place, entry);
    std::string counted;
    encoder.into(counted).map(count + 1);
    out.replace(begin, head, counted);
}

std::size_t findTag(Decoder& decoder, const Tags& tags) {
    const bool is_strict = decoder.strict() != nullptr;
    if (decoder.peek() == Decoder::Type::array && !is_strict) return tags.size;
    std::string list;
    for (std::size_t i = 0; i < tags.size; ++i) list += (i == 0 ? "" : ", ") + inQuotes(tags.tags[i]);
    Decoder in = decoder;
    for (std::size_t count = in.map(); count > 0; --count) {
        if (!isText(in.peek())) {
            in.skip();
        } else if (in.text() == tags.member) {
            if (!isText(in.peek()))
                throw WrongTypeError("member " + inQuotes(tags.member) + ": expected one of " + list);
            const std::string_view tag = in.text();
            for (std::size_t i = 0; i < tags.size; ++i) {
                if (tags.tags[i] != tag) continue;
                if (is_strict) decoder.strict()->tag = tags.member;
                return i;
            }
            throw WrongTypeError("member " + inQuotes(tags.member) + ": expected one of " + list + ", found " +
                                 inQuotes(tag));
        }
        in.skip();
    }
    throw WrongTypeError("member " + inQuotes(tags.member) + " is missing, which is one of " + list);
}

}  // namespace stategraph::detail
