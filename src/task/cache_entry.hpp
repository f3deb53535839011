#pragma once
#include <optional>
#include <string>
#include <string_view>

#include <stategraph/ids.hpp>

// A cache entry of one result: found by a hash of its input, and stored with the input.
namespace stategraph::engine {

/// What an entry is found by.
struct CacheName {
    CheckpointId hash;
    std::string key;  // its 16 bytes
};
CacheName cacheNameOf(std::string_view input);

/// An entry: a CBOR list of two byte strings, input and result.
std::string makeEntry(std::string_view input, std::string_view result);
/// The result of an entry; none if it is of another input, whose hash happens to be the same. Errors: WrongTypeError if
/// it is damaged.
std::optional<std::string_view> resultOf(std::string_view entry, std::string_view input);

}  // namespace stategraph::engine
