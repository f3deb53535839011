#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include <boost/json/fwd.hpp>

#include <stategraph/detail/print_enum.hpp>

namespace stategraph {

/// What is known of a JSON text that may be unfinished.
enum class PartialState : std::uint8_t {
    /// No text was fed yet.
    undefined_input,
    /// The text is whole JSON. A number at the root can still become longer.
    successful_parse,
    /// The text is JSON once what is open is closed, what is unfinished is completed or held back, and what follows
    /// the root value is cut off.
    repaired_parse,
    /// The text has no value: it is blank, a lone minus, not JSON, or has a key `__proto__` or `constructor.prototype`.
    failed_parse,
};

/// "undefined-input", "successful-parse", "repaired-parse" or "failed-parse".
const char* toString(PartialState state) noexcept;

/// The limits of a PartialJson, and whether text around the JSON is ignored.
struct PartialJsonOptions {
    /// A longer text is an error; at least 1. A value of very small parts, such as `[0,0,…]`, takes 20 to 30 times as
    /// much memory; one of long strings at most about twice as much.
    std::size_t bytes_max = 16U << 20U;
    /// Objects and arrays that are nested deeper are an error; 1 to `value_depth_max` (256).
    int depth_max = 256;
    /// The text may have what models write around their JSON. What comes before an object or an array (a code fence
    /// with or without a language, a sentence) and what comes after it is ignored, and a line break or a tab inside a
    /// string counts as if it were escaped. In a sentence only `{` begins the JSON, on a line of its own also `[`.
    bool clean = false;
};

/// The longest number in bytes that PartialJson reads.
inline constexpr std::size_t partial_number_bytes_max = 1024;

/// Reads a JSON text while it is being written, and keeps the value that it has so far.
///
///     sg::PartialJson json;
///     for (const auto& delta : stream) {
///         json.feed(delta);
///         if (json.hasValue()) show(json.value());
///     }
///
/// Include <stategraph/json.hpp> too where the value is read: this header only declares boost::json::value.
///
/// The text may be split anywhere, also inside a UTF-8 character or an escape. No byte is read twice: the value is
/// built while the text is scanned. A value only grows, with two exceptions: an unfinished number is replaced by the
/// longer one, and of equal keys in an object the last one holds. Unfinished escapes, half a surrogate pair, a key
/// without a value and a lone minus are held back.
///
/// An object may be used by one thread at a time. It can be moved; one that was moved from can only be destroyed or
/// assigned to.
class PartialJson {
public:
    /// Begins a text. Errors: InvalidArgumentError for options that are out of range.
    explicit PartialJson(const PartialJsonOptions& options = {});
    PartialJson(PartialJson&& other) noexcept;
    PartialJson& operator=(PartialJson&& other) noexcept;
    ~PartialJson();

    /// Appends to the text and returns the new state. Text that is not JSON is not an error but a state. Cost: in
    /// proportion to `chunk`, plus at most `partial_number_bytes_max` if a number is open.
    ///
    /// Errors: InvalidArgumentError if the text becomes longer than `bytes_max`, is nested deeper than `depth_max`, or
    /// has a number that is longer than `partial_number_bytes_max`. The state is `failed_parse` then and every later
    /// feed throws the same error. If no memory is available, the state becomes `failed_parse` for good, too.
    PartialState feed(std::string_view chunk);

    /// Cost: none.
    PartialState state() const noexcept;
    /// Whether the state is `successful_parse` or `repaired_parse`.
    bool hasValue() const noexcept;
    /// The value so far; null without one. The reference stays valid as long as this object and follows what is fed;
    /// references to parts of the value are valid until the next feed. Cost: none, nothing is copied.
    const boost::json::value& value() const noexcept;
    /// Like `value`, but for a text that turned out not to be JSON it is the value that could be read before, for user
    /// interfaces that keep showing it.
    const boost::json::value& lastValue() const noexcept;
    /// Whether a part of the value, or the value itself, may still grow: containers and strings that are not closed,
    /// numbers and words that are not known to be whole. `part` is a reference into `value()`; any other value is not
    /// open. Cost: in proportion to the depth.
    bool isOpen(const boost::json::value& part) const noexcept;

    /// The number of bytes that were fed.
    std::size_t bytes() const noexcept;
    /// Forgets the text and keeps the options. References into the value become invalid.
    void clear();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace stategraph
