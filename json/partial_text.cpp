#include "json/partial_text.hpp"

#include <algorithm>

#include "src/value/bytes.hpp"

namespace stategraph::detail {
namespace {

constexpr unsigned replacement = 0xfffdU;

bool isBreak(char c) { return c == '\n' || c == '\r' || c == '\t'; }

// Returns whether a character needs no look at what came before.
bool isOrdinary(char c) { return static_cast<unsigned char>(c) - 0x20U < 0x60U && c != '"' && c != '\\'; }

// Returns the character that an escape of one letter means, or 0.
char unescaped(char c) {
    switch (c) {
        case '"':
        case '\\':
        case '/':
            return c;
        case 'b':
            return '\b';
        case 'f':
            return '\f';
        case 'n':
            return '\n';
        case 'r':
            return '\r';
        case 't':
            return '\t';
        default:
            return 0;
    }
}

}  // namespace

void PartialText::begin(Role role, bool raw_breaks) {
    decoded_.clear();
    character_.clear();
    left_ = 0;
    place_ = Place::plain;
    high_ = 0;
    role_ = role;
    raw_breaks_ = raw_breaks;
    wrong_ = false;
}

const char* PartialText::read(const char* at, const char* end) {
    while (at != end && !(wrong_ && role_ == Role::value)) {
        switch (place_) {
            case Place::plain:
                if (*at == '"') return at;
                at = readPlain(at, end);
                break;
            case Place::escape:
                readEscape(*at++);
                break;
            case Place::unit:
                if (readDigit(*at)) ++at;
                break;
        }
    }
    return at;
}

const char* PartialText::readPlain(const char* at, const char* end) {
    if (!holdsBack()) {
        const char* const run = std::find_if_not(at, end, isOrdinary);
        decoded_.append(at, run);
        if (run != at) return run;
    }
    const auto byte = static_cast<unsigned char>(*at);
    if (left_ != 0 && (byte & 0xc0U) == 0x80U) {
        readTail(byte);
        return at + 1;
    }
    if (left_ != 0) wrong_ = true;
    left_ = 0;
    if (*at == '\\') {
        place_ = Place::escape;
        return at + 1;
    }
    endHalf();
    if (byte < 0x80U) {
        readAscii(*at);
    } else {
        readLead(byte);
    }
    return at + 1;
}

void PartialText::readAscii(char c) {
    if (static_cast<unsigned char>(c) < 0x20U && !(raw_breaks_ && isBreak(c))) {
        wrong_ = true;
    } else if (!wrong_) {
        decoded_ += c;
    }
}

// The second byte rules out overlong forms, surrogates, and characters above U+10FFFF.
void PartialText::readLead(unsigned char byte) {
    if (byte < 0xc2U || byte > 0xf4U) {
        wrong_ = true;
        return;
    }
    character_.assign(1, static_cast<char>(byte));
    left_ = byte < 0xe0U ? 1 : byte < 0xf0U ? 2 : 3;
    next_min_ = byte == 0xe0U ? 0xa0U : byte == 0xf0U ? 0x90U : 0x80U;
    next_max_ = byte == 0xedU ? 0x9fU : byte == 0xf4U ? 0x8fU : 0xbfU;
}

void PartialText::readTail(unsigned char byte) {
    if (byte < next_min_ || byte > next_max_) {
        wrong_ = true;
        left_ = 0;
        return;
    }
    next_min_ = 0x80U;
    next_max_ = 0xbfU;
    character_ += static_cast<char>(byte);
    if (--left_ == 0 && !wrong_) decoded_ += character_;
}

void PartialText::readEscape(char c) {
    place_ = Place::plain;
    if (c == 'u') {
        place_ = Place::unit;
        unit_ = 0;
        digits_ = 0;
        wrong_unit_ = false;
        return;
    }
    const char meant = unescaped(c);
    endHalf();
    if (meant == 0) wrong_ = true;
    if (!wrong_) decoded_ += meant;
}

// Returns false if the character is to be read again as an ordinary one. In a value, the four characters after `\u`
// belong to the escape, even if they are wrong, so that its fault is known only at the fourth.
bool PartialText::readDigit(char c) {
    const int digit = hexDigit(c);
    if (digit < 0 && role_ == Role::key) {
        wrong_ = true;
        place_ = Place::plain;
        return false;
    }
    if (digit < 0) wrong_unit_ = true;
    if ((static_cast<unsigned char>(c) & 0xc0U) == 0x80U) return true;  // counts only the first byte of each character
    unit_ = unit_ * 16 + static_cast<unsigned>(std::max(digit, 0));
    if (++digits_ == 4) endUnit();
    return true;
}

void PartialText::endUnit() {
    place_ = Place::plain;
    const bool is_high = unit_ >= 0xd800U && unit_ < 0xdc00U;
    const bool is_low = unit_ >= 0xdc00U && unit_ < 0xe000U;
    if (wrong_unit_) wrong_ = true;
    if (is_low && high_ != 0) {
        append(0x10000U + ((high_ - 0xd800U) << 10U) + (unit_ - 0xdc00U));
        high_ = 0;
        return;
    }
    endHalf();
    if (is_high) {
        high_ = unit_;
    } else {
        append(is_low ? replacement : unit_);
    }
}

// The first half of a surrogate pair that no second half follows becomes U+FFFD, as in detail::readJson().
void PartialText::endHalf() {
    if (high_ != 0) append(replacement);
    high_ = 0;
}

bool PartialText::end() {
    endHalf();
    return !wrong_ && left_ == 0;
}

void PartialText::append(unsigned code) {
    if (wrong_) return;
    const auto put = [this](unsigned byte) { decoded_ += static_cast<char>(byte); };
    if (code < 0x80U) return put(code);
    if (code < 0x800U) {
        put(0xc0U | code >> 6U);
    } else {
        if (code < 0x10000U) {
            put(0xe0U | code >> 12U);
        } else {
            put(0xf0U | code >> 18U);
            put(0x80U | (code >> 12U & 0x3fU));
        }
        put(0x80U | (code >> 6U & 0x3fU));
    }
    put(0x80U | (code & 0x3fU));
}

}  // namespace stategraph::detail
