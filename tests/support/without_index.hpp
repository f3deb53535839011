#pragma once
#include <memory>
#include <utility>

#include <stategraph/saver.hpp>

/// Hides the index of another saver, so that every thread is read.
class WithoutIndex final : public stategraph::BaseCheckpointSaver {
public:
    explicit WithoutIndex(stategraph::BaseCheckpointSaver& inner) : inner_(inner) {}

    void put(const stategraph::PutRequest& request) override { inner_.put(request); }
    std::optional<stategraph::CheckpointTuple> getTuple(const stategraph::TupleQuery& query) override {
        return inner_.getTuple(query);
    }
    std::vector<stategraph::ListedCheckpoint> list(const stategraph::ListQuery& query) override {
        return inner_.list(query);
    }
    void deleteThread(std::string_view thread_id) override { inner_.deleteThread(thread_id); }
    void copyThread(std::string_view from, std::string_view to) override { inner_.copyThread(from, to); }
    std::size_t prune(const stategraph::PruneRequest& request) override { return inner_.prune(request); }

private:
    stategraph::BaseCheckpointSaver& inner_;
};
