#pragma once
#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <stategraph/codec.hpp>

// Structs that are stored under their members' names without a table:
//
//     struct Decision {
//         using stored_by_name = void;
//         bool approved = false;
//         std::string by = {};
//     };
//
// The names identify the members on disk: to rename a member, write a fields() table with formerly(). Such a struct is
// an aggregate at namespace scope of at most 32 members, without base classes or C arrays. It costs the compiler about
// as much as a table.
namespace stategraph::detail {

inline constexpr std::size_t by_name_members_max = 32;

template <class T, std::size_t N = 1>
consteval std::size_t countMembers() {
    if constexpr (N > by_name_members_max) {
        return N;
    } else if constexpr (fits<T>(std::make_index_sequence<N + 1>{})) {
        return countMembers<T, N + 1>();
    } else {
        return N;
    }
}

/// Calls `f` with the members of an object, in their order. It is longer than other functions because a structured
/// binding has a fixed number of names, so there is one binding for each number of members.
template <std::size_t N, class T, class F>
constexpr decltype(auto) withMembers(T& object, F f) {
    if constexpr (N == 1) {
        auto& [m0] = object;
        return f(m0);
    } else if constexpr (N == 2) {
        auto& [m0, m1] = object;
        return f(m0, m1);
    } else if constexpr (N == 3) {
        auto& [m0, m1, m2] = object;
        return f(m0, m1, m2);
    } else if constexpr (N == 4) {
        auto& [m0, m1, m2, m3] = object;
        return f(m0, m1, m2, m3);
    } else if constexpr (N == 5) {
        auto& [m0, m1, m2, m3, m4] = object;
        return f(m0, m1, m2, m3, m4);
    } else if constexpr (N == 6) {
        auto& [m0, m1, m2, m3, m4, m5] = object;
        return f(m0, m1, m2, m3, m4, m5);
    } else if constexpr (N == 7) {
        auto& [m0, m1, m2, m3, m4, m5, m6] = object;
        return f(m0, m1, m2, m3, m4, m5, m6);
    } else if constexpr (N == 8) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7] = object;
        return f(m0, m1, m2, m3, m4, m5, m6, m7);
    } else if constexpr (N == 9) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8] = object;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8);
    } else if constexpr (N == 10) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9] = object;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9);
    } else if constexpr (N == 11) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10] = object;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10);
    } else if constexpr (N == 12) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11] = object;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11);
    } else if constexpr (N == 13) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12] = object;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12);
    } else if constexpr (N == 14) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13] = object;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13);
    } else if constexpr (N == 15) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14] = object;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14);
    } else if constexpr (N == 16) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15] = object;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15);
    } else if constexpr (N == 17) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16] = object;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16);
    } else if constexpr (N == 18) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17] = object;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17);
    } else if constexpr (N == 19) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18] = object;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18);
    } else if constexpr (N == 20) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19] = object;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19);
    } else if constexpr (N == 21) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20] = object;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20);
    } else if constexpr (N == 22) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21] =
            object;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21);
    } else if constexpr (N == 23) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21,
               m22] = object;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21,
                 m22);
    } else if constexpr (N == 24) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22,
               m23] = object;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21,
                 m22, m23);
    } else if constexpr (N == 25) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22,
               m23, m24] = object;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21,
                 m22, m23, m24);
    } else if constexpr (N == 26) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22,
               m23, m24, m25] = object;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21,
                 m22, m23, m24, m25);
    } else if constexpr (N == 27) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22,
               m23, m24, m25, m26] = object;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21,
                 m22, m23, m24, m25, m26);
    } else if constexpr (N == 28) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22,
               m23, m24, m25, m26, m27] = object;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21,
                 m22, m23, m24, m25, m26, m27);
    } else if constexpr (N == 29) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22,
               m23, m24, m25, m26, m27, m28] = object;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21,
                 m22, m23, m24, m25, m26, m27, m28);
    } else if constexpr (N == 30) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22,
               m23, m24, m25, m26, m27, m28, m29] = object;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21,
                 m22, m23, m24, m25, m26, m27, m28, m29);
    } else if constexpr (N == 31) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22,
               m23, m24, m25, m26, m27, m28, m29, m30] = object;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21,
                 m22, m23, m24, m25, m26, m27, m28, m29, m30);
    } else if constexpr (N == 32) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22,
               m23, m24, m25, m26, m27, m28, m29, m30, m31] = object;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21,
                 m22, m23, m24, m25, m26, m27, m28, m29, m30, m31);
    }
}

// An object's member that exists only for the compiler, as a template argument: the compiler's text for a function
// contains its name.
template <class T>
struct Shown {
    T value;
};
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"
#endif
template <class T>
extern const Shown<T> shown;
template <class P>
struct PointerTo {
    P pointer;
};
template <class P>
PointerTo(P) -> PointerTo<P>;

template <class T, std::size_t I>
consteval auto pointerAt() {
    return withMembers<countMembers<T>()>(
        shown<T>.value, [](auto&... members) { return PointerTo{&std::get<I>(std::tie(members...))}; });
}

/// Has the form "… = PointerTo<…>{&shown<T>.stategraph::detail::Shown<T>::value.T::foo}]"; the name is the last
/// identifier.
template <PointerTo P>
consteval auto textWithPointer() {
    return std::string_view(__PRETTY_FUNCTION__, sizeof(__PRETTY_FUNCTION__) - 1);
}
template <PointerTo P>
consteval std::string_view lastName() {
    constexpr std::string_view text = textWithPointer<P>();
    const auto isWord = [](char c) {
        return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    };
    std::size_t end = text.rfind(']');
    while (end > 0 && !isWord(text[end - 1])) --end;
    std::size_t begin = end;
    while (begin > 0 && isWord(text[begin - 1])) --begin;
    return text.substr(begin, end - begin);
}
#if defined(__clang__)
#pragma clang diagnostic pop
#endif

/// Stands for a pointer to the Ith member.
template <class T, std::size_t I>
struct MemberAt {
    using Type = std::remove_cvref_t<decltype(*pointerAt<T, I>().pointer)>;
    friend constexpr bool operator==(MemberAt, MemberAt) noexcept { return true; }
};
template <class T, std::size_t I>
constexpr auto& memberOf(T& object, MemberAt<std::remove_const_t<T>, I>) noexcept {
    return withMembers<countMembers<std::remove_const_t<T>>()>(
        object, [](auto&... members) -> auto& { return std::get<I>(std::tie(members...)); });
}

template <class T, std::size_t... I>
consteval auto fieldsByName(std::index_sequence<I...>) {
    return stategraph::fields(Field<MemberAt<T, I>, 0>{lastName<pointerAt<T, I>()>(), {}, {}}...);
}

template <class T>
    requires requires { typename T::stored_by_name; }
struct FieldsOf<T> {
    static_assert(
        std::is_aggregate_v<T> && countMembers<T>() <= by_name_members_max,
        "stategraph: stored_by_name is for aggregates of at most 32 members; give the struct a fields() table");
    static constexpr auto table() { return fieldsByName<T>(std::make_index_sequence<countMembers<T>()>()); }
};

}  // namespace stategraph::detail
