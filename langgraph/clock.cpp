#include "langgraph/clock.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <stategraph/detail/async.hpp>
#include <stategraph/detail/mutex.hpp>

#include "src/async/timers.hpp"

namespace stategraph::langgraph {

namespace {

using std::chrono::steady_clock;
using std::chrono::system_clock;

/// How long a timer waits at most, because somebody may set the system's clock meanwhile.
constexpr auto longest_sleep = std::chrono::minutes(1);

class SystemClock final : public Clock {
public:
    explicit SystemClock(std::shared_ptr<Executor> executor) : state_(std::make_shared<State>(std::move(executor))) {}
    SystemClock(const SystemClock&) = delete;
    SystemClock& operator=(const SystemClock&) = delete;
    ~SystemClock() override { state_->end(); }

    Time now() const override { return system_clock::now(); }
    void callAt(Time at, std::function<void()> call) override { state_->add(at, std::move(call)); }

private:
    /// Exists as long as its timer, which may already have been posted when the clock is destroyed.
    class State : public std::enable_shared_from_this<State> {
    public:
        explicit State(std::shared_ptr<Executor> executor) : executor_(std::move(executor)) {}

        void add(Time at, std::function<void()> call) {
            const stategraph::detail::LockGuard lock(mutex_);
            const bool is_first = calls_.empty() || at < calls_.begin()->first;
            calls_.emplace(at, std::move(call));
            if (!is_first) return;
            disarm();
            arm();
        }
        void end() noexcept {
            const stategraph::detail::LockGuard lock(mutex_);
            has_ended_ = true;
            disarm();
            calls_.clear();
        }

    private:
        void arm() SG_REQUIRES(mutex_) {
            if (calls_.empty() || is_armed_ || has_ended_) return;
            const auto wait = std::clamp<system_clock::duration>(calls_.begin()->first - system_clock::now(),
                                                                 system_clock::duration(0), longest_sleep);
            timer_.at = steady_clock::now() + std::chrono::duration_cast<steady_clock::duration>(wait);
            timer_.home = stategraph::detail::homeOf(*executor_);
            auto held = std::make_unique<std::shared_ptr<State>>(shared_from_this());
            timer_.work = {.run = &onTimer, .drop = &onDropped, .context = held.get()};
            engine::Timers::common().add(timer_);
            is_armed_ = true;
            (void)held.release();
        }
        void disarm() SG_REQUIRES(mutex_) {
            if (!is_armed_ || !engine::Timers::common().remove(timer_)) return;
            is_armed_ = false;
            onDropped(timer_.work.context);
        }
        static void onDropped(void* held) { delete static_cast<std::shared_ptr<State>*>(held); }
        static void onTimer(void* held) {
            const std::shared_ptr<State> self = std::move(*static_cast<std::shared_ptr<State>*>(held));
            onDropped(held);
            self->makeCalls();
        }
        void makeCalls() {
            std::vector<std::function<void()>> due;
            {
                const stategraph::detail::LockGuard lock(mutex_);
                is_armed_ = false;
                const auto end = calls_.upper_bound(system_clock::now());
                for (auto each = calls_.begin(); each != end; ++each) due.push_back(std::move(each->second));
                calls_.erase(calls_.begin(), end);
                arm();
            }
            for (const auto& call : due) call();
        }

        const std::shared_ptr<Executor> executor_;
        stategraph::detail::Mutex mutex_;
        std::multimap<Time, std::function<void()>> calls_ SG_GUARDED_BY(mutex_);
        engine::Timer timer_ SG_GUARDED_BY(mutex_);
        bool is_armed_ SG_GUARDED_BY(mutex_) = false;  // or posted and not run yet
        bool has_ended_ SG_GUARDED_BY(mutex_) = false;
    };

    const std::shared_ptr<State> state_;
};

}  // namespace

std::shared_ptr<Clock> systemClock(std::shared_ptr<Executor> executor) {
    return std::make_shared<SystemClock>(std::move(executor));
}

}  // namespace stategraph::langgraph
