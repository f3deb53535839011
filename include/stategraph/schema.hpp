#pragma once
#include <functional>
#include <string_view>

#include <stategraph/value.hpp>

// JSON Schemas that come from outside, such as those of another program's tools. This is a separate library,
// stategraph::schema.
namespace stategraph {

/// Checks a value that comes from outside and fills in what is missing. If the value is wrong, it throws an
/// explanation.
using ValueCheck = std::function<Value(Value value)>;

/// A check by a JSON Schema (drafts 4 to 2020-12; references within the schema alone). A value that passes gets the
/// `default`s of properties that it lacks. The check throws InvalidArgumentError that lists what is wrong and where, at
/// most 20 faults; it also throws it for a member that occurs twice, where the defaults would make the value many times
/// as large, and where the check takes too long for the size of the value. Safe from any thread. Errors:
/// InvalidArgumentError for a text that is not a JSON Schema, for keywords that are not checked (such as
/// `unevaluatedProperties` beside `allOf`, and `$dynamicRef`), for endless references, for schemas nested more than 512
/// levels deep, and for patterns with look-ahead, look-behind or back references. Cost: the schema is parsed once; a
/// check is linear in the value.
ValueCheck schemaCheck(std::string_view schema);

}  // namespace stategraph
