#pragma once
#include <array>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

#include <stategraph/codec.hpp>
#include <stategraph/detail/arity.hpp>
#include <stategraph/detail/member_name.hpp>
#include <stategraph/detail/table.hpp>

namespace stategraph {

/// Names that a member had in earlier versions of the program.
template <std::size_t N>
struct Formerly {
    std::array<std::string_view, N> names;
};

/// Names under which a member may still be stored. If both names are stored, the current one counts.
template <class... Name>
constexpr Formerly<sizeof...(Name)> formerly(const Name&... name) {
    static_assert(sizeof...(Name) > 0 && (std::convertible_to<const Name&, std::string_view> && ...),
                  "stategraph: formerly() takes one or more names; write sg::formerly(\"oldName\")");
    return {{std::string_view(name)...}};
}

/// Notes about a member in an entry of a table, in fields() and in channels().
struct TableNote {
    /// JSON from outside may leave the member out; then the member has the value of its initialiser. Members that are
    /// std::optional may be left out in any case.
    bool defaulted = false;
    /// A description for the readers of jsonSchema().
    std::string_view description = {};
};

/// Marks a member that strict reading does not require: `sg::field("units", &Place::units, sg::defaulted)`.
inline constexpr TableNote defaulted{.defaulted = true};

/// Describes a member for readers of the JSON Schema: `sg::field("city", &Place::city, sg::describe("In English"))`.
constexpr TableNote describe(std::string_view description) noexcept { return {.description = description}; }

namespace detail {
template <class Entry>
constexpr Entry withNote(Entry entry, const TableNote& note) {
    entry.note.defaulted = entry.note.defaulted || note.defaulted;
    if (!note.description.empty()) entry.note.description = note.description;
    return entry;
}
}  // namespace detail

/// One entry of a fields() table.
template <class Member, std::size_t N>
struct Field {
    std::string_view name;
    Member member;
    std::array<std::string_view, N> former;
    TableNote note = {};
};

/// The table of a struct, which `fields()` returns.
template <class... Entry>
struct Fields {
    detail::Pack<Entry...> entries;
};

/// Stores a member under a name, which identifies it on disk: renaming the member is free, renaming the name needs
/// formerly(). A compile-time constant; no errors, no cost.
template <class T, class Struct>
constexpr Field<T Struct::*, 0> field(std::string_view name, T Struct::*member) {
    return {name, member, {}};
}
template <class T, class Struct, std::size_t N>
constexpr Field<T Struct::*, N> field(std::string_view name, T Struct::*member, Formerly<N> former) {
    return {name, member, former.names};
}
/// Does the same with notes, in any order: `sg::defaulted`, `sg::describe("text")`, and once `sg::formerly("name")`.
template <class T, class Struct, class... More>
constexpr auto field(std::string_view name, T Struct::*member, TableNote note, const More&... more) {
    return detail::withNote(field(name, member, more...), note);
}
template <class T, class Struct, std::size_t N, class... More>
constexpr auto field(std::string_view name, T Struct::*member, Formerly<N> former, TableNote note,
                     const More&... more) {
    return detail::withNote(field(name, member, former, more...), note);
}

/// Does the same under the member's own name: `sg::field<&T::member>()`. Renaming the member then needs formerly() too.
template <auto Member, class... Options>
constexpr auto field(Options... options) {
    return field(detail::memberName<Member>(), Member, options...);
}

/// The table that makes a struct storable, returned by its `static constexpr auto fields()`. It lists every member
/// once, in any order; the struct is an aggregate without base classes or C arrays, otherwise a missing member is not
/// noticed.
///
/// What comes from outside (Value::asStrict, fromJson, answers to interrupts) must have every member that is neither
/// optional nor
/// `sg::defaulted`, and no other, unless the struct says `static constexpr bool allows_unknown_members = true;`.
template <class... Entry>
constexpr auto fields(Entry... entry) {
    constexpr bool are_rows = (!std::is_member_pointer_v<Entry> && ...);
    static_assert(are_rows,
                  "stategraph: members under their own names are template arguments: sg::fields<&T::a, &T::b>()");
    if constexpr (are_rows) {
        return Fields<Entry...>{{{entry}...}};
    } else {
        return Fields<>{};
    }
}
/// Does the same with the members' own names as names: `sg::fields<&T::a, &T::b>()`.
template <auto... Member>
    requires(sizeof...(Member) > 0)
constexpr auto fields() {
    return fields(field<Member>()...);
}

/// Structs with a table, as a CBOR map from name to value. Where it is read from the log, unknown keys are skipped and
/// members without a key stay as they are, so members can be added and removed. Of equal keys the first counts.
template <detail::HasFields T>
struct Codec<T> {
    using Layout = detail::TableLayout<T>;
    static_assert(Layout::has_unique_names,
                  "stategraph: two entries of a table have the same name; give each member its own");
    static_assert(
        !std::is_aggregate_v<T> ||
            (detail::hasArity<T, Layout::count>() && detail::hasUniqueMembers(detail::fields_of<T>.entries)),
        "stategraph: fields() must list every member exactly once; add the missing sg::field(\"name\", &T::member)");

    static void encode(Encoder& encoder, const T& value) { encodeMembers(encoder, value, typename Layout::Indices()); }

    static void decode(Decoder& decoder, T& value) { decodeMembers(decoder, value, typename Layout::Indices()); }

private:
    template <std::size_t Index>
    static constexpr auto memberAt() {
        return detail::at<Index>(detail::fields_of<T>.entries).member;
    }

    template <std::size_t... I>
    static void encodeMembers(Encoder& encoder, const T& value, std::index_sequence<I...>) {
        const std::size_t begin = encoder.out().size();
        if constexpr (sizeof...(I) == 0) encoder.map(0);
        (encodeMember<I>(encoder, value), ...);
        if (encoder.isForPeople()) detail::listAsTable(encoder, begin, Layout::order.data(), sizeof...(I));
    }
    template <std::size_t I>
    static void encodeMember(Encoder& encoder, const T& value) {
        constexpr std::size_t begin = Layout::keys.begin[I];
        encoder.raw({Layout::keys.bytes.data() + begin, Layout::keys.begin[I + 1] - begin});
        using detail::memberOf;
        detail::encodeItem(encoder, memberOf(value, memberAt<Layout::order[I]>()));
    }

    template <std::size_t Index>
    static void decodeMember(Decoder& decoder, void* object) {
        using detail::memberOf;
        detail::decodeItem(decoder, memberOf(*static_cast<T*>(object), memberAt<Index>()));
    }
    template <std::size_t... I>
    static void decodeMembers(Decoder& decoder, T& value, std::index_sequence<I...>) {
        // One element more than needed, so that an empty table is not a special case.
        static constexpr detail::DecodeMember members[] = {&decodeMember<I>..., nullptr};
        unsigned char seen[sizeof...(I) + 1] = {};
        detail::decodeTable(decoder, &value,
                            {Layout::lookup.data(), Layout::lookup.size(), members, detail::allowsUnknownMembers<T>()},
                            seen);
    }
};

}  // namespace stategraph
