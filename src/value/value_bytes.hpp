#pragma once
#include <string>
#include <utility>

#include <stategraph/value.hpp>

namespace stategraph::detail {

/// Accesses the bytes of a Value, for code that changes some of them and keeps the rest.
struct ValueBytes {
    /// Takes the bytes; the value is null afterwards.
    static std::string take(Value& value) noexcept { return std::exchange(value.bytes_, {}); }
    static std::string take(Value&& value) noexcept { return std::move(value.bytes_); }
    /// Returns a Value with these bytes. `cbor` must be one well-formed item that is not too deep; this is not checked.
    static Value give(std::string cbor) noexcept {
        Value value;
        value.bytes_ = std::move(cbor);
        return value;
    }
};

}  // namespace stategraph::detail
