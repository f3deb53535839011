#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace stategraph {

namespace detail {
class EncodedItems;
}

/// Appends CBOR items (RFC 8949, core deterministic encoding: shortest forms, definite lengths) to a buffer.
///
/// Code that writes a map writes its keys in the order of their encoded bytes. Not thread-safe. Cost: a few nanoseconds
/// an item; the buffer grows as a std::string does.
class Encoder {
public:
    explicit Encoder(std::string& out) noexcept : out_(&out) {}
    /// Writes for display instead of storage: the members of structs come in the order of their tables, and a variant's
    /// tag comes first.
    static Encoder forPeople(std::string& out) noexcept {
        Encoder encoder(out);
        encoder.for_people_ = true;
        return encoder;
    }
    bool isForPeople() const noexcept { return for_people_; }
    /// An encoder of the same kind for another buffer.
    Encoder into(std::string& out) const noexcept {
        Encoder encoder(out);
        encoder.for_people_ = for_people_;
        return encoder;
    }

    void null();
    void boolean(bool value);
    void integer(std::int64_t value);
    void unsignedInteger(std::uint64_t value);
    /// Writes the shortest of half, float and double that keeps the value; every NaN is written as the same quiet NaN.
    void real(double value);
    /// Writes a text string if `value` is valid UTF-8, else a byte string.
    void text(std::string_view value);
    void bytes(std::string_view value);
    /// Begins an array; exactly `count` items must follow.
    void array(std::size_t count);
    /// Begins a map; exactly `count` pairs of key and value must follow.
    void map(std::size_t count);
    /// Appends one or more items that are already CBOR.
    void raw(std::string_view cbor) { out_->append(cbor); }

    std::string& out() noexcept { return *out_; }

    /// For the library: items of the current superstep that are already encoded, which an append to a list copies
    /// instead of encoding them again. Null: there are none.
    const detail::EncodedItems* encodedItems() const noexcept { return encoded_items_; }
    void setEncodedItems(const detail::EncodedItems* items) noexcept { encoded_items_ = items; }

    /// For the library: how many of the written bytes belong to parts of at most `detail::shallow_levels` levels of
    /// nesting, whose depth needs no check. A number that is too small costs a check; a number that is too large would
    /// be wrong.
    std::uint32_t shallowBytes() const noexcept { return shallow_bytes_; }
    /// Adds a part of `size` bytes to that number; `before` is the number from before the part was written.
    void noteShallow(std::uint32_t before, std::size_t size) noexcept {
        shallow_bytes_ = size < UINT32_MAX - before ? before + static_cast<std::uint32_t>(size) : 0;
    }

private:
    std::string* out_;
    const detail::EncodedItems* encoded_items_ = nullptr;
    bool for_people_ = false;
    std::uint32_t shallow_bytes_ = 0;
};

/// How deep arrays and maps may be nested in one stored value: a channel's value, a question, a Send's payload, an
/// item. A deeper value is refused when it is written, with an error that names it.
inline constexpr int value_depth_max = 256;

namespace detail {
bool isDeeperThan(std::string_view cbor, int levels);

/// How deep a part may be nested so that its bytes count as shallow (Encoder::shallowBytes).
inline constexpr int shallow_levels = 64;

/// Whether a value, which is one CBOR item, is nested too deep to be stored. Cost: none for values with few bytes
/// outside of shallow parts; otherwise one pass over its heads. Errors: WrongTypeError for bytes that are not CBOR.
inline bool isTooDeep(std::string_view cbor, int more_levels = 0, std::size_t shallow_bytes = 0) {
    // A level takes at least one byte. Only the bytes outside of shallow parts, and one part at a time, add levels.
    const int levels = value_depth_max + more_levels;
    const bool has_parts = shallow_bytes > 0 && shallow_bytes <= cbor.size();
    const std::size_t most = has_parts ? cbor.size() - shallow_bytes + shallow_levels : cbor.size();
    return most > static_cast<std::size_t>(levels) && isDeeperThan(cbor, levels);
}
/// The end of an error message about a value that is too deep, after "… is ": what is wrong and what to do.
std::string tooDeepText();

/// What strict reading knows besides its bytes (strict.hpp).
struct StrictReading;
}  // namespace detail

/// Reads CBOR items from untrusted bytes.
///
/// The bytes must outlive it and every view it returns. Errors: malformed or truncated bytes, an indefinite length, a
/// tag, an item of another type, or nesting deeper than `depth_max` throw WrongTypeError; never undefined behaviour,
/// and never an allocation larger than the input. Not thread-safe.
///
/// Stored bytes are read leniently: members that the tables of structs do not list are skipped. Bytes from outside are
/// read strictly (Value::asStrict): every member must be known, none may be missing, and a real number that is integral
/// is read as an integer.
class Decoder {
public:
    /// A codec holds one while it reads the content of an array or a map, so that hostile bytes cannot make a recursive
    /// type exhaust the stack. Creating one more than allowed throws WrongTypeError.
    class Nesting {
    public:
        explicit Nesting(Decoder& decoder) : decoder_(decoder) {
            if (decoder.depth_ >= depth_max) failDepth();
            ++decoder.depth_;
        }
        /// To be created before the head of an array or a map is read. `left` counts down to the last item or entry, so
        /// that the error of a strict reading can name the item.
        Nesting(Decoder& decoder, const std::size_t& left) : Nesting(decoder) {
            left_ = &left;
            begin_ = decoder.rest_;
        }
        Nesting(const Nesting&) = delete;
        Nesting& operator=(const Nesting&) = delete;
        ~Nesting() {
            --decoder_.depth_;
            if (decoder_.strict_ != nullptr && left_ != nullptr) decoder_.leave(begin_, *left_);
        }

    private:
        Decoder& decoder_;
        const std::size_t* left_ = nullptr;
        std::string_view begin_;
    };

    /// The type of an item.
    enum class Type : std::uint8_t {
        unsigned_integer,
        negative_integer,
        bytes,
        text,
        array,
        map,
        boolean,
        null,
        real,
        end
    };
    /// More than `value_depth_max`, because records, states and requests add levels around a value.
    static constexpr int depth_max = 2 * value_depth_max;

    explicit Decoder(std::string_view bytes) noexcept : rest_(bytes) {}
    /// Reads strictly.
    Decoder(std::string_view bytes, detail::StrictReading& strict) noexcept : rest_(bytes), strict_(&strict) {}

    /// What a strict reading knows; null if the reading is lenient.
    detail::StrictReading* strict() const noexcept { return strict_; }
    /// The type of the next item; `end` if there is none.
    Type peek() const;
    bool atEnd() const noexcept { return rest_.empty(); }
    /// Consumes the next item if it is null.
    bool tryNull();
    bool boolean();
    std::int64_t integer();
    std::uint64_t unsignedInteger();
    /// Reads any number; an integer is converted.
    double real();
    /// Reads a text or a byte string (what `Encoder::text` wrote); the view points into the input.
    std::string_view text() {
        if (!rest_.empty()) {
            // For a short string, as most are, the first byte contains the size. One bit distinguishes text from bytes.
            const std::size_t size = std::size_t{static_cast<unsigned char>(rest_.front()) & 0xdfU} - 0x40U;
            if (size < 24 && size < rest_.size()) {
                const std::string_view found = rest_.substr(1, size);
                rest_.remove_prefix(1 + size);
                return found;
            }
        }
        return longText();
    }
    std::string_view bytes() { return text(); }
    /// Reads the head of an array and returns the number of items, which never exceeds the remaining bytes.
    std::size_t array();
    std::size_t map();
    /// Skips one whole item.
    void skip();
    /// The bytes of one whole item.
    std::string_view raw();
    /// The bytes that have not been read.
    std::string_view rest() const noexcept { return rest_; }

    [[noreturn]] static void fail(std::string_view expected, Type found);

private:
    std::string_view longText();
    [[noreturn]] static void failDepth();
    void leave(std::string_view container, std::size_t left) const noexcept;
    bool tryIntegral(std::uint64_t& number, bool& is_negative);

    std::string_view rest_;
    detail::StrictReading* strict_ = nullptr;
    int depth_ = 0;
};

/// The JSON text of one CBOR item, for people and APIs: bytes as base64url text, NaN and infinities as null, a map key
/// that is not text as its JSON text. Throws WrongTypeError on malformed input. Cost: linear.
std::string cborToJson(std::string_view cbor);

}  // namespace stategraph
