#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

// The names that users of the library write, read from its public headers.
namespace public_names {

enum class Kind { type, alias, concept_, function, constant, enumerator, option, member, method };
const char* toString(Kind kind);

struct Name {
    std::string name;
    /// The type that it is a member of, or the enumeration; empty at the level of a namespace.
    std::string owner;
    Kind kind = Kind::type;
    /// From include/stategraph/.
    std::string header;
    /// Its comment, or that of the first overload that has one; may be empty.
    std::string comment;
    /// Of an option: its type, name and default.
    std::string declaration;
};

/// The first of a text's sentences.
std::string sentenceOf(const std::string& text);

/// Those of one header's text, in its order; overloads are one name. Without what is private, protected, a friend, a
/// constructor, an operator, in a namespace `detail`, or named as the standard library names it (`begin`, `push_back`).
std::vector<Name> namesOf(std::string_view text, const std::string& header);

/// Those of all headers below `include`, header by header, in their order. Without the folders `detail` and without the
/// cases of the savers' test kit, which no program calls by name.
std::vector<Name> namesBelow(const std::filesystem::path& include);

}  // namespace public_names
