
#include <array>
#include <cstdint>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include <stategraph/detail/staged_encoder.hpp>

#include "tests/support/seed.hpp"

// The encoder of records, which collects short items.
namespace stategraph::detail {
namespace {

// A number of any size, and often of a size at which its head grows.
std::uint64_t numberOf(std::mt19937_64& random) {
    constexpr std::array<std::uint64_t, 9> edges{0, 23, 24, 255, 256, 65535, 65536, 4294967295, 4294967296};
    return random() % 2 == 0 ? edges[random() % edges.size()] : random() >> random() % 64U;
}

std::string textOf(std::mt19937_64& random) {
    std::string text(random() % 4 == 0 ? random() % 300 : random() % 70, 'a');
    for (char& c : text) c = static_cast<char>(' ' + random() % 90);
    if (!text.empty() && random() % 8 == 0) text[random() % text.size()] = '\xff';
    if (random() % 8 == 0) text += "\xc3\xa9";
    return text;
}

TEST_CASE("a staged encoder writes what an encoder writes") {
    const std::uint64_t seed = tests::seed();
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    for (int round = 0; round < 300; ++round) {
        std::string expected = "before";
        std::string found = expected;
        Encoder plain(expected);
        StagedEncoder staged(found);
        const auto both = [&](auto write) {
            write(plain);
            write(staged);
        };
        for (std::size_t left = random() % 60; left > 0; --left) {
            const std::uint64_t number = numberOf(random);
            const std::string text = textOf(random);
            switch (random() % 9) {
                case 0:
                    both([](auto& out) { out.null(); });
                    break;
                case 1:
                    both([&](auto& out) { out.boolean(number % 2 == 0); });
                    break;
                case 2:
                    both([&](auto& out) { out.integer(static_cast<std::int64_t>(number)); });
                    break;
                case 3:
                    both([&](auto& out) { out.unsignedInteger(number); });
                    break;
                case 4:
                    both([&](auto& out) { out.array(number); });
                    break;
                case 5:
                    both([&](auto& out) { out.map(number); });
                    break;
                case 6:
                    both([&](auto& out) { out.bytes(text); });
                    break;
                case 7:
                    both([&](auto& out) { out.raw(text); });
                    break;
                default:
                    both([&](auto& out) { out.text(text); });
                    break;
            }
        }
        plain.text("interrupts");
        staged.key("interrupts");
        staged.finish();
        REQUIRE(found == expected);
    }
}

}  // namespace
}  // namespace stategraph::detail
