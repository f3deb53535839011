#pragma once
#include <cstddef>
#include <string>
#include <string_view>

// Pieces of C++ as text, for what reads headers without a compiler.
namespace cpp_text {

/// Of a name.
bool isWord(char c);
bool isSpace(char c);

/// The text with blanks for comments, texts and lines of the preprocessor: as long as before.
std::string blanked(std::string_view text);
/// Where what is opened at `at` is closed: the place after it.
std::size_t closed(std::string_view code, std::size_t at);
std::string_view trimmed(std::string_view text);
/// The name that the text begins with; empty if it begins with something else.
std::string_view wordAt(std::string_view text);
/// A declaration without its template head, constraint and attributes.
std::string_view withoutHead(std::string_view text);

}  // namespace cpp_text
