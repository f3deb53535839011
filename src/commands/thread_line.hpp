#pragma once
#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Reads and writes the lines of an exported thread. Each is one flat JSON object; docs/commands.md lists their members.
namespace stategraph::commands {

inline constexpr std::string_view format_name = "stategraph thread";
inline constexpr std::uint64_t format_version = 1;

/// Encodes bytes in standard base64 with padding.
std::string toBase64(std::string_view bytes);
/// Decodes base64; returns none for any text that `toBase64` does not write.
std::optional<std::string> fromBase64(std::string_view text);

/// Writes one line.
class LineWriter {
public:
    /// Adds a member with a text. If the text is not UTF-8, it is written in base64, in a member with "64" after its
    /// name.
    LineWriter& text(std::string_view name, std::string_view value);
    LineWriter& bytes(std::string_view name, std::string_view value);
    LineWriter& number(std::string_view name, std::uint64_t value);
    LineWriter& boolean(std::string_view name, bool value);
    /// Returns the line with its line end.
    std::string finish() &&;

private:
    void name(std::string_view name);
    std::string line_ = "{";
};

/// One line that was read. Every fault in it is reported as a LineFault.
class Line {
public:
    explicit Line(std::string_view json);

    bool has(std::string_view name) const noexcept { return find(name) != nullptr; }
    /// Returns a text that LineWriter::text wrote. Each of these functions consumes the member: `finish` refuses
    /// members that were not consumed.
    std::string text(std::string_view name);
    std::string bytes(std::string_view name);
    std::uint64_t number(std::string_view name);
    bool boolean(std::string_view name);
    /// Throws a LineFault if a member was not consumed.
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

/// Thrown with the reason why a line cannot be read.
struct LineFault {
    std::string why;
};

/// Computes the checksum of lines, which is XXH3-64.
class LineHash {
public:
    LineHash();
    LineHash(const LineHash&) = delete;
    LineHash& operator=(const LineHash&) = delete;
    ~LineHash();
    /// Adds a line, which includes its line end.
    void add(std::string_view line) noexcept;
    std::string text() const;

private:
    void* state_;
};

/// Reads lines, and computes the checksum of those that it has read.
class LineReader {
public:
    LineReader(std::istream& in, std::size_t line_bytes_max);

    /// Returns the next line without its line end, or none at the end. The view is valid until the next call. Errors:
    /// InvalidArgumentError for a line that is too long, SaverError if the stream fails.
    std::optional<std::string_view> next();
    /// Returns the number of the line that was read last. The first line has number 1.
    std::size_t number() const noexcept { return number_; }
    /// Returns the checksum of all lines before that line.
    std::string checksumBefore() const { return hash_.text(); }

private:
    std::istream& in_;
    std::size_t line_bytes_max_;
    std::size_t number_ = 0;
    std::string line_;
    LineHash hash_;
};

}  // namespace stategraph::commands
