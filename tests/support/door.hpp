#pragma once
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/saver.hpp>

/// Another object for the same store, as another process would have: locks that this process holds on one saver object
/// do not apply to it.
class Door : public stategraph::BaseCheckpointSaver {
public:
    explicit Door(std::shared_ptr<stategraph::BaseCheckpointSaver> store) : store_(std::move(store)) {}

    void put(const stategraph::PutRequest& request) override { store_->put(request); }
    std::optional<stategraph::CheckpointTuple> getTuple(const stategraph::TupleQuery& query) override {
        return store_->getTuple(query);
    }
    std::vector<stategraph::ListedCheckpoint> list(const stategraph::ListQuery& query) override {
        return store_->list(query);
    }
    void deleteThread(std::string_view thread_id) override { store_->deleteThread(thread_id); }
    void copyThread(std::string_view from, std::string_view to) override { store_->copyThread(from, to); }
    std::size_t prune(const stategraph::PruneRequest& request) override { return store_->prune(request); }
    bool putIsSlow() const noexcept override { return store_->putIsSlow(); }

private:
    std::shared_ptr<stategraph::BaseCheckpointSaver> store_;
};
