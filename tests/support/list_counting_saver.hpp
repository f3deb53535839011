#pragma once
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include <stategraph/saver.hpp>

/// Passes all calls on, and counts the checkpoints that are read.
class ListCountingSaver final : public stategraph::BaseCheckpointSaver {
public:
    explicit ListCountingSaver(stategraph::BaseCheckpointSaver& inner) : inner_(inner) {}
    std::size_t read = 0;

    void put(const stategraph::PutRequest& request) override { inner_.put(request); }
    std::optional<stategraph::CheckpointTuple> getTuple(const stategraph::TupleQuery& query) override {
        return inner_.getTuple(query);
    }
    std::vector<stategraph::ListedCheckpoint> list(const stategraph::ListQuery& query) override {
        auto listed = inner_.list(query);
        read += listed.size();
        return listed;
    }
    void deleteThread(std::string_view thread_id) override { inner_.deleteThread(thread_id); }
    void copyThread(std::string_view from, std::string_view to) override { inner_.copyThread(from, to); }
    std::size_t prune(const stategraph::PruneRequest& request) override { return inner_.prune(request); }
    std::optional<std::vector<stategraph::IndexedThread>> openThreads(
        const stategraph::OpenThreadsQuery& query) override {
        return inner_.openThreads(query);
    }
    std::optional<std::vector<stategraph::IndexedThread>> newestThreads(
        const stategraph::NewestThreadsQuery& query) override {
        return inner_.newestThreads(query);
    }
    std::optional<std::vector<stategraph::DueThread>> dueThreads(const stategraph::DueThreadsQuery& query) override {
        return inner_.dueThreads(query);
    }
    std::optional<stategraph::ThreadCounts> countThreads(std::size_t most) override {
        return inner_.countThreads(most);
    }

private:
    stategraph::BaseCheckpointSaver& inner_;
};
