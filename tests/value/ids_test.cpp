// NOT WITH: sanitize=thread
#include <stategraph/ids.hpp>

#include <array>
#include <chrono>
#include <string>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>

namespace sg = stategraph;

TEST_CASE("a checkpoint id is a UUID in lower case as text, and back") {
    const sg::CheckpointId id(0x0190163d8694739bU, 0xaea5966c26f8ad91U);
    CHECK(id.toString() == "0190163d-8694-739b-aea5-966c26f8ad91");
    CHECK(sg::CheckpointId(id.toString()) == id);
    CHECK(sg::CheckpointId("0190163D-8694-739B-AEA5-966C26F8AD91") == id);
    CHECK(id.time() == std::chrono::system_clock::time_point(std::chrono::milliseconds(0x0190163d8694)));
    CHECK(id);
    CHECK_FALSE(sg::CheckpointId());
    CHECK(sg::CheckpointId().toString() == "00000000-0000-0000-0000-000000000000");
}

TEST_CASE("text that is not a UUID is refused with a message that shows it") {
    for (const char* text : {"", "1", "0190163d8694739baea5966c26f8ad91", "0190163d-8694-739b-aea5-966c26f8ad9",
                             "0190163d-8694-739b-aea5-966c26f8ad911", "0190163d-8694-739b-aea5-966c26f8ad9g",
                             "0190163d-8694-739b-aea59-66c26f8ad91", "{190163d-8694-739b-aea5-966c26f8ad9}",
                             " 190163d-8694-739b-aea5-966c26f8ad91"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(sg::CheckpointId{text}, sg::InvalidArgumentError);
    }
    try {
        (void)sg::CheckpointId("latest");
        FAIL("accepted");
    } catch (const sg::InvalidArgumentError& error) {
        CHECK(error.message() ==
              "'latest' is not a checkpoint id; give a UUID as CheckpointId::toString() writes it, like "
              "0190163d-8694-739b-aea5-966c26f8ad91");
    }
}

TEST_CASE("the order of checkpoint ids is the order of their bytes and of their text") {
    const std::array ids{sg::CheckpointId(0, 1), sg::CheckpointId(0, 0x80U), sg::CheckpointId(0, ~std::uint64_t{0}),
                         sg::CheckpointId(1, 0), sg::CheckpointId(0x8000000000000000U, 5)};
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
        std::string a(16, ' ');
        std::string b(16, ' ');
        ids[i].toBytes(a.data());
        ids[i + 1].toBytes(b.data());
        CHECK(ids[i] < ids[i + 1]);
        CHECK(a < b);
        CHECK(ids[i].toString() < ids[i + 1].toString());
        CHECK(sg::CheckpointId::fromBytes(a.data()) == ids[i]);
    }
}

TEST_CASE("a task id is 32 hexadecimal digits, and back") {
    const sg::TaskId id(0x0123456789abcdefU, 0xfedcba9876543210U);
    CHECK(id.toString() == "0123456789abcdeffedcba9876543210");
    CHECK(sg::TaskId(id.toString()) == id);
    std::array<char, 16> bytes{};
    id.toBytes(bytes.data());
    CHECK(sg::TaskId::fromBytes(bytes.data()) == id);
    CHECK_THROWS_AS(sg::TaskId(""), sg::InvalidArgumentError);
    CHECK_THROWS_AS(sg::TaskId("0123456789abcdeffedcba987654321x"), sg::InvalidArgumentError);
    CHECK_THROWS_AS(sg::TaskId("01234567-89ab-cdef-fedc-ba9876543210"), sg::InvalidArgumentError);
}

TEST_CASE("a thread id holds any bytes up to its limit") {
    CHECK(sg::ThreadId().empty());
    CHECK(sg::ThreadId(std::string_view()).empty());
    const std::string longest(sg::ThreadId::size_max, 'x');
    CHECK(sg::ThreadId(longest).view() == longest);
    const std::string odd("a\0b\xff", 4);
    CHECK(sg::ThreadId(odd).toString() == odd);
    CHECK(sg::ThreadId("1") == sg::ThreadId(std::string("1")));
    CHECK_THROWS_WITH_AS(sg::ThreadId(longest + "y"),
                         "a thread id of 120 bytes is too long; use at most 119, for example a hash of it",
                         sg::InvalidArgumentError);
}
