#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <stategraph/forwarding_saver.hpp>
#include <stategraph/memory_saver.hpp>

/// Passes its calls on to another saver, and answers asynchronous ones later, like a server at some distance: a thread
/// of its own calls the other saver, each call `latency` after it came. Any number may be under way. Safe from any
/// thread.
class LaterSaver final : public stategraph::ForwardingSaver {
public:
    enum class Answer : std::uint8_t {
        later,    // on the thread
        at_once,  // before the call returns
    };
    explicit LaterSaver(
        std::shared_ptr<stategraph::BaseCheckpointSaver> inner = std::make_shared<stategraph::MemorySaver>(),
        std::chrono::microseconds latency = {}, Answer answer = Answer::later)
        : ForwardingSaver(std::move(inner)), latency_(latency), answer_(answer) {
        if (answer_ == Answer::later) thread_ = std::thread([this] { serve(); });
    }
    ~LaterSaver() override {
        if (!thread_.joinable()) return;
        {
            const std::lock_guard lock(mutex_);
            is_over_ = true;
        }
        came_.notify_one();
        thread_.join();
    }

    /// The most puts that were under way at once.
    std::size_t mostPuts() const {
        const std::lock_guard lock(mutex_);
        return most_puts_;
    }
    /// The number of puts and reads whose callers waited, and of those that were asynchronous.
    std::size_t waitedFor() const noexcept { return waited_for_; }
    std::size_t answered() const noexcept { return answered_; }
    /// While it is closed, no call is answered, or no put.
    void close() { set(Closed::all); }
    void closePuts() { set(Closed::puts); }
    void open() { set(Closed::none); }
    /// Returns when so many calls, or puts, are under way.
    void awaitCalls(std::size_t count) const {
        await([this, count] { return calls_.size() >= count; });
    }
    void awaitPuts(std::size_t count) const {
        await([this, count] { return puts_ >= count; });
    }

    /// Set it before the first run: what `commitsAhead` returns.
    std::size_t ahead = 4;

    bool putIsSlow() const noexcept override { return true; }
    bool answersLater() const noexcept override { return true; }
    std::size_t commitsAhead() const noexcept override { return ahead; }
    void asyncPut(const stategraph::PutRequest& request, stategraph::PutCompletion& completion) noexcept override {
        try {
            answer(true, [this, &request, &completion]() noexcept {
                std::exception_ptr failure;
                try {
                    inner()->put(request);
                } catch (...) {
                    failure = std::current_exception();
                }
                completion.complete(std::move(failure));
            });
        } catch (...) {
            completion.complete(std::current_exception());
        }
    }
    void asyncGetTuple(const stategraph::TupleQuery& query, stategraph::TupleCompletion& completion) noexcept override {
        try {
            answer(false, [this, &query, &completion]() noexcept {
                std::optional<stategraph::CheckpointTuple> tuple;
                std::exception_ptr failure;
                try {
                    tuple = inner()->getTuple(query);
                } catch (...) {
                    failure = std::current_exception();
                }
                completion.complete(std::move(tuple), std::move(failure));
            });
        } catch (...) {
            completion.complete({}, std::current_exception());
        }
    }

    void put(const stategraph::PutRequest& request) override {
        ++waited_for_;
        inner()->put(request);
    }
    std::optional<stategraph::CheckpointTuple> getTuple(const stategraph::TupleQuery& query) override {
        ++waited_for_;
        return inner()->getTuple(query);
    }

private:
    using Clock = std::chrono::steady_clock;
    struct Call {
        Clock::time_point due;
        bool is_put;
        std::function<void()> make;
    };
    enum class Closed : std::uint8_t { none, puts, all };

    void set(Closed closed) {
        {
            const std::lock_guard lock(mutex_);
            closed_ = closed;
        }
        came_.notify_one();
    }
    template <class F>
    void await(F has_come) const {
        for (std::unique_lock lock(mutex_); !has_come(); lock.lock()) {
            lock.unlock();
            std::this_thread::sleep_for(std::chrono::microseconds(100));  // sleeps: between two looks
        }
    }
    std::deque<Call>::iterator next() {
        if (closed_ == Closed::all) return calls_.end();
        return std::ranges::find_if(calls_,
                                    [this](const Call& call) { return closed_ == Closed::none || !call.is_put; });
    }

    template <class F>
    void answer(bool is_put, F call) {
        ++answered_;
        if (answer_ == Answer::at_once) return call();
        {
            const std::lock_guard lock(mutex_);
            calls_.push_back({Clock::now() + latency_, is_put, call});
            puts_ += is_put ? 1 : 0;
            most_puts_ = std::max(most_puts_, puts_);
        }
        came_.notify_one();
    }
    void serve() {
        std::unique_lock lock(mutex_);
        for (;;) {
            came_.wait(lock, [this] { return is_over_ || next() != calls_.end(); });
            if (is_over_) return;
            if (latency_.count() > 0) {
                const auto due = next()->due;
                lock.unlock();
                std::this_thread::sleep_until(due);  // sleeps: its latency
                lock.lock();
            }
            const auto at = next();
            if (at == calls_.end()) continue;
            const std::function<void()> make = std::move(at->make);
            puts_ -= at->is_put ? 1 : 0;
            calls_.erase(at);
            lock.unlock();
            make();
            lock.lock();
        }
    }

    const std::chrono::microseconds latency_;
    const Answer answer_;
    mutable std::mutex mutex_;
    std::condition_variable came_;
    std::deque<Call> calls_;
    std::size_t puts_ = 0;  // among the calls
    std::size_t most_puts_ = 0;
    Closed closed_ = Closed::none;
    bool is_over_ = false;
    std::atomic<std::size_t> waited_for_{0};
    std::atomic<std::size_t> answered_{0};
    std::thread thread_;
};

/// Keeps how an asynchronous put ended.
struct KeptPut final : stategraph::PutCompletion {
    int calls = 0;
    std::exception_ptr failure;
    void complete(std::exception_ptr why) noexcept override {
        ++calls;
        failure = std::move(why);
    }
};

/// Keeps what an asynchronous read has found.
struct KeptRead final : stategraph::TupleCompletion {
    int calls = 0;
    std::optional<stategraph::CheckpointTuple> tuple;
    std::exception_ptr failure;
    void complete(std::optional<stategraph::CheckpointTuple> found, std::exception_ptr why) noexcept override {
        ++calls;
        tuple = std::move(found);
        failure = std::move(why);
    }
};
