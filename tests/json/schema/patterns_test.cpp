// Regular expressions of ECMA-262, matched by RE2.
#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <utility>

#include <stategraph/error.hpp>

#include "json/schema/pattern.hpp"

namespace {

using stategraph::schema::Pattern;

constexpr std::int64_t memory = 4 << 20;

bool isIn(std::string_view pattern, std::string_view text) { return Pattern(pattern, memory).isIn(text); }

std::string refusalOf(std::string_view pattern) {
    try {
        (void)Pattern(pattern, memory);
        return {};
    } catch (const stategraph::InvalidArgumentError& why) {
        return why.what();
    }
}

}  // namespace

TEST_CASE("patterns mean what they mean in ECMA-262") {
    const std::pair<const char*, const char*> found[] = {
        {"^a+$", "aa"},
        {"b", "abc"},
        {R"(^\d{2}-\w+\s\S$)", "12-a_Z \xc3\xa9"},
        {R"(^\s$)", "\xc2\xa0"},
        {R"(^[\s]$)", "\xe2\x80\xa8"},
        {R"(^[^\S]$)", " "},
        {R"(^[\S]$)", "\xc3\xa9"},
        {R"(^\u00e9\x41\cA\t$)",
         "\xc3\xa9"
         "A\x01\t"},
        {R"(^\u{1F600}\ud83d\ude00$)", "\xf0\x9f\x98\x80\xf0\x9f\x98\x80"},
        {R"(^[a\-z\]\[^]$)", "-"},
        {"^[^]$", "\n"},
        {"^[a-]$", "-"},
        {R"(^[\w-.]+$)", "a-."},
        {"^a{2}$", "aa"},
        {"^a{2,}?$", "aaa"},
        {"^{a}x{,2}$", "{a}x{,2}"},
        {"^(?<year>[0-9]{4})(?:-(?<month>[0-9]+))?$", "2026-11"},
        {R"(^\p{Letter}\p{Script=Greek}\P{Lu}$)", "\xc3\xa9\xce\xb1x"},
        {"(?i)ABC", "xabcx"},
        {R"(^\/\.\$\{\}$)", "/.${}"},
        {R"(\bfoo\b)", "a foo b"},
        {"^[\\b]$", "\b"},
        {"^.$", "\xf0\x9f\x98\x80"},
        {"", ""},
    };
    for (const auto& [pattern, text] : found) {
        CAPTURE(pattern);
        CHECK(isIn(pattern, text));
    }
    const std::pair<const char*, const char*> missing[] = {{"^a$", "a\n"},
                                                           {"^.$", "\n"},
                                                           {"^.$", "\r"},
                                                           {"^.$", "\xe2\x80\xa8"},
                                                           {R"(^\d$)", "\xd9\xa1"},
                                                           {R"(^\w$)", "\xc3\xa9"},
                                                           {"[]", "a"},
                                                           {"^[]^]*x", "^]x"},
                                                           {"^a{2}?$", "a"},
                                                           {R"(^\S$)", "\xe3\x80\x80"}};
    for (const auto& [pattern, text] : missing) {
        CAPTURE(pattern);
        CHECK(!isIn(pattern, text));
    }
    using namespace std::string_view_literals;
    CHECK(isIn("^a\0b$"sv, "a\0b"sv));
    CHECK(isIn(R"(^a\0b$)", "a\0b"sv));
    CHECK(!isIn("^abc$", "abc\0d"sv));
}

TEST_CASE("what has no linear matcher, and what is no pattern, is refused with the reason") {
    for (const char* pattern : {"(?=a)", "(?!a)", "(?<=a)", "(?<!a)"}) {
        CAPTURE(pattern);
        CHECK(refusalOf(pattern).find("look-ahead or look-behind") != std::string::npos);
    }
    CHECK(refusalOf(R"((a)\1)").find("back reference") != std::string::npos);
    CHECK(refusalOf(R"((?<x>a)\k<x>)").find("back reference") != std::string::npos);
    for (const char* pattern : {"(",
                                ")",
                                "[",
                                "[a",
                                "*",
                                "a{3,2}",
                                "[b-a]",
                                "\\",
                                R"(\Z)",
                                R"(\a)",
                                R"(\x1)",
                                R"(\u12)",
                                R"(\ud83d)",
                                R"(\u{110000})",
                                R"(\u{})",
                                R"(\p{Nothing})",
                                R"(\pL)",
                                R"(\c1)",
                                "(?P<n>a)",
                                "(?<n",
                                "(?U)a",
                                "a{5001}",
                                "(a{3000}){3000}",
                                "(a{1000}){1000}"}) {
        CAPTURE(pattern);
        CHECK(refusalOf(pattern) != "");
    }
}

TEST_CASE("numbers of repetitions may be above RE2's limit") {
    const Pattern pattern("^(?:ab){0,2500}c{2001}?$", memory);
    std::string text;
    for (int i = 0; i < 2500; ++i) text += "ab";
    CHECK(pattern.isIn(text + std::string(2001, 'c')));
    CHECK(!pattern.isIn(text + "ab" + std::string(2001, 'c')));
    CHECK(!pattern.isIn(text + std::string(2000, 'c')));
    CHECK(!pattern.isIn(text + std::string(2002, 'c')));
    CHECK(isIn("^x{1500,}$", std::string(4000, 'x')));
    CHECK(!isIn("^x{1500,}$", std::string(1499, 'x')));
}
