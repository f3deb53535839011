#pragma once
#include <cstddef>
#include <functional>

namespace stategraph::schema {

/// Calls a function that needs stack for so many levels of schemas: on this thread if they are few, otherwise on a
/// thread of its own, and waits for it. Errors: what the function throws; std::system_error if there is no thread.
void withStackFor(std::size_t levels, const std::function<void()>& call);

}  // namespace stategraph::schema
