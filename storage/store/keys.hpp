#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <stategraph/store.hpp>

// The keys of a store's rows; keys.cpp has their grammar.
namespace stategraph::stores {

enum class Table : char { items = 'i', vectors = 'v', expiries = 'e' };

/// The key of the row that says in which version of the grammar a database is written, as decimal text.
inline constexpr std::string_view format_key = "stategraph.store.format";
inline constexpr int key_format_version = 1;

/// Returns an item's name, with which its rows' keys end. Names are ordered by namespaces, label by label, and then by
/// keys.
std::string itemName(const StoreNamespace& ns, std::string_view key);
/// Returns what the names of all items in and below a namespace begin with. For the empty namespace, this is empty.
std::string namespacePrefix(const StoreNamespace& ns);

struct ParsedName {
    StoreNamespace ns;
    std::string key;
};
/// Returns none if the name does not match the grammar.
std::optional<ParsedName> parseName(std::string_view name);

std::string rowKey(Table table, std::string_view name);
std::string expiryKey(std::int64_t at_unix_us, std::string_view name);

/// Returns text for messages, such as item 'key' in namespace 'a.b'.
std::string describeName(std::string_view name);

}  // namespace stategraph::stores
