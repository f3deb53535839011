#pragma once
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/executor.hpp>
#include <stategraph/mcp/tool.hpp>
#include <stategraph/run_control.hpp>
#include <stategraph/serve/admission.hpp>
#include <stategraph/serve/endpoint.hpp>

namespace stategraph::mcp::detail {

/// A run of a call.
struct CallRun {
    std::shared_ptr<const ServedTool> tool;
    ThreadId thread;
    std::optional<serve::Identity> identity = {};
    serve::Begin work = {};
    RunConfig config = {};
    /// Called when the run has ended and its thread is free. It must not throw.
    std::function<void()> then = {};
};

/// Begins the runs of calls. Safe from any thread.
class Runner {
public:
    virtual ~Runner() = default;
    /// Errors: those of the library that say why it cannot begin now.
    virtual std::shared_ptr<RunControl> begin(CallRun run) = 0;
    /// Whether the caller may use a thread that it names: fits the configuration to what was found of the thread.
    /// `begins`: the thread may be new. Errors: InvalidArgumentError, the same if the thread is another's and if there
    /// is none.
    virtual void admit(const ServedTool&, const ThreadId&, const std::optional<serve::Identity>&, bool /*begins*/,
                       RunConfig&) const {}
    /// What clients are told of errors; null: their texts.
    virtual serve::ErrorText errorTexts(const ServedTool&, const ThreadId&) const { return {}; }
};

/// Runs for one client, on an executor.
class LocalRunner final : public Runner {
public:
    explicit LocalRunner(std::shared_ptr<Executor> executor) : executor_(std::move(executor)) {}
    std::shared_ptr<RunControl> begin(CallRun run) override;
    void waitUntilNone();

private:
    const std::shared_ptr<Executor> executor_;
    stategraph::detail::Mutex mutex_;
    std::condition_variable ended_;
    std::size_t runs_ SG_GUARDED_BY(mutex_) = 0;
};

}  // namespace stategraph::mcp::detail
