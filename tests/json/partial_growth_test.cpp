// ALSO PLAIN: it fails or counts allocations
#include <new>
#include <string>

#include <doctest/doctest.h>

#include "json/partial_scanner.hpp"
#include "tests/support/failing_new.hpp"

namespace sg = stategraph;

namespace {

std::string longText(std::size_t size) { return "\"" + std::string(size, 'x') + "\""; }
std::string escapes(std::size_t size) {
    std::string out = "\"";
    while (out.size() < size) out += "\\u00e9\\n";
    return out + '"';
}
std::string numbers(std::size_t size) {
    std::string out = "[1";
    while (out.size() < size) out += ",-12.5e3";
    return out + ']';
}
std::string objects(std::size_t size) {
    std::string out = "[{}";
    while (out.size() < size) out += R"(,{"key":"value","list":[true,null,{"a":"b"}]})";
    return out + ']';
}
std::string members(std::size_t size) {
    std::string out = R"({"":0)";
    for (std::size_t i = 0; out.size() < size; ++i) out += ",\"" + std::to_string(i) + "\":\"\"";
    return out + '}';
}
// Each value replaces the one before.
std::string equalKeys(std::size_t size) {
    std::string out = R"({"a":0)";
    while (out.size() < size) out += R"(,"a":[{"__proto__":[1,2]}])";
    return out + ",\"a\":1}";
}

std::uint64_t workOf(const std::string& text, std::size_t chunk) {
    stategraph::detail::PartialScanner scanner({});
    for (std::size_t at = 0; at < text.size(); at += chunk) {
        scanner.feed(std::string_view(text).substr(at, chunk));
        (void)scanner.state();
    }
    CHECK((scanner.state() == sg::PartialState::successful_parse));
    return scanner.work();
}

}  // namespace

TEST_CASE("a document that is fed byte by byte is as much work as it is long") {
    for (const auto& make : {longText, escapes, numbers, objects, members, equalKeys}) {
        const std::string text = make(200'000);
        CAPTURE(text.substr(0, 40));
        for (const std::size_t chunk : {std::size_t{1}, std::size_t{20}, text.size()}) {
            CAPTURE(chunk);
            // A byte is scanned, decoded, copied into the value, and its number read again for its other digits.
            CHECK(workOf(text, chunk) <= 10 * text.size());
        }
    }
}

TEST_CASE("a string that grows byte by byte is moved a few times, however long it is") {
    if (!failing_new::available()) return;
    for (const std::size_t size : {std::size_t{10'000}, std::size_t{1'000'000}}) {
        const std::string text = longText(size);
        stategraph::detail::PartialScanner scanner({});
        failing_new::count();
        for (const char c : text) scanner.feed({&c, 1});
        CHECK(failing_new::counted() < 60);
    }
}

TEST_CASE("a text that there is no memory for has failed") {
    if (!failing_new::available()) return;
    const std::string text = R"([{"a long key of an object":"a long text that needs memory","b":[1,2,3,4]}])";
    std::size_t failures = 0;
    for (std::size_t fail_at = 1;; ++fail_at) {
        stategraph::detail::PartialScanner scanner({});
        scanner.feed("");
        failing_new::arm(fail_at);
        bool has_failed = false;
        try {
            scanner.feed(text);
        } catch (const std::bad_alloc&) {
            has_failed = true;
        }
        failing_new::disarm();
        const auto expected = has_failed ? sg::PartialState::failed_parse : sg::PartialState::successful_parse;
        CHECK((scanner.state() == expected));
        if (!has_failed) break;
        ++failures;
        scanner.feed("more");
        CHECK((scanner.state() == sg::PartialState::failed_parse));
    }
    CHECK(failures > 5);
}

TEST_CASE("a number costs at most its limit for each feed") {
    const std::string text = "[" + std::string(1000, '1') + "]";
    CHECK(workOf(text, 1) <= 1000 * 1024);
    CHECK(workOf(text, text.size()) <= 4 * text.size());
}
