#pragma once
#include "json/schema/rules.hpp"

namespace stategraph::schema {

/// Lets references lead to their ends at once, and finds out which schemas several ways lead to. Errors:
/// InvalidArgumentError if a schema applies itself to the same value, directly or over others, and if more than 600
/// schemas apply each other to the same value.
void linkSchemas(Schema& schema);

}  // namespace stategraph::schema
