#pragma once
#include <cstddef>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/config.hpp>
#include <stategraph/unfinished.hpp>

namespace stategraph {

struct RecoverOptions {
    /// How the threads are run on; its thread and checkpoint are not looked at.
    RunConfig run = {};
    /// Only those for which this is true; null: all. Called from one thread.
    std::function<bool(const UnfinishedThread&)> only = {};
    /// Also threads whose newest checkpoint another version of this graph made, or another graph that shares the saver. Off: they are
    /// reported as left alone.
    bool other_versions = false;
    /// How many threads are run at once; at least 1.
    std::size_t concurrency = 4;
};

/// What became of one thread that was in flight.
struct RecoveredThread {
    std::string thread_id;
    /// How its run ended; none if it failed or was left alone.
    std::optional<Status> status;
    /// What the run failed with; null if it did not, or was left alone.
    std::exception_ptr error;
    /// The error's text, or why the thread was left alone.
    std::string why;
};

using RecoverReport = std::vector<RecoveredThread>;

namespace detail {
class Core;
RecoverReport recover(const Core& core, const RecoverOptions& options);
}

}  // namespace stategraph
