#include "src/checkpoint/record_frame.hpp"

#include <array>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stategraph/error.hpp>

#include "src/value/bytes.hpp"

namespace stategraph {

std::string RowKey::toString() const {
    std::string text = "(thread '" + std::string(thread_id) + "', namespace '" + std::string(checkpoint_ns) +
                       "', checkpoint " + id.toString();
    if (!path.empty()) text += ", task '" + std::string(path) + "'";
    return text + ")";
}

}  // namespace stategraph

namespace stategraph::checkpoint {
namespace {

constexpr unsigned char newest_version = naming_version;

std::uint64_t checksum(CheckpointId id, unsigned char version, std::string_view body) {
    // The number of version 3 differs from the others by one bit, and its records would be read like theirs. So the
    // version is a part of the seed.
    const std::uint64_t seed = id.high() * 0x9E3779B97F4A7C15ULL ^ id.low();
    return XXH3_64bits_withSeed(body.data(), body.size(), version == naming_version ? ~seed : seed);
}

}  // namespace

std::size_t openFrame(std::string& out, unsigned char version) {
    const std::size_t start = out.size();
    out.push_back(static_cast<char>(version));
    out.append(frame_size - 1, '\0');
    return start;
}

void closeFrame(CheckpointId id, std::string& out, std::size_t start) {
    const auto version = static_cast<unsigned char>(out[start]);
    const std::uint64_t sum = checksum(id, version, std::string_view(out).substr(start + frame_size));
    detail::storeBigEndian(sum, out.data() + start + 1);
}

void corrupt(const RowKey& key, std::string_view why) {
    throw CorruptCheckpointError("the record " + key.toString() + " cannot be read: " + std::string(why));
}

std::string_view bodyOf(const RowKey& key, std::string_view bytes) {
    if (bytes.size() <= frame_size) corrupt(key, "it is too short");
    return bytes.substr(frame_size);
}

Frame readFrame(const RowKey& key, std::string_view bytes) {
    const std::string_view body = bodyOf(key, bytes);
    const auto version = static_cast<unsigned char>(bytes[0]);
    if (version > newest_version) {
        corrupt(key, "its format " + std::to_string(version) + " is newer than this library's " +
                         std::to_string(newest_version) + "; use a newer stategraph");
    }
    const std::uint64_t stored = detail::loadBigEndian(bytes.substr(1, frame_size - 1));
    if (version < format_version || checksum(key.id, version, body) != stored)
        corrupt(key, "its checksum does not match");
    return {version, body};
}

std::string_view openRecord(const RowKey& key, std::string_view bytes) {
    const Frame frame = readFrame(key, bytes);
    if (frame.version == sealed_version) {
        corrupt(key, "it is encrypted; read it through the EncryptedSaver that has its keys");
    }
    return frame.body;
}

void writeId(detail::StagedEncoder& out, CheckpointId id) {
    std::array<char, 16> raw{};
    id.toBytes(raw.data());
    // Writes a byte string with any bytes.
    out.bytes({raw.data(), raw.size()});
}

CheckpointId readId(Decoder& in) {
    const std::string_view raw = in.bytes();
    if (raw.size() != 16) throw WrongTypeError("expected an id of 16 bytes");
    return CheckpointId::fromBytes(raw.data());
}

void writeRef(detail::StagedEncoder& out, CheckpointId own, CheckpointId other) {
    if (own.low() == other.low() && own.high() >= other.high()) {
        out.unsignedInteger(own.high() - other.high());
    } else {
        writeId(out, other);
    }
}

CheckpointId readRef(Decoder& in, CheckpointId own) {
    if (in.peek() != Decoder::Type::unsigned_integer) return readId(in);
    return {own.high() - in.unsignedInteger(), own.low()};
}

}  // namespace stategraph::checkpoint
