#pragma once
#include <cstdint>
#include <memory>
#include <optional>

#include <stategraph/saver.hpp>

namespace stategraph {

/// Keeps threads in memory, as the same bytes that the durable savers store.
///
/// Cost: `put` copies the bytes once; about 100 bytes of bookkeeping a commit.
class MemorySaver final : public BaseCheckpointSaver {
public:
    MemorySaver();
    ~MemorySaver() override;

    void put(const PutRequest& request) override;
    std::optional<CheckpointTuple> getTuple(const TupleQuery& query) override;
    std::vector<ListedCheckpoint> list(const ListQuery& query) override;
    void deleteThread(std::string_view thread_id) override;
    void copyThread(std::string_view from, std::string_view to) override;
    std::size_t prune(const PruneRequest& request) override;
    /// About what the rows and their bookkeeping take, rooms for later rows included. Cost: the number of logs.
    std::optional<std::uint64_t> storedBytes() override;
    bool putIsSlow() const noexcept override { return false; }

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace stategraph
