#pragma once
#include <concepts>
#include <iosfwd>
#include <string>
#include <string_view>
#include <type_traits>

#include <stategraph/codec.hpp>

namespace stategraph {
namespace detail {
/// Reads one item strictly, and refuses further items. Errors: WrongTypeError.
void readStrictly(std::string_view cbor, void* value, DecodeMember decode);
/// Throws WrongTypeError if a map in the next item has a key twice. The decoder is a strict one.
void refuseRepeated(Decoder in);
struct ValueBytes;
}  // namespace detail

/// Any storable value in its stored form, CBOR: a resume value, a payload, metadata.
///
/// Made implicitly from every type that has a Codec, and from string literals and views; `Value()` is null. Two are
/// equal if their bytes are, which for values made here means that they were made from equal values. A value type: as
/// safe across threads as a std::string, and as costly to copy. What is nested deeper than `value_depth_max` throws
/// WrongTypeError when the Value is made, so that every Value can be stored and read.
class Value {
public:
    Value() noexcept = default;

    template <class T>
        requires(!std::same_as<std::remove_cvref_t<T>, Value> && Encodable<std::decay_t<T>>)
    Value(T&& value) {
        Encoder encoder(bytes_);
        Codec<std::decay_t<T>>::encode(encoder, value);
        if (detail::isTooDeep(bytes_)) failDepth();
    }

    /// Catches structs without a codec. It is never called: it lets the compiler name the remedy.
    template <class T>
        requires(std::is_aggregate_v<T> && std::is_class_v<T> && !Encodable<T> && !std::same_as<T, detail::Anything>)
    Value(const T&) {
        requireStorable<T>();
    }

    /// Accepts exactly one well-formed CBOR item; anything else throws WrongTypeError. Cost: one pass over the bytes.
    static Value fromCbor(std::string cbor);

    /// The value as a T, which is default-constructed and then read. Throws WrongTypeError if it is of another type.
    template <class T>
    T as() const {
        requireStorable<T>();
        T value{};
        Decoder decoder(bytes());
        detail::decodeItem(decoder, value);
        requireEnd(decoder);
        return value;
    }

    /// Reads the value strictly as a T, for values from outside: a struct must have every member that is neither
    /// optional nor `sg::defaulted`, and no member that its table does not have (field()); enums and tagged variants
    /// are given by name; 3.0 is an integer. Errors: WrongTypeError that lists what is wrong and where, all faults of
    /// an object at once. What was stored by earlier versions of a program is read with `as`. Cost: that of `as`.
    template <class T>
    T asStrict() const {
        requireStorable<T>();
        T value{};
        detail::readStrictly(bytes(), &value,
                             [](Decoder& in, void* to) { detail::decodeItem(in, *static_cast<T*>(to)); });
        return value;
    }

    bool isNull() const noexcept { return bytes() == null_bytes; }
    /// One CBOR item, valid as long as this value is unchanged.
    std::string_view bytes() const noexcept { return bytes_.empty() ? null_bytes : std::string_view(bytes_); }
    /// The value as JSON text; see cborToJson() for what JSON cannot express. Objects list their members as they are
    /// stored, shorter names first; for the order of a struct's table use sg::toJson(value).
    std::string toJson() const { return cborToJson(bytes()); }

    friend bool operator==(const Value& a, const Value& b) noexcept { return a.bytes() == b.bytes(); }
    /// Prints the JSON text; a value that has none is printed as "<not JSON: why>".
    friend std::ostream& operator<<(std::ostream& out, const Value& value);

private:
    friend struct Codec<Value>;
    friend struct detail::ValueBytes;
    static constexpr std::string_view null_bytes = "\xf6";
    static void requireEnd(const Decoder& decoder);
    [[noreturn]] static void failDepth();
    /// Takes one well-formed CBOR item. Throws WrongTypeError if it is nested too deep.
    void take(std::string_view item);

    std::string bytes_;  // empty for null, which default-constructed and moved-from values are
};

/// Reads a Value from JSON text. Members that an object has twice are kept: `as` reads the first of them, `asStrict`
/// refuses them. An escaped half of a surrogate pair, as in a text that was cut, is U+FFFD. Errors:
/// InvalidArgumentError that says where the text is not JSON.
Value parseJson(std::string_view text);

/// Reads a T from JSON text that comes from outside, such as the arguments of a tool or a request's body. Errors:
/// InvalidArgumentError for text that is not JSON; WrongTypeError that lists every fault (Value::asStrict).
template <class T>
T fromJson(std::string_view text) {
    return parseJson(text).asStrict<T>();
}

/// The value as JSON text for people: structs and states list their members in the order of their tables, and tagged
/// variants begin with the tag.
template <class T>
    requires Encodable<T>
std::string toJson(const T& value) {
    std::string cbor;
    Encoder encoder = Encoder::forPeople(cbor);
    Codec<T>::encode(encoder, value);
    return cborToJson(cbor);
}

/// A Value is stored as the item that it holds, without a wrapper.
template <>
struct Codec<Value> {
    static constexpr bool is_any_shape = true;
    static void encode(Encoder& encoder, const Value& value) { encoder.raw(value.bytes()); }
    static void decode(Decoder& decoder, Value& value) {
        if (decoder.strict() != nullptr) detail::refuseRepeated(decoder);
        value.take(decoder.raw());
    }
};

}  // namespace stategraph
