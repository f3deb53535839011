#include "tests/langgraph/player_bindings.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>

#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/random_generator.hpp>
#include <boost/uuid/string_generator.hpp>
#include <boost/uuid/uuid_io.hpp>

namespace player {
namespace {

bool isDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool isLower(char c) { return std::islower(static_cast<unsigned char>(c)) != 0; }
bool isWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

template <class Holds>
std::size_t lengthOf(std::string_view text, Holds holds) {
    return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), holds) - text.begin());
}

constexpr std::string_view assistant_of = "<assistant of ";

bool isAssistant(std::string_view part) { return part.starts_with(assistant_of); }
/// "thread" for <thread1>; empty if the part is no placeholder of an id.
std::string_view kindOf(std::string_view part) {
    if (part.size() < 4 || part.front() != '<' || part.back() != '>') return {};
    const std::string_view inside = part.substr(1, part.size() - 2);
    const std::size_t letters = lengthOf(inside, isLower);
    const std::size_t digits = lengthOf(inside.substr(letters), isDigit);
    return letters > 0 && digits > 0 && letters + digits == inside.size() ? inside.substr(0, letters)
                                                                          : std::string_view();
}
bool isSpecial(std::string_view part) { return part == "<time>" || isAssistant(part) || !kindOf(part).empty(); }

/// The length of the placeholder with which a text begins, or 0.
std::size_t placeholderAt(std::string_view text) {
    if (!text.starts_with('<')) return 0;
    const std::size_t end = text.find('>');
    if (end == std::string_view::npos) return 0;
    const std::string_view part = text.substr(0, end + 1);
    if (!isSpecial(part)) return 0;
    if (isAssistant(part)) {
        const std::string_view graph = part.substr(assistant_of.size(), part.size() - assistant_of.size() - 1);
        if (graph.empty() || lengthOf(graph, isWord) != graph.size()) return 0;
    }
    return part.size();
}

/// The placeholders of a text, and what is between them.
std::vector<std::string> partsOf(std::string_view text) {
    std::vector<std::string> parts;
    std::size_t from = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = placeholderAt(text.substr(at));
        if (length == 0) {
            ++at;
            continue;
        }
        if (at > from) parts.emplace_back(text.substr(from, at - from));
        parts.emplace_back(text.substr(at, length));
        at += length;
        from = at;
    }
    if (from < text.size()) parts.emplace_back(text.substr(from));
    return parts;
}

/// The length of the time with which a text begins, such as 2026-11-29T20:45:00.123Z, or 0.
std::size_t timeAt(std::string_view text) {
    constexpr std::string_view day = "dddd-dd-ddT";
    if (text.size() < day.size()) return 0;
    for (std::size_t i = 0; i < day.size(); ++i)
        if (day[i] == 'd' ? !isDigit(text[i]) : text[i] != day[i]) return 0;
    const std::string_view clock = text.substr(day.size());
    const std::size_t length = lengthOf(clock, [](char c) { return isDigit(c) || c == ':' || c == '.'; });
    const std::string_view zone = clock.substr(length);
    if (length < 8 || zone.empty()) return 0;
    if (zone.front() == 'Z') return day.size() + length + 1;
    const bool is_offset = zone.size() >= 6 && (zone[0] == '+' || zone[0] == '-') && isDigit(zone[1]) &&
                           isDigit(zone[2]) && zone[3] == ':' && isDigit(zone[4]) && isDigit(zone[5]);
    return is_offset ? day.size() + length + 6 : 0;
}

/// Whether an id may have this character: none that separates ids in longer texts.
bool isOfId(char c) {
    return std::isspace(static_cast<unsigned char>(c)) == 0 &&
           std::string_view("|:/\"<>").find(c) == std::string_view::npos;
}

}  // namespace

std::string assistantOf(std::string_view graph) {
    static const boost::uuids::uuid space = boost::uuids::string_generator()("6ba7b821-9dad-11d1-80b4-00c04fd430c8");
    return boost::uuids::to_string(boost::uuids::name_generator_sha1(space)(std::string(graph)));
}
std::string newId() {
    thread_local boost::uuids::random_generator generator;
    return boost::uuids::to_string(generator());
}

void Bindings::bind(const std::string& placeholder, const std::string& id) { ids_[placeholder] = id; }
std::string Bindings::idOf(const std::string& placeholder) const {
    const auto found = ids_.find(placeholder);
    return found == ids_.end() ? std::string() : found->second;
}

bool Bindings::match(std::string_view wanted, std::string_view got) {
    Made made;
    if (!matchFrom(partsOf(wanted), 0, got, made)) return false;
    ids_.insert(made.begin(), made.end());
    return true;
}

bool Bindings::matchFrom(const std::vector<std::string>& parts, std::size_t at, std::string_view got,
                         Made& made) const {
    if (at == parts.size()) return got.empty();
    const std::string& part = parts[at];
    if (part == "<time>") {
        const std::size_t length = timeAt(got);
        return length > 0 && matchFrom(parts, at + 1, got.substr(length), made);
    }
    std::string text = part;
    if (isAssistant(part)) {
        text = fillText(part);
    } else if (!kindOf(part).empty()) {
        text = idOf(part);
        for (const auto& [placeholder, id] : made)
            if (placeholder == part) text = id;
        if (text.empty()) return matchNew(parts, at, got, made);
    }
    return got.starts_with(text) && matchFrom(parts, at + 1, got.substr(text.size()), made);
}

// An id is as long as possible.
bool Bindings::matchNew(const std::vector<std::string>& parts, std::size_t at, std::string_view got, Made& made) const {
    for (std::size_t length = lengthOf(got, isOfId); length > 0; --length) {
        const std::string_view id = got.substr(0, length);
        if (isTaken(parts[at], id, made)) continue;
        made.emplace_back(parts[at], id);
        if (matchFrom(parts, at + 1, got.substr(length), made)) return true;
        made.pop_back();
    }
    return false;
}

bool Bindings::isTaken(const std::string& placeholder, std::string_view id, const Made& made) const {
    const auto is_taken_by = [&](const auto& other) {
        return other.second == id && kindOf(other.first) == kindOf(placeholder);
    };
    return std::any_of(ids_.begin(), ids_.end(), is_taken_by) || std::any_of(made.begin(), made.end(), is_taken_by);
}

std::string Bindings::fillText(std::string_view text) const {
    std::string filled;
    for (const std::string& part : partsOf(text)) {
        if (isAssistant(part)) {
            filled += assistantOf(part.substr(assistant_of.size(), part.size() - assistant_of.size() - 1));
        } else {
            const std::string id = idOf(part);
            filled += id.empty() ? part : id;
        }
    }
    return filled;
}

json::value Bindings::fill(const json::value& value) const {
    if (const json::string* text = value.if_string()) return json::string(fillText(std::string_view(*text)));
    if (const json::array* items = value.if_array()) {
        json::array filled;
        for (const json::value& item : *items) filled.push_back(fill(item));
        return filled;
    }
    const json::object* members = value.if_object();
    if (members == nullptr) return value;
    json::object filled;
    for (const auto& member : *members) filled[fillText(std::string_view(member.key()))] = fill(member.value());
    return filled;
}

std::string Bindings::explain(std::string_view text) const {
    std::string said;
    for (const std::string& part : placeholdersOf(text)) {
        const std::string id = idOf(part);
        said += (said.empty() ? " (" : ", ") + part + " is " + (id.empty() ? "new" : id);
    }
    return said.empty() ? said : said + ")";
}

std::vector<std::string> placeholdersOf(std::string_view text) {
    std::vector<std::string> found = partsOf(text);
    std::erase_if(found, [](const std::string& part) { return kindOf(part).empty(); });
    return found;
}

}  // namespace player
