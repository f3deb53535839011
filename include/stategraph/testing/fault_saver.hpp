#pragma once
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/error.hpp>
#include <stategraph/forwarding_saver.hpp>

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
    /// Throws the exception of a failing call, on the thread of the call, or on that of its completion if it fails
    /// after its effect. If it is not set, or returns: SaverError("injected failure …").
    std::function<void()> raise = {};
};

/// For tests: passes every call on to another saver, and fails at the call that a plan names. It shows what a program
/// does when storage fails: loop over `fail_at` from 1 until `failures()` stays 0. A put and a read that are answered
/// later count as those that are not.
///
/// Safe from any thread, as far as the wrapped saver is. Cost: one short lock a call.
class FaultSaver final : public ForwardingSaver {
public:
    /// `put_is_slow` replaces the answer of the wrapped saver, so that both ways of async durability can be tested.
    /// Throws InvalidArgumentError if `inner` is null.
    explicit FaultSaver(std::shared_ptr<BaseCheckpointSaver> inner, FaultPlan plan = {},
                        std::optional<bool> put_is_slow = {})
        : ForwardingSaver(std::move(inner)), plan_(std::move(plan)), put_is_slow_(put_is_slow) {}

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

    void put(const PutRequest& request) override {
        call(callOf(request), "put", [&] { ForwardingSaver::put(request); });
    }
    std::optional<CheckpointTuple> getTuple(const TupleQuery& query) override {
        return call(SaverCalls::get_tuple, "getTuple", [&] { return ForwardingSaver::getTuple(query); });
    }
    void asyncPut(const PutRequest& request, PutCompletion& completion) noexcept override {
        std::unique_ptr<FaultedPut> put;
        try {
            put = std::make_unique<FaultedPut>(Fault(*this, callOf(request), "asyncPut"), completion);
        } catch (...) {
            return completion.complete(std::current_exception());
        }
        inner()->asyncPut(request, *put.release());
    }
    void asyncGetTuple(const TupleQuery& query, TupleCompletion& completion) noexcept override {
        std::unique_ptr<FaultedRead> read;
        try {
            read = std::make_unique<FaultedRead>(Fault(*this, SaverCalls::get_tuple, "asyncGetTuple"), completion);
        } catch (...) {
            return completion.complete({}, std::current_exception());
        }
        inner()->asyncGetTuple(query, *read.release());
    }
    std::vector<ListedCheckpoint> list(const ListQuery& query) override {
        return call(SaverCalls::list, "list", [&] { return ForwardingSaver::list(query); });
    }
    void deleteThread(std::string_view thread_id) override {
        call(SaverCalls::delete_thread, "deleteThread", [&] { ForwardingSaver::deleteThread(thread_id); });
    }
    void copyThread(std::string_view from, std::string_view to) override {
        call(SaverCalls::copy_thread, "copyThread", [&] { ForwardingSaver::copyThread(from, to); });
    }
    std::size_t prune(const PruneRequest& request) override {
        return call(SaverCalls::prune, "prune", [&] { return ForwardingSaver::prune(request); });
    }
    std::optional<std::vector<IndexedThread>> openThreads(const OpenThreadsQuery& query) override {
        return call(SaverCalls::list, "openThreads", [&] { return ForwardingSaver::openThreads(query); });
    }
    std::optional<std::vector<IndexedThread>> newestThreads(const NewestThreadsQuery& query) override {
        return call(SaverCalls::list, "newestThreads", [&] { return ForwardingSaver::newestThreads(query); });
    }
    std::optional<std::vector<DueThread>> dueThreads(const DueThreadsQuery& query) override {
        return call(SaverCalls::list, "dueThreads", [&] { return ForwardingSaver::dueThreads(query); });
    }
    std::optional<ThreadCounts> countThreads(std::size_t most) override {
        return call(SaverCalls::list, "countThreads", [&] { return ForwardingSaver::countThreads(most); });
    }
    bool putIsSlow() const noexcept override { return put_is_slow_ ? *put_is_slow_ : ForwardingSaver::putIsSlow(); }

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
        std::exception_ptr failureAfterEffect() const noexcept {
            try {
                afterEffect();
            } catch (...) {
                return std::current_exception();
            }
            return nullptr;
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

    // Each deletes itself.
    class FaultedPut final : public PutCompletion {
    public:
        FaultedPut(Fault fault, PutCompletion& told) : fault_(std::move(fault)), told_(told) {}
        void complete(std::exception_ptr failure) noexcept override {
            const std::unique_ptr<FaultedPut> self(this);
            if (!failure) failure = fault_.failureAfterEffect();
            told_.complete(std::move(failure));
        }

    private:
        const Fault fault_;
        PutCompletion& told_;
    };
    class FaultedRead final : public TupleCompletion {
    public:
        FaultedRead(Fault fault, TupleCompletion& told) : fault_(std::move(fault)), told_(told) {}
        void complete(std::optional<CheckpointTuple> tuple, std::exception_ptr failure) noexcept override {
            const std::unique_ptr<FaultedRead> self(this);
            if (!failure) failure = fault_.failureAfterEffect();
            if (failure) tuple.reset();
            told_.complete(std::move(tuple), std::move(failure));
        }

    private:
        const Fault fault_;
        TupleCompletion& told_;
    };

    static SaverCalls callOf(const PutRequest& request) noexcept {
        return request.commits.empty() && request.writes.empty() ? SaverCalls::tell : SaverCalls::put;
    }
    template <class F>
    std::invoke_result_t<F> call(SaverCalls which, const char* name, F forward) {
        const Fault fault(*this, which, name);
        if constexpr (std::is_void_v<std::invoke_result_t<F>>) {
            forward();
            fault.afterEffect();
        } else {
            auto result = forward();
            fault.afterEffect();
            return result;
        }
    }

    mutable detail::Mutex mutex_;
    FaultPlan plan_ SG_GUARDED_BY(mutex_);
    std::size_t calls_ SG_GUARDED_BY(mutex_) = 0;
    std::size_t failures_ SG_GUARDED_BY(mutex_) = 0;
    const std::optional<bool> put_is_slow_;
};

}  // namespace stategraph::testing
