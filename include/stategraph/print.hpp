#pragma once
#include <iosfwd>
#include <string_view>
#include <vector>

#include <stategraph/compiled_graph.hpp>
#include <stategraph/detail/wholly_storable.hpp>
#include <stategraph/interrupt.hpp>
#include <stategraph/value.hpp>

// Results and states as text, for logs and for people.
namespace stategraph {

namespace detail {
void printResult(std::ostream& out, Status status, std::string_view values_json,
                 const std::vector<Interrupt>& interrupts);
void printText(std::ostream& out, std::string_view text);
}  // namespace detail

/// Prints a question as one JSON object.
std::ostream& operator<<(std::ostream& out, const Interrupt& interrupt);
std::ostream& operator<<(std::ostream& out, const std::vector<Interrupt>& interrupts);
/// Prints a list of Values, Messages or other storable types of the library as a JSON array.
template <class T>
    requires detail::wholly_storable<T>
std::ostream& operator<<(std::ostream& out, const std::vector<T>& list) {
    detail::printText(out, toJson(list));
    return out;
}

/// Prints a result as one JSON object: its status, its values and, if there are any, the open questions.
template <class Output>
    requires Encodable<Output>
std::ostream& operator<<(std::ostream& out, const Result<Output>& result) {
    detail::printResult(out, result.status, toJson(result.values), result.interrupts);
    return out;
}

}  // namespace stategraph

/// Prints a struct with a channels() or fields() table as JSON. Global, because such structs are in the namespaces of
/// their users. A user's own operator for the struct is preferred.
template <class T>
    requires stategraph::ChannelState<T> || stategraph::detail::HasFields<T>
std::ostream& operator<<(std::ostream& out, const T& value) {
    stategraph::detail::printText(out, stategraph::toJson(value));
    return out;
}
