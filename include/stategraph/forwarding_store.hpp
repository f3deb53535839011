#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <stategraph/store.hpp>

namespace stategraph {

/// Passes every call on to another store. Derive from it to change some of them: a store that counts, measures or
/// refuses is then what the store inside is in all else. Every operation comes to `apply`.
///
/// Safe from any thread. Cost: the operations are checked twice.
class ForwardingStore : public BaseStore {
public:
    /// Shares the ownership of `inner`. Throws InvalidArgumentError if it is null.
    explicit ForwardingStore(std::shared_ptr<BaseStore> inner);

    const std::shared_ptr<BaseStore>& inner() const noexcept { return inner_; }

    std::size_t sweep() override;

protected:
    std::vector<StoreResult> apply(std::span<const StoreOp> ops) override;

private:
    const std::shared_ptr<BaseStore> inner_;
};

}  // namespace stategraph
