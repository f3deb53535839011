#pragma once
#include <stop_token>

namespace stategraph::engine {

class ThreadClaim;

/// Exists while the current thread executes a part of a run, or of an edit, that does not end before this part does: a
/// node, a router, a callback. A wait for the claim of that run, on this thread, could not end, so
/// `ThreadClaim::acquire` refuses it. Cost: a few loads and stores.
class InsideRun {
public:
    /// `abandoned`: a stop is requested of it before the run stops waiting for this part; null if that never happens.
    explicit InsideRun(const ThreadClaim& claim, const std::stop_source* abandoned = nullptr) noexcept
        : claim_(&claim), abandoned_(abandoned), outer_(innermost_) {
        innermost_ = this;
    }
    InsideRun(const InsideRun&) = delete;
    InsideRun& operator=(const InsideRun&) = delete;
    ~InsideRun() { innermost_ = outer_; }

    /// Returns whether the current thread executes a part of any run.
    static bool any() noexcept { return innermost_ != nullptr; }
    /// Returns whether the current thread executes a part of the run that holds its thread with this claim.
    static bool of(const ThreadClaim& holder) noexcept {
        for (const InsideRun* part = innermost_; part != nullptr; part = part->outer_) {
            // The claim of a run that has abandoned this part may not exist any more.
            if (part->abandoned_ != nullptr && part->abandoned_->stop_requested()) continue;
            if (part->claim_ == &holder) return true;
        }
        return false;
    }

private:
    static inline constinit thread_local const InsideRun* innermost_ = nullptr;
    const ThreadClaim* claim_;
    const std::stop_source* abandoned_;
    const InsideRun* outer_;
};

}  // namespace stategraph::engine
