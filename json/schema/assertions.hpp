#pragma once
#include <string>

#include <boost/json/value.hpp>

#include "json/schema/rules.hpp"
#include "json/schema/work.hpp"

// Rules that are about a value itself, and apply no other schemas.
namespace stategraph::schema {

/// Whether a value keeps such a rule. A value of a type that the rule is not about does.
bool isKept(const Rule& rule, const boost::json::value& value, Work& work);
/// What is wrong with a value that does not, as a sentence without its subject.
std::string complaintOf(const Rule& rule, const boost::json::value& value, Work& work);

}  // namespace stategraph::schema
