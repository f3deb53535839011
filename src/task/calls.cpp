#include <stategraph/functional.hpp>

#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stategraph/cache.hpp>
#include <stategraph/command.hpp>
#include <stategraph/detail/pause.hpp>
#include <stategraph/error.hpp>
#include <stategraph/executor.hpp>

#include "src/graph/policies.hpp"
#include "src/superstep/task_context.hpp"
#include "src/task/cache_entry.hpp"
#include "src/task/questions.hpp"
#include "src/task/task_env.hpp"
#include "src/value/bytes.hpp"
#include "src/value/times.hpp"

namespace stategraph::detail {

struct StartedCalls::Impl {
    std::shared_ptr<Executor> executor;
    std::string prefix;                   // of the keys of its calls
    const StartedCall* within = nullptr;  // the started call in which it was created
    std::vector<std::shared_ptr<StartedCall>> calls;
    std::size_t next_look = 64;  // for calls that have ended

    void forgetEnded() {
        if (calls.size() < next_look) return;
        std::erase_if(calls, [](const auto& call) { return call->isDone(); });
        next_look = 2 * calls.size() + 64;
    }
};

namespace {

thread_local const StartedCall* started_call = nullptr;  // the innermost one on this thread

// Returns the namespace of a cache's entries. A node's name never contains '|'; a call's may.
std::string cacheNamespace(std::string_view node, std::string_view call, std::string_view ns) {
    return "call|" + std::string(node) + '|' + std::to_string(call.size()) + '|' + std::string(call) + '|' +
           std::string(ns);
}

// Digests have the same length for every call, so keys have the same length at any depth.
std::string digestOf(std::string_view key) { return detail::hexOf(XXH3_64bits(key.data(), key.size())); }

const Core& coreOf(Runtime& runtime) { return runtime.taskContext().core(); }

}  // namespace

void StartedCall::makeUnlessBegun() noexcept {
    if (is_begun_.exchange(true)) return;
    const StartedCall* const outer = std::exchange(started_call, this);
    make();
    started_call = outer;
    const detail::LockGuard lock(mutex_);
    is_done_.store(true, std::memory_order_release);
    ended_.notify_all();
}

void StartedCall::wait() noexcept {
    makeUnlessBegun();
    detail::UniqueLock lock(mutex_);
    ended_.wait(lock.native(), [this] { return isDone(); });
}

StartedCalls::StartedCalls(Runtime& runtime, std::string_view within) : impl_(std::make_unique<Impl>()) {
    impl_->prefix = within.empty() ? "call:" : "call/" + digestOf(within) + ':';
    impl_->within = started_call;
    const Core& core = coreOf(runtime);
    impl_->executor = core.options().executor ? core.options().executor : Executor::common();
    (void)runtime.taskId();  // computed before several threads ask for it
}

StartedCalls::~StartedCalls() {
    for (const auto& call : impl_->calls) call->makeUnlessBegun();
    for (const auto& call : impl_->calls) call->wait();
}

void StartedCalls::start(const std::shared_ptr<StartedCall>& call) {
    impl_->forgetEnded();
    impl_->calls.push_back(call);
    try {
        auto held = std::make_unique<std::shared_ptr<StartedCall>>(call);
        impl_->executor->submit(
            [](void* context) {
                (*std::unique_ptr<std::shared_ptr<StartedCall>>(static_cast<std::shared_ptr<StartedCall>*>(context)))
                    ->makeUnlessBegun();
            },
            held.get());
        (void)held.release();
    } catch (...) {
        // There is no memory or thread for it. The thread that waits for the call executes it.
    }
}

CallReport::CallReport(Runtime& runtime, std::string_view name, std::string_view key)
    : runtime_(runtime), name_(name), key_(key) {
    is_wanted_ = runtime.taskContext().wants(StreamMode::calls);
}

CallReport::~CallReport() {
    if (!is_open_) return;
    try {
        tell("failed", "its result could not be stored");
    } catch (...) {
        // The run has ended without the call, or there is no memory to report it.
    }
}

void CallReport::tell(std::string_view event, const std::optional<std::string>& error) {
    const auto held = runtime_.taskContext().hold();
    held.env->teller.report(StreamMode::calls, *held.task, [&](Encoder& out) {
        out.map(5);
        out.text("key");
        out.text(key_);
        out.text("name");
        out.text(name_);
        out.text("error");
        if (error) {
            out.text(*error);
        } else {
            out.null();
        }
        out.text("event");
        out.text(event);
        out.text("attempt");
        out.integer(attempt_);
    });
}

void CallReport::begins(int attempt) {
    attempt_ = attempt;
    if (!is_wanted_) return;
    tell("begin", {});
    is_open_ = true;
}

void CallReport::fails(std::string_view event, const std::exception_ptr& error) noexcept {
    if (!std::exchange(is_open_, false)) return;
    try {
        tell(event, event == "paused" ? std::nullopt : std::optional(describe(error)));
    } catch (...) {
        // The run is to end, or there is no memory to report it. The call fails with its own error.
    }
}

void CallReport::ends() noexcept {
    const bool was_made = std::exchange(is_open_, false);
    if (!is_wanted_) return;
    try {
        tell(was_made ? "done" : is_cached_ ? "cached" : "restored", {});
    } catch (...) {
        // The result is stored; the same holds for reporting it.
    }
}

void checkCall(const Runtime& runtime, std::string_view name, const CallOptions& options) {
    const std::vector<std::string> faults = engine::faultsOf(options.retry, "retry.");
    if (faults.empty()) return;
    throw InvalidArgumentError("call '" + std::string(name) + "': " + faults.front(),
                               {.node = std::string(runtime.node())});
}

void retryCall(Runtime& runtime, const RetryPolicy& policy, int attempt, CallReport& report) {
    const std::exception_ptr error = std::current_exception();
    const bool is_pause = isPause(error);  // a call that asks or sleeps has not failed
    const RetryPolicy* const retry = is_pause ? nullptr : policyAfter(policy, error, attempt);
    const bool is_last = retry == nullptr;
    report.fails(is_pause ? "paused" : is_last ? "failed" : "retried", error);
    if (is_last) std::rethrow_exception(error);
    runtime.waitFor(times::wholeMs(retryWait(*retry, attempt)));
    restartQuestions(runtime);
}

std::string StartedCalls::callKey(Runtime& runtime, std::string_view name, std::size_t number) const {
    if (started_call != impl_->within) {
        throw InvalidArgumentError("a function that '" + std::string(runtime.node()) + "' started makes the call '" +
                                       std::string(name) +
                                       "' on the Calls of the function that started it, where the order of calls is "
                                       "not defined: let it take a Calls& as its first parameter, and make its calls "
                                       "on that",
                                   {.node = std::string(runtime.node())});
    }
    if (name.empty() || name.size() > 150) {
        throw InvalidArgumentError("'" + std::string(runtime.node()) + "' makes a call with a name of " +
                                   std::to_string(name.size()) + " bytes; give each a name of 1 to 150");
    }
    return impl_->prefix + std::string(name) + "#" + std::to_string(number);
}

void clearCalls(const Core& core, std::string_view name, std::string_view ns) {
    BaseCache* const cache = core.options().cache.get();
    if (cache == nullptr)
        throw InvalidArgumentError("clearCache: the entrypoint was made without a cache (CompileOptions::cache)");
    for (const auto& node : core.topology().nodes) {
        if (node.name != START) cache->clear(cacheNamespace(node.name, name, ns));
    }
}

CachedCall::CachedCall(Runtime& runtime, std::string_view name, const CallCache& policy, std::string input)
    : policy_(policy), input_(std::move(input)) {
    if (policy.ttl && policy.ttl->count() < 1) {
        throw InvalidArgumentError("the call '" + std::string(name) + "' has a cache.ttl of " +
                                       times::textOf(*policy.ttl) + "; it must be at least 1 ms",
                                   {.node = std::string(runtime.node())});
    }
    const Core& core = coreOf(runtime);
    cache_ = core.options().cache;
    if (cache_ == nullptr) return;
    ns_ = cacheNamespace(runtime.node(), name, policy.ns);
    key_ = engine::cacheNameOf(input_).key;
}

std::optional<std::string> CachedCall::find() noexcept {
    if (cache_ == nullptr) return {};
    try {
        const auto stored = cache_->get(ns_, key_);
        if (!stored) return {};
        const auto result = engine::resultOf(*stored, input_);
        return result ? std::optional<std::string>(*result) : std::nullopt;
    } catch (...) {
        return {};  // the call is being made
    }
}

void CachedCall::keep(std::string_view value) noexcept {
    if (cache_ == nullptr) return;
    try {
        cache_->set(ns_, key_, engine::makeEntry(input_, value), policy_.ttl);
    } catch (...) {
        // The next attempt executes the call again.
    }
}

void refuseCachedCall(Runtime& runtime, std::string_view name) {
    throw InvalidArgumentError("the call '" + std::string(name) +
                                   "' is to be cached, and its arguments or its result cannot be stored: give it "
                                   "arguments that can, or no cache",
                               {.node = std::string(runtime.node())});
}

}  // namespace stategraph::detail
