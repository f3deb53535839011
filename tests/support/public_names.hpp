#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

// Reads the names that users of the library write from its public headers.
namespace public_names {

enum class Kind { type, alias, concept_, function, constant, enumerator, option, member, method };
const char* toString(Kind kind);

struct Name {
    std::string name;
    /// The type of which it is a member, or the enumeration; empty for a name in a namespace.
    std::string owner;
    Kind kind = Kind::type;
    /// The path below include/stategraph/.
    std::string header;
    /// Its comment, or the comment of the first overload that has one; may be empty.
    std::string comment;
    /// For an option: its type, name and default.
    std::string declaration;
};

/// The first sentence of a text.
std::string sentenceOf(const std::string& text);

/// The names in the text of one header, in their order; overloads count as one name. Omits everything private or
/// protected, friends, constructors, operators, members of a namespace `detail`, and names that the standard library
/// prescribes (`begin`, `push_back`).
std::vector<Name> namesOf(std::string_view text, const std::string& header);

/// Those of all headers below `include`, header by header, in their order. Without the folders `detail` and without the
/// cases of the savers' test kit, which no program calls by name.
std::vector<Name> namesBelow(const std::filesystem::path& include);

}  // namespace public_names
