#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <stategraph/store.hpp>

namespace stategraph {

/// The options of a MemoryStore.
struct MemoryStoreOptions {
    /// The store holds at most this many bytes of rows and bookkeeping (an estimate, see storedBytes); at least 1. A
    /// batch of puts that needs more throws StoreError and changes nothing. Expired items count until they are removed.
    std::optional<std::size_t> bytes_max = {};
};

/// Keeps items in memory, as the same bytes that the durable store has.
///
/// Reads run at the same time and delay writes; none of your code is called meanwhile. Errors of the constructor:
/// InvalidArgumentError for options that make no sense.
class MemoryStore final : public BaseStore {
public:
    explicit MemoryStore(const StoreOptions& options = {}, const MemoryStoreOptions& memory = {});
    ~MemoryStore() override;

    std::size_t sweep() override;
    /// The bytes of rows exactly, and an estimate of what the indexes take.
    std::size_t storedBytes() const;

protected:
    std::vector<StoreResult> apply(std::span<const StoreOp> ops) override;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace stategraph
