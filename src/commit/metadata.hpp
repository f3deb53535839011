#pragma once
#include <string>
#include <string_view>

#include <stategraph/config.hpp>

// The metadata of a commit: what its run was given.
namespace stategraph::engine {

/// As one CBOR map; empty for none. Errors: InvalidArgumentError for a key that is empty, taken, or there twice.
std::string encodeMetadata(const Metadata& metadata);

/// A commit's metadata (a CBOR map, or empty) with these entries added; an entry with a key that is there replaces it.
/// Errors: the same, and WrongTypeError if the bytes are not a map.
std::string addMetadata(std::string_view stored, const Metadata& added);

}  // namespace stategraph::engine
