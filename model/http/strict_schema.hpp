#pragma once
#include <boost/json/fwd.hpp>

namespace stategraph::model::http {

/// Returns whether OpenAI accepts the schema as strict, which requires that every object requires all its properties
/// and allows no others.
bool isStrictSchema(const boost::json::value& schema);

}  // namespace stategraph::model::http
