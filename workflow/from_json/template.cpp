#include "workflow/from_json/template.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <stategraph/detail/json_text.hpp>
#include <stategraph/error.hpp>
#include <stategraph/json.hpp>
#include <stategraph/workflow/from_json.hpp>

namespace stategraph::workflow::from_json {

namespace json = boost::json;

/// A constant, the value at a path, a text with paths in it, or a list or an object of parts.
struct Template::Part {
    enum class Kind : std::uint8_t { constant, path, text, list, object } kind = Kind::constant;
    json::value constant = {};
    std::optional<Path> path = {};
    /// For a text: pieces, each followed by a path if there is one.
    std::vector<std::pair<std::string, std::optional<Path>>> pieces = {};
    std::vector<std::pair<std::string, Part>> members = {};  // the names are empty for a list
};

namespace {

using Part = Template::Part;

Part partOf(const json::value& value);

Part textPart(std::string_view text) {
    Part part{.kind = Part::Kind::text};
    while (!text.empty()) {
        const std::size_t begin = text.find("${");
        const std::size_t end = begin == std::string_view::npos ? begin : text.find('}', begin);
        if (end == std::string_view::npos) {
            part.pieces.emplace_back(std::string(text), std::nullopt);
            break;
        }
        part.pieces.emplace_back(std::string(text.substr(0, begin)), Path(text.substr(begin + 2, end - begin - 2)));
        text.remove_prefix(end + 1);
    }
    return part;
}

Part objectPart(const json::object& object) {
    if (object.size() == 1 && object.begin()->key() == "$") {
        const json::string* const path = object.begin()->value().if_string();
        if (path == nullptr) throw InvalidArgumentError("\"$\" needs a path, which is a text");
        return {.kind = Part::Kind::path, .path = Path(*path)};
    }
    Part part{.kind = Part::Kind::object};
    for (const auto& member : object) part.members.emplace_back(member.key(), partOf(member.value()));
    return part;
}

Part partOf(const json::value& value) {
    if (const json::object* const object = value.if_object()) return objectPart(*object);
    if (const json::array* const list = value.if_array()) {
        Part part{.kind = Part::Kind::list};
        for (const json::value& each : *list) part.members.emplace_back("", partOf(each));
        return part;
    }
    const json::string* const text = value.if_string();
    if (text != nullptr && text->find("${") != json::string::npos) return textPart(*text);
    return {.constant = value};
}

// Returns how a value looks inside a text: texts as they are, anything else as JSON.
std::string shown(const json::value& value) {
    if (value.is_null()) return {};
    if (const json::string* const text = value.if_string()) return std::string(*text);
    return stategraph::detail::jsonText(value);
}

/// About as many bytes as the value has when it is stored.
std::size_t sizeOf(const json::value& value) {
    std::size_t sum = 1;
    if (const json::string* const text = value.if_string()) return sum + text->size();
    if (const json::array* const list = value.if_array()) {
        for (const json::value& each : *list) sum += sizeOf(each);
    } else if (const json::object* const object = value.if_object()) {
        for (const auto& member : *object) sum += 1 + member.key().size() + sizeOf(member.value());
    } else if (value.is_number()) {
        sum += 8;
    }
    return sum;
}

/// Fills in a template, up to a limit: what is made of an input twice as often grows without end.
class Filling {
public:
    Filling(Roots& roots, std::size_t bytes_max) : roots_(roots), bytes_max_(bytes_max), left_(bytes_max) {}

    json::value filled(const Part& part) {
        switch (part.kind) {
            case Part::Kind::constant:
                charge(sizeOf(part.constant));
                return part.constant;
            case Part::Kind::path: {
                const json::value& value = part.path->in(roots_);
                charge(sizeOf(value));
                return value;
            }
            case Part::Kind::text: {
                std::string text;
                for (const auto& [piece, path] : part.pieces) {
                    const std::string more = piece + (path ? shown(path->in(roots_)) : "");
                    charge(more.size());
                    text += more;
                }
                return json::value(text);
            }
            case Part::Kind::list: {
                json::array list;
                for (const auto& [name, member] : part.members) list.push_back(filled(member));
                return list;
            }
            case Part::Kind::object: {
                json::object object;
                for (const auto& [name, member] : part.members) {
                    charge(name.size() + 1);
                    object[name] = filled(member);
                }
                return object;
            }
        }
        return {};
    }

    std::size_t made() const noexcept { return bytes_max_ - left_; }

private:
    void charge(std::size_t bytes) {
        if (bytes > left_) {
            throw InvalidArgumentError("the value that a template makes has more than " + std::to_string(bytes_max_) +
                                       " bytes; see workflow::JsonLimits::value_bytes_max");
        }
        left_ -= bytes;
    }

    Roots& roots_;
    const std::size_t bytes_max_;
    std::size_t left_;
};

}  // namespace

Template::Template(const json::value& json, std::size_t bytes_max)
    : root_(std::make_shared<const Part>(partOf(json))), bytes_max_(bytes_max) {}

json::value Template::fill(Roots& roots, std::size_t& left) const {
    Filling filling(roots, std::min(left, bytes_max_));
    json::value value = filling.filled(*root_);
    left -= filling.made();
    return value;
}

json::value Template::fill(const Scope& scope) const {
    Roots roots(scope);
    std::size_t left = bytes_max_;
    return fill(roots, left);
}

}  // namespace stategraph::workflow::from_json
