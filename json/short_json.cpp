#include "json/short_json.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <stategraph/detail/table.hpp>
#include <stategraph/encoding.hpp>

namespace stategraph::detail {
namespace {

constexpr std::size_t bytes_max = 1024;
constexpr int levels_max = 8;
constexpr std::size_t items_max = 23;  // so that the head of a list is one byte, which is written when they are counted
constexpr int digits_max = 18;

class ShortJson {
public:
    ShortJson(std::string_view text, std::string& out) : at_(text.data()), end_(at_ + text.size()), out_(out) {}

    bool encode() {
        out_.reserve(static_cast<std::size_t>(end_ - at_) + 1);
        if (!value(levels_max)) return false;
        skipBlanks();
        return at_ == end_;
    }

private:
    /// A member of an object in the buffer.
    struct Member {
        std::size_t begin;
        std::size_t end;
        const char* name_begin;  // in the text
        std::size_t name_size;
        std::string_view name() const noexcept { return {name_begin, name_size}; }
    };

    void skipBlanks() {
        while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
    }
    bool take(char expected) {
        skipBlanks();
        if (at_ == end_ || *at_ != expected) return false;
        ++at_;
        return true;
    }
    bool takeWord(std::string_view word) {
        if (static_cast<std::size_t>(end_ - at_) < word.size() || std::string_view(at_, word.size()) != word)
            return false;
        at_ += word.size();
        return true;
    }

    bool value(int levels) {
        skipBlanks();
        if (at_ == end_) return false;
        Encoder encoder(out_);
        switch (*at_) {
            case '{':
                return levels > 0 && object(levels - 1);
            case '[':
                return levels > 0 && array(levels - 1);
            case '"': {
                std::string_view text;
                if (!string(text)) return false;
                encoder.text(text);
                return true;
            }
            case 't':
                encoder.boolean(true);
                return takeWord("true");
            case 'f':
                encoder.boolean(false);
                return takeWord("false");
            case 'n':
                encoder.null();
                return takeWord("null");
            default:
                return integer(encoder);
        }
    }

    bool string(std::string_view& text) {
        const char* const begin = ++at_;
        for (; at_ != end_ && *at_ != '"'; ++at_) {
            const auto byte = static_cast<unsigned char>(*at_);
            if (byte < 0x20 || byte > 0x7f || byte == '\\') return false;
        }
        if (at_ == end_) return false;
        text = {begin, static_cast<std::size_t>(at_ - begin)};
        ++at_;
        return true;
    }

    bool integer(Encoder& encoder) {
        const bool is_negative = *at_ == '-';
        if (is_negative) ++at_;
        std::int64_t number = 0;
        int digits = 0;
        for (; at_ != end_ && *at_ >= '0' && *at_ <= '9'; ++at_, ++digits) {
            if (digits == digits_max || (digits == 1 && number == 0)) return false;
            number = 10 * number + (*at_ - '0');
        }
        if (digits == 0 || (is_negative && number == 0)) return false;
        if (at_ != end_ && (*at_ == '.' || *at_ == 'e' || *at_ == 'E')) return false;
        encoder.integer(is_negative ? -number : number);
        return true;
    }

    bool array(int levels) {
        const std::size_t head = openList();
        ++at_;
        std::size_t count = 0;
        if (!take(']')) {
            do {
                if (count == items_max || !value(levels)) return false;
                ++count;
            } while (take(','));
            if (!take(']')) return false;
        }
        out_[head] = static_cast<char>(0x80U | count);
        return true;
    }

    bool object(int levels) {
        const std::size_t head = openList();
        ++at_;
        std::array<Member, items_max> members;  // not initialised
        std::size_t count = 0;
        if (!take('}')) {
            do {
                if (count == items_max || !member(levels, members[count])) return false;
                ++count;
            } while (take(','));
            if (!take('}')) return false;
        }
        out_[head] = static_cast<char>(0xa0U | count);
        return sort(members.data(), members.data() + count);
    }
    bool member(int levels, Member& made) {
        made.begin = out_.size();
        skipBlanks();
        std::string_view name;
        if (at_ == end_ || *at_ != '"' || !string(name)) return false;
        made.name_begin = name.data();
        made.name_size = name.size();
        Encoder(out_).text(name);
        if (!take(':') || !value(levels)) return false;
        made.end = out_.size();
        return true;
    }
    /// Brings the members, which end the buffer, into the order of CBOR. Returns false if a name occurs twice.
    bool sort(Member* begin, Member* end) {
        const auto before = [](const Member& a, const Member& b) { return storedBefore(a.name(), b.name()); };
        if (!std::is_sorted(begin, end, before)) {
            std::string sorted;
            sorted.reserve(out_.size() - begin->begin);
            const std::size_t start = begin->begin;
            std::sort(begin, end, before);
            for (const Member* each = begin; each != end; ++each)
                sorted.append(out_, each->begin, each->end - each->begin);
            out_.replace(start, out_.size() - start, sorted);
        }
        return std::adjacent_find(begin, end, [](const Member& a, const Member& b) { return a.name() == b.name(); }) ==
               end;
    }

    std::size_t openList() {
        out_.push_back('\0');
        return out_.size() - 1;
    }

    const char* at_;
    const char* end_;
    std::string& out_;
};

}  // namespace

bool encodeShortJson(std::string_view text, std::string& out) {
    return text.size() <= bytes_max && ShortJson(text, out).encode();
}

}  // namespace stategraph::detail
