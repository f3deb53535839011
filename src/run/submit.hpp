#pragma once
#include "src/run/invoke.hpp"

namespace stategraph::engine {

/// Stores an input or a Command as the beginning of a run, without running. The core must outlive it.
class Submission {
public:
    /// Errors: InvalidArgumentError for what cannot be stored without running, MissingCheckpointerError, and those of
    /// `shareRun`.
    Submission(const detail::Core& core, const detail::RunInput& input, const RunConfig& config);

    /// To wait for the thread's turn, if it may wait.
    RunShared& shared() noexcept { return shared_; }
    /// Once. Returns the thread's newest checkpoint.
    Config store(detail::RunInput&& input);

private:
    const detail::Core& core_;
    RunConfig config_;
    StreamHub* hub_;
    RunShared shared_;
};

}  // namespace stategraph::engine
