#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/value.hpp>

namespace stategraph {

/// The kind of a value.
enum class ValueKind : std::uint8_t { null, boolean, number, text, bytes, list, map };
/// The name of a kind, such as "text".
const char* toString(ValueKind kind) noexcept;

/// An element of a list or a map, or a value by itself.
struct ValueItem {
    /// The key of a map's entry; a key that is not text is given as JSON. Empty for an element of a list.
    std::string key;
    ValueKind kind = ValueKind::null;
    /// The number of elements of a list or map; the number of bytes of a text or bytes.
    std::size_t size = 0;
    /// The size of the value as CBOR.
    std::size_t stored_bytes = 0;
    /// The JSON of a short value, or the beginning of a long text; otherwise empty.
    std::string json;
    /// Whether `json` contains the whole value.
    bool is_whole = false;
};

/// A part of a large value.
struct ValuePage {
    /// What the path leads to.
    ValueItem value;
    /// The elements of a list or a map, beginning with `from`.
    std::vector<ValueItem> items;
    std::size_t from = 0;
};

/// Which part of a value to read.
struct ValuePageQuery {
    std::size_t from = 0;
    /// The page has at most this many elements; at least 1.
    std::size_t count = 50;
    /// A text that takes more bytes than this as CBOR is cut; a list or a map is left out.
    std::size_t bytes_max = 2'000;
};

/// A page of the value at a path inside another one, so that a list of many megabytes can be viewed without converting
/// all of it to JSON. The path is a JSON Pointer (RFC 6901): "" is the value itself, "/messages/3/content" a member of
/// the fourth element; "~1" means "/", "~0" for "~". Errors: InvalidArgumentError if the path is invalid or leads
/// nowhere; the message says which part of it exists. Cost: one pass over the bytes before the page, and JSON of the
/// page alone.
ValuePage pageOf(const Value& value, std::string_view path, const ValuePageQuery& query = {});

/// The value at the path. Errors: the same.
Value valueAt(const Value& value, std::string_view path);

}  // namespace stategraph
