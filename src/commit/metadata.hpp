#pragma once
#include <string>
#include <string_view>

#include <stategraph/config.hpp>

// Encodes the metadata of a commit, which its run was given.
namespace stategraph::engine {

/// Encodes metadata as one CBOR map; returns an empty text if there is none. Errors: InvalidArgumentError for a key
/// that is empty, reserved or repeated.
std::string encodeMetadata(const Metadata& metadata);

/// Returns whether a commit's metadata, a CBOR map or nothing, has all entries of a filter.
bool hasMetadata(std::string_view stored, const Metadata& filter);

/// Returns a commit's metadata (a CBOR map, or empty) with these entries added. An entry replaces one with the same
/// key. Errors: InvalidArgumentError as above, and WrongTypeError if the bytes are not a map.
std::string addMetadata(std::string_view stored, const Metadata& added);

}  // namespace stategraph::engine
