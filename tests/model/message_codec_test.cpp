#include <stategraph/model/message.hpp>
#include <stategraph/model/usage.hpp>

#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "model/by_table.hpp"
#include "tests/checkpoint/bytes.hpp"
#include "tests/support/sanitized.hpp"

// Messages, calls and tokens by model have codecs of their own, whose bytes are those of any struct with the same
// table.
namespace stategraph::model {
namespace {

std::string textOf(bytes::Random& random) {
    const std::size_t sizes[] = {0, 1, 5, 23, 24, 40, 63, 64, 65, 200, 300};
    std::string text(sizes[random.below(std::size(sizes))], 'a');
    for (char& c : text) c = static_cast<char>('a' + random.below(26));
    if (text.size() > 2 && random.chance(4)) text.replace(1, 2, "\xc3\xa4");  // other than ASCII
    if (!text.empty() && random.chance(8)) text[random.below(text.size())] = static_cast<char>(0xff);  // no UTF-8
    return text;
}

Value valueOf(bytes::Random& random) {
    switch (random.below(4)) {
        case 0:
            return {};
        case 1:
            return static_cast<std::int64_t>(random.below(1U << 20U)) - 1000;
        case 2:
            return std::vector<std::string>(random.below(4), textOf(random));
        default:
            return textOf(random);
    }
}

ToolCall callOf(bytes::Random& random) { return {textOf(random), textOf(random), textOf(random), textOf(random)}; }

Part partOf(bytes::Random& random) {
    switch (random.below(4)) {
        case 0:
            return Reasoning{textOf(random), textOf(random)};
        case 1:
            return File{"image/png", textOf(random), textOf(random)};
        case 2:
            return ProviderPart{ProviderPartKind::result, "openai", textOf(random), textOf(random), textOf(random)};
        default:
            return Text{textOf(random)};
    }
}

Message messageOf(bytes::Random& random) {
    Message message;
    message.role = static_cast<Role>(random.below(6));  // 5 has no name
    for (std::size_t left = random.below(4); left > 0; --left) message.content.push_back(partOf(random));
    for (std::size_t left = random.below(4); left > 0; --left) message.calls.push_back(callOf(random));
    if (random.chance(2)) message.result = {textOf(random), textOf(random), valueOf(random), random.chance(2)};
    if (random.chance(2)) message.finish_reason = static_cast<FinishReason>(random.below(7));  // 6 has no name
    const auto count = [&random] { return static_cast<std::int64_t>(random.below(1U << 17U)) - 300; };
    if (random.chance(2)) message.usage = {count(), count(), count(), count(), count()};
    message.id = textOf(random);
    return message;
}

UsageByModel usageOf(bytes::Random& random) {
    const auto count = [&random] { return static_cast<std::int64_t>(random.below(1U << 17U)); };
    UsageByModel usage;
    for (std::size_t left = random.below(4); left > 0; --left)
        usage.add(textOf(random), {count(), count(), count(), count(), count()});
    return usage;
}

template <class T>
std::string encoded(const T& value, bool for_people = false) {
    std::string out = "before";
    Encoder encoder = for_people ? Encoder::forPeople(out) : Encoder(out);
    detail::encodeItem(encoder, value);
    return out.substr(6);
}

template <class T>
void checkStored(const T& value) {
    const std::string stored = encoded(value);
    CHECK(stored == encoded(ByTable(value)));
    CHECK(encoded(value, true) == encoded(ByTable(value), true));
    T read;
    Decoder decoder(stored);
    detail::decodeItem(decoder, read);
    CHECK(decoder.atEnd());
    CHECK(read == value);
}

TEST_CASE("messages of all kinds are stored as structs with their tables are, and read back") {
    checkStored(Message());
    checkStored(user("What is the weather?"));
    checkStored(assistant("It rains."));
    const ToolCall call{.id = "call-1", .provider_id = "c1", .name = "weather", .arguments = R"({"city":"Ulm"})"};
    checkStored(call);
    checkStored(assistant({call, call}));
    checkStored(toolResult(call, std::vector<int>{1, 2, 3}));
    checkStored(toolResult(call, "no such city", true));
}

TEST_CASE("the bytes of a message are those that earlier versions wrote") {
    Message message = toolResult({.id = "1", .name = "inc"}, 2);
    message.usage = Usage{.input_tokens = 1, .output_tokens = 24};
    CHECK(bytes::toHex(encoded(message)) ==
          bytes::toHex("\xa7"
                       "\x62id\x68result-1"
                       "\x64role\x64tool"
                       "\x65"
                       "calls\x80"
                       "\x65usage\xa5\x6cinput_tokens\x01\x6d"
                       "cached_tokens" +
                       std::string(1, '\0') + "\x6doutput_tokens\x18\x18\x70reasoning_tokens" + std::string(1, '\0') +
                       "\x72"
                       "cache_write_tokens" +
                       std::string(1, '\0') +
                       "\x66result\xa4\x64name\x63inc\x66output\x02\x67"
                       "call_id\x61"
                       "1\x68is_error\xf4"
                       "\x67"
                       "content\x80"
                       "\x6d"
                       "finish_reason\xf6"));
}

TEST_CASE("random messages are stored as structs with their tables are, and read back") {
    const std::uint64_t seed = tests::seed();
    INFO("seed " << seed);
    bytes::Random random(seed);
    for (std::size_t round = sanitized::some(3000); round > 0; --round) {
        checkStored(messageOf(random));
        checkStored(callOf(random));
        checkStored(usageOf(random));
    }
}

TEST_CASE("a message with members that this version does not know is read, and one with other types is refused") {
    std::string stored;
    Encoder out(stored);
    out.map(3);
    out.text("role");
    out.text("user");
    out.text("later");
    out.array(0);
    out.text("id");
    out.text("m1");
    const auto read = Value::fromCbor(stored).as<Message>();
    CHECK(read.role == Role::user);
    CHECK(read.id == "m1");
    CHECK_THROWS_AS(Value(std::vector<int>{1}).as<Message>(), WrongTypeError);
    CHECK_THROWS_AS(fromJson<Message>(R"({"role":"user","result":null,"later":1})"), WrongTypeError);
    CHECK_THROWS_AS(fromJson<Message>(R"({"role":"nobody"})"), WrongTypeError);
    CHECK(fromJson<Message>(R"({"role":"user","content":[{"type":"text","text":"a"}]})").text() == "a");
}

}  // namespace
}  // namespace stategraph::model
