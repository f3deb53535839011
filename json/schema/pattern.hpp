#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace re2 {
class RE2;
}

namespace stategraph::schema {

/// A regular expression of JSON Schema, which is one of ECMA-262 with the flag `u`. It is matched in time linear in the
/// text (RE2), so that it cannot have look-ahead, look-behind and back references. Immutable.
class Pattern {
public:
    /// `memory` is for its program and for what matching it keeps. Errors: InvalidArgumentError.
    Pattern(std::string_view text, std::int64_t memory);
    Pattern(Pattern&&) noexcept;
    Pattern& operator=(Pattern&&) noexcept;
    ~Pattern();

    /// Whether a part of the text matches. The text is compared whole, also behind a NUL.
    bool isIn(std::string_view text) const;
    /// How much work a byte of a text can be, where 1 is a simple pattern's.
    std::size_t work() const noexcept { return work_; }

private:
    std::unique_ptr<re2::RE2> compiled_;
    std::size_t work_ = 1;
};

/// Writes an expression of ECMA-262 as RE2 reads it. Errors: InvalidArgumentError that says what it has and may not
/// have.
std::string asRe2(std::string_view ecma);

}  // namespace stategraph::schema
