#pragma once
#include <boost/json/value.hpp>

#include "json/schema/rules.hpp"
#include "json/schema/work.hpp"

namespace stategraph::schema {

/// Adds the members that a value lacks and whose schema in `properties` has a default, also in members and in items of
/// lists, and where references lead. Errors: InvalidArgumentError if that adds more than a megabyte and eight times the
/// size of the value.
void fillDefaults(const Schema& schema, boost::json::value& value, Work& work);

}  // namespace stategraph::schema
