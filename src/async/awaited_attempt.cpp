#include "src/async/awaited_attempt.hpp"

#include <utility>

#include <stategraph/detail/async.hpp>
#include <stategraph/detail/run_threads.hpp>

#include "src/async/stop_wait.hpp"
#include "src/task/task_env.hpp"

namespace stategraph::engine {

using detail::Home;
using detail::Work;

/// Awaits the node's end, the run's stop, or the first limit.
class AwaitedAttempt::Change {
public:
    explicit Change(AwaitedAttempt& attempt) noexcept : attempt_(attempt) {}
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;
    ~Change() {
        const detail::LockGuard lock(attempt_.mutex_);
        if (attempt_.change_ == this) attempt_.change_ = nullptr;
    }

    bool await_ready() const {
        const detail::LockGuard lock(attempt_.mutex_);
        return attempt_.hasNews();
    }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> coroutine) {
        wakeup_.prepare(detail::homeOf(coroutine), coroutine);
        const detail::LockGuard suspending(suspending_);
        std::optional<Clock::time_point> limit;
        {
            const detail::LockGuard lock(attempt_.mutex_);
            const bool was_ending = attempt_.isEnding();
            if (attempt_.outcome(limit) || was_ending != attempt_.isEnding()) return false;  // that is handled first
            is_ending_ = was_ending;
            attempt_.change_ = this;
        }
        try {
            if (limit) wakeup_.postAt(*limit);
        } catch (...) {
            const detail::LockGuard lock(attempt_.mutex_);
            if (is_woken_) return true;  // something else resumes it
            attempt_.change_ = nullptr;
            throw;
        }
        if (!is_ending_) watch_.watch(attempt_.runToken());
        return true;
    }
    void await_resume() { const detail::LockGuard lock(suspending_); }

    /// Called under the attempt's mutex.
    void wake() noexcept {
        attempt_.mutex_.assertHeld();
        is_woken_ = true;
        wakeup_.wake();
    }

private:
    AwaitedAttempt& attempt_;
    bool is_woken_ SG_GUARDED_BY(attempt_.mutex_) = false;
    bool is_ending_ = false;
    detail::Mutex suspending_;  // another thread may resume it before await_suspend has returned
    detail::Wakeup wakeup_;
    StopWatch watch_{wakeup_};
};

/// A part of the awaiting coroutine. If that is destroyed before its end, this ends the node.
class AwaitedAttempt::Owner {
public:
    explicit Owner(AwaitedAttempt& attempt) noexcept : attempt_(&attempt) {}
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;
    ~Owner() {
        if (attempt_ != nullptr) attempt_->leaveNode();
    }
    void isOver() noexcept { attempt_ = nullptr; }

private:
    AwaitedAttempt* attempt_;
};

/// The executor on which the node resumes: the run's, until the attempt was abandoned.
class AwaitedAttempt::Place : public std::enable_shared_from_this<Place> {
public:
    Place(AwaitedAttempt& attempt, Home home)
        : attempt_(attempt), home_(home), after_(detail::homeOf(attemptThreads())) {}
    Home home() noexcept { return {this, &ops}; }
    void leave() noexcept;
    /// Call it when the node was destroyed together with what would have resumed it.
    void end() noexcept;
    bool isGone() {
        const detail::LockGuard lock(mutex_);
        return home_.ops->isGone != nullptr && home_.ops->isGone(home_.place);
    }
    /// Returns whether it has the work done on other threads, or keeps it until it is known whether the node is left or
    /// ends.
    bool takesOver(Posted& dropped) noexcept;

private:
    static void post(void* place, const Work& work);
    static Home under(void* place) {
        auto& self = *static_cast<Place*>(place);
        const detail::LockGuard lock(self.mutex_);
        return self.home_;
    }
    static constexpr detail::HomeOps ops{.post = post, .under = under};

    AwaitedAttempt& attempt_;  // exists as long as its node
    detail::Mutex mutex_;      // held while work is posted, so that the run's executor exists
    Home home_ SG_GUARDED_BY(mutex_);
    const Home after_;
    Posted* dropped_ SG_GUARDED_BY(mutex_) = nullptr;  // a linked list
    bool is_left_ SG_GUARDED_BY(mutex_) = false;
    bool is_over_ SG_GUARDED_BY(mutex_) = false;
};

/// Work that is to resume on the run's executor.
struct AwaitedAttempt::Posted {
    std::shared_ptr<AwaitedAttempt> attempt;
    std::shared_ptr<Place> place;
    Work work;
    Posted* next = nullptr;

    Work wrapped() noexcept { return {run, drop, this}; }
    static void run(void* context) {
        const std::unique_ptr<Posted> posted(static_cast<Posted*>(context));
        posted->work.run(posted->work.context);
    }
    // Called if the run's executor was destroyed without calling the work. If the run was destroyed with it, so is the
    // node; an abandoned node continues.
    static void drop(void* context) {
        std::unique_ptr<Posted> posted(static_cast<Posted*>(context));
        const std::shared_ptr<Place> place = posted->place;
        if (place->takesOver(*posted)) {
            (void)posted.release();
        } else {
            posted->work.drop(posted->work.context);
        }
    }
};

// The posted work may be done before this returns; the node, the attempt and its waiter may then be destroyed.
void AwaitedAttempt::Place::post(void* place, const Work& work) {
    const std::shared_ptr<Place> kept = static_cast<Place*>(place)->shared_from_this();
    auto posted = std::make_unique<Posted>(kept->attempt_.self(), kept, work);
    const detail::LockGuard lock(kept->mutex_);
    kept->home_.ops->post(kept->home_.place, posted->wrapped());
    (void)posted.release();
}

namespace {
template <class Posted>
bool goesOnElsewhere(Posted& posted) noexcept {
    try {
        attemptThreads().submit(Posted::run, &posted);
        return true;
    } catch (...) {
        return false;  // there is no thread or memory; what the node holds stays, as for a thread that never returns
    }
}
}  // namespace

bool AwaitedAttempt::Place::takesOver(Posted& dropped) noexcept {
    const detail::LockGuard lock(mutex_);
    if (is_over_) return false;
    if (is_left_) return goesOnElsewhere(dropped);
    dropped.next = std::exchange(dropped_, &dropped);
    return true;
}

void AwaitedAttempt::Place::leave() noexcept {
    const detail::LockGuard lock(mutex_);
    home_ = after_;
    is_left_ = true;
    for (Posted* each = std::exchange(dropped_, nullptr); each != nullptr;) {
        Posted* const next = std::exchange(each->next, nullptr);
        goesOnElsewhere(*each);
        each = next;
    }
}

void AwaitedAttempt::Place::end() noexcept {
    Posted* each = nullptr;
    {
        const detail::LockGuard lock(mutex_);
        is_over_ = true;
        each = std::exchange(dropped_, nullptr);
    }
    while (each != nullptr) {
        const std::unique_ptr<Posted> posted(each);
        each = posted->next;
        posted->work.drop(posted->work.context);
    }
}

stategraph::Task<Attempt::End> AwaitedAttempt::await(std::shared_ptr<AwaitedAttempt> attempt) {
    Owner owner(*attempt);
    const Home home = co_await detail::OwnHome();
    attempt->start(home);
    std::optional<End> end;
    std::exception_ptr error;  // it cannot be waited for; it is not destroyed, because it may be on another thread now
    try {
        for (;;) {
            bool is_ending = false;
            {
                const detail::LockGuard lock(attempt->mutex_);
                std::optional<Clock::time_point> limit;
                end = attempt->outcome(limit);
                is_ending = attempt->isEnding();
            }
            if (end) break;
            if (is_ending) attempt->source_.request_stop();
            Change change(*attempt);
            co_await change;
        }
    } catch (...) {
        error = std::current_exception();
    }
    owner.isOver();
    if (end != End::returned) {
        attempt->giveUp();
        if (attempt->place_) attempt->place_->leave();
    }
    if (error) std::rethrow_exception(error);
    co_return *end;
}

void AwaitedAttempt::start(Home home) {
    if (action_.start == nullptr) return call(home);
    if (!mayCall()) return;
    place_ = std::make_shared<Place>(*this, home);
    runtime_.emplace(context_);
    std::exception_ptr thrown;
    try {
        node_ = action_.start(action_.callable.get(), input_.get(), *runtime_, result_);
    } catch (...) {
        thrown = std::current_exception();
    }
    if (thrown) {
        end(std::move(result_), std::move(thrown));
        return;
    }
    kept_ = self();
    const auto handle = node_.handle();
    handle.promise().startWith(handle, ended, this, place_->home());
}

// The thread calls it when the run is suspended, and continues the run afterwards, unless that was abandoned.
void AwaitedAttempt::call(Home home) {
    is_called_ = true;
    using Self = std::shared_ptr<AwaitedAttempt>;
    auto owner = std::make_unique<Self>(self());
    const auto run = [](void* of) {
        const std::unique_ptr<Self> attempt(static_cast<Self*>(of));
        (*attempt)->Attempt::call();
    };
    const auto drop = [](void* of) { const std::unique_ptr<Self> attempt(static_cast<Self*>(of)); };
    detail::RunThreads::callNext(home, {run, drop, owner.get()});
    (void)owner.release();
}

void AwaitedAttempt::ended(void* self) {
    auto& attempt = *static_cast<AwaitedAttempt*>(self);
    const std::shared_ptr<AwaitedAttempt> kept = std::move(attempt.kept_);
    std::exception_ptr thrown;
    try {
        attempt.node_.handle().promise().take();
    } catch (...) {
        thrown = std::current_exception();
    }
    attempt.node_.reset();  // what the node holds is destroyed before its end is reported
    attempt.place_->end();
    attempt.releaseGraph();
    attempt.end(std::move(attempt.result_), std::move(thrown));
}

void AwaitedAttempt::wake() noexcept {
    Attempt::wake();
    if (change_ == nullptr) return;
    const detail::RunThreads::AtEnd at_end(is_called_ && (done_ || given_up_));
    change_->wake();
}

// The run exists. If the run's executor is being destroyed, so are the coroutines that resume there.
void AwaitedAttempt::leaveNode() noexcept {
    if (!is_called_ && (outside_.load() == 0 || place_->isGone())) {
        destroyNode();
        return;
    }
    context_.env().state.leave();
    giveUp();
    if (place_) place_->leave();
}

std::shared_ptr<void> AwaitedAttempt::keepNode() {
    outside_.fetch_add(1);
    return {static_cast<void*>(this), [self = self()](void*) { self->outside_.fetch_sub(1); }};
}

// Called on the only thread on which the node would resume.
void AwaitedAttempt::destroyNode() noexcept {
    if (place_) place_->end();  // null if there was no memory for it
    node_.reset();
    kept_.reset();
}

}  // namespace stategraph::engine

namespace stategraph::detail {

std::shared_ptr<void> keepNode(Runtime& runtime) { return runtime.taskContext().keepNode(); }

}  // namespace stategraph::detail
