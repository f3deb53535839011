#include "mcp/server/runner.hpp"

#include <utility>

#include <stategraph/async.hpp>

namespace stategraph::mcp::detail {

std::shared_ptr<RunControl> LocalRunner::begin(CallRun run) {
    const auto control = std::make_shared<RunControl>();
    run.config.thread_id = run.thread;
    run.config.control = control;
    {
        const stategraph::detail::LockGuard lock(mutex_);
        ++runs_;
    }
    const auto end = [this] {
        const stategraph::detail::LockGuard lock(mutex_);
        --runs_;
        ended_.notify_all();
    };
    try {
        // The runner outlives its runs: who owns it waits for them.
        spawn(executor_, run.work(std::move(run.config)), [end, then = std::move(run.then)](const Outcome<void>&) {
            then();
            end();
        });
    } catch (...) {
        end();
        throw;
    }
    return control;
}

void LocalRunner::waitUntilNone() {
    stategraph::detail::UniqueLock lock(mutex_);
    ended_.wait(lock.native(), [this]() SG_REQUIRES(mutex_) { return runs_ == 0; });
}

}  // namespace stategraph::mcp::detail
