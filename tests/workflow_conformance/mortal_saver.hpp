#pragma once
#include <memory>
#include <utility>

#include <stategraph/error.hpp>
#include <stategraph/forwarding_saver.hpp>

#include "tests/workflow_conformance/process.hpp"

namespace workflow_conformance {

/// Passes every call on to another saver as long as its process lives; afterwards it refuses to write.
class MortalSaver final : public sg::ForwardingSaver {
public:
    MortalSaver(std::shared_ptr<sg::BaseCheckpointSaver> inner, std::shared_ptr<const Process> process)
        : ForwardingSaver(std::move(inner)), process_(std::move(process)) {}

    void put(const sg::PutRequest& request) override {
        requireAlive();
        inner()->put(request);
    }
    void deleteThread(std::string_view thread_id) override {
        requireAlive();
        inner()->deleteThread(thread_id);
    }
    void copyThread(std::string_view from, std::string_view to) override {
        requireAlive();
        inner()->copyThread(from, to);
    }
    std::size_t prune(const sg::PruneRequest& request) override {
        requireAlive();
        return inner()->prune(request);
    }
    /// False, so that no commit is in progress when a process ends: the scenarios expect that everything it did before
    /// is stored.
    bool putIsSlow() const noexcept override { return false; }
    bool answersLater() const noexcept override { return false; }
    bool holdsThreads() const noexcept override { return false; }  // a process that has ended would keep them
    std::unique_ptr<sg::ThreadHold> tryHold(std::string_view thread_id) override {
        return BaseCheckpointSaver::tryHold(thread_id);
    }

private:
    void requireAlive() const {
        if (process_->crashed()) throw sg::SaverError("the process has ended, and stores nothing any more");
    }

    const std::shared_ptr<const Process> process_;
};

}  // namespace workflow_conformance
