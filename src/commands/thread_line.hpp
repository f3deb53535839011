#pragma once
#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The lines of an exported thread: one flat JSON object each. docs/commands.md has their members.
namespace stategraph::commands {

inline constexpr std::string_view format_name = "stategraph thread";
/// 1 had no descriptions of graphs.
inline constexpr std::uint64_t format_version = 2;

/// Standard base64 with padding.
std::string toBase64(std::string_view bytes);
/// None for anything that `toBase64` does not write.
std::optional<std::string> fromBase64(std::string_view text);

/// Writes one line.
class LineWriter {
public:
    /// As text; what is not UTF-8 as base64, in a member with "64" after its name.
    LineWriter& text(std::string_view name, std::string_view value);
    LineWriter& bytes(std::string_view name, std::string_view value);
    LineWriter& number(std::string_view name, std::uint64_t value);
    LineWriter& boolean(std::string_view name, bool value);
    /// The line with its end.
    std::string finish() &&;

private:
    void name(std::string_view name);
    std::string line_ = "{";
};

/// One line, read. Everything about it that is wrong is a LineFault.
class Line {
public:
    explicit Line(std::string_view json);

    bool has(std::string_view name) const noexcept { return find(name) != nullptr; }
    /// What LineWriter::text wrote. Each of these functions consumes the member: `finish` refuses members that were not
    /// consumed.
    std::string text(std::string_view name);
    std::string bytes(std::string_view name);
    std::uint64_t number(std::string_view name);
    bool boolean(std::string_view name);
    /// Throws if a member is left.
    void finish() const;

private:
    struct Member {
        enum class Kind : std::uint8_t { text, number, boolean } kind = Kind::text;
        std::string name;
        std::string text = {};
        std::uint64_t number = 0;
    };
    const Member* find(std::string_view name) const noexcept;
    Member take(std::string_view name, Member::Kind kind, const char* expected);

    std::vector<Member> members_;
};

/// Why a line cannot be read.
struct LineFault {
    std::string why;
};

/// The checksum of lines: XXH3-64.
class LineHash {
public:
    LineHash();
    LineHash(const LineHash&) = delete;
    LineHash& operator=(const LineHash&) = delete;
    ~LineHash();
    /// A line with its end.
    void add(std::string_view line) noexcept;
    std::string text() const;

private:
    void* state_;
};

/// Reads lines, and the checksum of those read.
class LineReader {
public:
    LineReader(std::istream& in, std::size_t line_bytes_max);

    /// The next line without its end, until the next call; none: there is none. Errors: InvalidArgumentError for one
    /// that is too long, SaverError if the stream fails.
    std::optional<std::string_view> next();
    /// The number of the line that was read last, from 1.
    std::size_t number() const noexcept { return number_; }
    /// The checksum of all lines before that one.
    std::string checksumBefore() const { return hash_.text(); }

private:
    std::istream& in_;
    std::size_t line_bytes_max_;
    std::size_t number_ = 0;
    std::string line_;
    LineHash hash_;
};

}  // namespace stategraph::commands
