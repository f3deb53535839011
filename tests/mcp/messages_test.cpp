// Messages as text: what is read from them, in which pieces they may arrive, and damaged ones.
#include <doctest/doctest.h>

#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mcp/message.hpp"
#include "mcp/process_wire.hpp"

#include "tests/support/seed.hpp"

namespace {

using stategraph::mcp::detail::Incoming;
using stategraph::mcp::detail::Lines;
using stategraph::mcp::detail::quotedPart;
using stategraph::mcp::detail::readMessages;
using Kind = Incoming::Kind;

Incoming readOne(std::string_view text) {
    std::vector<Incoming> messages = readMessages(text);
    REQUIRE(messages.size() == 1);
    return std::move(messages.front());
}

TEST_CASE("answers, errors, requests and notifications are distinguished") {
    const Incoming result = readOne(R"({"jsonrpc":"2.0","id":3,"result":{"a":1}})");
    CHECK((result.kind == Kind::result));
    CHECK(result.id == 3);
    CHECK(result.content.contains("a"));
    const Incoming error = readOne(R"({"jsonrpc":"2.0","id":4,"error":{"code":-32000,"message":"no"}})");
    CHECK((error.kind == Kind::error));
    CHECK(error.error_code == -32000);
    CHECK(error.error_text == "no");
    CHECK(readOne(R"({"jsonrpc":"2.0","id":4,"error":"no"})").error_text == "\"no\"");
    const Incoming request = readOne(R"({"jsonrpc":"2.0","id":"x","method":"ping"})");
    CHECK((request.kind == Kind::request));
    CHECK(request.request_id == "\"x\"");
    CHECK((readOne(R"({"jsonrpc":"2.0","method":"m","params":{"a":1}})").kind == Kind::notification));
}

TEST_CASE("a batch is read message by message") {
    const std::vector<Incoming> batch =
        readMessages(R"([{"jsonrpc":"2.0","id":1,"result":{}},7,{"jsonrpc":"2.0","method":"m"}])");
    REQUIRE(batch.size() == 3);
    CHECK((batch[0].kind == Kind::result));
    CHECK((batch[1].kind == Kind::unreadable));
    CHECK((batch[2].kind == Kind::notification));
}

TEST_CASE("what is no message is unreadable, and an answer without a result is an error of its call") {
    for (const char* text : {"", "x", "7", "null", "[]", "{}", R"({"id":1,"result":{}})", R"({"jsonrpc":"1.0"})",
                             R"({"jsonrpc":"2.0"})", R"({"jsonrpc":"2.0","id":-5,"result":1})", "{\"jsonrpc\":\"2.0\"",
                             "{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}"}) {
        CAPTURE(text);
        CHECK((readOne(text).kind == Kind::unreadable));
    }
    const Incoming empty = readOne(R"({"jsonrpc":"2.0","id":1})");
    CHECK((empty.kind == Kind::error));
    CHECK(empty.id == 1);
    CHECK((readOne(R"({"jsonrpc":"2.0","id":1,"result":[1]})").kind == Kind::error));
    CHECK((readOne(std::string(100'000, '[')).kind == Kind::unreadable));
    CHECK(readOne(R"({"jsonrpc":"2.0","id":1e99,"result":{}})").id == -1);
}

TEST_CASE("an answer that is no JSON has the id of its request, and no other line has one") {
    for (const char* text : {R"({"jsonrpc":"2.0","id":3,"result":{"text":"\x"}})",
                             R"({"jsonrpc":"2.0","result":{"id":9,"text":"a } \" ] \x"},"id":"3"})",
                             R"( { "id" : 3 , "error" : {"code":01} })", R"({"jsonrpc":"2.0","id":3,"resu)",
                             "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":\"\xff\"}", R"({"id":3,"result":{}})"}) {
        CAPTURE(text);
        const Incoming broken = readOne(text);
        CHECK((broken.kind == Kind::unreadable));
        CHECK(broken.id == 3);
        CHECK(!broken.error_text.empty());
    }
    for (const char* text :
         {R"({"id":3,"level":"info" x})", R"({"jsonrpc":"2.0","id":3,"method":"ping" x})", R"({"result":{"id":3},"x})",
          R"({"jsonrpc":"2.0","id":-3,"result":x})", R"({"jsonrpc":"2.0","id":3)",
          R"({"jsonrpc":"2.0","result":x,"id":03})", R"("id":3,x)", R"({"id":3,"result":{},"method":"m"})"}) {
        CAPTURE(text);
        CHECK((readOne(text).kind == Kind::unreadable));
        CHECK(readOne(text).id == -1);
    }
    const std::vector<Incoming> batch = readMessages(
        R"([{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":7,"method":"m"},{"id":2,"error":\x}])");
    REQUIRE(batch.size() == 2);
    CHECK(batch[0].id == 1);
    CHECK(batch[1].id == 2);
    CHECK(readOne(R"({"jsonrpc":"2.0","id":"12","result":{}})").id == 12);
    CHECK(readOne(R"({"jsonrpc":"2.0","id":12.0,"result":{}})").id == 12);
    for (const char* id : {R"("")", R"("012")", R"("-1")", R"("+1")", R"(" 1")", R"("1.0")", "1.5", "true", "1e19"}) {
        CAPTURE(id);
        CHECK(readOne(R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"result":{}})").id == -1);
    }
}

TEST_CASE("lines are found in pieces of any size, with either end, and blank ones are skipped") {
    const std::string text = "first\nsecond\r\n\n  \nthird\n";
    for (std::size_t size = 1; size <= text.size(); ++size) {
        Lines lines(7);  // the end of a line may belong to it
        std::vector<std::string> found;
        for (std::size_t at = 0; at < text.size(); at += size)
            REQUIRE(lines.feed(std::string_view(text).substr(at, size), [&](auto line) { found.emplace_back(line); }));
        CHECK(found == std::vector<std::string>{"first", "second", "third"});
    }
}

TEST_CASE("a line beyond the limit is noticed before it has ended") {
    Lines lines(10);
    int found = 0;
    const auto count = [&](std::string_view) { ++found; };
    CHECK(lines.feed("0123456789\n", count));
    CHECK(found == 1);
    CHECK(lines.feed("01234", count));
    CHECK_FALSE(lines.feed("567890", count));
    Lines other(10);
    CHECK_FALSE(other.feed("0123456789a\n", count));
    CHECK(found == 1);
}

TEST_CASE("what a server wrote is quoted in one line of ASCII") {
    CHECK(quotedPart("two\nlines\xff\x01 \r\n") == "two lines??");
    CHECK(quotedPart(std::string(500, 'a'), 10) == "aaaaaaaaaa...");
    CHECK(quotedPart("") == "");
}

TEST_CASE("property: no damage to a message makes reading fail in another way") {
    const unsigned seed = tests::seed();
    CAPTURE(seed);
    std::mt19937 random(seed);
    const std::string whole =
        R"({"jsonrpc":"2.0","id":12,"result":{"content":[{"type":"text","text":"a\u00e9"}],"isError":false}})";
    const auto below = [&](std::size_t limit) {
        return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
    };
    for (int round = 0; round < 3000; ++round) {
        std::string text = whole;
        for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
            const std::size_t at = below(text.size());
            switch (below(3)) {
                case 0:
                    text[at] = static_cast<char>(below(256));
                    break;
                case 1:
                    text.erase(at, 1 + below(5));
                    break;
                default:
                    text.insert(at, text.substr(below(text.size()), 1 + below(8)));
            }
            if (text.empty()) text = "x";
        }
        for (const Incoming& message : readMessages(text)) {
            if (message.kind == Kind::result) CHECK(message.id >= -1);
            if (message.kind == Kind::error) CHECK_FALSE(message.error_text.empty());
        }
    }
}

}  // namespace

TEST_CASE("a batch of very many messages is one that cannot be read") {
    std::string text = "[1";
    for (int i = 1; i < 10'000; ++i) text += ",1";
    CHECK(readMessages(text + "]").size() == 10'000);
    const std::vector<Incoming> batch = readMessages(text + ",1]");
    REQUIRE(batch.size() == 1);
    CHECK((batch[0].kind == Kind::unreadable));
}
