#pragma once
#include <cstddef>
#include <utility>

namespace stategraph::detail {

/// Values of several types, as std::tuple holds them, but an aggregate: a table of a user's struct is one, and a
/// tuple's constructors would be most of what that table costs the compiler. Functions take it apart by its base
/// classes.
template <std::size_t I, class T>
struct PackItem {
    T value;
};

template <class Indices, class... T>
struct PackOf;
template <std::size_t... I, class... T>
struct PackOf<std::index_sequence<I...>, T...> : PackItem<I, T>... {
    using Indices = std::index_sequence<I...>;
    static constexpr std::size_t size = sizeof...(T);
};

template <class... T>
using Pack = PackOf<std::index_sequence_for<T...>, T...>;

template <std::size_t I, class T>
constexpr const T& at(const PackItem<I, T>& item) noexcept {
    return item.value;
}

}  // namespace stategraph::detail
