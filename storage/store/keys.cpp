#include "storage/store/keys.hpp"

#include <utility>

#include "src/value/bytes.hpp"

// The keys:
//
//   "stategraph.store.format"   the version of this grammar, as decimal text
//   item    := "i" name         value: the item's record (item_record.hpp)
//   vectors := "v" name         value: the vectors' record
//   expiry  := "e" time name    value: empty; the item's time is over at `time`
//   name    := label+ end key
//   label   := the label's bytes, 00 as 00 FF, then 00 01
//   end     := 00 00
//   time    := microseconds since 1970, 8 bytes, big endian
//
// 00 00 < 00 01 < 00 FF, and no label is empty, so the order of bytes is that of namespaces label by label, a shorter
// one before those that it begins, and within one that of keys. Labels and keys may hold any byte.
namespace stategraph::stores {
namespace {

constexpr std::string_view label_end("\x00\x01", 2);
constexpr std::string_view labels_end("\x00\x00", 2);
constexpr char escape = '\xFF';

std::optional<std::string> readLabel(std::string_view& rest) {
    std::string label;
    for (;;) {
        const std::size_t zero = rest.find('\0');
        if (zero == std::string_view::npos || zero + 1 >= rest.size()) return std::nullopt;
        label += rest.substr(0, zero);
        const char next = rest[zero + 1];
        rest.remove_prefix(zero + 2);
        if (next == label_end[1]) break;
        if (next != escape) return std::nullopt;
        label += '\0';
    }
    if (label.empty()) return std::nullopt;
    return label;
}

std::string printable(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte != 0x7f) {
            out += c;
        } else {
            out += "\\x";
            detail::appendHex(out, byte);
        }
    }
    return out;
}

}  // namespace

std::string namespacePrefix(const StoreNamespace& ns) {
    std::string out;
    for (const std::string& label : ns) {
        for (const char c : label) {
            out += c;
            if (c == '\0') out += escape;
        }
        out += label_end;
    }
    return out;
}

std::string itemName(const StoreNamespace& ns, std::string_view key) {
    std::string out = namespacePrefix(ns);
    out += labels_end;
    out += key;
    return out;
}

std::optional<ParsedName> parseName(std::string_view name) {
    ParsedName parsed;
    while (!name.starts_with(labels_end)) {
        auto label = readLabel(name);
        if (!label) return std::nullopt;
        parsed.ns.push_back(std::move(*label));
    }
    name.remove_prefix(labels_end.size());
    if (parsed.ns.empty() || name.empty()) return std::nullopt;
    parsed.key = name;
    return parsed;
}

std::string rowKey(Table table, std::string_view name) {
    std::string key(1, static_cast<char>(table));
    key += name;
    return key;
}

std::string expiryKey(std::int64_t at_unix_us, std::string_view name) {
    std::string key(1, static_cast<char>(Table::expiries));
    const auto bits = at_unix_us < 0 ? 0U : static_cast<std::uint64_t>(at_unix_us);
    detail::appendBigEndian(key, bits);
    key += name;
    return key;
}

std::string describeName(std::string_view name) {
    const auto parsed = parseName(name);
    if (!parsed) return "the row '" + printable(name) + "'";
    std::string labels;
    for (const std::string& label : parsed->ns) labels += (labels.empty() ? "" : ".") + label;
    return "the item '" + printable(parsed->key) + "' in namespace '" + printable(labels) + "'";
}

}  // namespace stategraph::stores
