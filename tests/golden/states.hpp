#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include <stategraph/stategraph.hpp>

// The states of the golden databases' threads.
namespace golden {
namespace sg = stategraph;
using Words = std::vector<std::string>;

struct Line {
    Words v = {};
    static constexpr auto channels() { return sg::channels(sg::channel("v", &Line::v, sg::append)); }
};

struct Inner {
    Words w = {};
    static constexpr auto channels() { return sg::channels(sg::channel("w", &Inner::w, sg::append)); }
};

/// A channel of each reducer.
struct Channels {
    std::string last = {};
    std::string cleared = {};
    std::string any = {};
    std::string once = {};
    Words topic = {};
    std::string untracked = {};
    Words list = {};
    int sum = 0;
    int least = 100;
    int most = 0;
    std::map<std::string, int> map = {};
    std::vector<sg::Message> messages = {};
    static constexpr auto channels() {
        return sg::channels(
            sg::channel("last", &Channels::last), sg::channel("cleared", &Channels::cleared),
            sg::channel("any", &Channels::any, sg::any_value), sg::channel("once", &Channels::once, sg::ephemeral),
            sg::channel("topic", &Channels::topic, sg::topic),
            sg::channel("untracked", &Channels::untracked, sg::untracked),
            sg::channel("list", &Channels::list, sg::append), sg::channel("sum", &Channels::sum, sg::sum),
            sg::channel("least", &Channels::least, sg::min), sg::channel("most", &Channels::most, sg::max),
            sg::channel("map", &Channels::map, sg::merge),
            sg::channel("messages", &Channels::messages, sg::addMessages));
    }
};

enum class Colour : std::uint8_t { red, green };

struct Point {
    int x = 0;
    std::optional<std::string> label = {};
    static constexpr auto fields() { return sg::fields(sg::field("x", &Point::x), sg::field("label", &Point::label)); }
};

/// A member of each kind of type that has a codec.
struct Types {
    bool yes = false;
    std::int8_t small = 0;
    std::int64_t least = 0;
    std::uint64_t most = 0;
    float single = 0;
    double real = 0;
    double infinite = 0;
    Colour colour = Colour::red;
    std::string text = {};
    std::string raw = {};  // not UTF-8
    std::vector<std::byte> bytes = {};
    std::optional<int> some = {};
    std::optional<int> none = {};
    std::variant<std::monostate, int, std::string> variant = {};
    std::pair<int, std::string> pair = {};
    std::tuple<int, bool, std::string> tuple = {};
    std::array<int, 3> array = {};
    std::vector<Point> points = {};
    std::vector<bool> bits = {};
    std::set<std::string> set = {};
    std::unordered_set<std::string> hashed_set = {};
    std::map<int, std::string> map = {};
    std::unordered_map<std::string, std::vector<int>> hashed_map = {};
    std::chrono::milliseconds duration = {};
    std::chrono::sys_time<std::chrono::microseconds> time = {};
    sg::Value value = {};
    static constexpr auto channels() {
        return sg::channels(
            sg::channel("yes", &Types::yes), sg::channel("small", &Types::small), sg::channel("least", &Types::least),
            sg::channel("most", &Types::most), sg::channel("single", &Types::single), sg::channel("real", &Types::real),
            sg::channel("infinite", &Types::infinite), sg::channel("colour", &Types::colour),
            sg::channel("text", &Types::text), sg::channel("raw", &Types::raw), sg::channel("bytes", &Types::bytes),
            sg::channel("some", &Types::some), sg::channel("none", &Types::none),
            sg::channel("variant", &Types::variant), sg::channel("pair", &Types::pair),
            sg::channel("tuple", &Types::tuple), sg::channel("array", &Types::array),
            sg::channel("points", &Types::points), sg::channel("bits", &Types::bits), sg::channel("set", &Types::set),
            sg::channel("hashed_set", &Types::hashed_set), sg::channel("map", &Types::map),
            sg::channel("hashed_map", &Types::hashed_map), sg::channel("duration", &Types::duration),
            sg::channel("time", &Types::time), sg::channel("value", &Types::value));
    }
};

}  // namespace golden
