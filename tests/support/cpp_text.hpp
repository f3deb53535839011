#pragma once
#include <cstddef>
#include <string>
#include <string_view>

// Handles C++ source as text, for tools that read headers without a compiler.
namespace cpp_text {

/// Whether a character can be part of a name.
bool isWord(char c);
bool isSpace(char c);

/// The text with blanks in place of comments, string literals and preprocessor lines; its length stays the same.
std::string blanked(std::string_view text);
/// The place after the bracket that closes the one at `at`.
std::size_t closed(std::string_view code, std::size_t at);
std::string_view trimmed(std::string_view text);
/// The name at the beginning of the text; empty if the text begins with something else.
std::string_view wordAt(std::string_view text);
/// A declaration without its template head, constraint and attributes.
std::string_view withoutHead(std::string_view text);

}  // namespace cpp_text
