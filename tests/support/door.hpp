#pragma once
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/forwarding_saver.hpp>

/// Another object for the same store, as another process would have: locks that this process holds on one saver object
/// do not apply to it.
class Door : public stategraph::ForwardingSaver {
public:
    explicit Door(std::shared_ptr<stategraph::BaseCheckpointSaver> store) : ForwardingSaver(std::move(store)) {}

    /// The locks of threads belong to the saver object inside, which both processes have here.
    bool holdsThreads() const noexcept override { return false; }
    std::unique_ptr<stategraph::ThreadHold> tryHold(std::string_view thread_id) override {
        return BaseCheckpointSaver::tryHold(thread_id);
    }
};
