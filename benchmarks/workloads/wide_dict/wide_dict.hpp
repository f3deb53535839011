#pragma once
#include "benchmarks/support/wide_cases.hpp"

namespace bench {

/// Adds the same cases with a JsonState, whose values are copied as boost::json does.
void addJsonCases(const WideShape& shape);

}  // namespace bench
