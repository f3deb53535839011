#pragma once
#include <span>

#include <stategraph/store.hpp>

namespace stategraph::stores {

/// Refuses requests that cannot be meant, with InvalidArgumentError that says which operation of how many it is about.
void checkOps(std::span<const StoreOp> ops);
/// A namespace that items can be put into.
void checkNamespace(const StoreNamespace& ns);
void checkOptions(const StoreOptions& options);

}  // namespace stategraph::stores
