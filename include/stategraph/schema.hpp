#pragma once
#include <functional>
#include <string_view>

#include <stategraph/value.hpp>

// JSON Schemas that come from outside, such as those of another program's tools. This is a separate library,
// stategraph::schema, whose headers do not include the validator's.
namespace stategraph {

/// Checks a value that comes from outside and fills in what is missing. If the value is wrong, it throws an
/// explanation.
using ValueCheck = std::function<Value(Value value)>;

/// A check by a JSON Schema (draft 7; references within the schema alone). A value that passes gets the `default`s of
/// properties that it lacks. The check throws InvalidArgumentError that lists what is wrong and where, at most 20
/// faults. It also throws it where the schema has patterns and a text has more than 4,096 bytes, and where the check
/// takes too long for the size of the value, as patterns and references can demand. Safe from any thread. Errors:
/// InvalidArgumentError for a text that is not a JSON Schema, for endless references, for references that may be more
/// than 5,000 levels deep, and for patterns with back references. Cost: the schema is parsed once; an ordinary check is
/// linear in the value.
ValueCheck schemaCheck(std::string_view schema);

}  // namespace stategraph
