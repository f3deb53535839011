// NOT WITH: sanitize=thread
#include <stategraph/encoding.hpp>

#include <cstring>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>

#include "tests/checkpoint/bytes.hpp"
#include "tests/value/cbor_bytes.hpp"

// Which CBOR is refused when it is read, and the texts of the errors.
namespace sg = stategraph;
using bytes::encoded;
using bytes::fromHex;
using bytes::toHex;
using sg::Decoder;
using sg::Encoder;
using namespace cbor;

TEST_CASE("what the library never writes is refused") {
    const std::vector<const char*> indefinite{"5f", "5f42010243030405ff", "7f657374726561646d696e67ff", "9f01ff",
                                              "bfff"};
    const std::vector<const char*> tags{"c000", "c11a514b67b0", "d82000", "d9d9f7f6"};
    const std::vector<const char*> simple{"f7", "f0", "f818", "f8ff", "e0", "fc", "fd", "fe", "ff"};
    const std::vector<const char*> reserved{"1c", "1d", "1e", "1f", "3c", "3f", "5c", "7d", "9e", "bc", "dc"};
    for (const auto& group : {indefinite, tags, simple, reserved}) {
        for (const char* hex : group) {
            const std::string bytes = fromHex(hex);
            checkRefused(bytes);
            CHECK_THROWS_AS(Decoder(bytes).peek(), sg::WrongTypeError);
        }
    }
}

TEST_CASE("a number in a longer form than needed is accepted") {
    CHECK(decoded("1b0000000000000001", [](Decoder& d) { return d.unsignedInteger(); }) == 1);
    CHECK(decoded("380a", [](Decoder& d) { return d.integer(); }) == -11);
    CHECK(decoded("7900026869", [](Decoder& d) { return std::string(d.text()); }) == "hi");
}

TEST_CASE("a count or a length beyond the bytes that are left is refused") {
    for (const char* hex : {"81", "8201", "9bffffffffffffffff", "9b7fffffffffffffff00", "a1", "a101", "a20102",
                            "bbffffffffffffffff", "bb8000000000000000", "5bffffffffffffffff", "7b7fffffffffffffff61",
                            "6261", "44010203", "18", "19ff", "f9", "fa0000", "fb00000000000000", ""}) {
        checkRefused(fromHex(hex));
    }
    const std::string lie = fromHex("9affffffff00");
    CHECK_THROWS_WITH_AS(Decoder(lie).array(), "expected an array, found a count of 4294967295 with only 1 bytes left",
                         sg::WrongTypeError);
}

TEST_CASE("nesting stops at depth_max") {
    const auto nested = [](int depth) { return std::string(static_cast<std::size_t>(depth), '\x81') + '\x00'; };
    const std::string allowed = nested(Decoder::depth_max);
    const std::string too_deep = nested(Decoder::depth_max + 1);
    CHECK(Decoder(allowed).raw() == allowed);
    CHECK(sg::cborToJson(allowed).size() == 2 * Decoder::depth_max + 1);
    checkRefused(too_deep);
    checkRefused(nested(1000000));
    Decoder decoder(allowed);
    const Decoder::Nesting one_more(decoder);
    CHECK_THROWS_AS(decoder.skip(), sg::WrongTypeError);
}

TEST_CASE("a wrong type says what was expected and what was found") {
    const auto refuse = [](const char* hex, auto read, const char* message) {
        const std::string bytes = fromHex(hex);
        Decoder decoder(bytes);
        CHECK_THROWS_WITH_AS(read(decoder), message, sg::WrongTypeError);
        CHECK(decoder.rest() == bytes);
    };
    refuse(
        "6161", [](Decoder& d) { d.integer(); }, "expected an integer, found text");
    refuse(
        "01", [](Decoder& d) { (void)d.text(); }, "expected text, found an integer");
    refuse(
        "20", [](Decoder& d) { d.unsignedInteger(); },
        "expected an integer that is not negative, found a negative integer");
    refuse(
        "f6", [](Decoder& d) { d.boolean(); }, "expected a boolean, found null");
    refuse(
        "a0", [](Decoder& d) { d.array(); }, "expected an array, found a map");
    refuse(
        "f5", [](Decoder& d) { d.map(); }, "expected a map, found a boolean");
    refuse(
        "40", [](Decoder& d) { d.real(); }, "expected a number, found bytes");
    refuse(
        "", [](Decoder& d) { d.integer(); }, "expected an integer, found the end of the bytes");
    refuse(
        "c000", [](Decoder& d) { d.integer(); }, "expected a value, found a tag, which this library does not write");
    const std::string below = fromHex("3bffffffffffffffff");
    CHECK_THROWS_WITH_AS(Decoder(below).integer(), "expected a signed 64-bit integer, found a number out of its range",
                         sg::WrongTypeError);
    CHECK(Decoder(below).real() == -18446744073709551616.0);
}

TEST_CASE("random and damaged bytes are a value or a WrongTypeError") {
    const std::uint64_t seed = tests::seed();
    MESSAGE("seed ", seed);
    bytes::Random random(seed);
    int accepted = 0;
    int refused = 0;
    for (int i = 0; i < 40000; ++i) {
        std::string bytes = random.chance(2) ? random.item() : random.text(60);
        random.damage(bytes);
        try {
            Decoder walker(bytes);
            walk(walker);
            Decoder whole(bytes);
            CHECK(whole.raw().size() == bytes.size() - walker.rest().size());
            (void)sg::cborToJson(std::string_view(bytes).substr(0, bytes.size() - walker.rest().size()));
            ++accepted;
        } catch (const sg::WrongTypeError&) {
            ++refused;
        }
    }
    CHECK(accepted > 0);
    CHECK(refused > 0);
}
