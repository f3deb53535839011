#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/error.hpp>

#include "json/schema/pattern.hpp"

// Both languages are much alike. What differs is written out: what \s and the dot mean, escapes of characters, classes,
// groups with names, and numbers of repetitions above RE2's limit.
namespace stategraph::schema {
namespace {

using Text = std::string_view;

constexpr Text blanks = R"(\t\n\v\f\r \x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}\x{FEFF})";
constexpr Text no_blanks =
    R"(\x{0}-\x{8}\x{E}-\x{1F}\x{21}-\x{9F}\x{A1}-\x{167F}\x{1681}-\x{1FFF}\x{200B}-\x{2027}\x{202A}-\x{202E})"
    R"(\x{2030}-\x{205E}\x{2060}-\x{2FFF}\x{3001}-\x{FEFE}\x{FF00}-\x{10FFFF})";
constexpr Text any_character = R"([\x{0}-\x{10FFFF}])";
constexpr Text no_character = R"([^\x{0}-\x{10FFFF}])";
constexpr Text no_line_end = R"([^\n\r\x{2028}\x{2029}])";
constexpr std::int64_t repeated_max = 1000;  // by RE2
constexpr std::int64_t repeats_max = 5000;   // of a whole pattern: RE2 takes time in their square

constexpr std::array<std::pair<Text, Text>, 10> categories{{{"Letter", "L"},
                                                            {"Lowercase_Letter", "Ll"},
                                                            {"Uppercase_Letter", "Lu"},
                                                            {"Mark", "M"},
                                                            {"Number", "N"},
                                                            {"Decimal_Number", "Nd"},
                                                            {"Punctuation", "P"},
                                                            {"Symbol", "S"},
                                                            {"Separator", "Z"},
                                                            {"Other", "C"}}};

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::string codePoint(std::uint32_t code) {
    std::array<char, 16> text;
    const int size = std::snprintf(text.data(), text.size(), "\\x{%X}", code);
    return {text.data(), static_cast<std::size_t>(size)};
}

class Translation {
public:
    explicit Translation(Text pattern) : pattern_(pattern) {}

    std::string run() {
        while (!atEnd()) takePart();
        return std::move(out_);
    }

private:
    /// A character, or a set of them that is written in brackets or as an escape.
    struct Atom {
        std::optional<std::uint32_t> code = {};
        std::string set = {};
    };

    [[noreturn]] void refuse(const std::string& why) const {
        throw InvalidArgumentError("the pattern '" + std::string(pattern_) + "' cannot be used: it has " + why);
    }

    bool atEnd() const { return at_ == pattern_.size(); }
    bool follows(Text text) const { return pattern_.substr(at_).starts_with(text); }
    bool take(Text text) {
        if (!follows(text)) return false;
        at_ += text.size();
        return true;
    }

    void takePart() {
        const char c = pattern_[at_];
        if (c == '(') return takeGroup();
        if (c == ')') {
            if (!groups_.empty()) {
                atom_ = groups_.back();
                groups_.pop_back();
            }
            return keep();
        }
        if (c == '*' || c == '+' || c == '?' || c == '|' || c == '^' || c == '$') return keep();
        if (c == '{' && takeRepetition()) return;
        atom_ = out_.size();
        if (c == '[') return takeClass();
        if (c == '.') {
            ++at_;
            out_ += no_line_end;
        } else if (c == '\\') {
            ++at_;
            takeEscape();
        } else {
            out_ += codePoint(takeCharacter());
        }
    }
    void keep() { out_ += pattern_[at_++]; }

    void takeGroup() {
        groups_.push_back(out_.size());
        for (const Text look : {"(?=", "(?!", "(?<=", "(?<!"}) {
            if (follows(look)) {
                refuse("look-ahead or look-behind, '" + std::string(look) +
                       "', which has no linear matcher; use several patterns in 'allOf' or 'not'");
            }
        }
        if (take("(?<")) {
            const std::size_t end = pattern_.find('>', at_);
            if (end == Text::npos) refuse("a group whose name has no end");
            at_ = end + 1;
            out_ += "(?:";
            return;
        }
        if (take("(?")) {
            out_ += "(?";
            while (!atEnd() && (pattern_[at_] == 'i' || pattern_[at_] == 'm' || pattern_[at_] == 's' || follows("-")))
                keep();
            if (!follows(":") && !follows(")")) refuse("a group with something unknown after '(?'");
            if (follows(")")) groups_.pop_back();
        }
        keep();
    }

    /// Takes {n}, {n,} and {n,m}. Returns false if the brace is a character.
    bool takeRepetition() {
        std::size_t at = at_ + 1;
        const auto number = [&]() -> std::optional<std::int64_t> {
            if (at == pattern_.size() || !isDigit(pattern_[at])) return {};
            std::int64_t value = 0;
            for (; at < pattern_.size() && isDigit(pattern_[at]); ++at)
                value = std::min(value * 10 + (pattern_[at] - '0'), repeats_max + 1);
            return value;
        };
        const std::optional<std::int64_t> least = number();
        if (!least) return false;
        std::optional<std::int64_t> most = least;
        if (at < pattern_.size() && pattern_[at] == ',') {
            ++at;
            most = number();
        }
        if (at == pattern_.size() || pattern_[at] != '}') return false;
        const Text written = pattern_.substr(at_, at + 1 - at_);
        at_ = at + 1;
        repeats_ += std::max(*least, most.value_or(0));
        if (repeats_ > repeats_max) refuse("more than " + std::to_string(repeats_max) + " repetitions");
        if (most && *most < *least) refuse("a repetition whose limits are in the wrong order");
        if (std::max(*least, most.value_or(0)) <= repeated_max) {
            out_ += written;
        } else {
            repeat(*least, most);
            (void)take("?");  // it asks for the shortest match, and any will do
        }
        return true;
    }
    /// Writes the newest atom as often, in pieces.
    void repeat(std::int64_t least, std::optional<std::int64_t> most) {
        const std::string atom = out_.substr(atom_);
        out_.resize(atom_);
        out_ += "(?:";
        for (std::int64_t left = least; left > 0; left -= repeated_max)
            out_ += atom + "{" + std::to_string(std::min(left, repeated_max)) + "}";
        if (!most) out_ += atom + "*";
        for (std::int64_t left = most.value_or(least) - least; left > 0; left -= repeated_max)
            out_ += atom + "{0," + std::to_string(std::min(left, repeated_max)) + "}";
        out_ += ")";
    }

    void takeEscape() {
        if (follows("b") || follows("B")) {
            out_ += '\\';
            return keep();
        }
        const Atom atom = escaped(false);
        out_ += atom.code ? codePoint(*atom.code) : "[" + atom.set + "]";
    }

    void takeClass() {
        ++at_;
        const bool is_negated = take("^");
        std::string set;
        while (!follows("]")) {
            if (atEnd()) refuse("a class without its end, ']'");
            const Atom first = takeClassAtom();
            if (first.code && follows("-") && !follows("-]")) {
                const std::size_t before = at_++;
                const Atom last = takeClassAtom();
                if (last.code) {
                    if (*last.code < *first.code) refuse("a range of characters in the wrong order");
                    set += codePoint(*first.code) + "-" + codePoint(*last.code);
                    continue;
                }
                at_ = before;
            }
            set += first.code ? codePoint(*first.code) : first.set;
        }
        ++at_;
        if (set.empty()) {
            out_ += is_negated ? any_character : no_character;
        } else {
            out_ += (is_negated ? "[^" : "[") + set + "]";
        }
    }
    Atom takeClassAtom() {
        if (atEnd()) refuse("a class without its end, ']'");
        if (take("\\")) return escaped(true);
        return {takeCharacter(), {}};
    }

    /// Takes what follows a backslash.
    Atom escaped(bool is_in_class) {
        if (atEnd()) refuse("a backslash at its end");
        const char c = pattern_[at_];
        if (static_cast<unsigned char>(c) >= 0x80) return {takeCharacter(), {}};
        ++at_;
        switch (c) {
            case 'd':
                return {{}, "0-9"};
            case 'D':
                return {{}, R"(\D)"};
            case 'w':
                return {{}, "0-9A-Za-z_"};
            case 'W':
                return {{}, R"(\W)"};
            case 's':
                return {{}, std::string(blanks)};
            case 'S':
                return {{}, std::string(no_blanks)};
            case 'p':
            case 'P':
                return {{}, property(c)};
            case 't':
                return {U'\t', {}};
            case 'n':
                return {U'\n', {}};
            case 'v':
                return {U'\v', {}};
            case 'f':
                return {U'\f', {}};
            case 'r':
                return {U'\r', {}};
            case 'x':
                return {hexadecimal(2), {}};
            case 'u':
                return {unicode(), {}};
            case 'c':
                if (atEnd() || !isLetter(pattern_[at_])) refuse("'\\c' without a letter");
                return {static_cast<unsigned char>(pattern_[at_++]) % 32U, {}};
            case 'b':
                if (is_in_class) return {U'\b', {}};
                break;
            case '0':
                if (atEnd() || !isDigit(pattern_[at_])) return {0, {}};
                break;
            default:
                break;
        }
        if ((isDigit(c) && c != '0') || c == 'k') refuse("a back reference, which has no linear matcher");
        if (isDigit(c) || isLetter(c)) refuse(std::string("the escape '\\") + c + "', which ECMA-262 does not have");
        return {static_cast<unsigned char>(c), {}};
    }

    std::uint32_t hexadecimal(std::size_t digits) {
        std::uint32_t code = 0;
        for (std::size_t i = 0; i < digits; ++i) {
            const char c = atEnd() ? '\0' : pattern_[at_++];
            const bool is_letter = (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
            if (!isDigit(c) && !is_letter) refuse("an escape with too few hexadecimal digits");
            code = code * 16 + static_cast<std::uint32_t>(isDigit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
        }
        return code;
    }
    std::uint32_t unicode() {
        std::uint32_t code = 0;
        if (take("{")) {
            const std::size_t end = pattern_.find('}', at_);
            if (end == Text::npos || end == at_ || end - at_ > 6) refuse("'\\u{' without a number of a character");
            code = hexadecimal(end - at_);
            ++at_;
        } else {
            code = hexadecimal(4);
            if (code >= 0xd800 && code < 0xdc00 && take("\\u")) {
                const std::uint32_t low = hexadecimal(4);
                if (low < 0xdc00 || low > 0xdfff) refuse("half of a surrogate pair, which is no character");
                code = 0x10000 + ((code - 0xd800) << 10U) + (low - 0xdc00);
            }
        }
        if ((code >= 0xd800 && code < 0xe000) || code > 0x10ffff)
            refuse("the escape of something that is no character");
        return code;
    }

    /// Takes {Lu}, {Letter}, {Script=Greek} and the like.
    std::string property(char p) {
        const std::size_t end = pattern_.find('}', at_);
        if (!take("{") || end == Text::npos) refuse(std::string("'\\") + p + "' without a property in braces");
        Text name = pattern_.substr(at_, end - at_);
        at_ = end + 1;
        const std::size_t value = name.find('=');
        if (value != Text::npos) name.remove_prefix(value + 1);
        for (const auto& [full, brief] : categories) {
            if (name == full) name = brief;
        }
        return std::string("\\") + p + "{" + std::string(name) + "}";
    }

    /// Takes a character of UTF-8.
    std::uint32_t takeCharacter() {
        const auto lead = static_cast<unsigned char>(pattern_[at_++]);
        if (lead < 0x80) return lead;
        std::uint32_t code = lead < 0xe0 ? lead & 0x1fU : lead < 0xf0 ? lead & 0x0fU : lead & 0x07U;
        while (!atEnd() && (static_cast<unsigned char>(pattern_[at_]) & 0xc0U) == 0x80U)
            code = code << 6U | (static_cast<unsigned char>(pattern_[at_++]) & 0x3fU);
        return code;
    }

    Text pattern_;
    std::size_t at_ = 0;
    std::string out_;
    std::size_t atom_ = 0;  // where the newest atom begins in the output
    std::int64_t repeats_ = 0;
    std::vector<std::size_t> groups_;  // where those that are open begin there
};

}  // namespace

std::string asRe2(std::string_view ecma) { return Translation(ecma).run(); }

}  // namespace stategraph::schema
