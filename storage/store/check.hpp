#pragma once
#include <span>

#include <stategraph/store.hpp>

namespace stategraph::stores {

/// Refuses invalid requests with an InvalidArgumentError that says which operation of how many it is about.
void checkOps(std::span<const StoreOp> ops);
/// Refuses a namespace into which items cannot be put.
void checkNamespace(const StoreNamespace& ns);
void checkOptions(const StoreOptions& options);

}  // namespace stategraph::stores
