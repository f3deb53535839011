#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/error.hpp>
#include <stategraph/saver.hpp>

namespace stategraph::testing {

/// Methods of a saver, to be combined with `|`.
enum class SaverCalls : unsigned {
    none = 0,
    put = 1,
    get_tuple = 2,
    list = 4,
    delete_thread = 8,
    copy_thread = 16,
    prune = 32,
    /// A `put` without rows, which only updates an index of threads: its failure is ignored.
    tell = 64,
    all = 127,
};
constexpr SaverCalls operator|(SaverCalls a, SaverCalls b) noexcept {
    return static_cast<SaverCalls>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
/// Whether a set of calls contains a call.
constexpr bool contains(SaverCalls calls, SaverCalls one) noexcept {
    return (static_cast<unsigned>(calls) & static_cast<unsigned>(one)) != 0;
}

/// Which calls of a FaultSaver fail, and how.
struct FaultPlan {
    /// The number of the call that fails, from 1; 0: none does.
    std::size_t fail_at = 0;
    /// Whether only that call fails. Off: every counted call after it fails too.
    bool once = true;
    /// Fail after the wrapped saver has done its work: the rows are stored, but the caller does not know.
    bool after_effect = false;
    /// The calls that are counted, and may therefore fail.
    SaverCalls calls = SaverCalls::all;
    /// Throws the exception of a failing call, on the thread of the call. If it is not set, or returns:
    /// SaverError("injected failure …").
    std::function<void()> raise = {};
};

/// For tests: passes every call on to another saver, and fails at the call that a plan names. It shows what a program
/// does when storage fails: loop over `fail_at` from 1 until `failures()` stays 0.
///
/// Safe from any thread, as far as the wrapped saver is. Cost: one short lock a call.
class FaultSaver final : public BaseCheckpointSaver {
public:
    /// `put_is_slow` replaces the answer of the wrapped saver, so that both ways of async durability can be tested.
    /// Throws InvalidArgumentError if `inner` is null.
    explicit FaultSaver(std::shared_ptr<BaseCheckpointSaver> inner, FaultPlan plan = {},
                        std::optional<bool> put_is_slow = {})
        : inner_(std::move(inner)), plan_(std::move(plan)), put_is_slow_(put_is_slow) {
        if (!inner_) throw InvalidArgumentError("a FaultSaver needs a saver to pass its calls on to");
    }

    /// Sets another plan and resets the count. Calls under way follow the old plan.
    void arm(FaultPlan plan) {
        const detail::LockGuard lock(mutex_);
        plan_ = std::move(plan);
        calls_ = 0;
        failures_ = 0;
    }
    /// From now on nothing fails; the counts stay.
    void disarm() {
        const detail::LockGuard lock(mutex_);
        plan_.fail_at = 0;
    }

    /// The number of counted calls, including those that failed.
    std::size_t calls() const {
        const detail::LockGuard lock(mutex_);
        return calls_;
    }
    std::size_t failures() const {
        const detail::LockGuard lock(mutex_);
        return failures_;
    }
    const std::shared_ptr<BaseCheckpointSaver>& inner() const noexcept { return inner_; }

    void put(const PutRequest& request) override {
        const bool has_rows = !request.commits.empty() || !request.writes.empty();
        const Fault fault(*this, has_rows ? SaverCalls::put : SaverCalls::tell, "put");
        inner_->put(request);
        fault.afterEffect();
    }
    std::optional<CheckpointTuple> getTuple(const TupleQuery& query) override {
        const Fault fault(*this, SaverCalls::get_tuple, "getTuple");
        auto tuple = inner_->getTuple(query);
        fault.afterEffect();
        return tuple;
    }
    std::vector<ListedCheckpoint> list(const ListQuery& query) override {
        const Fault fault(*this, SaverCalls::list, "list");
        auto listed = inner_->list(query);
        fault.afterEffect();
        return listed;
    }
    void deleteThread(std::string_view thread_id) override {
        const Fault fault(*this, SaverCalls::delete_thread, "deleteThread");
        inner_->deleteThread(thread_id);
        fault.afterEffect();
    }
    void copyThread(std::string_view from, std::string_view to) override {
        const Fault fault(*this, SaverCalls::copy_thread, "copyThread");
        inner_->copyThread(from, to);
        fault.afterEffect();
    }
    std::size_t prune(const PruneRequest& request) override {
        const Fault fault(*this, SaverCalls::prune, "prune");
        const std::size_t dropped = inner_->prune(request);
        fault.afterEffect();
        return dropped;
    }
    std::optional<std::vector<IndexedThread>> openThreads(const OpenThreadsQuery& query) override {
        const Fault fault(*this, SaverCalls::list, "openThreads");
        auto open = inner_->openThreads(query);
        fault.afterEffect();
        return open;
    }
    std::optional<std::vector<IndexedThread>> newestThreads(const NewestThreadsQuery& query) override {
        const Fault fault(*this, SaverCalls::list, "newestThreads");
        auto newest = inner_->newestThreads(query);
        fault.afterEffect();
        return newest;
    }
    std::optional<std::vector<DueThread>> dueThreads(const DueThreadsQuery& query) override {
        const Fault fault(*this, SaverCalls::list, "dueThreads");
        auto due = inner_->dueThreads(query);
        fault.afterEffect();
        return due;
    }
    std::optional<ThreadCounts> countThreads(std::size_t most) override {
        const Fault fault(*this, SaverCalls::list, "countThreads");
        const auto counts = inner_->countThreads(most);
        fault.afterEffect();
        return counts;
    }
    std::optional<std::uint64_t> storedBytes() override { return inner_->storedBytes(); }
    bool putIsSlow() const noexcept override { return put_is_slow_ ? *put_is_slow_ : inner_->putIsSlow(); }

private:
    /// One call: it is counted when it begins, and throws before or after its effect if the plan names it.
    class Fault {
    public:
        Fault(FaultSaver& saver, SaverCalls call, const char* name) : name_(name) {
            bool after = false;
            {
                const detail::LockGuard lock(saver.mutex_);
                const FaultPlan& plan = saver.plan_;
                if (!testing::contains(plan.calls, call)) return;
                number_ = ++saver.calls_;
                fails_ = plan.fail_at != 0 && (plan.once ? number_ == plan.fail_at : number_ >= plan.fail_at);
                if (!fails_) return;
                ++saver.failures_;
                raise_ = plan.raise;
                after = plan.after_effect;
            }
            if (!after) fail();
        }
        void afterEffect() const {
            if (fails_) fail();
        }

    private:
        [[noreturn]] void fail() const {
            if (raise_) raise_();
            throw SaverError("injected failure of call " + std::to_string(number_) + ", " + name_);
        }

        const char* name_;
        std::size_t number_ = 0;
        bool fails_ = false;
        std::function<void()> raise_;
    };

    const std::shared_ptr<BaseCheckpointSaver> inner_;
    mutable detail::Mutex mutex_;
    FaultPlan plan_ SG_GUARDED_BY(mutex_);
    std::size_t calls_ SG_GUARDED_BY(mutex_) = 0;
    std::size_t failures_ SG_GUARDED_BY(mutex_) = 0;
    const std::optional<bool> put_is_slow_;
};

}  // namespace stategraph::testing
