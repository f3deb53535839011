#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "model/http/sse_parser.hpp"

namespace {

namespace http = stategraph::model::http;
using Events = std::vector<std::pair<std::string, std::string>>;

Events parse(const std::vector<std::string_view>& pieces) {
    http::SseParser parser(1000);
    Events events;
    for (const std::string_view piece : pieces) {
        parser.feed(piece, [&](std::string_view name, std::string_view data) { events.emplace_back(name, data); });
    }
    return events;
}

const std::vector<std::pair<std::string, Events>> documents = {
    {"data: a\n\n", {{"", "a"}}},
    {"data: a\r\rdata: b\r\r", {{"", "a"}, {"", "b"}}},
    {"data: a\r\n\r\ndata: b\r\n\r\n", {{"", "a"}, {"", "b"}}},
    {"data: a\r\n\rdata: b\n\r\n", {{"", "a"}, {"", "b"}}},
    {": comment\n\n:\ndata:a\n: another\ndata:  b\n\n", {{"", "a\n b"}}},
    {"event: error\ndata: {}\n\n", {{"error", "{}"}}},
    {"event: x\n\ndata: a\n\n", {{"", "a"}}},
    {"data\n\n", {{"", ""}}},
    {"data\ndata\n\n", {{"", "\n"}}},
    {"id: 1\nretry: 10\nunknown: x\ndata: a: b\n\n", {{"", "a: b"}}},
    {"\xEF\xBB\xBF"
     "data: a\n\n",
     {{"", "a"}}},
    {"data: a\n\n{\"error\":{}}\n", {{"", "a"}, {"error", "{\"error\":{}}"}}},
    {"data: a\n\nerror: {}\n\n", {{"", "a"}, {"error", "{}"}}},
    {"data: a\n\ndata: cut off", {{"", "a"}}},
    {"data: a\n\ndata: cut off\n", {{"", "a"}}},
    {"data: \xC3\xA4\xE2\x82\xAC\n\n", {{"", "\xC3\xA4\xE2\x82\xAC"}}},
};

}  // namespace

TEST_CASE("server-sent events are read by the standard's rules, and the same however their bytes are split") {
    for (const auto& [text, events] : documents) {
        CAPTURE(text);
        const std::string_view all = text;
        CHECK(parse({all}) == events);
        for (std::size_t i = 0; i <= all.size(); ++i) {
            for (std::size_t j = i; j <= all.size(); ++j) {
                if (parse({all.substr(0, i), all.substr(i, j - i), all.substr(j)}) != events)
                    FAIL_CHECK("split at " << i << ", " << j);
            }
        }
        std::vector<std::string_view> single;
        for (std::size_t i = 0; i < all.size(); ++i) single.push_back(all.substr(i, 1));
        CHECK(parse(single) == events);
    }
}

TEST_CASE("a line, and the data of an event, are refused beyond their limit") {
    http::SseParser line(10);
    const auto nothing = [](std::string_view, std::string_view) {};
    line.feed("data: 1234\n", nothing);
    CHECK_THROWS_AS(line.feed("data: 12345", nothing), std::length_error);
    http::SseParser data(10);
    data.feed("data: 1234\ndata: 56\n", nothing);
    CHECK_THROWS_AS(data.feed("data: 7890\n", nothing), std::length_error);
}
