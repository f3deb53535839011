#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <stategraph/store.hpp>

// The keys of a store's rows; keys.cpp has their grammar.
namespace stategraph::stores {

enum class Table : char { items = 'i', vectors = 'v', expiries = 'e' };

/// Says which version of the grammar a database is written in, as decimal text.
inline constexpr std::string_view format_key = "stategraph.store.format";
inline constexpr int key_format_version = 1;

/// An item's name, which its rows' keys end with. The order of names is that of namespaces, label by label, and then of
/// keys.
std::string itemName(const StoreNamespace& ns, std::string_view key);
/// What the names of all items of a namespace and below it begin with; the empty namespace: nothing.
std::string namespacePrefix(const StoreNamespace& ns);

struct ParsedName {
    StoreNamespace ns;
    std::string key;
};
/// None if it is not of the grammar.
std::optional<ParsedName> parseName(std::string_view name);

std::string rowKey(Table table, std::string_view name);
std::string expiryKey(std::int64_t at_unix_us, std::string_view name);

/// For messages: item 'key' in namespace 'a.b'.
std::string describeName(std::string_view name);

}  // namespace stategraph::stores
