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

/// How the last run of a thread that the page began has ended.
struct PageRun {
    bool has_ended = false;
    /// What it failed with; empty if it did not.
    std::string error;
};

/// The runs that the page began. Safe from any thread.
class PageRuns {
public:
    explicit PageRuns(std::size_t runs_max) : state_(std::make_shared<State>(runs_max)) {}
    PageRuns(const PageRuns&) = delete;
    PageRuns& operator=(const PageRuns&) = delete;
    /// Stops what is under way, and waits for it.
    ~PageRuns();

    /// Errors: ThreadBusyError if the page has a run on the thread; InvalidUpdateError if it has too many.
    void begin(const std::string& thread, RunConfig config, const serve::Begin& work);
    /// False: there is no run under way.
    bool stop(const std::string& thread);
    /// The last one of a thread; `has_ended` with no error if there was none.
    PageRun last(const std::string& thread) const;

private:
    struct State {
        explicit State(std::size_t most) : runs_max(most) {}
        void end(const std::string& thread, const std::exception_ptr& error) noexcept;

        const std::size_t runs_max;
        mutable stategraph::detail::Mutex mutex;
        std::condition_variable changed;
        std::map<std::string, std::shared_ptr<RunControl>> runs SG_GUARDED_BY(mutex);
        std::map<std::string, std::string> errors SG_GUARDED_BY(mutex);  // of the last runs; as many as `runs_max`
        bool is_closed SG_GUARDED_BY(mutex) = false;
    };
    std::shared_ptr<State> state_;
};

}  // namespace stategraph::inspect
