#pragma once
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <map>
#include <memory>
#include <string>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/run_control.hpp>
#include <stategraph/serve/endpoint.hpp>

namespace stategraph::inspect {

/// The end of the last run that the page began on a thread.
struct PageRun {
    bool has_ended = false;
    /// The error with which it failed; empty if it did not fail.
    std::string error;
};

/// The runs that the page began. Safe from any thread.
class PageRuns {
public:
    explicit PageRuns(std::size_t runs_max) : state_(std::make_shared<State>(runs_max)) {}
    PageRuns(const PageRuns&) = delete;
    PageRuns& operator=(const PageRuns&) = delete;
    /// Stops the runs that are under way, and waits for them.
    ~PageRuns();

    /// Errors: ThreadBusyError if the page has a run on the thread; InvalidUpdateError if the page has too many runs.
    void begin(const std::string& thread, RunConfig config, const serve::Begin& work);
    /// Returns false if no run is under way.
    bool stop(const std::string& thread);
    /// Returns the last run of a thread. If there was none, `has_ended` is set and the error is empty.
    PageRun last(const std::string& thread) const;

private:
    struct State {
        explicit State(std::size_t most) : runs_max(most) {}
        void end(const std::string& thread, const std::exception_ptr& error) noexcept;

        const std::size_t runs_max;
        mutable stategraph::detail::Mutex mutex;
        std::condition_variable changed;
        std::map<std::string, std::shared_ptr<RunControl>> runs SG_GUARDED_BY(mutex);
        std::map<std::string, std::string> errors SG_GUARDED_BY(mutex);  // of the last runs, at most `runs_max`
        bool is_closed SG_GUARDED_BY(mutex) = false;
    };
    std::shared_ptr<State> state_;
};

}  // namespace stategraph::inspect
