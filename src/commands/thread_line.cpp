#include "src/commands/thread_line.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <new>

#include <stategraph/detail/utf8.hpp>
#include <stategraph/error.hpp>
#include <stategraph/value.hpp>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace stategraph::commands {
namespace {

constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<std::int8_t, 256> sixBits() {
    std::array<std::int8_t, 256> table{};
    table.fill(-1);
    for (std::size_t i = 0; i < alphabet.size(); ++i)
        table[static_cast<unsigned char>(alphabet[i])] = static_cast<std::int8_t>(i);
    return table;
}
constexpr std::array<std::int8_t, 256> six_bits = sixBits();

// Reads one JSON object without arrays and objects inside.
class Parser {
public:
    explicit Parser(std::string_view json) noexcept : at_(json.data()), end_(json.data() + json.size()) {}

    void skipSpace() noexcept {
        while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r')) ++at_;
    }
    bool atEnd() const noexcept { return at_ == end_; }
    bool tryTake(char c) noexcept {
        skipSpace();
        if (at_ == end_ || *at_ != c) return false;
        ++at_;
        return true;
    }
    void take(char c) {
        if (!tryTake(c)) throw LineFault{std::string("expected '") + c + "' " + found()};
    }
    bool tryWord(std::string_view word) noexcept {
        skipSpace();
        if (!std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(word)) return false;
        at_ += word.size();
        return true;
    }
    bool isText() noexcept {
        skipSpace();
        return at_ != end_ && *at_ == '"';
    }

    std::string text() {
        take('"');
        std::string out;
        for (;;) {
            const char* const begin = at_;
            while (at_ != end_ && *at_ != '"' && *at_ != '\\' && static_cast<unsigned char>(*at_) >= 0x20U) ++at_;
            out.append(begin, at_);
            if (at_ == end_) throw LineFault{"a text has no end"};
            if (*at_ == '"') break;
            if (*at_ != '\\') throw LineFault{"a text has a control character that is not escaped"};
            ++at_;
            escape(out);
        }
        ++at_;
        return out;
    }

    std::uint64_t number() {
        skipSpace();
        std::uint64_t value = 0;
        const auto [after, error] = std::from_chars(at_, end_, value);
        const bool has_zero = after - at_ > 1 && *at_ == '0';
        const bool goes_on = after != end_ && (*after == '.' || *after == 'e' || *after == 'E');
        if (error != std::errc() || has_zero || goes_on) throw LineFault{"expected a whole number " + found()};
        at_ = after;
        return value;
    }

private:
    std::string found() const {
        if (at_ == end_) return "and found the line's end";
        constexpr std::ptrdiff_t shown = 20;
        std::string text(at_, std::min(at_ + shown, end_));
        std::replace_if(
            text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
        return "and found '" + text + "'";
    }

    std::uint32_t hex4() {
        std::uint32_t value = 0;
        if (end_ - at_ < 4) throw LineFault{"an escape in a text is cut off"};
        const auto [after, error] = std::from_chars(at_, at_ + 4, value, 16);
        if (error != std::errc() || after != at_ + 4) throw LineFault{"an escape in a text is not \\u and four digits"};
        at_ = after;
        return value;
    }

    void escape(std::string& out) {
        if (at_ == end_) throw LineFault{"a text has no end"};
        constexpr std::string_view letters = "\"\\/bfnrt";
        constexpr std::string_view meant = "\"\\/\b\f\n\r\t";
        const char letter = *at_++;
        const std::size_t place = letters.find(letter);
        if (place != std::string_view::npos) {
            out += meant[place];
            return;
        }
        if (letter != 'u') throw LineFault{"a text has an unknown escape"};
        std::uint32_t code = hex4();
        if (code >= 0xd800U && code < 0xdc00U) {
            if (end_ - at_ < 2 || at_[0] != '\\' || at_[1] != 'u') throw LineFault{"a text has half a surrogate pair"};
            at_ += 2;
            const std::uint32_t low = hex4();
            if (low < 0xdc00U || low > 0xdfffU) throw LineFault{"a text has half a surrogate pair"};
            code = 0x10000U + ((code - 0xd800U) << 10U) + (low - 0xdc00U);
        } else if (code >= 0xdc00U && code < 0xe000U) {
            throw LineFault{"a text has half a surrogate pair"};
        }
        appendUtf8(code, out);
    }

    static void appendUtf8(std::uint32_t code, std::string& out) {
        const auto tail = [&](unsigned shift) { out += static_cast<char>(0x80U | (code >> shift & 0x3fU)); };
        if (code < 0x80U) {
            out += static_cast<char>(code);
        } else if (code < 0x800U) {
            out += static_cast<char>(0xc0U | code >> 6U);
            tail(0);
        } else if (code < 0x10000U) {
            out += static_cast<char>(0xe0U | code >> 12U);
            tail(6);
            tail(0);
        } else {
            out += static_cast<char>(0xf0U | code >> 18U);
            tail(12);
            tail(6);
            tail(0);
        }
    }

    const char* at_;
    const char* end_;
};

constexpr std::size_t members_max = 16;

}  // namespace

std::string toBase64(std::string_view bytes) {
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
        std::uint32_t group = 0;
        for (std::size_t k = 0; k < 3; ++k)
            group = group << 8U | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
        for (std::size_t k = 0; k < 4; ++k) text += k <= count ? alphabet[group >> (18U - 6U * k) & 63U] : '=';
    }
    return text;
}

std::optional<std::string> fromBase64(std::string_view text) {
    if (text.size() % 4 != 0) return {};
    std::size_t padding = 0;
    while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
    const std::string_view digits = text.substr(0, text.size() - padding);
    std::string bytes;
    bytes.reserve(text.size() / 4 * 3);
    std::uint32_t group = 0;
    unsigned held = 0;
    for (const char c : digits) {
        // NOLINTNEXTLINE(bugprone-signed-char-misuse): the table has numbers, and -1
        const int six = six_bits[static_cast<unsigned char>(c)];
        if (six < 0) return {};
        group = (group << 6U | static_cast<std::uint32_t>(six)) & 0xffffffU;
        held += 6;
        if (held < 8) continue;
        held -= 8;
        bytes += static_cast<char>(group >> held & 0xffU);
    }
    if ((group & ((1U << held) - 1U)) != 0) return {};
    return bytes;
}

void LineWriter::name(std::string_view name) {
    if (line_.size() > 1) line_ += ',';
    line_ += '"';
    line_ += name;
    line_ += "\":";
}

LineWriter& LineWriter::text(std::string_view name, std::string_view value) {
    if (!detail::isUtf8(value)) return bytes(std::string(name) + "64", value);
    this->name(name);
    line_ += Value(std::string(value)).toJson();
    return *this;
}

LineWriter& LineWriter::bytes(std::string_view name, std::string_view value) {
    this->name(name);
    line_ += '"';
    line_ += toBase64(value);
    line_ += '"';
    return *this;
}

LineWriter& LineWriter::number(std::string_view name, std::uint64_t value) {
    this->name(name);
    line_ += std::to_string(value);
    return *this;
}

LineWriter& LineWriter::boolean(std::string_view name, bool value) {
    this->name(name);
    line_ += value ? "true" : "false";
    return *this;
}

std::string LineWriter::finish() && {
    line_ += "}\n";
    return std::move(line_);
}

Line::Line(std::string_view json) {
    if (!detail::isUtf8(json)) throw LineFault{"it is not UTF-8"};
    Parser in(json);
    in.take('{');
    for (bool more = !in.tryTake('}'); more;) {
        if (members_.size() == members_max) throw LineFault{"it has more members than any line has"};
        Member member;
        member.name = in.text();
        if (find(member.name) != nullptr) throw LineFault{"it has the member '" + member.name + "' twice"};
        in.take(':');
        if (in.isText()) {
            member.text = in.text();
        } else if (const bool is_true = in.tryWord("true"); is_true || in.tryWord("false")) {
            member.kind = Member::Kind::boolean;
            member.number = is_true;
        } else {
            member.kind = Member::Kind::number;
            member.number = in.number();
        }
        members_.push_back(std::move(member));
        more = in.tryTake(',');
        if (!more) in.take('}');
    }
    in.skipSpace();
    if (!in.atEnd()) throw LineFault{"there is more after its object"};
}

const Line::Member* Line::find(std::string_view name) const noexcept {
    const auto found = std::ranges::find(members_, name, &Member::name);
    return found == members_.end() ? nullptr : &*found;
}

Line::Member Line::take(std::string_view name, Member::Kind kind, const char* expected) {
    const auto found = std::ranges::find(members_, name, &Member::name);
    if (found == members_.end()) throw LineFault{"it has no member '" + std::string(name) + "'"};
    if (found->kind != kind) throw LineFault{"its member '" + std::string(name) + "' is not " + expected};
    Member member = std::move(*found);
    members_.erase(found);
    return member;
}

std::string Line::text(std::string_view name) {
    const std::string coded = std::string(name) + "64";
    if (!has(coded)) return take(name, Member::Kind::text, "a text").text;
    if (has(name)) throw LineFault{"it has both '" + std::string(name) + "' and '" + coded + "'"};
    return bytes(coded);
}

std::string Line::bytes(std::string_view name) {
    auto decoded = fromBase64(take(name, Member::Kind::text, "a text").text);
    if (!decoded) throw LineFault{"its member '" + std::string(name) + "' is not base64"};
    return std::move(*decoded);
}

std::uint64_t Line::number(std::string_view name) { return take(name, Member::Kind::number, "a whole number").number; }

bool Line::boolean(std::string_view name) { return take(name, Member::Kind::boolean, "true or false").number != 0; }

void Line::finish() const {
    if (!members_.empty()) throw LineFault{"it has the member '" + members_.front().name + "', which no such line has"};
}

LineHash::LineHash() : state_(XXH3_createState()) {
    if (state_ == nullptr) throw std::bad_alloc();
    XXH3_64bits_reset(static_cast<XXH3_state_t*>(state_));
}
LineHash::~LineHash() { XXH3_freeState(static_cast<XXH3_state_t*>(state_)); }
void LineHash::add(std::string_view line) noexcept {
    XXH3_64bits_update(static_cast<XXH3_state_t*>(state_), line.data(), line.size());
}
std::string LineHash::text() const {
    std::uint64_t hash = XXH3_64bits_digest(static_cast<const XXH3_state_t*>(state_));
    std::string text(16, '0');
    for (std::size_t i = 16; i > 0; hash >>= 4U) text[--i] = "0123456789abcdef"[hash & 15U];
    return text;
}

LineReader::LineReader(std::istream& in, std::size_t line_bytes_max) : in_(in), line_bytes_max_(line_bytes_max) {}

std::optional<std::string_view> LineReader::next() {
    if (number_ > 0) {
        line_ += '\n';
        hash_.add(line_);
    }
    line_.clear();
    ++number_;
    using Traits = std::istream::traits_type;
    std::streambuf* const buffer = in_.rdbuf();
    if (!in_.good() || buffer == nullptr) return {};
    for (;;) {
        const Traits::int_type c = buffer->sbumpc();
        if (Traits::eq_int_type(c, Traits::eof())) {
            in_.setstate(std::ios::eofbit);
            if (line_.empty()) return {};
            break;
        }
        if (Traits::to_char_type(c) == '\n') break;
        if (line_.size() == line_bytes_max_) {
            throw InvalidArgumentError("line " + std::to_string(number_) + " is longer than " +
                                       std::to_string(line_bytes_max_) +
                                       " bytes; raise ImportOptions::line_bytes_max if it is meant to be");
        }
        line_ += Traits::to_char_type(c);
    }
    if (line_.ends_with('\r')) line_.pop_back();  // an e-mail program may have added it
    return line_;
}

}  // namespace stategraph::commands
