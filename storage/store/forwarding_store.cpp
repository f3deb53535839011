#include <stategraph/forwarding_store.hpp>

#include <utility>

namespace stategraph {

ForwardingStore::ForwardingStore(std::shared_ptr<BaseStore> inner) : inner_(std::move(inner)) {
    if (!inner_) throw InvalidArgumentError("a ForwardingStore needs a store to pass calls on to, and was given none");
}

std::size_t ForwardingStore::sweep() { return inner_->sweep(); }

std::vector<StoreResult> ForwardingStore::apply(std::span<const StoreOp> ops) { return inner_->batch(ops); }

}  // namespace stategraph
