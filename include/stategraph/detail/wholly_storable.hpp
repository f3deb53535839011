#pragma once
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include <stategraph/codec.hpp>

namespace stategraph::detail {

template <class T>
consteval bool isWhollyStorable();

/// The parts of a type, if its template arguments name them.
template <class T>
struct PartsOf {
    static constexpr bool storable = true;
};
template <class A, class B>
struct PartsOf<std::pair<A, B>> {
    static constexpr bool storable = isWhollyStorable<std::remove_cv_t<A>>() && isWhollyStorable<B>();
};
template <class... A>
struct PartsOf<std::tuple<A...>> {
    static constexpr bool storable = (isWhollyStorable<A>() && ...);
};
template <class... A>
struct PartsOf<std::variant<A...>> {
    static constexpr bool storable = (isWhollyStorable<A>() && ...);
};

/// Whether a type and what the library's own codecs of containers put into it (elements, entries, alternatives) are
/// storable. Members of structs, and types with a codec of the user, are not checked.
template <class T>
consteval bool isWhollyStorable() {
    if constexpr (!Storable<T>) {
        return false;
    } else if constexpr (!requires { Codec<T>::of_parts; }) {
        return true;
    } else if constexpr (requires {
                             typename T::key_type;
                             typename T::mapped_type;
                         }) {
        return isWhollyStorable<typename T::key_type>() && isWhollyStorable<typename T::mapped_type>();
    } else if constexpr (requires { typename T::value_type; }) {
        return isWhollyStorable<std::remove_cv_t<typename T::value_type>>();
    } else {
        return PartsOf<T>::storable;
    }
}
template <class T>
inline constexpr bool wholly_storable = isWhollyStorable<T>();

}  // namespace stategraph::detail
