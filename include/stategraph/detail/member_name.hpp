#pragma once
#include <string_view>
#include <type_traits>

namespace stategraph::detail {

template <class Pointer>
struct PointerToMember;
template <class S, class T>
struct PointerToMember<T S::*> {
    using State = S;
    using Type = T;
};
template <auto Member>
using StateOfMember = typename PointerToMember<std::remove_cv_t<decltype(Member)>>::State;
template <auto Member>
using TypeOfMember = typename PointerToMember<std::remove_cv_t<decltype(Member)>>::Type;

/// The compiler's text for this function: "… [with auto Member = &ns::State::foo]" with g++, "… [Member =
/// &ns::State::foo]" with clang.
template <auto Member>
consteval auto textWithMember() {
    return std::string_view(__PRETTY_FUNCTION__, sizeof(__PRETTY_FUNCTION__) - 1);
}

/// The name of a member as it is declared: `memberName<&State::foo>()` is "foo".
template <auto Member>
consteval std::string_view memberName() {
    constexpr std::string_view text = textWithMember<Member>();
    constexpr std::size_t end = text.rfind(']');
    constexpr std::size_t begin = text.rfind(':', end) + 1;
    static_assert(end != std::string_view::npos && begin != 0 && begin < end,
                  "stategraph: this compiler does not tell members' names; name them with text");
    return text.substr(begin, end - begin);
}

}  // namespace stategraph::detail
