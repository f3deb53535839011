#include "src/task/attempt.hpp"

#include <system_error>

#include <stategraph/control.hpp>
#include <stategraph/error.hpp>
#include <stategraph/executor.hpp>
#include <stategraph/runtime.hpp>

#include "src/graph/core.hpp"
#include "src/task/run_task_context.hpp"
#include "src/threads/inside_run.hpp"
#include "src/threads/waiting.hpp"
#include "src/value/times.hpp"

namespace stategraph::engine {
namespace {

[[noreturn]] void refuse(const Attempt::Info& info) {
    throw CancelledError("node '" + info.node +
                             "' was abandoned: its run was stopped, or its time was up. Its late results are discarded",
                         {.thread_id = info.thread_id, .node = info.node, .step = info.step});
}

}  // namespace

Executor& attemptThreads() {
    static auto* executor = new Executor({.threads_max = 4096});
    return *executor;
}

Attempt::Attempt(std::shared_ptr<const detail::Core> core, const detail::NodeAction& action,
                 std::shared_ptr<const void> input, const RunTaskContext& context, std::shared_ptr<RunStop> stop,
                 const AttemptLimits& limits)
    : core_(std::move(core)),
      action_(action),
      input_(std::move(input)),
      context_(*this, context),
      claim_(context.env().shared.claim),
      stop_(std::move(stop)),
      limits_(limits),
      begun_(Clock::now()),
      last_sign_(begun_) {
    TaskEnv& env = context.env();
    info_ = {.node = env.nodeOf(context.task()).name,
             .thread_id = env.shared.config->thread_id.toString(),
             .checkpoint_ns = env.place.ns,
             .checkpoint_id = env.place.checkpoint,
             .task_id = env.idOf(context.task()),
             .step = env.place.step,
             .remaining_steps = env.limits.remaining(),
             .context = env.shared.config->context,
             .store = env.store(),
             .state = env.state.values.share()};
    if (context.failure != nullptr) context_.failure = &failure_.emplace(*context.failure);
}

// Returns the limit that is reached first, and what reaching it means.
std::optional<Clock::time_point> Attempt::nextLimit(End& end) const {
    std::optional<Clock::time_point> next;
    const auto consider = [&](Clock::time_point at, End meaning) {
        if (next && *next <= at) return;
        next = at;
        end = meaning;
    };
    if (stop_ != nullptr && stop_->deadline()) consider(*stop_->deadline(), End::stopped);
    if (limits_.timeout) consider(times::after(begun_, *limits_.timeout), End::timed_out);
    if (limits_.idle_timeout && graphs_inside_ == 0)
        consider(times::after(last_sign_, *limits_.idle_timeout), End::idle);
    return next;
}

Attempt::End Attempt::run() {
    auto self = std::make_unique<std::shared_ptr<Attempt>>(shared_from_this());
    const auto call = [](void* context) {
        const std::unique_ptr<std::shared_ptr<Attempt>> attempt(static_cast<std::shared_ptr<Attempt>*>(context));
        (*attempt)->call();
    };
    if (!attemptThreads().trySubmit(call, self.get())) {
        if (servesExecutor()) {
            throw std::system_error(
                std::make_error_code(std::errc::resource_unavailable_try_again),
                "the node can be abandoned, so it is called on a thread of its own, and no thread could be started");
        }
        attemptThreads().submit(call, self.get());
    }
    (void)self.release();

    const std::stop_token token = runToken();
    std::optional<End> end;
    {
        detail::UniqueLock lock(mutex_);
        for (std::optional<Clock::time_point> limit; !(end = outcome(limit));) {
            if (isEnding()) {
                lock.unlock();
                source_.request_stop();
                lock.lock();
                changed_.wait(lock.native(), [this]() SG_REQUIRES(mutex_) { return hasNews(); });
            } else if (!limit) {
                changed_.wait(lock.native(), token, [this]() SG_REQUIRES(mutex_) { return hasNews(); });
            } else {
                const auto signs = last_sign_;
                changed_.wait_until(lock.native(), token, *limit,
                                    [&]() SG_REQUIRES(mutex_) { return hasNews() || last_sign_ != signs; });
            }
        }
    }
    if (*end != End::returned) giveUp();
    return *end;
}

std::optional<Attempt::End> Attempt::outcome(std::optional<Clock::time_point>& limit) {
    limit.reset();
    if (ending_) return graphs_inside_ == 0 ? ending_ : std::nullopt;
    if (done_) return End::returned;
    std::optional<End> ended;
    if (given_up_) {
        ended = End::stopped;  // it returned only after the run was to end
    } else if (stop_ != nullptr && stop_->token().stop_requested()) {
        ended = End::stopped;
    } else {
        End end = End::stopped;
        limit = nextLimit(end);
        if (limit && Clock::now() >= *limit) ended = end;
    }
    if (!ended || graphs_inside_ == 0) return ended;
    ending_ = ended;
    limit.reset();
    return {};
}

std::shared_ptr<RunStop> Attempt::beginCall() {
    const detail::LockGuard lock(mutex_);
    if (given_up_ || ending_) refuse(info_);
    std::shared_ptr<RunStop> stop = stop_;
    if (limits_.any()) {
        std::optional<Clock::time_point> until;
        if (limits_.timeout) until = times::after(begun_, *limits_.timeout);
        stop = std::make_shared<RunStop>(stop_, source_.get_token(), until);
    }
    ++graphs_inside_;
    return stop;
}

void Attempt::callTimedOut() {
    const detail::LockGuard lock(mutex_);
    if (!ending_) ending_ = End::timed_out;
}

void Attempt::endCall() {
    const detail::LockGuard lock(mutex_);
    --graphs_inside_;
    last_sign_ = Clock::now();
    wake();
}

void Attempt::giveUp() {
    source_.request_stop();
    // A call of the node into the run that is under way is allowed to finish. What the node returns afterwards is
    // dropped, even if it checked its token, because a result cannot be distinguished from a reaction to the stop.
    {
        const detail::LockGuard entry(entry_);
        detail::UniqueLock lock(mutex_);
        // Nearly always they have ended. If nothing could wait for an attempt, its graphs are waited for here.
        changed_.wait(lock.native(), [this]() SG_REQUIRES(mutex_) { return graphs_inside_ == 0; });
        given_up_ = true;
        if (has_begun_) return;
    }
    releaseGraph();  // its thread has not come so far, and will not call the node
}

bool Attempt::mayCall() noexcept {
    const detail::LockGuard lock(mutex_);
    has_begun_ = !given_up_;
    return has_begun_;
}

void Attempt::call() noexcept {
    if (!mayCall()) return;
    detail::TaskResult result;
    std::exception_ptr thrown;
    try {
        const InsideRun inside(claim_, &source_);
        Runtime runtime(context_);
        action_.call(action_.callable.get(), input_.get(), runtime, result);
    } catch (...) {
        thrown = std::current_exception();
    }
    releaseGraph();
    end(std::move(result), std::move(thrown));
}

// When the run has ended, its caller may destroy the graph and open the saver's database again. No thread of the
// library may still hold them.
void Attempt::releaseGraph() noexcept {
    input_.reset();
    info_.store.reset();
    info_.state.reset();
    info_.context = {};
    core_.reset();  // last, because `action_` belongs to the graph
}

void Attempt::end(detail::TaskResult result, std::exception_ptr thrown) {
    const bool in_vain = stop_ != nullptr && stop_->requested();
    const detail::LockGuard lock(mutex_);
    if (given_up_) return;  // the result is destroyed here, on this thread
    if (in_vain) {
        given_up_ = true;
    } else {
        result_ = std::move(result);
        thrown_ = std::move(thrown);
        done_ = true;
    }
    wake();
}

detail::TaskResult Attempt::takeResult() {
    const detail::LockGuard lock(mutex_);
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
    return std::move(result_);
}

std::unique_lock<std::recursive_mutex> Attempt::enter() {
    std::unique_lock entry(entry_.native());
    const detail::LockGuard lock(mutex_);
    if (given_up_) refuse(info_);
    if (limits_.idle_timeout) {
        last_sign_ = Clock::now();
        changed_.notify_all();
    }
    return entry;
}

bool Attempt::isStopping() { return source_.stop_requested() || (stop_ != nullptr && stop_->requested()); }

void Attempt::heartbeat() { (void)enter(); }

void Attempt::sleepUntil(Clock::time_point until) {
    const std::stop_token run_token = stop_ != nullptr ? stop_->token() : std::stop_token();
    detail::UniqueLock lock(mutex_);
    const std::stop_token own = source_.get_token();
    // Either stop ends it. The run's own stop always reaches the attempt's token, which is the one that is waited for.
    changed_.wait_until(lock.native(), own, until,
                        [&]() SG_REQUIRES(mutex_) { return given_up_ || run_token.stop_requested(); });
    if (given_up_ || own.stop_requested() || run_token.stop_requested()) {
        lock.unlock();
        refuse(info_);
    }
}

}  // namespace stategraph::engine
