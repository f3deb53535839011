#pragma once
#include <concepts>
#include <iosfwd>
#include <string>
#include <string_view>
#include <type_traits>

#include <stategraph/codec.hpp>

namespace stategraph {

/// Any storable value, as the CBOR it is stored as: a resume value, a payload, metadata.
///
/// Made implicitly from every type that has a Codec, and from string literals and views; `Value()` is null. Two are
/// equal if their bytes are, which for values made here means that they were made from equal values. A value type: as
/// safe across threads as a std::string, and as costly to copy. What is nested deeper than `value_depth_max` throws
/// WrongTypeError when the Value is made, so that whatever is one can be stored and read.
class Value {
public:
    Value() noexcept = default;

    template <class T>
    requires(!std::same_as<std::remove_cvref_t<T>, Value> && Encodable<std::decay_t<T>>) Value(T&& value) {
        Encoder encoder(bytes_);
        Codec<std::decay_t<T>>::encode(encoder, value);
        if (detail::isTooDeep(bytes_)) failDepth();
    }

    /// A struct without a codec: not to be called, so that the compiler says the cure.
    template <class T>
    requires(std::is_aggregate_v<T> && std::is_class_v<T> && !Encodable<T> && !std::same_as<T, detail::Anything>) Value(const T&) {
        requireStorable<T>();
    }

    /// Takes exactly one well-formed CBOR item; anything else throws WrongTypeError. Cost: one pass over the bytes.
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

    bool isNull() const noexcept { return bytes() == null_bytes; }
    /// One CBOR item, valid as long as this value is unchanged.
    std::string_view bytes() const noexcept { return bytes_.empty() ? null_bytes : std::string_view(bytes_); }
    /// As JSON text; see cborToJson() for what JSON cannot say.
    std::string toJson() const { return cborToJson(bytes()); }

    friend bool operator==(const Value& a, const Value& b) noexcept { return a.bytes() == b.bytes(); }
    /// Prints the JSON text; what has none is printed as "<not JSON: why>".
    friend std::ostream& operator<<(std::ostream& out, const Value& value);

private:
    friend struct Codec<Value>;
    static constexpr std::string_view null_bytes = "\xf6";
    static void requireEnd(const Decoder& decoder);
    [[noreturn]] static void failDepth();

    std::string bytes_;  // empty means null, so that default-made and moved-from values are
};

/// A Value is stored as the item it holds, without a wrapper.
template <>
struct Codec<Value> {
    static void encode(Encoder& encoder, const Value& value) { encoder.raw(value.bytes()); }
    static void decode(Decoder& decoder, Value& value) { value = Value::fromCbor(std::string(decoder.raw())); }
};

}  // namespace stategraph
