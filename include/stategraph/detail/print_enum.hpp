#pragma once
#include <iosfwd>
#include <type_traits>

namespace stategraph {

/// Prints an enum of this library as its word: `std::cout << result.status` is "done".
template <class E>
    requires std::is_enum_v<E> && requires(E value) { toString(value); }
std::ostream& operator<<(std::ostream& out, E value) {
    return out << toString(value);
}

}  // namespace stategraph
