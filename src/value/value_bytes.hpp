#pragma once
#include <string>
#include <utility>

#include <stategraph/value.hpp>

namespace stategraph::detail {

/// The bytes of a Value, for code that changes some of them and knows the rest.
struct ValueBytes {
    /// Leaves null.
    static std::string take(Value& value) noexcept { return std::exchange(value.bytes_, {}); }
    static std::string take(Value&& value) noexcept { return std::move(value.bytes_); }
    /// `cbor` is one well-formed item that is not too deep; this is not checked.
    static Value give(std::string cbor) noexcept {
        Value value;
        value.bytes_ = std::move(cbor);
        return value;
    }
};

}  // namespace stategraph::detail
