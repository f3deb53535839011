#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/saver.hpp>

#include "inspect/views.hpp"

namespace stategraph::inspect {

struct ThreadFilter {
    /// As ThreadView::status.
    std::optional<std::string> status = {};
    /// No older than this.
    std::optional<std::chrono::seconds> since = {};
    /// In names and questions.
    std::optional<std::string> text = {};
    std::size_t limit = 50;
    /// What is shown of a question, and searched; null: all of it.
    std::function<Value(Value question)> shown = {};
    /// Only those whose newest checkpoint is older than this one.
    CheckpointId before = {};
};

struct ThreadList {
    /// The newest first.
    std::vector<ThreadView> threads;
    /// How many more there are behind them.
    std::size_t more = 0;
    /// Of all that the filter takes, `status` left out, by status.
    std::map<std::string, std::uint64_t> counts;
};

/// Threads of a store. Cost: a read of the newest checkpoint of every thread; memory for one page.
ThreadList listThreadsOf(BaseCheckpointSaver& saver, const ThreadFilter& filter);

}  // namespace stategraph::inspect
