// EXPECT: stategraph: retry_on is a const bool f(const std::exception_ptr&)
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

const sg::RetryPolicy policy{.retry_on = [](int, int) { return true; }};
