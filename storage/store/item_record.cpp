#include "storage/store/item_record.hpp"

#include <bit>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stategraph/encoding.hpp>
#include <stategraph/error.hpp>

#include "src/value/bytes.hpp"
#include "storage/store/keys.hpp"
#include "storage/store/sealed_rows.hpp"

namespace stategraph::stores {
namespace {

constexpr std::size_t frame_size = 9;
constexpr unsigned char format_version = 1;

std::uint64_t checksum(std::string_view row_key, std::string_view body) {
    return XXH3_64bits_withSeed(body.data(), body.size(), XXH3_64bits(row_key.data(), row_key.size()));
}

std::string openFrame() {
    std::string out(frame_size, '\0');
    out[0] = static_cast<char>(format_version);
    return out;
}

std::string closeFrame(std::string_view row_key, std::string record) {
    const std::uint64_t sum = checksum(row_key, std::string_view(record).substr(frame_size));
    detail::storeBigEndian(sum, record.data() + 1);
    return record;
}

std::string_view readFrame(std::string_view row_key, std::string_view bytes) {
    if (bytes.size() <= frame_size) corrupt(row_key, "its record is too short");
    const auto version = static_cast<unsigned char>(bytes[0]);
    if (version == sealed_version)
        corrupt(row_key, "it is encrypted; give the store the cipher that it was put with (StoreOptions::cipher)");
    if (version > format_version) {
        corrupt(row_key, "its format " + std::to_string(version) + " is newer than this library's " +
                             std::to_string(format_version) + " (use a newer stategraph)");
    }
    const std::uint64_t stored = detail::loadBigEndian(bytes.substr(1, frame_size - 1));
    const std::string_view body = bytes.substr(frame_size);
    if (version != format_version || checksum(row_key, body) != stored) corrupt(row_key, "its checksum does not match");
    return body;
}

// Even if the checksum fits, nothing in the record is trusted.
template <class Read>
auto readBody(std::string_view row_key, std::string_view bytes, Read read) {
    Decoder in(readFrame(row_key, bytes));
    try {
        auto result = read(in);
        if (!in.atEnd()) corrupt(row_key, "its record has extra bytes");
        return result;
    } catch (const WrongTypeError& error) {
        corrupt(row_key, error.message());
    }
}

}  // namespace

void corrupt(std::string_view row_key, const std::string& why) {
    throw CorruptStoreError(describeName(row_key.substr(1)) + " is damaged: " + why +
                            "; remove it, or restore the store from a copy");
}

std::string writeItem(std::string_view row_key, const ItemRecord& record) {
    std::string out = openFrame();
    Encoder body(out);
    body.array(6);
    body.integer(record.created_at_unix_us);
    body.integer(record.updated_at_unix_us);
    body.integer(record.ttl_ms);
    body.integer(record.expires_at_unix_us);
    body.unsignedInteger(record.vectors);
    body.raw(record.value);
    return closeFrame(row_key, std::move(out));
}

ItemRecord readItem(std::string_view row_key, std::string_view bytes) {
    return readBody(row_key, bytes, [&](Decoder& in) {
        if (in.array() != 6) corrupt(row_key, "its record has another shape");
        ItemRecord record;
        record.created_at_unix_us = in.integer();
        record.updated_at_unix_us = in.integer();
        record.ttl_ms = in.integer();
        record.expires_at_unix_us = in.integer();
        record.vectors = in.unsignedInteger();
        if (record.ttl_ms < 0 || record.ttl_ms > store_limits::ttl_max.count())
            corrupt(row_key, "its time to live is impossible");
        if (in.peek() != Decoder::Type::map) corrupt(row_key, "its value is not a map");
        record.value = in.raw();
        return record;
    });
}

std::string writeVectors(std::string_view row_key, std::size_t dims, std::span<const float> floats) {
    std::string raw(floats.size() * 4, '\0');
    for (std::size_t i = 0; i < floats.size(); ++i) {
        const auto bits = std::bit_cast<std::uint32_t>(floats[i]);
        for (std::size_t b = 0; b < 4; ++b) raw[4 * i + b] = static_cast<char>(bits >> (8 * b));
    }
    std::string out = openFrame();
    Encoder body(out);
    body.array(2);
    body.unsignedInteger(dims);
    body.bytes(raw);
    return closeFrame(row_key, std::move(out));
}

void readVectors(std::string_view row_key, std::string_view bytes, std::size_t dims, std::uint64_t count,
                 std::vector<float>& floats) {
    const std::string_view raw = readBody(row_key, bytes, [&](Decoder& in) {
        if (in.array() != 2) corrupt(row_key, "its vectors have another shape");
        const std::uint64_t stored_dims = in.unsignedInteger();
        const std::string_view found = in.bytes();
        if (stored_dims != dims) {
            throw StoreError(describeName(row_key.substr(1)) + " has vectors of " + std::to_string(stored_dims) +
                             " numbers, and the index of " + std::to_string(dims) +
                             "; put it again, or open the store with the index that it was put with");
        }
        if (dims == 0 || found.size() % (4 * dims) != 0 || found.size() / (4 * dims) != count) {
            corrupt(row_key, "its vectors are not as many as it says");
        }
        return found;
    });
    floats.resize(raw.size() / 4);
    if constexpr (std::endian::native == std::endian::little) {
        if (!raw.empty()) std::memcpy(floats.data(), raw.data(), raw.size());
        return;
    }
    for (std::size_t i = 0; i < floats.size(); ++i) {
        std::uint32_t bits = 0;
        for (std::size_t b = 0; b < 4; ++b)
            bits |= static_cast<std::uint32_t>(static_cast<unsigned char>(raw[4 * i + b])) << (8 * b);
        floats[i] = std::bit_cast<float>(bits);
    }
}

}  // namespace stategraph::stores
