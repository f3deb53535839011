#include "tests/support/cpp_text.hpp"

#include <algorithm>
#include <cctype>

namespace cpp_text {
namespace {

/// The end of the comment, string literal or preprocessor line that begins at `at`; `at` if none begins there.
std::size_t endOfSkipped(std::string_view text, std::size_t at) {
    if (text.substr(at, 2) == "//") return std::min(text.find('\n', at), text.size());
    if (text[at] == '#') {
        std::size_t end = std::min(text.find('\n', at), text.size());
        while (end > at && end < text.size() && text[end - 1] == '\\') {
            end = std::min(text.find('\n', end + 1), text.size());
        }
        return end;
    }
    if (text.substr(at, 3) == "R\"(") return std::min(text.find(")\"", at), text.size() - 2) + 2;
    // A digit separator, as in 10'000.
    const bool is_digits = at > 0 && std::isxdigit(static_cast<unsigned char>(text[at - 1])) != 0;
    if (text[at] != '"' && (text[at] != '\'' || is_digits)) return at;
    std::size_t end = at + 1;
    while (end < text.size() && text[end] != text[at]) end += text[end] == '\\' ? 2 : 1;
    return std::min(end + 1, text.size());
}

}  // namespace

bool isWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool isSpace(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

std::string blanked(std::string_view text) {
    std::string code(text);
    for (std::size_t at = 0; at < code.size(); ++at) {
        const std::size_t end = endOfSkipped(text, at);
        for (std::size_t i = at; i < end; ++i) {
            if (code[i] != '\n') code[i] = ' ';
        }
        if (end > at) at = end - 1;
    }
    return code;
}

std::size_t closed(std::string_view code, std::size_t at) {
    const char open = code[at];
    const char close = open == '(' ? ')' : open == '{' ? '}' : open == '[' ? ']' : '>';
    int depth = 0;
    for (std::size_t i = at; i < code.size(); ++i) {
        if (code[i] == open) ++depth;
        if (code[i] == close && --depth == 0) return i + 1;
        if (open == '<' && (code[i] == '(' || code[i] == '{')) i = closed(code, i) - 1;
    }
    return code.size();
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && isSpace(text.front())) text.remove_prefix(1);
    while (!text.empty() && isSpace(text.back())) text.remove_suffix(1);
    return text;
}

std::string_view wordAt(std::string_view text) {
    std::size_t end = 0;
    while (end < text.size() && isWord(text[end])) ++end;
    return text.substr(0, end);
}

namespace {
/// Removes the parts of a constraint: `(…)`, or a concept with its arguments.
std::string_view withoutConstraint(std::string_view text) {
    for (bool has_more = true; has_more;) {
        text = trimmed(text);
        if (text.starts_with("(")) {
            text.remove_prefix(closed(text, 0));
        } else if (text.starts_with("requires")) {
            text.remove_prefix(8);
            text = trimmed(text);
            if (text.starts_with("(")) text = trimmed(text.substr(closed(text, 0)));
            if (text.starts_with("{")) text.remove_prefix(closed(text, 0));
        } else {
            while (!text.empty() && (isWord(text.front()) || text.front() == ':')) text.remove_prefix(1);
            if (text.starts_with("<")) text.remove_prefix(closed(text, 0));
        }
        text = trimmed(text);
        has_more = text.starts_with("&&") || text.starts_with("||");
        if (has_more) text.remove_prefix(2);
    }
    return text;
}

}  // namespace

std::string_view withoutHead(std::string_view text) {
    for (;;) {
        text = trimmed(text);
        if (text.starts_with("[[")) {
            text.remove_prefix(closed(text, 0));
        } else if (wordAt(text) == "template") {
            const std::size_t at = text.find('<');
            if (at == std::string_view::npos) return text;
            text.remove_prefix(closed(text, at));
        } else if (wordAt(text) == "requires") {
            text = withoutConstraint(text.substr(8));
        } else {
            return text;
        }
    }
}

}  // namespace cpp_text
