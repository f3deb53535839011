#pragma once
#include <stategraph/encoding.hpp>

#include <cstring>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>

#include "tests/checkpoint/bytes.hpp"

// Converts items to bytes in hexadecimal digits and back.
namespace cbor {

namespace sg = stategraph;
using bytes::encoded;
using bytes::fromHex;
using bytes::toHex;
using sg::Decoder;
using sg::Encoder;

template <class Read>
auto decoded(const char* hex, Read read) {
    const std::string bytes = fromHex(hex);
    Decoder decoder(bytes);
    const auto value = read(decoder);
    CHECK(decoder.atEnd());
    return value;
}

inline void checkRefused(std::string_view bytes) {
    CAPTURE(toHex(bytes));
    Decoder skipping(bytes);
    CHECK_THROWS_AS(skipping.skip(), sg::WrongTypeError);
    CHECK_THROWS_AS(sg::cborToJson(bytes), sg::WrongTypeError);
}

// Reads one item with the typed readers.
inline void walk(Decoder& decoder) {
    using Type = Decoder::Type;
    switch (decoder.peek()) {
        case Type::unsigned_integer:
            decoder.unsignedInteger();
            break;
        case Type::negative_integer:
            decoder.real();
            break;
        case Type::bytes:
        case Type::text:
            decoder.text();
            break;
        case Type::boolean:
            decoder.boolean();
            break;
        case Type::null:
            decoder.tryNull();
            break;
        case Type::real:
            decoder.real();
            break;
        case Type::end:
            Decoder::fail("a value", Type::end);
        case Type::array: {
            const Decoder::Nesting nesting(decoder);
            for (std::size_t n = decoder.array(); n > 0; --n) walk(decoder);
            break;
        }
        case Type::map: {
            const Decoder::Nesting nesting(decoder);
            for (std::size_t n = 2 * decoder.map(); n > 0; --n) walk(decoder);
        }
    }
}

}  // namespace cbor
