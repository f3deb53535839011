#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <stategraph/detail/pack.hpp>
#include <stategraph/encoding.hpp>

// What structs with a table of named members have in common, whether it is fields() or channels(): any object with a
// Pack `entries` whose elements have `name`, `member` and `former`.
namespace stategraph::detail {

/// The source of a struct's table: its fields(), or the specialisation that an opt-in header makes (describe.hpp).
template <class T>
struct FieldsOf {};
template <class T>
    requires requires { T::fields().entries; }
struct FieldsOf<T> {
    static constexpr auto table() { return T::fields(); }
};

template <class T>
concept HasFields = requires { FieldsOf<T>::table().entries; };

template <class T>
concept HasChannels = requires { T::channels().entries; };

template <class T>
inline constexpr auto fields_of = FieldsOf<T>::table();

/// The type that a value holds if it is stored as another type: itself, except for Shared (shared.hpp).
template <class T>
struct Opened {
    using Type = T;
    static constexpr bool is_wrapped = false;
    static const T& read(const T& value) noexcept { return value; }
    template <class F>
    static void change(T& value, F f) {
        f(value);
    }
};

/// The member of an object to which an entry of a table refers.
template <class Object, class S, class T>
constexpr auto& memberOf(Object& object, T S::*member) noexcept {
    return object.*member;
}

/// A struct that says `static constexpr bool allows_unknown_members = true`: strict reading skips members that its
/// table does not have.
template <class T>
consteval bool allowsUnknownMembers() {
    if constexpr (requires { T::allows_unknown_members; }) {
        return T::allows_unknown_members;
    } else {
        return false;
    }
}

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

template <class T, class S>
constexpr bool isOptionalMember(T S::*) noexcept {
    return is_optional<T>;
}

/// One name of a member, and how to read that member of the struct that the pointer points to.
struct TableName {
    std::string_view name;
    std::size_t index;
    bool former;
    bool required = false;  // for strict reading
};

using DecodeMember = void (*)(Decoder& decoder, void* object);

/// A struct's table without its types, so that the loop that reads it is compiled once.
struct TableView {
    const TableName* names;  // the current names in the order they are stored, then the former ones
    std::size_t names_size;
    const DecodeMember* members;
    bool allows_unknown = false;
};

/// Reads a CBOR map into a struct: unknown keys are skipped, former names count unless the current name exists, and
/// errors name the member. A strict decoder refuses unknown keys and missing members, and reports all of one map
/// together. `seen` has one zero for each member.
void decodeTable(Decoder& decoder, void* object, TableView table, unsigned char* seen);

/// Reorders the entries of the map that begins at `begin` from the stored order to that of the table. `order[i]` is the
/// place in the table of the i-th stored entry.
void listAsTable(Encoder& encoder, std::size_t begin, const std::size_t* order, std::size_t size);

constexpr bool storedBefore(std::string_view a, std::string_view b) noexcept {
    // This is the order of their encoded bytes, in which the length comes first.
    return a.size() != b.size() ? a.size() < b.size() : a < b;
}

/// The size in bytes of an item's head (RFC 8949, section 3) for `number`, in the shortest form.
constexpr std::size_t headSize(std::uint64_t number) noexcept {
    return number < 24 ? 1 : number < 0x100U ? 2 : number < 0x10000U ? 3 : number < 0x100000000U ? 5 : 9;
}

/// Writes an item's head at compile time and returns its end; `major` is the bits of its type.
constexpr char* putHead(char* out, unsigned major, std::uint64_t number) noexcept {
    const std::size_t extra = headSize(number) - 1;
    const std::uint64_t info = extra == 0 ? number : extra == 1 ? 24 : extra == 2 ? 25 : extra == 4 ? 26 : 27;
    *out++ = static_cast<char>(major | info);
    for (std::size_t i = extra; i-- > 0;) *out++ = static_cast<char>(number >> (8 * i) & 0xffU);
    return out;
}

template <std::size_t N>
constexpr TableName* putFormer(TableName* next, std::size_t index,
                               const std::array<std::string_view, N>& former) noexcept {
    for (const std::string_view name : former) *next++ = {name, index, true};
    return next;
}

constexpr bool namesDiffer(const TableName* names, std::size_t size) noexcept {
    for (std::size_t i = 0; i < size; ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            if (names[i].name == names[j].name) return false;
        }
    }
    return true;
}

template <std::size_t... I, class... T>
constexpr auto namesOf(const PackOf<std::index_sequence<I...>, T...>& entries) {
    return std::array<std::string_view, sizeof...(T)>{entries.PackItem<I, T>::value.name...};
}

template <std::size_t... I, class... T>
constexpr auto requiredOf(const PackOf<std::index_sequence<I...>, T...>& entries) {
    return std::array<bool, sizeof...(T)>{
        (!entries.PackItem<I, T>::value.note.defaulted && !isOptionalMember(entries.PackItem<I, T>::value.member))...};
}

/// Properties of T's fields() that are known at compile time.
template <class T>
struct TableLayout {
    using Entries = std::remove_cvref_t<decltype(fields_of<T>.entries)>;
    static constexpr std::size_t count = Entries::size;
    using Indices = typename Entries::Indices;

    static constexpr auto names = namesOf(fields_of<T>.entries);

    /// The entries in the order in which they are stored.
    static constexpr auto order = [] {
        std::array<std::size_t, count> out{};
        for (std::size_t i = 0; i < count; ++i) {
            std::size_t at = i;
            for (; at > 0 && storedBefore(names[i], names[out[at - 1]]); --at) out[at] = out[at - 1];
            out[at] = i;
        }
        return out;
    }();

    template <std::size_t... I>
    static constexpr std::size_t countFormer(std::index_sequence<I...>) {
        return (std::size_t{0} + ... + at<I>(fields_of<T>.entries).former.size());
    }
    static constexpr std::size_t former_count = countFormer(Indices());

    template <std::size_t... I>
    static constexpr void addFormer([[maybe_unused]] TableName* next, std::index_sequence<I...>) {
        ((next = putFormer(next, I, at<I>(fields_of<T>.entries).former)), ...);
    }

    static constexpr auto lookup = [] {
        std::array<TableName, count + former_count> out{};
        TableName* next = out.data();
        const auto required = requiredOf(fields_of<T>.entries);
        for (const std::size_t index : order) *next++ = {names[index], index, false, required[index]};
        addFormer(next, Indices());
        return out;
    }();

    /// Whether all names, former ones included, are different.
    static constexpr bool has_unique_names = namesDiffer(lookup.data(), lookup.size());

    static constexpr std::size_t keys_size = [] {
        std::size_t size = headSize(count);
        for (const std::string_view name : names) size += headSize(name.size()) + name.size();
        return size;
    }();

    struct Keys {
        std::array<char, keys_size> bytes{};
        std::array<std::size_t, count + 1> begin{};
    };

    /// The encoded keys in stored order; the first is preceded by the head of the map.
    static constexpr Keys keys = [] {
        Keys out;
        char* at = putHead(out.bytes.data(), 0xa0U, count);
        for (std::size_t i = 0; i < count; ++i) {
            const std::string_view name = names[order[i]];
            at = putHead(at, 0x60U, name.size());
            for (const char c : name) *at++ = c;
            out.begin[i + 1] = static_cast<std::size_t>(at - out.bytes.data());
        }
        return out;
    }();
};

template <class A, class B>
constexpr bool isSameMember(A, B) noexcept {
    return false;
}
template <class M>
constexpr bool isSameMember(M a, M b) noexcept {
    return a == b;
}

/// The place of a member in a table; the table's size if the member is missing.
template <class M, std::size_t... I, class... T>
constexpr std::size_t placeOf(const PackOf<std::index_sequence<I...>, T...>& entries, M member) noexcept {
    std::size_t found = sizeof...(T);
    ((isSameMember(entries.PackItem<I, T>::value.member, member) ? void(found = I) : void()), ...);
    return found;
}

/// Whether each member occurs only once in the table.
template <std::size_t... I, class... T>
consteval bool hasUniqueMembers(const PackOf<std::index_sequence<I...>, T...>& entries) {
    return (true && ... && (placeOf(entries, entries.PackItem<I, T>::value.member) == I));
}

}  // namespace stategraph::detail
