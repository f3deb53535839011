// NOT WITH: sanitize=thread
#include <stategraph/encoding.hpp>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>

#include "tests/checkpoint/bytes.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/value/cbor_bytes.hpp"

namespace sg = stategraph;
using bytes::encoded;
using bytes::fromHex;
using bytes::toHex;
using sg::Decoder;
using sg::Encoder;
using namespace cbor;

TEST_CASE("integers are the vectors of RFC 8949, both ways") {
    const std::vector<std::pair<std::uint64_t, const char*>> vectors{{0, "00"},
                                                                     {1, "01"},
                                                                     {10, "0a"},
                                                                     {23, "17"},
                                                                     {24, "1818"},
                                                                     {25, "1819"},
                                                                     {100, "1864"},
                                                                     {255, "18ff"},
                                                                     {256, "190100"},
                                                                     {1000, "1903e8"},
                                                                     {65535, "19ffff"},
                                                                     {65536, "1a00010000"},
                                                                     {1000000, "1a000f4240"},
                                                                     {4294967295U, "1affffffff"},
                                                                     {4294967296U, "1b0000000100000000"},
                                                                     {1000000000000U, "1b000000e8d4a51000"},
                                                                     {18446744073709551615U, "1bffffffffffffffff"}};
    for (const auto& [value, hex] : vectors) {
        CHECK(encoded([v = value](Encoder& e) { e.unsignedInteger(v); }) == hex);
        CHECK(decoded(hex, [](Decoder& d) { return d.unsignedInteger(); }) == value);
    }
    const std::vector<std::pair<std::int64_t, const char*>> negative{
        {-1, "20"},
        {-10, "29"},
        {-24, "37"},
        {-25, "3818"},
        {-100, "3863"},
        {-1000, "3903e7"},
        {1000, "1903e8"},
        {std::numeric_limits<std::int64_t>::min(), "3b7fffffffffffffff"},
        {std::numeric_limits<std::int64_t>::max(), "1b7fffffffffffffff"}};
    for (const auto& [value, hex] : negative) {
        CHECK(encoded([v = value](Encoder& e) { e.integer(v); }) == hex);
        CHECK(decoded(hex, [](Decoder& d) { return d.integer(); }) == value);
    }
}

TEST_CASE("real numbers are the vectors of RFC 8949, both ways") {
    const double infinity = std::numeric_limits<double>::infinity();
    const std::vector<std::pair<double, const char*>> vectors{{0.0, "f90000"},
                                                              {-0.0, "f98000"},
                                                              {1.0, "f93c00"},
                                                              {1.1, "fb3ff199999999999a"},
                                                              {1.5, "f93e00"},
                                                              {65504.0, "f97bff"},
                                                              {100000.0, "fa47c35000"},
                                                              {3.4028234663852886e+38, "fa7f7fffff"},
                                                              {1.0e+300, "fb7e37e43c8800759c"},
                                                              {5.960464477539063e-8, "f90001"},
                                                              {0.00006103515625, "f90400"},
                                                              {-4.0, "f9c400"},
                                                              {-4.1, "fbc010666666666666"},
                                                              {infinity, "f97c00"},
                                                              {-infinity, "f9fc00"},
                                                              {5e-324, "fb0000000000000001"}};
    for (const auto& [value, hex] : vectors) {
        CHECK(encoded([v = value](Encoder& e) { e.real(v); }) == hex);
        const double back = decoded(hex, [](Decoder& d) { return d.real(); });
        CHECK(std::bit_cast<std::uint64_t>(back) == std::bit_cast<std::uint64_t>(value));
    }
    for (const char* hex : {"f97e00", "fa7fc00000", "fb7ff8000000000000"}) {
        CHECK(std::isnan(decoded(hex, [](Decoder& d) { return d.real(); })));
    }
    CHECK(encoded([](Encoder& e) { e.real(std::nan("7")); }) == "f97e00");
    CHECK(encoded([](Encoder& e) { e.real(-std::nan("")); }) == "f97e00");
}

TEST_CASE("strings, arrays, maps and simple values are the vectors of RFC 8949") {
    CHECK(encoded([](Encoder& e) { e.boolean(false); }) == "f4");
    CHECK(encoded([](Encoder& e) { e.boolean(true); }) == "f5");
    CHECK(encoded([](Encoder& e) { e.null(); }) == "f6");
    CHECK(encoded([](Encoder& e) { e.bytes(""); }) == "40");
    CHECK(encoded([](Encoder& e) { e.bytes("\x01\x02\x03\x04"); }) == "4401020304");
    CHECK(encoded([](Encoder& e) { e.text(""); }) == "60");
    CHECK(encoded([](Encoder& e) { e.text("a"); }) == "6161");
    CHECK(encoded([](Encoder& e) { e.text("IETF"); }) == "6449455446");
    CHECK(encoded([](Encoder& e) { e.text("\"\\"); }) == "62225c");
    CHECK(encoded([](Encoder& e) { e.text("\u00fc"); }) == "62c3bc");
    CHECK(encoded([](Encoder& e) { e.text("\u6c34"); }) == "63e6b0b4");
    CHECK(encoded([](Encoder& e) { e.text("\U00010151"); }) == "64f0908591");
    CHECK(encoded([](Encoder& e) { e.array(0); }) == "80");
    CHECK(encoded([](Encoder& e) { e.array(25); }) == "9819");
    CHECK(encoded([](Encoder& e) { e.map(0); }) == "a0");
    CHECK(encoded([](Encoder& e) { e.map(300); }) == "b9012c");
    CHECK(sg::cborToJson(fromHex("8301820203820405")) == "[1,[2,3],[4,5]]");
    CHECK(sg::cborToJson(fromHex("a26161016162820203")) == R"({"a":1,"b":[2,3]})");
    CHECK(sg::cborToJson(fromHex("826161a161626163")) == R"(["a",{"b":"c"}])");
}

TEST_CASE("a head in each of its forms says its number, is written in the shortest, and is refused when it is cut") {
    const std::uint64_t seed = tests::seed();
    MESSAGE("seed ", seed);
    bytes::Random random(seed);
    const std::vector<std::pair<std::size_t, unsigned>> forms{{0, 0}, {1, 24}, {2, 25}, {4, 26}, {8, 27}};
    const auto isRefused = [](const std::string& bytes) {
        try {
            Decoder(bytes).skip();
        } catch (const sg::WrongTypeError&) {
            return true;
        }
        return false;
    };
    int wrong = 0;
    for (int i = 0; i < static_cast<int>(sanitized::some(2000)); ++i) {
        const std::uint64_t number = random.number();
        std::string shortest;
        for (const auto& [size, form] : forms) {
            if (size == 0 ? number > 23 : size < 8 && number >> 8 * size != 0) continue;
            // An independent implementation of RFC 8949, section 3.
            std::string head(1, static_cast<char>(size == 0 ? number : form));
            for (std::size_t byte = size; byte-- > 0;) head += static_cast<char>(number >> 8 * byte & 0xffU);
            if (shortest.empty()) shortest = head;
            if (Decoder(head).unsignedInteger() != number) ++wrong;
            std::string negative = head;
            negative[0] |= '\x20';
            const bool is_last = number == std::numeric_limits<std::uint64_t>::max();
            const std::string text = is_last ? "18446744073709551616" : std::to_string(number + 1);
            if (sg::cborToJson(negative) != "-" + text) ++wrong;
            for (std::size_t cut = 0; cut < head.size(); ++cut) {
                for (int major = 0; major < 6; ++major) {
                    std::string part = head.substr(0, cut);
                    if (cut > 0) part[0] = static_cast<char>(part[0] | major << 5);
                    if (!isRefused(part)) ++wrong;
                }
            }
        }
        std::string written;
        Encoder encoder(written);
        encoder.unsignedInteger(number);
        encoder.array(static_cast<std::size_t>(number));
        encoder.map(static_cast<std::size_t>(number));
        std::string wanted = shortest + shortest + shortest;
        wanted[shortest.size()] |= '\x80';
        wanted[2 * shortest.size()] |= '\xa0';
        if (written != wanted) ++wrong;
    }
    CHECK(wrong == 0);
}

TEST_CASE("every half-precision float survives being read and written") {
    int wrong = 0;
    for (unsigned bits = 0; bits < 0x10000U; ++bits) {
        const std::string bytes{'\xf9', static_cast<char>(bits >> 8U), static_cast<char>(bits & 0xffU)};
        const double value = Decoder(bytes).real();
        const bool is_nan = (bits & 0x7c00U) == 0x7c00U && (bits & 0x3ffU) != 0;
        std::string again;
        Encoder(again).real(value);
        if (std::isnan(value) != is_nan) ++wrong;
        if (again != (is_nan ? fromHex("f97e00") : bytes)) ++wrong;
    }
    CHECK(wrong == 0);
}

TEST_CASE("random real numbers keep every bit in the fewest bytes that can") {
    const std::uint64_t seed = tests::seed();
    MESSAGE("seed ", seed);
    bytes::Random random(seed);
    int wrong = 0;
    for (int i = 0; i < static_cast<int>(sanitized::some(100'000)); ++i) {
        const auto single = std::bit_cast<float>(static_cast<std::uint32_t>(random.bits()));
        const double value = random.chance(2) ? static_cast<double>(single) : std::bit_cast<double>(random.bits());
        if (std::isnan(value)) continue;
        std::string out;
        Encoder(out).real(value);
        const double back = Decoder(out).real();
        if (std::bit_cast<std::uint64_t>(back) != std::bit_cast<std::uint64_t>(value)) ++wrong;
        const bool fits_float = std::isinf(value) || (std::fabs(value) <= std::numeric_limits<float>::max() &&
                                                      static_cast<double>(static_cast<float>(value)) == value);
        if (fits_float != (out.size() <= 5)) ++wrong;
    }
    CHECK(wrong == 0);
}

TEST_CASE("text that is not UTF-8 is stored as bytes and read back as it was") {
    const std::vector<std::string> invalid{"\xff",
                                           "a\x80",
                                           "\xc0\x80",
                                           "\xc1\xbf",
                                           "\xe0\x9f\xbf",
                                           "\xed\xa0\x80",
                                           "\xf0\x8f\xbf\xbf",
                                           "\xf4\x90\x80\x80",
                                           "\xf5\x80\x80\x80",
                                           "\xc3",
                                           "\xe6\xb0",
                                           "\xf0\x90\x85",
                                           "12345678\xc3",
                                           "1234567\xe6\xb0",
                                           "\xe6\x41\xb4",
                                           "\xe6\xb0\x41"};
    for (const std::string& text : invalid) {
        std::string out;
        Encoder(out).text(text);
        CAPTURE(toHex(out));
        CHECK(Decoder(out).peek() == Decoder::Type::bytes);
        CHECK(Decoder(out).text() == text);
    }
    const std::vector<std::string> valid{"",       "12345678",   "1234567\u00fc", "\u0080",
                                         "\u07ff", "\u0800",     "\ud7ff",        "\ue000",
                                         "\uffff", "\U00010000", "\U0010ffff",    std::string(1, '\0')};
    for (const std::string& text : valid) {
        std::string out;
        Encoder(out).text(text);
        CHECK(Decoder(out).peek() == Decoder::Type::text);
        CHECK(Decoder(out).text() == text);
    }
}

TEST_CASE("random items are passed over as a whole, and no beginning of one is") {
    const std::uint64_t seed = tests::seed();
    MESSAGE("seed ", seed);
    bytes::Random random(seed);
    int wrong = 0;
    for (int i = 0; i < static_cast<int>(sanitized::some(2000)); ++i) {
        const std::string item = random.item();
        const std::string two = item + random.item();
        if (Decoder(two).raw() != item) ++wrong;
        Decoder walker(item);
        walk(walker);
        if (!walker.atEnd()) ++wrong;
        for (std::size_t size = 0; size < item.size(); ++size) {
            try {
                Decoder(std::string_view(item).substr(0, size)).skip();
                ++wrong;
            } catch (const sg::WrongTypeError&) {
            }
        }
    }
    CHECK(wrong == 0);
}
