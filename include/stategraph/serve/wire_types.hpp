#pragma once
#include <string>
#include <string_view>

#include <stategraph/serve/protocol.hpp>

// The types of what a server sends, for clients that are written in other languages.
namespace stategraph::serve {

/// The JSON Schema (draft 2020-12) of each line of a protocol. It is `{}`, which admits anything, for a protocol of
/// your own that has no `line_schema`.
std::string lineSchema(const Protocol& protocol);

/// Declares a type of TypeScript from a JSON Schema that `jsonSchema<T>()` or `lineSchema` wrote: `export type NAME =
/// …;` and, for each definition of the schema, a type NAME_DEFINITION. Ranges and formats are left out. Errors:
/// InvalidArgumentError for a name that is not an identifier, or a schema that is not JSON or nests more than 64 deep.
std::string typeScript(std::string_view name, std::string_view json_schema);

/// The text with '_' for each character that an identifier cannot have.
std::string identifierOf(std::string_view text);

}  // namespace stategraph::serve
