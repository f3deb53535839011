#include "src/task/cache_entry.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stategraph/encoding.hpp>
#include <stategraph/error.hpp>

namespace stategraph::engine {

CacheName cacheNameOf(std::string_view input) {
    const XXH128_hash_t hash = XXH3_128bits(input.data(), input.size());
    CacheName name{.hash = CheckpointId(hash.high64, hash.low64), .key = std::string(16, '\0')};
    name.hash.toBytes(name.key.data());
    return name;
}

std::string makeEntry(std::string_view input, std::string_view result) {
    std::string entry;
    Encoder out(entry);
    out.array(2);
    out.bytes(input);
    out.bytes(result);
    return entry;
}

std::optional<std::string_view> resultOf(std::string_view entry, std::string_view input) {
    Decoder in(entry);
    if (in.array() != 2) throw WrongTypeError("expected an input and a result");
    if (in.bytes() != input) return std::nullopt;
    const std::string_view result = in.bytes();
    if (!in.atEnd()) throw WrongTypeError("there are bytes after its end");
    return result;
}

}  // namespace stategraph::engine
