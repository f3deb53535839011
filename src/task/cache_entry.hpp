#pragma once
#include <optional>
#include <string>
#include <string_view>

#include <stategraph/ids.hpp>

// The cache entry of one result. It is found by a hash of its input, and stored with the input.
namespace stategraph::engine {

/// The name by which an entry is found.
struct CacheName {
    CheckpointId hash;
    std::string key;  // its 16 bytes
};
CacheName cacheNameOf(std::string_view input);

/// Makes an entry: a CBOR list of two byte strings, input and result.
std::string makeEntry(std::string_view input, std::string_view result);
/// Returns the result of an entry, or none if it belongs to another input whose hash happens to be the same. Errors:
/// WrongTypeError if it is damaged.
std::optional<std::string_view> resultOf(std::string_view entry, std::string_view input);

}  // namespace stategraph::engine
