#include "inspect/http/redaction.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include <stategraph/error.hpp>

#include "inspect/terminal.hpp"

namespace stategraph::inspect {
namespace {

std::string lowered(std::string_view text) {
    std::string lower(text);
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return lower;
}

// Returns whether the text matches; '*' matches any characters. Cost: linear in the text for each star.
bool fitsPattern(std::string_view pattern, std::string_view text) {
    std::size_t at = 0, in = 0, star = std::string_view::npos, behind = 0;
    while (in < text.size()) {
        if (at < pattern.size() && pattern[at] == '*') {
            star = at++;
            behind = in;
        } else if (at < pattern.size() && pattern[at] == text[in]) {
            ++at;
            ++in;
        } else if (star != std::string_view::npos) {
            at = star + 1;
            in = ++behind;
        } else {
            return false;
        }
    }
    while (at < pattern.size() && pattern[at] == '*') ++at;
    return at == pattern.size();
}

std::string below(const std::string& path, std::string_view name) {
    return path.empty() ? std::string(name) : path + "." + std::string(name);
}

class Rewriter {
public:
    Rewriter(const Redaction& redaction, std::string& out) : redaction_(redaction), out_(out) {}

    void item(Decoder& in, const std::string& path) {
        const Decoder::Nesting nesting(in);
        if (in.peek() == Decoder::Type::array) {
            const std::size_t count = in.array();
            out_.array(count);
            for (std::size_t i = 0; i < count; ++i) item(in, path);
        } else if (in.peek() == Decoder::Type::map) {
            const std::size_t count = in.map();
            out_.map(count);
            for (std::size_t i = 0; i < count; ++i) member(in, path);
        } else {
            out_.raw(in.raw());
        }
    }

private:
    void member(Decoder& in, const std::string& path) {
        const std::string_view key = in.raw();
        out_.raw(key);
        Decoder name(key);
        const std::string_view text =
            name.peek() == Decoder::Type::text || name.peek() == Decoder::Type::bytes ? name.text() : key;
        if (redaction_.hides(path, text)) {
            out_.text("•••(" + sizeText(in.raw().size()) + ")");
        } else {
            item(in, below(path, text));
        }
    }

    const Redaction& redaction_;
    Encoder out_;
};

}  // namespace

Redaction::Redaction(std::vector<std::string> patterns) {
    for (const std::string& pattern : patterns) {
        if (pattern.empty()) throw InvalidArgumentError("ServerOptions::redact has an empty pattern");
        patterns_.push_back(lowered(pattern));
    }
}

bool Redaction::hides(std::string_view path, std::string_view name) const {
    if (patterns_.empty()) return false;
    const std::string own = lowered(name);
    const std::string whole = lowered(below(std::string(path), name));
    return std::ranges::any_of(patterns_, [&](const std::string& pattern) {
        return fitsPattern(pattern, pattern.find('.') == std::string::npos ? own : whole);
    });
}

Value Redaction::apply(Value value, const std::string& path) const {
    if (patterns_.empty()) return value;
    // A channel is hidden by itself, or because it is below a hidden member.
    for (std::size_t end = 0; !path.empty() && end != std::string::npos;) {
        end = path.find('.', end == 0 ? 0 : end + 1);
        const std::string_view until = std::string_view(path).substr(0, end);
        const std::size_t dot = until.rfind('.');
        const bool is_hidden =
            dot == std::string_view::npos ? hides("", until) : hides(until.substr(0, dot), until.substr(dot + 1));
        if (is_hidden) return Value("•••(" + sizeText(value.bytes().size()) + ")");
    }
    std::string cbor;
    Decoder in(value.bytes());
    Rewriter(*this, cbor).item(in, path);
    return Value::fromCbor(std::move(cbor));
}

}  // namespace stategraph::inspect
