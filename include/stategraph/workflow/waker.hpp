#pragma once
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <stategraph/workflow/run.hpp>

namespace stategraph::workflow {

/// The options of a Waker.
struct WakerOptions {
    /// How often the store is read for runs that other processes put to sleep; at least 1 ms. Runs of this process's
    /// Flows wake without it.
    std::chrono::milliseconds poll_interval = std::chrono::seconds(10);
    /// Whether it also resumes runs that were under way and that this process does not drive. Set it only if no other
    /// process runs these workflows on this store: a run that another process is driving looks the same as one that a
    /// dead process left.
    bool takes_left_runs = false;
    /// Called on the waker's thread with the result of a run that it resumed. What it throws is ignored.
    std::function<void(const std::string& run_id, const RunView& run)> on_resumed = {};
    /// Called on the waker's thread when the store cannot be read, or a run cannot be resumed, also because it was left
    /// at a step that its workflow no longer has (RefusedError, changed_definition): at each look, since the run stays
    /// due. What it throws is ignored.
    std::function<void(const std::string& run_id, const std::exception_ptr& error)> on_error = {};
};

/// Resumes runs that sleep when their time has come, for programs without a server. It has one thread, on which it
/// resumes one run after another, and begins as soon as it is created. Several wakers, also in several processes, share
/// the work: a run is resumed by one of them. Its destructor waits until the run that it is resuming has ended or
/// sleeps again.
class Waker {
public:
    explicit Waker(std::vector<Flow> flows, WakerOptions options = {});
    ~Waker();
    Waker(const Waker&) = delete;
    Waker& operator=(const Waker&) = delete;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace stategraph::workflow
