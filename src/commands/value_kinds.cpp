#include "src/commands/value_kinds.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include <stategraph/encoding.hpp>

namespace stategraph::commands {
namespace {

enum class Kind : std::uint8_t { null, boolean, whole, fraction, text, bytes, list, map };

Kind kindOf(std::string_view cbor) {
    switch (Decoder(cbor).peek()) {
        case Decoder::Type::unsigned_integer:
        case Decoder::Type::negative_integer:
            return Kind::whole;
        case Decoder::Type::real:
            return Kind::fraction;
        case Decoder::Type::text:
            return Kind::text;
        case Decoder::Type::bytes:
            return Kind::bytes;
        case Decoder::Type::array:
            return Kind::list;
        case Decoder::Type::map:
            return Kind::map;
        case Decoder::Type::boolean:
            return Kind::boolean;
        case Decoder::Type::null:
        case Decoder::Type::end:
            break;
    }
    return Kind::null;
}

const char* named(Kind kind) noexcept {
    switch (kind) {
        case Kind::boolean:
            return "true or false";
        case Kind::whole:
            return "a whole number";
        case Kind::fraction:
            return "a number";
        case Kind::text:
            return "a text";
        case Kind::bytes:
            return "a byte string";
        case Kind::list:
            return "a list";
        case Kind::map:
            return "an object";
        case Kind::null:
            break;
    }
    return "null";
}

bool fits(Kind stored, Kind given) noexcept {
    return stored == given || stored == Kind::null || (stored == Kind::fraction && given == Kind::whole);
}

std::vector<std::string_view> elementsOf(std::string_view list) {
    Decoder in(list);
    std::vector<std::string_view> elements(in.array());
    for (std::string_view& element : elements) element = in.raw();
    return elements;
}

// Keys are compared as they are stored.
std::map<std::string_view, std::string_view> membersOf(std::string_view map) {
    Decoder in(map);
    std::map<std::string_view, std::string_view> members;
    for (std::size_t count = in.map(); count > 0; --count) {
        const std::string_view key = in.raw();
        members.emplace(key, in.raw());
    }
    return members;
}

// A segment of a JSON Pointer.
std::string segmentOf(std::string_view key) {
    Decoder in(key);
    if (in.peek() != Decoder::Type::text) return cborToJson(key);
    std::string segment;
    for (const char c : in.text()) segment += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    return segment;
}

std::string compare(std::string_view stored, std::string_view given, const std::string& path);

std::string compareMembers(std::string_view stored, std::string_view given, const std::string& path) {
    const auto known = membersOf(stored);
    for (const auto& [key, value] : membersOf(given)) {
        const auto found = known.find(key);
        if (found == known.end() || kindOf(value) == Kind::null) continue;
        if (std::string why = compare(found->second, value, path + '/' + segmentOf(key)); !why.empty()) return why;
    }
    return {};
}

// Returns an element of a list whose elements are all of one kind, or none. A number with a fraction stands for whole
// ones too.
std::optional<std::string_view> exampleOf(const std::vector<std::string_view>& elements) {
    std::optional<std::string_view> example;
    for (const std::string_view element : elements) {
        const Kind kind = kindOf(element);
        if (!example || fits(kind, kindOf(*example))) {
            example = element;
        } else if (!fits(kindOf(*example), kind)) {
            return {};
        }
    }
    return example;
}

std::string compareElements(std::string_view stored, std::string_view given, const std::string& path) {
    const auto example = exampleOf(elementsOf(stored));
    if (!example) return {};
    const auto elements = elementsOf(given);
    for (std::size_t i = 0; i < elements.size(); ++i) {
        if (kindOf(elements[i]) == Kind::null) continue;
        if (std::string why = compare(*example, elements[i], path + '/' + std::to_string(i)); !why.empty()) return why;
    }
    return {};
}

std::string compare(std::string_view stored, std::string_view given, const std::string& path) {
    const Kind before = kindOf(stored);
    const Kind after = kindOf(given);
    if (!fits(before, after)) {
        return std::string(named(before)) + " is stored" + (path.empty() ? "" : " at " + path) + ", and " +
               named(after) + " is given";
    }
    if (before == Kind::map) return compareMembers(stored, given, path);
    if (before == Kind::list) return compareElements(stored, given, path);
    return {};
}

}  // namespace

std::string kindDifference(std::string_view stored, std::string_view given) { return compare(stored, given, {}); }

}  // namespace stategraph::commands
