#pragma once
// Types that are declared everywhere and defined in a header of their own: without it the compiler names that header.
namespace stategraph {

namespace detail {
template <class...>
inline constexpr bool never = false;
}  // namespace detail

template <class T = void, class Included = void>
class Task {
    static_assert(detail::never<T>, "stategraph: sg::Task needs #include <stategraph/async.hpp>");
};

namespace detail {
template <class T>
inline constexpr bool is_task = false;
template <class T>
inline constexpr bool is_task<Task<T>> = true;
}  // namespace detail

template <class Output, class S, class Included = void>
class AsyncStream {
    static_assert(detail::never<S>, "stategraph: asyncStream needs #include <stategraph/async.hpp>");
};

}  // namespace stategraph
