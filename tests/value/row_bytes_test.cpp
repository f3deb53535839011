// ALSO PLAIN: it fails or counts allocations
// NOT WITH: sanitize=thread
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/row_bytes.hpp>

#include "tests/support/failing_new.hpp"

namespace sg = stategraph;

TEST_CASE("a row's bytes are those that it was made of, and copies share them") {
    const sg::RowBytes none;
    CHECK(none.empty());
    CHECK(none == "");

    std::string text(100, 'x');
    const char* const before = text.data();
    const sg::RowBytes taken(std::move(text));
    CHECK(taken == std::string(100, 'x'));
    CHECK(taken.data() == before);

    const sg::RowBytes copied(std::string_view("ab\0c", 4));
    CHECK(copied.size() == 4);
    const sg::RowBytes copy = copied;
    CHECK(copy.data() == copied.data());
    CHECK(copy == copied);
    CHECK(copy != "ab");
}

TEST_CASE("a row's bytes live as long as their owner, which they keep") {
    auto owner = std::make_shared<std::string>("kept elsewhere");
    const std::weak_ptr<std::string> watched = owner;
    sg::RowBytes row(std::string_view(*owner).substr(5), owner);
    owner.reset();
    CHECK(row == "elsewhere");
    row = {};
    CHECK(watched.expired());
}

TEST_CASE("rows of a buffer have their bytes, also after the buffer and other rows are gone") {
    for (const std::uint32_t seed : {1U, 2U, 3U}) {
        CAPTURE(seed);
        std::mt19937 random(seed);
        std::vector<std::string> expected;
        std::vector<sg::RowBytes> rows;
        {
            sg::RowBuffer buffer(seed == 2 ? 100'000 : 0);
            for (int i = 0; i < 500; ++i) {
                const std::size_t size = i % 100 == 99 ? 300'000 : random() % 400;
                expected.emplace_back(size, static_cast<char>('a' + random() % 26));
                rows.push_back(buffer.add(expected.back()));
            }
        }
        for (std::size_t i = 0; i < rows.size(); i += 2) rows[i] = {};
        for (std::size_t i = 1; i < rows.size(); i += 2) CHECK(rows[i] == expected[i]);
    }
}

TEST_CASE("ten thousand rows of a buffer take some dozen allocations") {
    const std::string row(320, 'r');
    std::vector<sg::RowBytes> rows;
    rows.reserve(10'000);
    failing_new::count();
    sg::RowBuffer buffer;
    for (int i = 0; i < 10'000; ++i) rows.push_back(buffer.add(row));
    const std::size_t allocations = failing_new::counted();
    CHECK(allocations < 50);
    if (failing_new::available()) CHECK(allocations > 5);
    CHECK(rows.back() == row);
}

TEST_CASE("a row that finds no memory leaves the buffer and its rows as they were") {
    if (!failing_new::available()) return;
    std::size_t failures = 0;
    for (std::size_t nth = 1;; ++nth) {
        sg::RowBuffer buffer;
        std::vector<sg::RowBytes> rows;
        rows.reserve(20);
        failing_new::arm(nth);
        while (rows.size() < 20) {
            try {
                rows.push_back(buffer.add(std::string(3, static_cast<char>('a' + rows.size()))));
            } catch (const std::bad_alloc&) {
                ++failures;
            }
        }
        const bool failed = failing_new::disarm() > 0;
        for (std::size_t i = 0; i < rows.size(); ++i) CHECK(rows[i] == std::string(3, static_cast<char>('a' + i)));
        if (!failed) break;
    }
    CHECK(failures > 2);
}
