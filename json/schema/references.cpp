#include "json/schema/references.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include <stategraph/error.hpp>

#include "json/schema/keywords.hpp"

namespace stategraph::schema {

namespace json = boost::json;

namespace {

/// Returns the text with its bytes in place of %5B and the like, or none.
std::optional<std::string> withoutPercents(std::string_view text) {
    std::string plain;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] != '%') {
            plain += text[at];
            continue;
        }
        unsigned char byte = 0;
        const char* const digits = text.data() + at + 1;
        if (text.size() - at < 3 || std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2) return {};
        plain += static_cast<char>(byte);
        at += 2;
    }
    return plain;
}

std::string unescaped(std::string_view token) {
    std::string name;
    for (std::size_t at = 0; at < token.size(); ++at) {
        if (token[at] == '~' && at + 1 < token.size() && (token[at + 1] == '0' || token[at + 1] == '1')) {
            name += token[++at] == '0' ? '~' : '/';
        } else {
            name += token[at];
        }
    }
    return name;
}

const json::value* partOf(const json::value& whole, const std::string& name) {
    if (const json::object* const object = whole.if_object()) return object->if_contains(name);
    const json::array* const list = whole.if_array();
    if (list == nullptr || name.empty() || (name.size() > 1 && name.front() == '0')) return nullptr;
    std::size_t index = 0;
    const char* const end = name.data() + name.size();
    const auto read = std::from_chars(name.data(), end, index);
    return read.ec == std::errc() && read.ptr == end ? list->if_contains(index) : nullptr;
}

/// The `$id` of a schema without an empty fragment, or none; `#name` is an anchor of draft 6.
std::string_view idOf(const json::value& schema) {
    const json::object* const object = schema.if_object();
    const json::value* const id = object != nullptr ? object->if_contains("$id") : nullptr;
    if (id == nullptr || !id->is_string()) return {};
    const std::string_view text = textOf(*id);
    return text.starts_with('#') ? std::string_view() : text.substr(0, text.find('#'));
}

}  // namespace

// A relative name replaces what is behind the last slash of the name around it.
std::string Places::resolved(std::string_view id, const json::value& base) const {
    const auto around = names_.find(&base);
    if (around == names_.end() || id.find(':') != std::string_view::npos || id.starts_with('/')) return std::string(id);
    return around->second.substr(0, around->second.rfind('/') + 1).append(id);
}

const json::value& Places::note(const json::value& schema, const json::value& around) {
    const std::string_view id = idOf(schema);
    const json::value& base = id.empty() ? around : schema;
    if (!id.empty()) {
        const std::string name = resolved(id, around);
        ids_.try_emplace(name, &schema);
        names_.try_emplace(&schema, name);
    }
    for (const char* const word : {"$id", "$anchor", "$dynamicAnchor"}) {
        const json::value* const name = schema.get_object().if_contains(word);
        if (name == nullptr) continue;
        if (!name->is_string())
            throw InvalidArgumentError("'" + std::string(word) + "' must be a text, and is " + shown(*name));
        std::string_view text = textOf(*name);
        if (std::string_view(word) == "$id") {
            if (!text.starts_with('#')) continue;
            text.remove_prefix(1);
        }
        anchors_.try_emplace({&base, std::string(text)}, &schema);
    }
    return base;
}

Places::Found Places::find(std::string_view reference, const json::value& base) const {
    const std::size_t hash = reference.find('#');
    const std::string_view id = reference.substr(0, hash);
    const auto fragment = withoutPercents(hash == std::string_view::npos ? "" : reference.substr(hash + 1));
    const auto known = ids_.find(resolved(id, base));
    Found found{nullptr, nullptr};
    if (id.empty()) {
        found = {&base, &base};
    } else if (known != ids_.end()) {
        found = {known->second, known->second};
    }
    if (found.written != nullptr && fragment && !fragment->empty() && fragment->front() != '/') {
        const auto anchor = anchors_.find({found.base, *fragment});
        found.written = anchor != anchors_.end() ? anchor->second : nullptr;
    } else if (found.written != nullptr && fragment) {
        for (std::size_t at = 0; found.written != nullptr && at < fragment->size();) {
            const std::size_t end = std::min(fragment->find('/', at + 1), fragment->size());
            found.written = partOf(*found.written, unescaped(fragment->substr(at + 1, end - at - 1)));
            if (found.written != nullptr && !idOf(*found.written).empty()) found.base = found.written;
            at = end;
        }
    }
    if (found.written == nullptr || !fragment) {
        throw InvalidArgumentError("the reference '" + shownText(reference) +
                                   "' leads to nothing in the schema; it must lead to a part of the same schema, such "
                                   "as \"#/$defs/name\"");
    }
    return found;
}

}  // namespace stategraph::schema
