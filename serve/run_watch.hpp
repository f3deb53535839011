#pragma once
#include <memory>

#include "serve/asked.hpp"
#include "serve/shared.hpp"

namespace stategraph::serve {

/// Returns what begins the same run, and counts and logs its end.
Begin watched(std::shared_ptr<Shared> shared, const Asked& asked, Begin work);

}  // namespace stategraph::serve
