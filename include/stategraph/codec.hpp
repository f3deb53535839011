#pragma once
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <stategraph/encoding.hpp>

namespace stategraph {

/// How a type is stored: the one customisation point. A specialisation has
///     static void encode(Encoder&, const T&);   // writes exactly one item
///     static void decode(Decoder&, T&);         // replaces the value by one item
/// Arithmetic types, enums, strings, bytes, optional, variant, sequences, sets, maps, pair, tuple, chrono and structs
/// with a fields() table (stategraph/fields.hpp) have one. decode throws WrongTypeError; the value is then valid but
/// unspecified. Not to be called for one object from several threads.
template <class T>
struct Codec;

/// Types that can be written: the storable ones, and views such as std::string_view.
template <class T>
concept Encodable = requires(Encoder& encoder, const T& value) {
    Codec<T>::encode(encoder, value);
};

/// Types that can be written and read back. What a container, an optional or a table holds is checked when it is used.
template <class T>
concept Storable = Encodable<T> && requires(Decoder& decoder, T& value) {
    Codec<T>::decode(decoder, value);
};

/// Fails to compile, in one sentence, unless T is storable.
template <class T>
consteval void requireStorable() {
    constexpr bool wants_names = requires { typename T::stored_by_name; };
    static_assert(Storable<T> || !wants_names, "stategraph: stored_by_name needs #include <stategraph/by_name.hpp>");
    static_assert(
        Storable<T> || wants_names,
        "stategraph: this type cannot be stored; give it a fields() table or specialise stategraph::Codec for it");
}

namespace detail {

// The checks of decoded integers and counts, compiled once.
std::int64_t decodeSigned(Decoder& decoder, std::int64_t min, std::int64_t max);
std::uint64_t decodeUnsigned(Decoder& decoder, std::uint64_t max);
float decodeFloat(Decoder& decoder);
void decodeBytes(Decoder& decoder, std::vector<std::byte>& value);
void requireCount(Decoder& decoder, std::size_t count);
[[noreturn]] void failVariantIndex(std::uint64_t index, std::size_t count);
[[noreturn]] void failValueless();

// What codecs call for what they contain, so that a type without a codec is one error and no more.
template <class T>
void encodeItem(Encoder& encoder, const T& value) {
    if constexpr (Storable<T>) {
        Codec<T>::encode(encoder, value);
    } else {
        requireStorable<T>();
    }
}
template <class T>
void decodeItem(Decoder& decoder, T& value) {
    if constexpr (Storable<T>) {
        Codec<T>::decode(decoder, value);
    } else {
        requireStorable<T>();
    }
}

}  // namespace detail

template <>
struct Codec<bool> {
    static void encode(Encoder& encoder, bool value) { encoder.boolean(value); }
    static void decode(Decoder& decoder, bool& value) { value = decoder.boolean(); }
};

/// Integers and character types, up to 64 bits; a number that does not fit is a WrongTypeError.
template <std::integral T>
requires(sizeof(T) <= 8) struct Codec<T> {
    static void encode(Encoder& encoder, T value) {
        if constexpr (std::is_signed_v<T>) {
            encoder.integer(value);
        } else {
            encoder.unsignedInteger(value);
        }
    }
    static void decode(Decoder& decoder, T& value) {
        using Limits = std::numeric_limits<T>;
        if constexpr (std::is_signed_v<T>) {
            value = static_cast<T>(detail::decodeSigned(decoder, Limits::min(), Limits::max()));
        } else {
            value = static_cast<T>(detail::decodeUnsigned(decoder, Limits::max()));
        }
    }
};

/// float and double. An integer is read as a number too; a double read as a float is rounded.
template <std::floating_point T>
requires(sizeof(T) <= 8) struct Codec<T> {
    static void encode(Encoder& encoder, T value) { encoder.real(value); }
    static void decode(Decoder& decoder, T& value) {
        if constexpr (sizeof(T) < sizeof(double)) {
            value = detail::decodeFloat(decoder);
        } else {
            value = decoder.real();
        }
    }
};

/// Enums as their number. It is range-checked, but not checked against the enumerators.
template <class T>
requires std::is_enum_v<T>
struct Codec<T> {
    using Number = std::underlying_type_t<T>;
    static void encode(Encoder& encoder, T value) { Codec<Number>::encode(encoder, static_cast<Number>(value)); }
    static void decode(Decoder& decoder, T& value) {
        Number number{};
        Codec<Number>::decode(decoder, number);
        value = static_cast<T>(number);
    }
};

/// Text, or bytes where it is not UTF-8; both are read back as they were.
template <>
struct Codec<std::string> {
    static void encode(Encoder& encoder, std::string_view value) { encoder.text(value); }
    static void decode(Decoder& decoder, std::string& value) { value.assign(decoder.text()); }
};

template <>
struct Codec<std::string_view> {
    static void encode(Encoder& encoder, std::string_view value) { encoder.text(value); }
};

template <>
struct Codec<const char*> {
    static void encode(Encoder& encoder, const char* value) { encoder.text(value); }
};

template <>
struct Codec<std::vector<std::byte>> {
    static void encode(Encoder& encoder, const std::vector<std::byte>& value) {
        encoder.bytes({reinterpret_cast<const char*>(value.data()), value.size()});
    }
    static void decode(Decoder& decoder, std::vector<std::byte>& value) { detail::decodeBytes(decoder, value); }
};

}  // namespace stategraph

#include <stategraph/codec_std.hpp>
#include <stategraph/fields.hpp>
