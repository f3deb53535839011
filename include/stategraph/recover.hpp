#pragma once
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <stategraph/config.hpp>
#include <stategraph/unfinished.hpp>

namespace stategraph {

/// Any callable `bool f(const UnfinishedThread&)`, or none. (A std::function's header would cost every file more than
/// the rest of this one.)
class ThreadFilter {
public:
    ThreadFilter() = default;
    ThreadFilter(std::nullptr_t) {}
    template <class F>
        requires(!std::is_same_v<std::decay_t<F>, ThreadFilter> &&
                 std::is_invocable_r_v<bool, std::decay_t<F>&, const UnfinishedThread&>)
    ThreadFilter(F&& f) {
        using Stored = std::decay_t<F>;
        if constexpr (std::is_constructible_v<Stored, std::nullptr_t>) {
            if (!f) return;
        }
        callable_ = std::make_shared<Stored>(std::forward<F>(f));
        call_ = [](void* callable, const UnfinishedThread& thread) -> bool {
            return (*static_cast<Stored*>(callable))(thread);
        };
    }

    explicit operator bool() const noexcept { return call_ != nullptr; }
    bool operator()(const UnfinishedThread& thread) const { return call_(callable_.get(), thread); }

private:
    std::shared_ptr<void> callable_;
    bool (*call_)(void* callable, const UnfinishedThread& thread) = nullptr;
};

/// Which threads are resumed, and how.
struct RecoverOptions {
    /// The configuration of the runs; its thread and checkpoint are not used.
    RunConfig run = {};
    /// Selects threads; null: all. Called from one thread.
    ThreadFilter only = {};
    /// Resumes also threads whose newest checkpoint another version of this graph made, or another graph that shares
    /// the saver. Off: they are reported and skipped.
    bool other_versions = false;
    /// Resumes also threads that an edit left with tasks due (Status::edited). Off: they wait for the caller that
    /// edited them.
    bool edited = false;
    /// How many threads are run at once; at least 1.
    std::size_t concurrency = 4;
};

/// The outcome for one thread that was in flight, whose sleep was over, that was edited (with RecoverOptions::edited),
/// or that cannot be read.
struct RecoveredThread {
    std::string thread_id;
    /// How its run ended; none if it failed or was skipped.
    std::optional<Status> status;
    /// What the run failed with, or a CorruptCheckpointError if the thread cannot be read; null if neither, or if it
    /// was skipped.
    std::exception_ptr error;
    /// The error's text, or why the thread was skipped.
    std::string why;
};

/// The outcome for each thread.
using RecoverReport = std::vector<RecoveredThread>;

namespace detail {
class Core;
RecoverReport recover(const Core& core, const RecoverOptions& options);
}  // namespace detail

}  // namespace stategraph
