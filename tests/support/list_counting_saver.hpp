#pragma once
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include <stategraph/forwarding_saver.hpp>

/// Passes all calls on, and counts the checkpoints that are read.
class ListCountingSaver final : public stategraph::ForwardingSaver {
public:
    /// Does not own `inner`.
    explicit ListCountingSaver(stategraph::BaseCheckpointSaver& inner)
        : ForwardingSaver(std::shared_ptr<stategraph::BaseCheckpointSaver>(std::shared_ptr<void>(), &inner)) {}
    std::size_t read = 0;

    std::vector<stategraph::ListedCheckpoint> list(const stategraph::ListQuery& query) override {
        auto listed = inner()->list(query);
        read += listed.size();
        return listed;
    }
};
