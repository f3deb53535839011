#include <string>
#include <string_view>

#include <doctest/doctest.h>
#include <stategraph/detail/utf8.hpp>

using stategraph::detail::beginningOf;
using stategraph::detail::isUtf8;

TEST_CASE("the beginning of a text ends between characters") {
    const std::string_view text = "aé€😀z";  // 1, 2, 3, 4 and 1 bytes
    const std::size_t ends[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11, 11};
    for (std::size_t size = 0; size < std::size(ends); ++size) {
        CAPTURE(size);
        CHECK(beginningOf(text, size) == text.substr(0, ends[size]));
        CHECK(isUtf8(beginningOf(text, size)));
    }
    CHECK(beginningOf("", 5).empty());
    // What is not UTF-8 has no characters to cut between.
    CHECK(beginningOf("a\x80\x80\x80\x80\x80", 4) == "a\x80\x80\x80");
    CHECK(beginningOf("\x80\x80\x80", 2) == "\x80\x80");
}

TEST_CASE("overlong forms, surrogates, cut characters and those above U+10FFFF are not UTF-8") {
    for (const std::string_view good :
         {"", "a", "\x7f", "é", "€", "\xed\x9f\xbf", "\xee\x80\x80", "\xf4\x8f\xbf\xbf"}) {
        for (const std::string_view around : {"", "0123456789"}) {
            CHECK(isUtf8(std::string(around).append(good).append(around)));
        }
    }
    for (const std::string_view bad :
         {"\x80", "\xc0\xaf", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
          "\xf5\x80\x80\x80", "\xff", "\xe2\x82", "\xf0\x9f\x98", "\xc3"}) {
        CAPTURE(bad.size());
        for (const std::string_view around : {"", "0123456789"}) {
            CHECK_FALSE(isUtf8(std::string(around).append(bad).append(around)));
        }
    }
}
