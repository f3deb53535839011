#include <string>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>

#include "model/http/text.hpp"
#include "model/http/url.hpp"

namespace http = stategraph::model::http;

TEST_CASE("addresses of servers have a scheme, a host, a port and a path") {
    const http::Url plain = http::parseUrl("http://localhost");
    CHECK(!plain.is_tls);
    CHECK(plain.host == "localhost");
    CHECK(plain.port == "80");
    CHECK(plain.path.empty());
    CHECK(plain.hostHeader() == "localhost");
    const http::Url full = http::parseUrl("https://api.example.com:8443/v1//");
    CHECK(full.is_tls);
    CHECK(full.host == "api.example.com");
    CHECK(full.port == "8443");
    CHECK(full.path == "/v1");
    CHECK(full.text() == "https://api.example.com:8443/v1");
    const http::Url v6 = http::parseUrl("http://[::1]:8080/x");
    CHECK(v6.host == "::1");
    CHECK(v6.hostHeader() == "[::1]:8080");
    CHECK(http::parseUrl("https://[::1]").port == "443");
    CHECK(http::parseUrl("https://a:443").hostHeader() == "a");
}

TEST_CASE("addresses that make no sense are refused with a sentence, and passwords are not repeated") {
    for (const char* const text :
         {"", "localhost", "ftp://a", "http://", "http:///x", "http://:80", "http://a:", "http://a:0", "http://a:65536",
          "http://a:8x", "http://a/?q", "http://a#f", "http://a b", "http://a\n", "http://[::1", "http://[::1]x"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(http::parseUrl(text), stategraph::InvalidArgumentError);
    }
    for (const char* const text : {"http://me:secret@host", "me:secret@host"}) {
        try {
            http::parseUrl(text);
            FAIL("was taken");
        } catch (const stategraph::InvalidArgumentError& error) {
            CHECK(std::string(error.what()).find("secret") == std::string::npos);
        }
    }
}

TEST_CASE("texts are mended to UTF-8") {
    CHECK(http::validUtf8("a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80") == "a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80");
    const std::string mark = "\xEF\xBF\xBD";
    CHECK(http::validUtf8("\xFF"
                          "a") == mark + "a");
    CHECK(http::validUtf8("\xC3") == mark);
    CHECK(http::validUtf8("\xC0\x80") == mark + mark);
    CHECK(http::validUtf8("\xED\xA0\x80") == mark + mark + mark);
    CHECK(http::validUtf8("\xF5\x80\x80\x80") == mark + mark + mark + mark);
}

TEST_CASE("base64 is decoded with or without padding, and other text is refused") {
    CHECK(http::fromBase64("") == "");
    CHECK(http::fromBase64("YQ==") == "a");
    CHECK(http::fromBase64("YQ") == "a");
    CHECK(http::fromBase64("YWI=") == "ab");
    CHECK(http::fromBase64("YWJj") == "abc");
    CHECK(http::fromBase64("/+8=") == "\xFF\xEF");
    for (const char* const other : {"Y", "YQ===", "Y Q=", "Y=Q=", "YW-j", "\xFF"}) {
        CAPTURE(other);
        CHECK(!http::fromBase64(other));
    }
}

TEST_CASE("what is quoted is short, in one line, valid, and without the key") {
    CHECK(http::quoted("a\nb\tc", "") == "a b c");
    CHECK(http::quoted("the key sk-1 is wrong: sk-1", "sk-1") == "the key *** is wrong: ***");
    const std::string cut = http::quoted(std::string(5000, 'x'), "");
    CHECK(cut.size() <= 2048);
    CHECK(cut.ends_with(" ..."));
    CHECK(http::quoted("xx"
                       "sk-secret",
                       "sk-secret", 6)
              .find("sk-") == std::string::npos);
    std::string wide;
    for (int i = 0; i < 2000; ++i) wide += "\xE2\x82\xAC";
    const std::string cut_wide = http::quoted(wide, "");
    CHECK(cut_wide.size() <= 2048);
    CHECK(cut_wide == http::validUtf8(cut_wide));
    CHECK(cut_wide.find("\xEF\xBF\xBD") == std::string::npos);
}
