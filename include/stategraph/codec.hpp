#pragma once
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
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
concept Encodable = requires(Encoder& encoder, const T& value) { Codec<T>::encode(encoder, value); };

/// Types that can be written and read back. What a container, an optional or a table holds is checked when it is used.
template <class T>
concept Storable = Encodable<T> && requires(Decoder& decoder, T& value) { Codec<T>::decode(decoder, value); };

/// Fails to compile, in one sentence, unless T is storable.
template <class T>
consteval void requireStorable() {
    static_assert(
        Storable<T>,
        "stategraph: this type cannot be stored; give it a fields() table or specialise stategraph::Codec for it");
}

namespace detail {

// Checks decoded integers and counts; compiled once.
std::int64_t decodeSigned(Decoder& decoder, std::int64_t min, std::int64_t max);
std::uint64_t decodeUnsigned(Decoder& decoder, std::uint64_t max);
float decodeFloat(Decoder& decoder);
void decodeBytes(Decoder& decoder, std::vector<std::byte>& value);
void requireCount(Decoder& decoder, std::size_t count);
[[noreturn]] void failVariantIndex(std::uint64_t index, std::size_t count);
[[noreturn]] void failValueless();

// Codecs call these functions for what they contain, so that a type without a codec is a single error.
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
    requires(sizeof(T) <= 8)
struct Codec<T> {
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
    requires(sizeof(T) <= 8)
struct Codec<T> {
    static void encode(Encoder& encoder, T value) { encoder.real(value); }
    static void decode(Decoder& decoder, T& value) {
        if constexpr (sizeof(T) < sizeof(double)) {
            value = detail::decodeFloat(decoder);
        } else {
            value = decoder.real();
        }
    }
};

/// One enumerator's name as it is stored.
template <class E>
struct EnumName {
    std::string_view name;
    E value;
};

namespace detail {

/// The same row without the type of the enum; `number` has the bits of an unsigned integer.
struct EnumRow {
    std::string_view name;
    std::int64_t number;
};
struct EnumRows {
    const EnumRow* rows;
    std::size_t size;
};

constexpr bool enumNamesDiffer(const EnumRow* rows, std::size_t size) noexcept {
    for (std::size_t i = 0; i < size; ++i) {
        if (rows[i].name.empty()) return false;
        for (std::size_t j = 0; j < i; ++j) {
            if (rows[i].name == rows[j].name) return false;
        }
    }
    return true;
}

/// Returns false, and writes nothing, if the number has no name.
bool encodeEnumName(Encoder& encoder, std::int64_t number, EnumRows names);
/// Returns none if a number follows, as programs without names have stored it. Errors: WrongTypeError that lists the
/// names; a strict reading accepts only names.
std::optional<std::int64_t> decodeEnumName(Decoder& decoder, EnumRows names);

}  // namespace detail

/// The names of an enumeration's values.
template <class E, std::size_t N>
struct EnumNames {
    using Enum = E;
    std::array<detail::EnumRow, N> rows = {};
};

/// The names under which an enum is stored, for a function `enumNames` next to it, which is found by its argument:
///
///     enum class Colour { red, green };
///     constexpr auto enumNames(Colour) { return sg::enumNames<Colour>({{"red", Colour::red}, {"green", Colour::green}}); }
///
/// Declare it before the enum is used in a graph; for one inside of a struct write `friend constexpr auto …`. If
/// an enumerator has several names, the first is written and all are read. A value without a name is stored as its
/// number.
template <class E, std::size_t N>
constexpr EnumNames<E, N> enumNames(const EnumName<E> (&names)[N]) {
    EnumNames<E, N> made;
    for (std::size_t i = 0; i < N; ++i) made.rows[i] = {names[i].name, static_cast<std::int64_t>(names[i].value)};
    return made;
}

namespace detail {

template <class T>
concept NamedEnum =
    std::is_enum_v<T> && requires(T value) { requires std::same_as<typename decltype(enumNames(value))::Enum, T>; };

template <class T>
inline constexpr auto enum_names_of = enumNames(T{});

}  // namespace detail

/// Enums as their number, or by name (enumNames). A number is range-checked, but not checked against the enumerators.
template <class T>
    requires std::is_enum_v<T>
struct Codec<T> {
    using Number = std::underlying_type_t<T>;
    static void encode(Encoder& encoder, T value) {
        if constexpr (detail::NamedEnum<T>) {
            if (detail::encodeEnumName(encoder, static_cast<std::int64_t>(value), names())) return;
        }
        Codec<Number>::encode(encoder, static_cast<Number>(value));
    }
    static void decode(Decoder& decoder, T& value) {
        if constexpr (detail::NamedEnum<T>) {
            if (const auto named = detail::decodeEnumName(decoder, names())) {
                value = static_cast<T>(*named);
                return;
            }
        }
        Number number{};
        Codec<Number>::decode(decoder, number);
        value = static_cast<T>(number);
    }

private:
    static detail::EnumRows names() {
        constexpr auto& rows = detail::enum_names_of<T>.rows;
        static_assert(detail::enumNamesDiffer(rows.data(), rows.size()),
                      "stategraph: two entries of enumNames() have the same name, or one has none; give each its own");
        return {rows.data(), rows.size()};
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
