#include <stategraph/value_page.hpp>

#include <charconv>
#include <optional>
#include <utility>

#include <stategraph/detail/utf8.hpp>
#include <stategraph/error.hpp>

namespace stategraph {
namespace {

using Type = Decoder::Type;

ValueKind kindOf(std::string_view cbor) {
    switch (Decoder(cbor).peek()) {
        case Type::boolean:
            return ValueKind::boolean;
        case Type::unsigned_integer:
        case Type::negative_integer:
        case Type::real:
            return ValueKind::number;
        case Type::text:
            return ValueKind::text;
        case Type::bytes:
            return ValueKind::bytes;
        case Type::array:
            return ValueKind::list;
        case Type::map:
            return ValueKind::map;
        case Type::null:
        case Type::end:
            break;
    }
    return ValueKind::null;
}

std::string keyText(std::string_view cbor) {
    const Type type = Decoder(cbor).peek();
    return type == Type::text || type == Type::bytes ? std::string(Decoder(cbor).text()) : cborToJson(cbor);
}

// Returns the beginning of a text as JSON. It is not cut inside a character.
std::string beginning(std::string_view text, std::size_t bytes_max) {
    std::string cbor;
    Encoder(cbor).text(detail::beginningOf(text, bytes_max));
    return cborToJson(cbor);
}

ValueItem itemOf(std::string key, std::string_view cbor, std::size_t bytes_max) {
    ValueItem item;
    item.key = std::move(key);
    item.kind = kindOf(cbor);
    item.stored_bytes = cbor.size();
    Decoder in(cbor);
    if (item.kind == ValueKind::list) item.size = in.array();
    if (item.kind == ValueKind::map) item.size = in.map();
    const bool is_text = item.kind == ValueKind::text || item.kind == ValueKind::bytes;
    if (is_text) item.size = in.text().size();
    item.is_whole = cbor.size() <= bytes_max;
    if (item.is_whole) {
        item.json = cborToJson(cbor);
    } else if (item.kind == ValueKind::text) {
        item.json = beginning(Decoder(cbor).text(), bytes_max);
    }
    return item;
}

// Removes the escapes from one part of a JSON Pointer.
std::string unescape(std::string_view part) {
    std::string name;
    for (std::size_t i = 0; i < part.size(); ++i) {
        const bool escaped = part[i] == '~' && i + 1 < part.size() && (part[i + 1] == '0' || part[i + 1] == '1');
        name += escaped ? (part[++i] == '0' ? '~' : '/') : part[i];
    }
    return name;
}

std::optional<std::string_view> elementOf(std::string_view cbor, std::string_view part) {
    std::size_t index = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
    if (error != std::errc() || end != part.data() + part.size()) return {};
    Decoder in(cbor);
    if (index >= in.array()) return {};
    for (; index > 0; --index) in.skip();
    return in.raw();
}

std::optional<std::string_view> memberOf(std::string_view cbor, const std::string& name) {
    Decoder in(cbor);
    for (std::size_t count = in.map(); count > 0; --count) {
        const std::string_view key = in.raw();
        const std::string_view value = in.raw();
        if (keyText(key) == name) return value;
    }
    return {};
}

std::string_view follow(std::string_view cbor, std::string_view path) {
    if (!path.empty() && path[0] != '/') {
        throw InvalidArgumentError("the path '" + std::string(path) +
                                   "' is not a JSON Pointer: it must be empty or begin with '/'");
    }
    std::string_view rest = path;
    while (!rest.empty()) {
        rest.remove_prefix(1);
        const std::string_view part = rest.substr(0, rest.find('/'));
        rest.remove_prefix(part.size());
        const ValueKind kind = kindOf(cbor);
        const auto found = kind == ValueKind::list  ? elementOf(cbor, part)
                           : kind == ValueKind::map ? memberOf(cbor, unescape(part))
                                                    : std::nullopt;
        if (!found) {
            const std::string_view led = path.substr(0, path.size() - rest.size() - part.size() - 1);
            throw InvalidArgumentError("the path '" + std::string(path) + "' leads nowhere: at '" + std::string(led) +
                                       "' there is a " + toString(kind) + " without '" + std::string(part) + "'");
        }
        cbor = *found;
    }
    return cbor;
}

}  // namespace

const char* toString(ValueKind kind) noexcept {
    switch (kind) {
        case ValueKind::null:
            return "null";
        case ValueKind::boolean:
            return "boolean";
        case ValueKind::number:
            return "number";
        case ValueKind::text:
            return "text";
        case ValueKind::bytes:
            return "bytes";
        case ValueKind::list:
            return "list";
        case ValueKind::map:
            return "map";
    }
    return "?";
}

ValuePage pageOf(const Value& value, std::string_view path, const ValuePageQuery& query) {
    if (query.count < 1) throw InvalidArgumentError("pageOf: count is 0; it must be at least 1");
    const std::string_view cbor = follow(value.bytes(), path);
    ValuePage page{.value = itemOf({}, cbor, query.bytes_max), .items = {}, .from = query.from};
    const bool is_map = page.value.kind == ValueKind::map;
    if (!is_map && page.value.kind != ValueKind::list) return page;
    Decoder in(cbor);
    const std::size_t size = is_map ? in.map() : in.array();
    for (std::size_t i = 0; i < size && page.items.size() < query.count; ++i) {
        if (i < query.from) {
            if (is_map) in.skip();
            in.skip();
            continue;
        }
        std::string key = is_map ? keyText(in.raw()) : std::string();
        page.items.push_back(itemOf(std::move(key), in.raw(), query.bytes_max));
    }
    return page;
}

Value valueAt(const Value& value, std::string_view path) {
    return Value::fromCbor(std::string(follow(value.bytes(), path)));
}

}  // namespace stategraph
