#include "tests/support/public_names.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <utility>

#include "tests/support/cpp_text.hpp"

// This is not a parser of C++. It handles declarations as clang-format leaves them, which suffices for these headers;
// names_test.cpp has each kind of declaration that they contain.

namespace public_names {
namespace {

using cpp_text::blanked;
using cpp_text::closed;
using cpp_text::isSpace;
using cpp_text::isWord;
using cpp_text::trimmed;
using cpp_text::withoutHead;
using cpp_text::wordAt;

struct Scope {
    enum class What { name_space, type, enumeration } what = What::name_space;
    std::string name;
    bool is_hidden = false;   // in `detail`, in an unnamed namespace, or in something hidden or not public
    bool is_public = true;    // whether the following members of a type are public
    bool is_options = false;  // whether users set its members
};

bool hasOptions(const std::string& type) {
    static const std::regex options("Options|.*(Options|Config|Policy|Definition|Update)");
    return std::regex_match(type, options);
}

class Scanner {
public:
    Scanner(std::string_view text, const std::string& header)
        : text_(text), code_(blanked(text)), header_(header), scopes_(1) {}

    std::vector<Name> take() {
        for (at_ = 0; at_ < code_.size(); ++at_) step();
        return std::move(names_);
    }

private:
    Scope& scope() { return scopes_.back(); }
    std::string_view statement() const { return trimmed(std::string_view(code_).substr(begin_, at_ - begin_)); }
    void next(std::size_t begin) { begin_ = begin; }

    void step() {
        const char c = code_[at_];
        if (scope().what == Scope::What::enumeration && (c == ',' || c == '}')) enumerator();
        if (c == ';') {
            declare(statement());
            next(at_ + 1);
        } else if (c == '(') {
            at_ = closed(code_, at_) - 1;
        } else if (c == '{') {
            open();
        } else if (c == '}') {
            if (scopes_.size() > 1) scopes_.pop_back();
            next(at_ + 1);
        } else if (c == ':') {
            access();
        }
    }

    void access() {
        if (scope().what != Scope::What::type || code_.compare(at_, 2, "::") == 0 || code_[at_ - 1] == ':') return;
        const std::string_view word = statement();
        if (word != "public" && word != "private" && word != "protected") return;
        scope().is_public = word == "public";
        next(at_ + 1);
    }

    void open() {
        const std::string whole(statement());
        const std::string_view head = withoutHead(whole);
        static const std::regex name_space(R"(^(?:inline )?namespace ?([\w:]*)$)");
        static const std::regex type(
            R"(^(?:friend )?(class|struct|union) (?:\w+::)*(\w+)(<[\s\S]*>)?(?: final)?(?:\s*:[^:][\s\S]*)?$)");
        static const std::regex enumeration(R"(^enum (?:class |struct )?(\w+)[\s\S]*$)");
        const std::string declaration(head);
        std::smatch match;
        Scope inner;
        inner.is_hidden = scope().is_hidden || !scope().is_public;
        if (std::regex_match(declaration, match, name_space)) {
            const std::string name = match[1];
            inner.is_hidden = inner.is_hidden || name.empty() || name.ends_with("detail");
        } else if (std::regex_match(declaration, match, enumeration)) {
            inner.what = Scope::What::enumeration;
            inner.name = match[1];
            if (!inner.is_hidden) record(inner.name, Kind::type);
        } else if (std::regex_match(declaration, match, type)) {
            inner.what = Scope::What::type;
            inner.name = match[2];
            inner.is_public = match[1] != "class";
            inner.is_hidden = inner.is_hidden || match[3].matched;  // a specialisation declares no names of its own
            inner.is_options = hasOptions(inner.name);
            if (!inner.is_hidden) record(inner.name, Kind::type);
        } else {
            skipBraces();
            return;
        }
        scopes_.push_back(inner);
        next(at_ + 1);
    }

    /// Skips a body, a value or a requirement. After a body the declaration has ended.
    void skipBraces() {
        const std::string whole(statement());
        const std::string_view head = withoutHead(whole);
        const bool is_value = hasValue(head);
        const bool is_function = head.find('(') != std::string_view::npos;
        const std::size_t end = closed(code_, at_);
        std::size_t after = end;
        while (after < code_.size() && isSpace(code_[after])) ++after;
        const bool has_more = after < code_.size() && (code_[after] == ',' || code_[after] == '{');
        const bool is_part = head.empty() || is_value || has_more || !is_function;
        if (!is_part) {
            declare(whole);
            next(end);
        }
        at_ = end - 1;
    }

    /// Whether a `=` begins the value of the declaration, and is not part of a parameter or an operator's name.
    static bool hasValue(std::string_view head) {
        if (head.find("operator") != std::string_view::npos) return false;
        for (std::size_t i = 0; i < head.size(); ++i) {
            if (head[i] == '(' || head[i] == '<') i = closed(head, i) - 1;
            if (head[i] == '=') return true;
        }
        return false;
    }

    void enumerator() {
        static const std::regex first(R"(^(\w+)[\s\S]*$)");
        const std::string text(statement());
        std::smatch match;
        if (!scope().is_hidden && std::regex_match(text, match, first)) record(match[1], Kind::enumerator);
        next(at_ + 1);
    }

    void declare(std::string_view whole) {
        if (scope().is_hidden || !scope().is_public) return;
        const std::string text(withoutHead(whole));
        static const std::regex none(R"(^(friend|static_assert|namespace|class|struct|union|enum)\b[\s\S]*$)");
        static const std::regex alias(R"(^using (\w+) =[\s\S]*$)");
        static const std::regex named(R"(^concept (\w+)\b[\s\S]*$)");
        std::smatch match;
        if (text.empty() || std::regex_match(text, none)) return;
        if (std::regex_match(text, match, alias)) return record(match[1], Kind::alias);
        if (std::regex_match(text, match, named)) return record(match[1], Kind::concept_);
        if (wordAt(text) == "using") return;
        const bool is_member = scope().what == Scope::What::type;
        const auto [name, is_function] = declared(text);
        const bool is_of_base = is_function && text.find(" override") != std::string::npos;
        if (name.empty() || name == scope().name || is_of_base) return;
        if (is_function) return record(name, is_member ? Kind::method : Kind::function);
        record(name, !is_member ? Kind::constant : scope().is_options ? Kind::option : Kind::member);
    }

    /// The declared name and whether it is a function's; empty for an operator, a destructor or a deduction guide.
    static std::pair<std::string, bool> declared(std::string_view text) {
        std::string word;
        for (std::size_t i = 0; i < text.size();) {
            if (text[i] == '~') return {};
            if (isWord(text[i])) {
                const std::string_view found = wordAt(text.substr(i));
                i += found.size();
                if (found == "operator") return {};
                if (found == "decltype" || found == "explicit" || found == "alignas") {
                    if (text[i] == '(') i = closed(text, i);
                    continue;
                }
                // A qualified name is defined elsewhere.
                word = text.substr(0, i - found.size()).ends_with("::") ? "" : found;
            } else if (text[i] == '<') {
                i = closed(text, i);
            } else if (text[i] == '(') {
                const bool is_guide = text.substr(closed(text, i)).find("->") == 1 && text.find("auto ") > i;
                return {is_guide ? "" : word, true};
            } else if (text[i] == '=' || text[i] == '{' || text[i] == '[') {
                break;
            } else {
                ++i;
            }
        }
        return {word, false};
    }

    void record(const std::string& name, Kind kind) {
        const bool is_namespace = scope().what == Scope::What::name_space;
        if (!is_namespace && isOfStandard(name, kind)) return;
        Name made{.name = name,
                  .owner = is_namespace ? "" : scope().name,
                  .kind = kind,
                  .header = header_,
                  .comment = comment(),
                  .declaration = kind == Kind::option ? declaration() : ""};
        const auto same = std::find_if(names_.begin(), names_.end(), [&](const Name& other) {
            return other.name == made.name && other.owner == made.owner;
        });
        if (same == names_.end()) {
            names_.push_back(std::move(made));
        } else if (same->comment.empty()) {
            same->comment = made.comment;
        }
    }

    static bool isOfStandard(const std::string& name, Kind kind) {
        static const std::regex range("c?r?(begin|end)|Iterator|data|swap|fields");
        const bool is_snake_case = name.find('_') != std::string::npos;
        return std::regex_match(name, range) || kind == Kind::alias || (kind == Kind::method && is_snake_case);
    }

    /// The first line of the declaration.
    std::size_t line() const {
        std::size_t begin = begin_;
        while (begin < at_ && isSpace(code_[begin])) ++begin;
        return code_.rfind('\n', begin) == std::string::npos ? 0 : code_.rfind('\n', begin) + 1;
    }

    /// The comment before the declaration or after it on the same line.
    std::string comment() const {
        std::vector<std::string_view> lines;
        for (std::size_t at = line(); at > 0;) {
            at = at < 2 ? 0 : text_.rfind('\n', at - 2) + 1;
            const std::string_view text = trimmed(text_.substr(at, text_.find('\n', at) - at));
            if (!text.starts_with("///")) break;
            lines.push_back(trimmed(text.substr(3)));
        }
        std::string text;
        for (auto it = lines.rbegin(); it != lines.rend() && !it->empty(); ++it)
            text += (text.empty() ? "" : " ") + std::string(*it);
        if (!text.empty()) return text;
        const std::string_view rest = text_.substr(at_, std::min(text_.find('\n', at_), text_.size()) - at_);
        const std::size_t after = rest.find("// ");
        return after == std::string_view::npos ? "" : std::string(trimmed(rest.substr(after + 3)));
    }

    /// The declaration in one line, without comments and without the library's own wrappers.
    std::string declaration() const {
        std::size_t begin = begin_;
        while (begin < at_ && isSpace(code_[begin])) ++begin;
        static const std::regex comments("//[^\n]*");
        static const std::regex spaces(R"(\s+)");
        static const std::regex wrapper("detail::Member<([^<>]*(?:<[^<>]*>)?[^<>]*)>");
        std::string text(text_.substr(begin, at_ - begin));
        text = std::regex_replace(std::regex_replace(text, comments, ""), spaces, " ");
        return std::regex_replace(text, wrapper, "$1");
    }

    std::string_view text_;
    std::string code_;
    std::string header_;
    std::vector<Scope> scopes_;
    std::vector<Name> names_;
    std::size_t at_ = 0;
    std::size_t begin_ = 0;  // where the declaration begins
};

std::string readAll(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

const char* toString(Kind kind) {
    switch (kind) {
        case Kind::type:
            return "type";
        case Kind::alias:
            return "alias";
        case Kind::concept_:
            return "concept";
        case Kind::function:
            return "function";
        case Kind::constant:
            return "constant";
        case Kind::enumerator:
            return "enumerator";
        case Kind::option:
            return "option";
        case Kind::member:
            return "member";
        case Kind::method:
            return "method";
    }
    return "";
}

std::string sentenceOf(const std::string& text) {
    for (std::size_t i = 0; i + 2 < text.size(); ++i) {
        const bool is_next_small = std::islower(static_cast<unsigned char>(text[i + 2])) != 0;  // as in "e.g. this"
        if (text[i] == '.' && text[i + 1] == ' ' && !is_next_small) return text.substr(0, i + 1);
    }
    return text;
}

std::vector<Name> namesOf(std::string_view text, const std::string& header) { return Scanner(text, header).take(); }

std::vector<Name> namesBelow(const std::filesystem::path& include) {
    std::set<std::string> headers;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(include)) {
        const std::string header = entry.path().lexically_relative(include).generic_string();
        const bool is_hidden = header.starts_with("detail/") || header.find("/detail/") != std::string::npos ||
                               header.starts_with("testing/saver_contract/");
        if (entry.path().extension() == ".hpp" && !is_hidden) headers.insert(header);
    }
    std::vector<Name> all;
    for (const std::string& header : headers) {
        std::vector<Name> names = namesOf(readAll(include / header), header);
        all.insert(all.end(), std::make_move_iterator(names.begin()), std::make_move_iterator(names.end()));
    }
    return all;
}

}  // namespace public_names
