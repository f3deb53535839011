#pragma once
// Codecs of the standard library's templates. Included by stategraph/codec.hpp. Containers, sets, maps and chrono types
// are recognised by their members, so that their headers are not needed here and containers of other libraries work
// too.
#include <optional>
#include <tuple>
#include <utility>
#include <variant>

#include <stategraph/codec.hpp>
#include <stategraph/detail/table.hpp>

namespace stategraph {

/// The member that says which alternative of a tagged variant an object is. Specialise it for another name:
/// `template <> inline constexpr std::string_view stategraph::tag_member<Shape> = "kind";`
template <class Variant>
inline constexpr std::string_view tag_member = "type";

namespace detail {

/// An alternative that is stored under a name: a struct with a fields() table and `static constexpr std::string_view
/// tag = "circle";`.
template <class T>
concept Tagged = HasFields<typename Opened<T>::Type> && requires {
    { Opened<T>::Type::tag } -> std::convertible_to<std::string_view>;
};

struct Tags {
    std::string_view member;
    const std::string_view* tags;
    std::size_t size;
};

constexpr bool tagsDiffer(const std::string_view* tags, std::size_t size) noexcept {
    for (std::size_t i = 0; i < size; ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            if (tags[i] == tags[j]) return false;
        }
    }
    return true;
}

/// Whether no name of T's table, former ones included, is `member`.
template <class T>
consteval bool hasNoMember(std::string_view member) {
    for (const TableName& each : TableLayout<T>::lookup) {
        if (each.name == member) return false;
    }
    return true;
}

/// Adds the tag to the map that begins at `begin` and ends the buffer.
void insertTag(Encoder& encoder, std::size_t begin, std::string_view member, std::string_view tag);
/// Finds which alternative follows, without consuming anything; returns `tags.size` if it is stored with its index.
/// Errors: WrongTypeError that lists the tags; a strict reading accepts only tags.
std::size_t findTag(Decoder& decoder, const Tags& tags);

/// The place of a map's or set's entry in a scratch buffer: entries are written in the order of their keys' bytes.
struct Piece {
    std::size_t begin;
    std::size_t key_end;
    std::size_t end;
};

void appendSorted(Encoder& encoder, std::string_view scratch, std::vector<Piece>& pieces);

/// Skips the value of a key that its map has had before. A strict reading refuses it.
void skipRepeated(Decoder& decoder);

/// Reads a map's key that is not text. JSON has such keys as text, which a strict reading accepts.
void decodeKey(Decoder& decoder, void* key, DecodeMember decode);

template <class T>
concept Iterable = requires(T& value, const T& constant) {
    typename T::value_type;
    { constant.size() } -> std::convertible_to<std::size_t>;
    value.begin();
    value.end();
    value.clear();
};

template <class T>
concept MapLike = Iterable<T> && requires(T& value, typename T::key_type key, typename T::mapped_type) {
    value.try_emplace(std::move(key));
};

template <class T>
concept SequenceLike = Iterable<T> && !requires { typename T::mapped_type; } &&
                       requires(T& value, typename T::value_type item) { value.insert(value.end(), std::move(item)); };

template <class T>
concept UnorderedSetLike = SequenceLike<T> && requires { typename T::hasher; };

template <class T>
concept DurationLike = requires(const T& value) {
    typename T::rep;
    typename T::period;
    { value.count() } -> std::same_as<typename T::rep>;
};

template <class T>
concept TimePointLike = requires(const T& value) {
    typename T::clock;
    typename T::duration;
    { value.time_since_epoch() } -> std::same_as<typename T::duration>;
};

template <class Tuple, std::size_t... I>
void encodeElements(Encoder& encoder, const Tuple& value, std::index_sequence<I...>) {
    encoder.array(sizeof...(I));
    (encodeItem(encoder, std::get<I>(value)), ...);
}
template <class Tuple, std::size_t... I>
void decodeElements(Decoder& decoder, Tuple& value, std::index_sequence<I...>) {
    const Decoder::Nesting nesting(decoder);
    requireCount(decoder, sizeof...(I));
    (decodeItem(decoder, std::get<I>(value)), ...);
}

}  // namespace detail

/// null, or the value. A value that is itself stored as null is read back as none.
template <class T>
struct Codec<std::optional<T>> {
    static constexpr bool of_parts = true;  // storable if its parts are
    static void encode(Encoder& encoder, const std::optional<T>& value) {
        if (value) {
            detail::encodeItem(encoder, *value);
        } else {
            encoder.null();
        }
    }
    static void decode(Decoder& decoder, std::optional<T>& value) {
        if (decoder.tryNull()) {
            value.reset();
        } else {
            detail::decodeItem(decoder, value.emplace());
        }
    }
};

// Not storable: an empty inner optional and an empty outer one would have the same bytes.
template <class T>
struct Codec<std::optional<std::optional<T>>>;

template <>
struct Codec<std::monostate> {
    static void encode(Encoder& encoder, const std::monostate&) { encoder.null(); }
    static void decode(Decoder& decoder, std::monostate&) {
        if (!decoder.tryNull()) Decoder::fail("null", decoder.peek());
    }
};

/// An array of the alternative's index and its value: new alternatives go at the end. Where every alternative is a
/// struct with a fields() table and `static constexpr std::string_view tag = "name";` it is that struct's map, with the
/// tag under "type" (tag_member) among its members; new alternatives then go anywhere, and what was stored with an
/// index is still read.
template <class... T>
struct Codec<std::variant<T...>> {
    static constexpr bool of_parts = true;  // storable if its parts are
    using Variant = std::variant<T...>;
    static constexpr bool is_tagged = (detail::Tagged<T> && ...);

    static void encode(Encoder& encoder, const Variant& value) {
        if (value.valueless_by_exception()) detail::failValueless();
        if constexpr (is_tagged) {
            const std::size_t begin = encoder.out().size();
            encodeValue(encoder, value, std::index_sequence_for<T...>());
            detail::insertTag(encoder, begin, tags().member, tags().tags[value.index()]);
        } else {
            encoder.array(2);
            encoder.unsignedInteger(value.index());
            encodeValue(encoder, value, std::index_sequence_for<T...>());
        }
    }
    static void decode(Decoder& decoder, Variant& value) {
        if constexpr (is_tagged) {
            const std::size_t tagged = detail::findTag(decoder, tags());
            if (tagged < sizeof...(T)) return decodeValue(decoder, value, tagged, std::index_sequence_for<T...>());
        }
        const Decoder::Nesting nesting(decoder);
        detail::requireCount(decoder, 2);
        const std::uint64_t index = decoder.unsignedInteger();
        if (index >= sizeof...(T)) detail::failVariantIndex(index, sizeof...(T));
        decodeValue(decoder, value, index, std::index_sequence_for<T...>());
    }

    static detail::Tags tags()
        requires(is_tagged)
    {
        static constexpr std::string_view all[] = {detail::Opened<T>::Type::tag...};
        static constexpr std::string_view member = tag_member<Variant>;
        static_assert(detail::tagsDiffer(all, sizeof...(T)),
                      "stategraph: two alternatives of a variant have the same tag; give each its own");
        static_assert((detail::hasNoMember<typename detail::Opened<T>::Type>(member) && ...),
                      "stategraph: an alternative of a variant has a member of the tag's name; specialise "
                      "stategraph::tag_member for the variant");
        return {member, all, sizeof...(T)};
    }

private:
    template <std::size_t... I>
    static void encodeValue(Encoder& encoder, const Variant& value, std::index_sequence<I...>) {
        ((value.index() == I ? detail::encodeItem(encoder, *std::get_if<I>(&value)) : void()), ...);
    }
    template <std::size_t... I>
    static void decodeValue(Decoder& decoder, Variant& value, std::uint64_t index, std::index_sequence<I...>) {
        ((index == I ? detail::decodeItem(decoder, value.template emplace<I>()) : void()), ...);
    }
};

template <class A, class B>
struct Codec<std::pair<A, B>> {
    static constexpr bool of_parts = true;  // storable if its parts are
    using Indices = std::make_index_sequence<2>;
    static void encode(Encoder& encoder, const std::pair<A, B>& value) {
        detail::encodeElements(encoder, value, Indices());
    }
    static void decode(Decoder& decoder, std::pair<A, B>& value) { detail::decodeElements(decoder, value, Indices()); }
};

template <class... T>
struct Codec<std::tuple<T...>> {
    static constexpr bool of_parts = true;  // storable if its parts are
    using Indices = std::index_sequence_for<T...>;
    static void encode(Encoder& encoder, const std::tuple<T...>& value) {
        detail::encodeElements(encoder, value, Indices());
    }
    static void decode(Decoder& decoder, std::tuple<T...>& value) { detail::decodeElements(decoder, value, Indices()); }
};

template <class T, std::size_t N>
struct Codec<std::array<T, N>> {
    static constexpr bool of_parts = true;  // storable if its parts are
    static void encode(Encoder& encoder, const std::array<T, N>& value) {
        encoder.array(N);
        for (const T& item : value) detail::encodeItem(encoder, item);
    }
    static void decode(Decoder& decoder, std::array<T, N>& value) {
        const Decoder::Nesting nesting(decoder);
        detail::requireCount(decoder, N);
        for (T& item : value) detail::decodeItem(decoder, item);
    }
};

/// Sequences and sets, as arrays. An unordered set is written in the order of its items' bytes, so that equal sets are
/// equal bytes. An item that a set has already is read and dropped.
template <detail::SequenceLike T>
struct Codec<T> {
    static constexpr bool of_parts = true;  // storable if its parts are
    using Item = typename T::value_type;

    static void encode(Encoder& encoder, const T& value) {
        encoder.array(value.size());
        if constexpr (detail::UnorderedSetLike<T>) {
            std::string scratch;
            Encoder inner = encoder.into(scratch);
            std::vector<detail::Piece> pieces;
            pieces.reserve(value.size());
            for (const Item& item : value) {
                const std::size_t begin = scratch.size();
                detail::encodeItem<Item>(inner, item);
                pieces.push_back({begin, scratch.size(), scratch.size()});
            }
            detail::appendSorted(encoder, scratch, pieces);
        } else {
            for (auto&& item : value) detail::encodeItem<Item>(encoder, item);
        }
    }
    static void decode(Decoder& decoder, T& value) {
        std::size_t count = 0;
        const Decoder::Nesting nesting(decoder, count);
        value.clear();
        count = decoder.array();
        if constexpr (requires {
                          { value.emplace_back() } -> std::same_as<Item&>;
                      }) {
            // An item takes at least one byte here but may take many in memory, so the memory that hostile bytes can
            // reserve is limited.
            if constexpr (requires { value.reserve(count); }) value.reserve(count < reserve_max ? count : reserve_max);
            for (; count > 0; --count) detail::decodeItem<Item>(decoder, value.emplace_back());
        } else {
            for (; count > 0; --count) {
                Item item{};
                detail::decodeItem<Item>(decoder, item);
                value.insert(value.end(), std::move(item));
            }
        }
    }

private:
    static constexpr std::size_t reserve_max = 4096 / sizeof(Item) + 64;
};

/// Maps with unique keys, as CBOR maps in the order of their keys' bytes. Of equal keys the first counts.
template <detail::MapLike T>
struct Codec<T> {
    static constexpr bool of_parts = true;  // storable if its parts are
    using Key = typename T::key_type;
    using Mapped = typename T::mapped_type;

    static void encode(Encoder& encoder, const T& value) {
        encoder.map(value.size());
        if (value.size() < 2) {  // nothing to sort
            for (const auto& [key, mapped] : value) {
                detail::encodeItem<Key>(encoder, key);
                detail::encodeItem<Mapped>(encoder, mapped);
            }
            return;
        }
        std::string scratch;
        Encoder inner = encoder.into(scratch);
        std::vector<detail::Piece> pieces;
        pieces.reserve(value.size());
        for (const auto& [key, mapped] : value) {
            const std::size_t begin = scratch.size();
            detail::encodeItem<Key>(inner, key);
            const std::size_t key_end = scratch.size();
            detail::encodeItem<Mapped>(inner, mapped);
            pieces.push_back({begin, key_end, scratch.size()});
        }
        detail::appendSorted(encoder, scratch, pieces);
    }
    static void decode(Decoder& decoder, T& value) {
        std::size_t count = 0;
        const Decoder::Nesting nesting(decoder, count);
        value.clear();
        for (count = decoder.map(); count > 0; --count) {
            Key key{};
            if constexpr (std::is_arithmetic_v<Key> || std::is_enum_v<Key>) {
                detail::decodeKey(decoder, &key,
                                  [](Decoder& in, void* to) { detail::decodeItem<Key>(in, *static_cast<Key*>(to)); });
            } else {
                detail::decodeItem<Key>(decoder, key);
            }
            const auto [at, is_new] = value.try_emplace(std::move(key));
            if (is_new) {
                detail::decodeItem<Mapped>(decoder, at->second);
            } else {
                detail::skipRepeated(decoder);
            }
        }
    }
};

/// Durations are stored as their count, time points as the count since their clock's epoch; changing the unit changes
/// the meaning.
template <detail::DurationLike T>
struct Codec<T> {
    static void encode(Encoder& encoder, const T& value) { detail::encodeItem(encoder, value.count()); }
    static void decode(Decoder& decoder, T& value) {
        typename T::rep count{};
        detail::decodeItem(decoder, count);
        value = T(count);
    }
};

template <detail::TimePointLike T>
struct Codec<T> {
    static void encode(Encoder& encoder, const T& value) { detail::encodeItem(encoder, value.time_since_epoch()); }
    static void decode(Decoder& decoder, T& value) {
        typename T::duration since_epoch{};
        detail::decodeItem(decoder, since_epoch);
        value = T(since_epoch);
    }
};

}  // namespace stategraph
