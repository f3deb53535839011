// NOT WITH: sanitize=thread
#include <stategraph/codec.hpp>

#include <chrono>
#include <cmath>
#include <deque>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <doctest/doctest.h>

#include <stategraph/channel.hpp>
#include <stategraph/error.hpp>

#include "tests/checkpoint/bytes.hpp"

namespace sg = stategraph;
using bytes::fromHex;
using bytes::toHex;

namespace {

template <class T>
std::string encode(const T& value) {
    std::string out;
    sg::Encoder encoder(out);
    sg::Codec<T>::encode(encoder, value);
    return out;
}

template <class T>
T decode(std::string_view bytes, T value = {}) {
    sg::Decoder decoder(bytes);
    sg::Codec<T>::decode(decoder, value);
    REQUIRE(decoder.atEnd());
    return value;
}

template <class T>
void checkStored(const T& value, std::string_view hex) {
    CHECK(toHex(encode(value)) == hex);
    const bool is_same = decode<T>(fromHex(hex)) == value;
    CHECK(is_same);
}

template <class T>
std::string refusal(std::string_view hex) {
    try {
        decode<T>(fromHex(hex));
    } catch (const sg::WrongTypeError& error) {
        return error.message();
    }
    return "accepted";
}

enum class Colour : std::uint8_t { red, green = 200 };

struct Message {
    std::string role;
    std::string content = "empty";
    std::optional<int> score;
    static constexpr auto fields() {
        return sg::fields(sg::field("role", &Message::role),
                          sg::field("content", &Message::content, sg::formerly("text", "body")),
                          sg::field("score", &Message::score));
    }
    bool operator==(const Message&) const = default;
};

struct Tree {
    int value = 0;
    std::vector<Tree> children;
    static constexpr auto fields() {
        return sg::fields(sg::field("children", &Tree::children), sg::field("value", &Tree::value));
    }
    bool operator==(const Tree&) const = default;
};

struct Everything {
    bool flag = false;
    std::int8_t small = 0;
    std::uint64_t large = 0;
    double real = 0;
    float single = 0;
    Colour colour = Colour::red;
    std::string text;
    std::vector<std::byte> bytes;
    std::vector<bool> flags;
    std::variant<std::monostate, int, Message> choice;
    std::array<std::int16_t, 2> pair{};
    std::map<std::string, std::vector<Message>> messages;
    std::unordered_map<int, std::string> names;
    std::set<std::string> tags;
    std::tuple<int, std::string> both;
    std::chrono::milliseconds took{};
    Tree tree;
    static constexpr auto fields() {
        using E = Everything;
        return sg::fields(sg::field("flag", &E::flag), sg::field("small", &E::small), sg::field("large", &E::large),
                          sg::field("real", &E::real), sg::field("single", &E::single), sg::field("colour", &E::colour),
                          sg::field("text", &E::text), sg::field("bytes", &E::bytes), sg::field("flags", &E::flags),
                          sg::field("choice", &E::choice), sg::field("pair", &E::pair),
                          sg::field("messages", &E::messages), sg::field("names", &E::names),
                          sg::field("tags", &E::tags), sg::field("both", &E::both), sg::field("took", &E::took),
                          sg::field("tree", &E::tree));
    }
    bool operator==(const Everything&) const = default;
};

struct NoFields {
    static constexpr auto fields() { return sg::fields(); }
    bool operator==(const NoFields&) const = default;
};

// The state of a graph, whose table is channels().
struct State {
    int count = 0;
    static constexpr auto channels() {
        return sg::channels(sg::channel("count", &State::count, sg::formerly("total")));
    }
    bool operator==(const State&) const = default;
};

Tree randomTree(bytes::Random& random, int depth) {
    Tree tree{static_cast<int>(random.number()), {}};
    for (std::size_t n = depth > 0 ? random.below(4) : 0; n > 0; --n)
        tree.children.push_back(randomTree(random, depth - 1));
    return tree;
}

Message randomMessage(bytes::Random& random) {
    Message message{random.text(8), random.text(300), std::nullopt};
    if (random.chance(2)) message.score = static_cast<int>(random.number());
    return message;
}

Everything randomEverything(bytes::Random& random) {
    Everything out;
    out.flag = random.chance(2);
    out.small = static_cast<std::int8_t>(random.bits());
    out.large = random.number();
    out.real = static_cast<double>(random.number()) / 3;
    out.single = static_cast<float>(random.number());
    out.colour = random.chance(2) ? Colour::red : Colour::green;
    out.text = random.text(50);
    for (const char c : random.text(50)) out.bytes.push_back(static_cast<std::byte>(c));
    for (std::size_t n = random.below(20); n > 0; --n) out.flags.push_back(random.chance(2));
    if (random.chance(2)) out.choice = static_cast<int>(random.number());
    if (random.chance(3)) out.choice = randomMessage(random);
    out.pair = {static_cast<std::int16_t>(random.bits()), -1};
    for (std::size_t n = random.below(5); n > 0; --n) out.messages[random.text(12)].push_back(randomMessage(random));
    for (std::size_t n = random.below(9); n > 0; --n) out.names[static_cast<int>(random.number())] = random.text(5);
    for (std::size_t n = random.below(9); n > 0; --n) out.tags.insert(random.text(5));
    out.both = {1, random.text(3)};
    out.took = std::chrono::milliseconds(random.number() >> 1U);
    out.tree = randomTree(random, 4);
    return out;
}

struct Unknown {};

}  // namespace

static_assert(sg::Storable<int> && sg::Storable<std::string> && sg::Storable<Message> && sg::Storable<State>);
static_assert(sg::Storable<std::list<int>> && sg::Storable<std::chrono::system_clock::time_point>);
static_assert(sg::Encodable<std::string_view> && !sg::Storable<std::string_view> && !sg::Storable<const char*>);
static_assert(!sg::Storable<Unknown> && !sg::Storable<int*> && !sg::Storable<std::unique_ptr<int>> &&
              !sg::Storable<long double>);
static_assert(!sg::Storable<std::optional<std::optional<int>>> && !sg::Storable<std::multimap<int, int>>);

TEST_CASE("scalars are stored as plain CBOR") {
    checkStored(true, "f5");
    checkStored(0, "00");
    checkStored(-500, "3901f3");
    checkStored(std::uint64_t{18446744073709551615U}, "1bffffffffffffffff");
    checkStored('a', "1861");
    checkStored(1.5, "f93e00");
    checkStored(0.1F, "fa3dcccccd");
    checkStored(Colour::green, "18c8");
    checkStored(std::string("hi"), "626869");
    checkStored(std::string("\xff"), "41ff");
    checkStored(std::vector<std::byte>{std::byte{1}, std::byte{0xff}}, "4201ff");
    CHECK(toHex(encode(std::string_view("hi"))) == "626869");
    CHECK(toHex(encode<const char*>("hi")) == "626869");
}

TEST_CASE("the standard library's templates are stored as arrays, maps and numbers") {
    checkStored(std::optional<int>(), "f6");
    checkStored(std::optional<int>(7), "07");
    checkStored(std::variant<std::monostate, int>(), "8200f6");
    checkStored(std::variant<int, std::string>("x"), "82016178");
    checkStored(std::vector<int>{1, 2}, "820102");
    checkStored(std::vector<bool>{true, false}, "82f5f4");
    checkStored(std::list<std::string>{"a"}, "816161");
    checkStored(std::deque<int>{}, "80");
    checkStored(std::array<int, 2>{1, 2}, "820102");
    checkStored(std::array<int, 0>{}, "80");
    checkStored(std::set<int>{3, 1}, "820103");
    checkStored(std::pair<int, std::string>{1, "a"}, "82016161");
    checkStored(std::tuple<>(), "80");
    checkStored(std::tuple<bool>(true), "81f5");
    checkStored(std::chrono::seconds(90), "185a");
    checkStored(std::chrono::duration<double>(1.5), "f93e00");
    checkStored(std::chrono::sys_seconds(std::chrono::seconds(-1)), "20");
    checkStored(NoFields{}, "a0");
}

TEST_CASE("maps and unordered sets are stored in the order of their keys' bytes") {
    checkStored(std::map<std::string, int>{{"aa", 1}, {"b", 2}},
                "a2616202626161"
                "01");
    checkStored(std::unordered_map<std::string, int>{{"aa", 1}, {"b", 2}, {"a", 3}},
                "a36161036162"
                "02626161"
                "01");
    checkStored(std::map<int, bool>{{-1, true}, {1, false}, {256, true}}, "a301f4190100f520f5");
    checkStored(std::unordered_set<std::string>{"c", "aa", "b"}, "8361626163626161");
    std::unordered_map<int, int> one;
    std::unordered_map<int, int> two;
    two.reserve(1000);
    for (int i = 0; i < 100; ++i) {
        one[i] = two[99 - i] = i;
    }
    for (int i = 0; i < 100; ++i) two[i] = one[i];
    CHECK(encode(one) == encode(two));
}

TEST_CASE("a struct is a map whose keys are in deterministic order") {
    checkStored(Message{"r", "c", {}}, "a364726f6c6561726573636f7265f667636f6e74656e746163");
    CHECK(sg::cborToJson(encode(Message{"user", "hi", 1})) == R"({"role":"user","score":1,"content":"hi"})");
    checkStored(State{5}, "a165636f756e7405");
    const bool is_renamed = decode<State>(fromHex("a165746f74616c05")) == State{5};
    CHECK(is_renamed);
}

TEST_CASE("members can be added, removed and renamed") {
    // Written before `content` and `score` existed, and with a member that no longer exists.
    const Message old = decode<Message>(encode(std::map<std::string, std::string>{{"role", "user"}, {"gone", "x"}}));
    CHECK(old.role == "user");
    CHECK(old.content == "empty");
    CHECK_FALSE(old.score.has_value());
    const Message unrelated =
        decode<Message>(fromHex("a3"
                                "01820102"
                                "f6a10203"
                                "64726f6c656161"));
    CHECK(unrelated.role == "a");
    using Map = std::map<std::string, std::string>;
    CHECK(decode<Message>(encode(Map{{"text", "old"}})).content == "old");
    CHECK(decode<Message>(encode(Map{{"body", "older"}})).content == "older");
    CHECK(decode<Message>(encode(Map{{"text", "old"}, {"content", "new"}})).content == "new");
    CHECK(decode<Message>(encode(Map{{"content", "new"}, {"a longer key", ""}})).content == "new");
    // The current name has precedence in any order.
    CHECK(decode<Message>(fromHex("a267636f6e74656e746161"
                                  "64746578746162"))
              .content == "a");
    CHECK(decode<Message>(fromHex("a2"
                                  "64746578746162"
                                  "67636f6e74656e746161"))
              .content == "a");
}

TEST_CASE("decoding replaces what was there") {
    CHECK(decode(encode(std::vector<int>{1}), std::vector<int>{7, 8, 9}) == std::vector<int>{1});
    CHECK(decode(encode(std::set<int>{}), std::set<int>{7}).empty());
    CHECK(decode(encode(std::map<int, int>{{1, 1}}), std::map<int, int>{{2, 2}}).size() == 1);
    CHECK_FALSE(decode(encode(std::optional<int>()), std::optional<int>(1)).has_value());
}

TEST_CASE("a mismatch says what was expected, what was found and in which member") {
    CHECK(refusal<std::int8_t>("1880") == "expected an integer from -128 to 127, found 128");
    CHECK(refusal<std::uint8_t>("190100") == "expected an integer from 0 to 255, found 256");
    CHECK(refusal<unsigned>("20") == "expected an integer that is not negative, found a negative integer");
    CHECK(refusal<Colour>("190100") == "expected an integer from 0 to 255, found 256");
    CHECK(refusal<int>("f93c00") == "expected an integer, found a real number");
    CHECK(refusal<float>("fb7e37e43c8800759c").starts_with("expected a number that fits a float, found 1000"));
    CHECK(refusal<std::array<int, 2>>("8101") == "expected an array of 2 items, found one of 1");
    CHECK(refusal<std::pair<int, int>>("83010203") == "expected an array of 2 items, found one of 3");
    CHECK(refusal<std::variant<int, bool>>("820200") == "expected the index of one of 2 alternatives, found 2");
    CHECK(refusal<std::monostate>("00") == "expected null, found an integer");
    CHECK(refusal<Message>("80") == "expected a map, found an array");
    CHECK(refusal<Message>("a164726f6c6501") == "member 'role': expected text, found an integer");
    CHECK(refusal<Message>("a1647465787401") == "member 'text': expected text, found an integer");
    CHECK(refusal<Tree>("a1686368696c6472656e81a16576616c756560") ==
          "member 'children': member 'value': expected an integer, found text");
}

TEST_CASE("numbers convert only where nothing is lost that matters") {
    CHECK(decode<double>(fromHex("1903e8")) == 1000.0);
    CHECK(decode<double>(fromHex("20")) == -1.0);
    CHECK(decode<float>(fromHex("fb3ff199999999999a")) == 1.1F);
    CHECK(std::isinf(decode<float>(fromHex("f97c00"))));
    CHECK(std::isnan(decode<float>(encode(std::numeric_limits<float>::quiet_NaN()))));
}

TEST_CASE("keys and items that come twice count once") {
    CHECK(decode<std::map<int, int>>(fromHex("a201020103")) == std::map<int, int>{{1, 2}});
    CHECK(decode<std::set<int>>(fromHex("820101")) == std::set<int>{1});
    CHECK(decode<State>(fromHex("a265636f756e7401"
                                "65636f756e7402"))
              .count == 1);
}

TEST_CASE("a type that contains itself is stored, and cannot be made to exhaust the stack") {
    checkStored(
        Tree{1, {{2, {}}, {3, {{4, {}}}}}},
        "a26576616c756501686368696c6472656e82a26576616c756502686368696c6472656e80a26576616c756503686368696c6472656e81a2"
        "6576616c756504686368696c6472656e80");
    std::string hostile;
    for (int i = 0; i < 100000; ++i) hostile += fromHex("a1686368696c6472656e81");
    hostile += '\xa0';
    CHECK_THROWS_AS(decode<Tree>(hostile), sg::WrongTypeError);
}

TEST_CASE("random values of every kind survive being stored") {
    const std::uint64_t seed = tests::seed();
    MESSAGE("seed ", seed);
    bytes::Random random(seed);
    int wrong = 0;
    for (int i = 0; i < 1000; ++i) {
        const Everything value = randomEverything(random);
        const std::string stored = encode(value);
        const Everything back = decode<Everything>(stored);
        if (!(back == value) || encode(back) != stored) ++wrong;
        sg::Decoder decoder(stored);
        if (decoder.raw() != stored) ++wrong;
    }
    CHECK(wrong == 0);
}

TEST_CASE("damaged values are a value or a WrongTypeError") {
    const std::uint64_t seed = tests::seed();
    MESSAGE("seed ", seed);
    bytes::Random random(seed);
    int read = 0;
    int refused = 0;
    for (int i = 0; i < 10000; ++i) {
        std::string stored = encode(randomEverything(random));
        random.damage(stored);
        try {
            Everything value;
            sg::Decoder decoder(stored);
            sg::Codec<Everything>::decode(decoder, value);
            ++read;
        } catch (const sg::WrongTypeError&) {
            ++refused;
        }
    }
    CHECK(read > 0);
    CHECK(refused > 0);
}
