#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <stategraph/detail/table.hpp>
#include <stategraph/detail/utf8.hpp>
#include <stategraph/encoding.hpp>

namespace stategraph::detail {

/// Appends CBOR items as an Encoder does, but collects short ones in an array of its own first: a row of ten small
/// items costs one append and not ten. Call `finish` at the end; what is still in the array is lost otherwise. It is
/// for the library's own records, whose items are mostly short. Not thread-safe.
class StagedEncoder {
public:
    explicit StagedEncoder(std::string& out) noexcept : out_(out) {}
    StagedEncoder(const StagedEncoder&) = delete;
    StagedEncoder& operator=(const StagedEncoder&) = delete;

    /// Appends what has been collected.
    void finish() {
        out_.append(room_.data(), size_);
        size_ = 0;
    }

    void null() { byte(0xf6); }
    void boolean(bool value) { byte(value ? 0xf5 : 0xf4); }
    void integer(std::int64_t value) {
        const auto number = static_cast<std::uint64_t>(value);
        head(value < 0 ? 0x20U : 0x00U, value < 0 ? ~number : number);
    }
    void unsignedInteger(std::uint64_t value) { head(0x00, value); }
    void array(std::size_t count) { head(0x80, count); }
    void map(std::size_t count) { head(0xa0, count); }
    /// Writes the key of a field, whose text is known when this is compiled.
    template <std::size_t N>
    void key(const char (&text)[N]) {
        static_assert(N <= 24, "a longer key has another head");
        reserve(N);
        room_[size_] = static_cast<char>(0x60 + N - 1);
        std::memcpy(room_.data() + size_ + 1, text, N - 1);
        size_ += N;
    }
    void text(std::string_view value) {
        if (value.size() > short_max || !isAscii(value)) {
            finish();
            Encoder(out_).text(value);
            return;
        }
        head(0x60, value.size());
        put(value);
    }
    void bytes(std::string_view value) {
        head(0x40, value.size());
        raw(value);
    }
    /// Appends one or more items that are already CBOR.
    void raw(std::string_view cbor) {
        if (cbor.size() <= short_max) return put(cbor);
        finish();
        out_.append(cbor);
    }

private:
    static constexpr std::size_t head_max = 9;
    static constexpr std::size_t short_max = 64;

    void reserve(std::size_t size) {
        if (size_ + size > room_.size()) [[unlikely]]
            finish();
    }
    void byte(unsigned value) {
        reserve(1);
        room_[size_++] = static_cast<char>(value);
    }
    void head(unsigned major, std::uint64_t number) {
        if (number < 24) return byte(major | static_cast<unsigned>(number));
        reserve(head_max);
        size_ = static_cast<std::size_t>(putHead(room_.data() + size_, major, number) - room_.data());
    }
    // The text is short.
    void put(std::string_view text) {
        reserve(text.size());
        char* const to = room_.data() + size_;
        if (text.size() >= 8) {  // words that overlap cost less than a call
            std::size_t at = 0;
            for (; at + 8 < text.size(); at += 8) std::memcpy(to + at, text.data() + at, 8);
            std::memcpy(to + text.size() - 8, text.data() + text.size() - 8, 8);
        } else {
            for (std::size_t at = 0; at < text.size(); ++at) to[at] = text[at];
        }
        size_ += text.size();
    }

    std::string& out_;
    std::size_t size_ = 0;
    std::array<char, 256> room_;  // not initialised
};

}  // namespace stategraph::detail
