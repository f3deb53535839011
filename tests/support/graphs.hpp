#pragma once
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/stategraph.hpp>

// A small state, and nodes that report what they did.
namespace graphs {

namespace sg = stategraph;
using Strings = std::vector<std::string>;

struct State {
    std::string foo = {};
    Strings bar = {};
    int n = 0;

    static constexpr auto channels() {
        return sg::channels(sg::channel("foo", &State::foo), sg::channel("bar", &State::bar, sg::append),
                            sg::channel("n", &State::n, sg::sum));
    }
    bool operator==(const State&) const = default;
};

using Graph = sg::StateGraph<State>;
using App = sg::CompiledGraph<State>;
using Update = sg::Update<State>;
using Command = sg::Command<State>;

/// Records in order what ran. Safe to use from any thread.
class Log {
public:
    void add(std::string entry) {
        const std::lock_guard lock(mutex_);
        entries_.push_back(std::move(entry));
    }
    Strings entries() const {
        const std::lock_guard lock(mutex_);
        return entries_;
    }
    std::size_t count(const std::string& entry) const {
        const Strings all = entries();
        return static_cast<std::size_t>(std::count(all.begin(), all.end(), entry));
    }
    /// Returns all entries and removes them. Sorted, for tasks that ran at once.
    Strings take() {
        const std::lock_guard lock(mutex_);
        return std::exchange(entries_, {});
    }
    Strings takeSorted() {
        Strings all = take();
        std::sort(all.begin(), all.end());
        return all;
    }

private:
    mutable std::mutex mutex_;
    Strings entries_;
};

/// Appends `text` to bar.
inline auto appends(std::string text) {
    return [text](const State&) -> Update { return {sg::add(&State::bar, text)}; };
}
/// Does the same, and logs it.
inline auto appends(Log& log, std::string text) {
    return [&log, text](const State&) -> Update {
        log.add(text);
        return {sg::add(&State::bar, text)};
    };
}
/// Asks for a string and appends "name:answer" to bar; logs each execution.
inline auto asks(Log& log, std::string name) {
    return [&log, name](const State&, sg::Runtime& runtime) -> Update {
        log.add(name);
        return {sg::add(&State::bar, name + ":" + sg::interrupt<std::string>(runtime, "what for " + name + "?"))};
    };
}

/// Options for a node whose Commands name nodes that no edge leads to.
inline sg::NodeOptions leadsTo(Strings nodes) { return {.ends = std::move(nodes)}; }

/// An input that appends to bar.
inline Update bar(std::string text) { return {sg::add(&State::bar, std::move(text))}; }

/// A place where `count` threads wait for each other. Returns false if they do not all arrive within five minutes.
class Meeting {
public:
    explicit Meeting(std::size_t count) : missing_(count) {}
    bool arrive() {
        std::unique_lock lock(mutex_);
        if (--missing_ == 0) all_here_.notify_all();
        return all_here_.wait_for(lock, std::chrono::minutes(5), [this] { return missing_ == 0; });
    }

private:
    std::mutex mutex_;
    std::condition_variable all_here_;
    std::size_t missing_;
};

/// A signal that is given once. Waiting returns false if it does not come within five minutes.
class Signal {
public:
    void give() {
        const std::lock_guard lock(mutex_);
        given_ = true;
        changed_.notify_all();
    }
    bool await() {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, std::chrono::minutes(5), [this] { return given_; });
    }
    bool isGiven() {
        const std::lock_guard lock(mutex_);
        return given_;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool given_ = false;
};

/// The E that `call` throws; if there is none, fails the test and throws.
template <class E, class F>
E thrown(F&& call) {
    try {
        call();
    } catch (const E& error) {
        return error;
    }
    throw std::runtime_error("the call should have thrown and did not");
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace graphs
