#pragma once
#include <cstddef>
#include <type_traits>
#include <utility>

namespace stategraph::detail {

/// Converts to anything, in checks that are never evaluated. The conversion is const, so that a member whose type has a
/// constructor from anything (optional, variant, json::value) prefers that constructor instead of being ambiguous.
struct Anything {
    template <class T>
    operator T() const noexcept;
};

template <std::size_t>
using AnythingAt = Anything;

template <class T, std::size_t... I>
consteval bool fits(std::index_sequence<I...>) {
    return requires { T{AnythingAt<I>{}...}; };
}

/// Whether the aggregate T has exactly N members: N initialisers fit and N + 1 do not. Not supported: C arrays, base
/// classes, and members with a constructor from any `const U&`. A type that is not an aggregate has no arity: false.
template <class T, std::size_t N>
consteval bool hasArity() {
    if constexpr (std::is_aggregate_v<T>) {
        return fits<T>(std::make_index_sequence<N>{}) && !fits<T>(std::make_index_sequence<N + 1>{});
    } else {
        return false;
    }
}

}  // namespace stategraph::detail
