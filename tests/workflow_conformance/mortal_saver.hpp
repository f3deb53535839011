#pragma once
#include <memory>
#include <utility>

#include <stategraph/error.hpp>
#include <stategraph/saver.hpp>

#include "tests/workflow_conformance/process.hpp"

namespace workflow_conformance {

/// Passes every call on to another saver as long as its process lives; afterwards it refuses to write.
class MortalSaver final : public sg::BaseCheckpointSaver {
public:
    MortalSaver(std::shared_ptr<sg::BaseCheckpointSaver> inner, std::shared_ptr<const Process> process)
        : inner_(std::move(inner)), process_(std::move(process)) {}

    void put(const sg::PutRequest& request) override {
        requireAlive();
        inner_->put(request);
    }
    std::optional<sg::CheckpointTuple> getTuple(const sg::TupleQuery& query) override {
        return inner_->getTuple(query);
    }
    std::vector<sg::ListedCheckpoint> list(const sg::ListQuery& query) override { return inner_->list(query); }
    void deleteThread(std::string_view thread_id) override {
        requireAlive();
        inner_->deleteThread(thread_id);
    }
    void copyThread(std::string_view from, std::string_view to) override {
        requireAlive();
        inner_->copyThread(from, to);
    }
    std::size_t prune(const sg::PruneRequest& request) override {
        requireAlive();
        return inner_->prune(request);
    }
    std::optional<std::uint64_t> storedBytes() override { return inner_->storedBytes(); }
    /// False, so that no commit is in progress when a process ends: the scenarios expect that everything it did before
    /// is stored.
    bool putIsSlow() const noexcept override { return false; }

private:
    void requireAlive() const {
        if (process_->crashed()) throw sg::SaverError("the process has ended, and stores nothing any more");
    }

    const std::shared_ptr<sg::BaseCheckpointSaver> inner_;
    const std::shared_ptr<const Process> process_;
};

}  // namespace workflow_conformance
