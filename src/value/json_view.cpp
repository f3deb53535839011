#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include <stategraph/detail/utf8.hpp>
#include <stategraph/encoding.hpp>
#include <stategraph/error.hpp>

#include "src/value/bytes.hpp"

namespace stategraph {
namespace {

using Type = Decoder::Type;

std::string toBase64Url(std::string_view bytes) {
    constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    std::string out;
    out.reserve(bytes.size() / 3 * 4 + 3);
    std::uint32_t bits = 0;
    unsigned held = 0;
    for (const char c : bytes) {
        bits = bits << 8U | static_cast<unsigned char>(c);
        for (held += 8; held >= 6; held -= 6) out += alphabet[bits >> (held - 6) & 63U];
    }
    if (held > 0) out += alphabet[bits << (6 - held) & 63U];
    return out;
}

bool mustBeEscaped(unsigned char c) noexcept { return c < 0x20 || c == '"' || c == '\\'; }

// Returns the first byte that must be escaped, or the end. Most text contains none, so eight bytes are checked at a
// time.
const char* findEscape(const char* at, const char* end) noexcept {
    constexpr std::uint64_t each = 0x0101010101010101U;
    for (; end - at >= 8; at += 8) {
        std::uint64_t word;
        std::memcpy(&word, at, 8);
        const std::uint64_t quote = word ^ each * '"';
        const std::uint64_t backslash = word ^ each * '\\';
        // A byte's highest bit is set where the subtraction went below 0. A borrow occurs only after such a byte.
        const std::uint64_t found =
            ((word - each * 0x20U) & ~word) | ((quote - each) & ~quote) | ((backslash - each) & ~backslash);
        if ((found & each * 0x80U) != 0) break;
    }
    while (at != end && !mustBeEscaped(static_cast<unsigned char>(*at))) ++at;
    return at;
}

// Appends a JSON string (RFC 8259, section 7) with the shortest escapes, and only those that are required.
void quote(std::string& out, std::string_view text) {
    const char* at = text.data();
    const char* const end = at + text.size();
    out += '"';
    for (;;) {
        const char* const escaped = findEscape(at, end);
        out.append(at, static_cast<std::size_t>(escaped - at));
        if (escaped == end) break;
        at = escaped + 1;
        constexpr std::string_view letters = "btn fr";  // of the characters 8 to 13
        const auto c = static_cast<unsigned char>(*escaped);
        out += '\\';
        if (c >= 0x20) {
            out += *escaped;
        } else if (c >= 8 && c <= 13 && c != 11) {
            out += letters[c - 8U];
        } else {
            out += "u00";
            detail::appendHex(out, c);
        }
    }
    out += '"';
}

// Writes JSON while it reads CBOR. It builds no tree in between, so that integers stay exact and the cost is linear.
class JsonWriter {
public:
    explicit JsonWriter(Decoder& in) : in_(in) {}

    void item(std::string& out) {
        switch (in_.peek()) {
            case Type::unsigned_integer:
                out += std::to_string(in_.unsignedInteger());
                break;
            case Type::negative_integer:
                negative(out);
                break;
            case Type::bytes:
                quote(out, toBase64Url(in_.bytes()));
                break;
            case Type::text:
                quote(out, checkedText());
                break;
            case Type::array:
                array(out);
                break;
            case Type::map:
                map(out);
                break;
            case Type::boolean:
                out += in_.boolean() ? "true" : "false";
                break;
            case Type::null:
                in_.tryNull();
                out += "null";
                break;
            case Type::real:
                real(out, in_.real());
                break;
            case Type::end:
                Decoder::fail("a value", Type::end);
        }
    }

private:
    void negative(std::string& out) {
        // CBOR has numbers below the smallest std::int64_t, so the number is taken from the bytes, which contain -1 -
        // number.
        const std::uint64_t number = detail::headNumber(in_.raw());
        constexpr std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
        out += number == last ? "-18446744073709551616" : "-" + std::to_string(number + 1);
    }

    static void real(std::string& out, double value) {
        if (!std::isfinite(value)) {
            out += "null";
            return;
        }
        std::array<char, 32> text;
        const auto result = std::to_chars(text.data(), text.data() + text.size(), value);
        const std::string_view digits(text.data(), static_cast<std::size_t>(result.ptr - text.data()));
        out += digits;
        // Makes sure that a real number can be recognised as one.
        if (digits.find_first_of(".e") == std::string_view::npos) out += ".0";
    }

    std::string_view checkedText() {
        const std::string_view text = in_.text();
        if (!detail::isUtf8(text)) throw WrongTypeError("expected text, found a text string that is not UTF-8");
        return text;
    }

    void array(std::string& out) {
        const Decoder::Nesting nesting(in_);
        out += '[';
        const std::size_t count = in_.array();
        for (std::size_t i = 0; i < count; ++i) {
            if (i > 0) out += ',';
            item(out);
        }
        out += ']';
    }

    void map(std::string& out) {
        const Decoder::Nesting nesting(in_);
        out += '{';
        const std::size_t count = in_.map();
        for (std::size_t i = 0; i < count; ++i) {
            if (i > 0) out += ',';
            key(out);
            out += ':';
            item(out);
        }
        out += '}';
    }

    void key(std::string& out) {
        const Type type = in_.peek();
        if (type == Type::text || type == Type::bytes) return item(out);
        // Each level of quoting doubles the backslashes of the level inside it, so only one level is allowed.
        if (in_key_) Decoder::fail("a text key in a map that is itself inside a key", type);
        in_key_ = true;
        std::string text;
        item(text);
        in_key_ = false;
        quote(out, text);
    }

    Decoder& in_;
    bool in_key_ = false;
};

}  // namespace

std::string cborToJson(std::string_view cbor) {
    Decoder in(cbor);
    std::string out;
    out.reserve(cbor.size() + cbor.size() / 2);
    JsonWriter(in).item(out);
    if (!in.atEnd()) Decoder::fail("the end of the bytes after one value", in.peek());
    return out;
}

}  // namespace stategraph
