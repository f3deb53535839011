#pragma once
#include <string>
#include <utility>

#include <stategraph/value.hpp>

namespace stategraph::engine {

/// Returns the value that `fill(encoder)` writes, which must be one item. Cost: one pass to check it.
template <class Fill>
Value buildValue(Fill&& fill) {
    std::string cbor;
    Encoder out(cbor);
    fill(out);
    return Value::fromCbor(std::move(cbor));
}

}  // namespace stategraph::engine
