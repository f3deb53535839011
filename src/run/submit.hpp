#pragma once
#include "src/run/invoke.hpp"

namespace stategraph::engine {

/// Stores an input or a Command as the beginning of a run, without running. The core must outlive it.
class Submission {
public:
    /// Throws InvalidArgumentError for what cannot be stored without running, MissingCheckpointerError, and the errors
    /// of `shareRun`.
    Submission(const detail::Core& core, const detail::RunInput& input, const RunConfig& config);

    /// The caller uses it to wait for the thread's turn, if it may wait.
    RunShared& shared() noexcept { return shared_; }
    /// Stores the beginning and returns the thread's newest checkpoint. Call it once.
    Config store(detail::RunInput&& input);
    /// The end of `store`, for a run that the caller has begun, and destroyed. Returns what it is given.
    Config end(Config stored);

private:
    const detail::Core& core_;
    RunConfig config_;
    StreamHub* hub_;
    RunShared shared_;
};

}  // namespace stategraph::engine
