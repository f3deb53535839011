#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/saver.hpp>
#include <stategraph/saver_completion.hpp>

namespace stategraph {

/// Passes every call on to another saver. Derive from it to change some of them: what a saver does that counts,
/// measures, seals or refuses is then what the saver inside does in all else.
///
/// A saver inside that answers later receives puts and reads by `asyncPut` and `asyncGetTuple`. So whoever changes
/// `put` or `getTuple` changes these too, or lets `answersLater` return false, so that nobody calls them.
///
/// Safe from any thread, as far as the saver inside is. Cost: none beyond the call.
class ForwardingSaver : public BaseCheckpointSaver {
public:
    /// Shares the ownership of `inner`. Throws InvalidArgumentError if it is null.
    explicit ForwardingSaver(std::shared_ptr<BaseCheckpointSaver> inner);
    ~ForwardingSaver() override;

    const std::shared_ptr<BaseCheckpointSaver>& inner() const noexcept { return inner_; }

    void put(const PutRequest& request) override;
    std::optional<CheckpointTuple> getTuple(const TupleQuery& query) override;
    std::vector<ListedCheckpoint> list(const ListQuery& query) override;
    void deleteThread(std::string_view thread_id) override;
    void copyThread(std::string_view from, std::string_view to) override;
    std::size_t prune(const PruneRequest& request) override;
    std::optional<std::vector<IndexedThread>> openThreads(const OpenThreadsQuery& query) override;
    std::optional<std::vector<IndexedThread>> newestThreads(const NewestThreadsQuery& query) override;
    std::optional<std::vector<DueThread>> dueThreads(const DueThreadsQuery& query) override;
    std::optional<ThreadCounts> countThreads(std::size_t most) override;
    void putGraph(const GraphFingerprint& fingerprint, std::string_view bytes) override;
    std::optional<std::string> getGraph(const GraphFingerprint& fingerprint) override;
    std::optional<std::uint64_t> storedBytes() override;
    bool putIsSlow() const noexcept override;
    bool holdsThreads() const noexcept override;
    std::unique_ptr<ThreadHold> tryHold(std::string_view thread_id) override;
    bool answersLater() const noexcept override;
    void asyncPut(const PutRequest& request, PutCompletion& completion) noexcept override;
    void asyncGetTuple(const TupleQuery& query, TupleCompletion& completion) noexcept override;
    std::size_t commitsAhead() const noexcept override;

private:
    const std::shared_ptr<BaseCheckpointSaver> inner_;
};

}  // namespace stategraph
