#include <map>

#include <doctest/doctest.h>

#include <stategraph/codec_std.hpp>
#include <stategraph/error.hpp>
#include <stategraph/value_page.hpp>

// A page of a large value.
namespace sg = stategraph;

TEST_CASE("a list is read in pages, and what is long is cut") {
    std::vector<std::string> words;
    for (int i = 0; i < 1000; ++i) words.push_back("word " + std::to_string(i));
    words[500] = std::string(5000, 'x');
    const sg::Value value(std::map<std::string, std::vector<std::string>>{{"words", words}});
    const auto page = sg::pageOf(value, "/words", {.from = 499, .count = 3, .bytes_max = 100});
    CHECK((page.value.kind == sg::ValueKind::list));
    CHECK(page.value.size == 1000);
    CHECK(!page.value.is_whole);
    REQUIRE(page.items.size() == 3);
    CHECK(page.items[0].json == "\"word 499\"");
    CHECK(page.items[0].is_whole);
    CHECK(!page.items[1].is_whole);
    CHECK(page.items[1].size == 5000);
    CHECK(page.items[1].json == "\"" + std::string(100, 'x') + "\"");
    CHECK(sg::pageOf(value, "/words", {.from = 999}).items.size() == 1);
    CHECK(sg::pageOf(value, "/words", {.from = 5000}).items.empty());
    CHECK(sg::valueAt(value, "/words/3") == sg::Value("word 3"));
}

TEST_CASE("a path is a JSON Pointer, and one that leads nowhere says how far it came") {
    const sg::Value value(std::map<std::string, std::map<std::string, int>>{{"a/b", {{"~c", 1}, {"", 2}}}});
    CHECK(sg::valueAt(value, "") == value);
    CHECK(sg::valueAt(value, "/a~1b/~0c") == sg::Value(1));
    CHECK(sg::valueAt(value, "/a~1b/") == sg::Value(2));
    const auto messageOf = [&](std::string_view path) -> std::string {
        try {
            sg::valueAt(value, path);
        } catch (const sg::InvalidArgumentError& error) {
            return error.message();
        }
        return "";
    };
    CHECK(messageOf("x").find("JSON Pointer") != std::string::npos);
    CHECK(messageOf("/a~1b/x/y").find("at '/a~1b' there is a map without 'x'") != std::string::npos);
    CHECK(messageOf("/a~1b/~0c/0").find("at '/a~1b/~0c' there is a number") != std::string::npos);
    CHECK_THROWS_AS(sg::pageOf(value, "", {.count = 0}), sg::InvalidArgumentError);
    const sg::Value list(std::vector<int>{1});
    for (const char* bad : {"/1", "/-1", "/+0", "/ 0", "/0x", "/99999999999999999999"})
        CHECK_THROWS_AS(sg::valueAt(list, bad), sg::InvalidArgumentError);
}

TEST_CASE("a text is not cut inside a character") {
    const sg::Value value(std::string("aäöü") + std::string(100, 'z'));
    for (std::size_t bytes = 0; bytes < 8; ++bytes) {
        const auto page = sg::pageOf(value, "", {.bytes_max = bytes});
        CHECK(page.value.json.find("\\u") == std::string::npos);
        CHECK((page.value.kind == sg::ValueKind::text));
    }
    CHECK(sg::pageOf(value, "", {.bytes_max = 4}).value.json == "\"aä\"");
}
