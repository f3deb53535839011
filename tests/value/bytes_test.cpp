// NOT WITH: sanitize=thread
#include "src/value/bytes.hpp"

#include <array>
#include <string>

#include <doctest/doctest.h>

#include <stategraph/detail/table.hpp>

#include "tests/checkpoint/bytes.hpp"

namespace detail = stategraph::detail;

TEST_CASE("numbers as eight bytes come back, and are in the order of their bytes") {
    const std::uint64_t seed = tests::seed();
    MESSAGE("seed ", seed);
    bytes::Random random(seed);
    const auto stored = [](std::uint64_t number) {
        std::string out;
        detail::appendBigEndian(out, number);
        return out;
    };
    CHECK(bytes::toHex(stored(0x0123456789abcdefU)) == "0123456789abcdef");
    int wrong = 0;
    for (int i = 0; i < 1000; ++i) {
        const std::uint64_t a = random.number();
        const std::uint64_t b = random.number();
        if (detail::loadBigEndian(stored(a)) != a) ++wrong;
        if ((a < b) != (stored(a) < stored(b))) ++wrong;
        if (detail::hexOf(a) != bytes::toHex(stored(a))) ++wrong;
    }
    CHECK(wrong == 0);
    CHECK(detail::loadBigEndian({}) == 0);
    CHECK(detail::loadBigEndian("\x01\x02") == 0x102);
}

TEST_CASE("hexadecimal digits have values in both cases, and nothing else has") {
    int digits = 0;
    for (int c = -128; c < 128; ++c) {
        const int value = detail::hexDigit(static_cast<char>(c));
        if (value < 0) continue;
        ++digits;
        std::string text;
        detail::appendHex(text, static_cast<unsigned char>(value),
                          c >= 'A' && c <= 'F' ? "0123456789ABCDEF" : detail::hex_digits);
        CHECK(text == std::string{'0', static_cast<char>(c)});
    }
    CHECK(digits == 22);
}

TEST_CASE("keys of a map are stored in the order of their encoded bytes") {
    const std::uint64_t seed = tests::seed();
    MESSAGE("seed ", seed);
    bytes::Random random(seed);
    int wrong = 0;
    for (int i = 0; i < 2000; ++i) {
        std::array<std::string, 2> keys;
        std::array<std::string, 2> encoded;
        for (std::size_t k = 0; k < 2; ++k) {
            // Lengths around the limits at which the heads become longer, and only two letters, so that many keys have
            // a common beginning.
            const std::size_t around = std::array<std::size_t, 3>{2, 24, 256}[random.below(3)];
            keys[k].resize(around - 2 + random.below(4));
            for (char& c : keys[k]) c = random.chance(2) ? 'a' : 'b';
            stategraph::Encoder(encoded[k]).text(keys[k]);
        }
        if (detail::storedBefore(keys[0], keys[1]) != (encoded[0] < encoded[1])) ++wrong;
    }
    CHECK(wrong == 0);
}

TEST_CASE("the end of a prefix is the least key after all keys that begin with it") {
    CHECK(detail::prefixEnd("c") == "d");
    CHECK(detail::prefixEnd(std::string("c\xFF\xFF")) == "d");
    CHECK(detail::prefixEnd(std::string("a\0", 2)) == std::string("a\x01"));
}
