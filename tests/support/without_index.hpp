#pragma once
#include <memory>
#include <utility>

#include <stategraph/forwarding_saver.hpp>

/// Hides the index of another saver, so that every thread is read.
class WithoutIndex final : public stategraph::ForwardingSaver {
public:
    /// Does not own `inner`.
    explicit WithoutIndex(stategraph::BaseCheckpointSaver& inner)
        : ForwardingSaver(std::shared_ptr<stategraph::BaseCheckpointSaver>(std::shared_ptr<void>(), &inner)) {}

    std::optional<std::vector<stategraph::IndexedThread>> openThreads(const stategraph::OpenThreadsQuery&) override {
        return {};
    }
    std::optional<std::vector<stategraph::IndexedThread>> newestThreads(
        const stategraph::NewestThreadsQuery&) override {
        return {};
    }
    std::optional<std::vector<stategraph::DueThread>> dueThreads(const stategraph::DueThreadsQuery&) override {
        return {};
    }
    std::optional<stategraph::ThreadCounts> countThreads(std::size_t) override { return {}; }
};
