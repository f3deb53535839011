#pragma once
#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/forwarding_saver.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/workflow/workflow.hpp>

// Shared by the acceptance tests.
namespace acceptance {

namespace sg = stategraph;
namespace wf = stategraph::workflow;
using wf::Refusal;
using wf::RunStatus;
using wf::StepStatus;

using Strings = std::vector<std::string>;
using Paths = std::vector<Strings>;
using Asks = wf::Suspending<std::string, int>;

/// Notes of steps, in order. Safe to use from any thread.
class Notes {
public:
    void add(std::string what) {
        const std::lock_guard lock(mutex_);
        notes_.push_back(std::move(what));
    }
    Strings take() {
        const std::lock_guard lock(mutex_);
        return std::exchange(notes_, {});
    }
    Strings takeSorted() {
        Strings notes = take();
        std::sort(notes.begin(), notes.end());
        return notes;
    }

private:
    std::mutex mutex_;
    Strings notes_;
};

/// The store as one process sees it. Other processes have their own object on the same saver.
class ProcessSaver final : public sg::ForwardingSaver {
public:
    explicit ProcessSaver(std::shared_ptr<sg::BaseCheckpointSaver> inner) : ForwardingSaver(std::move(inner)) {}

    bool is_slow = false;
    /// Once true, nothing is stored any longer.
    std::atomic<bool> is_dead = false;
    std::function<void()> before_put;
    std::function<void(const sg::PutRequest&)> after_put;

    void put(const sg::PutRequest& request) override {
        if (before_put) before_put();
        if (is_dead) throw sg::SaverError("the process has ended");
        inner()->put(request);
        if (after_put) after_put(request);
    }
    bool putIsSlow() const noexcept override { return is_slow; }
    bool answersLater() const noexcept override { return false; }
    bool holdsThreads() const noexcept override { return false; }  // a dead one would not give them back
    std::unique_ptr<sg::ThreadHold> tryHold(std::string_view thread_id) override {
        return BaseCheckpointSaver::tryHold(thread_id);
    }
};

template <class F>
void checkRefused(Refusal why, F call) {
    std::string found = "accepted";
    try {
        call();
    } catch (const wf::RefusedError& error) {
        found = wf::toString(error.why());
    }
    CHECK(found == std::string(wf::toString(why)));
}

/// An event as "step-start outer.inner", "finish success".
inline std::string describe(const wf::RunEvent& event) {
    std::string text = wf::toString(event.kind);
    if (!event.path.empty()) text += " " + event.path;
    if (event.kind == wf::RunEvent::Kind::step_progress) text += " " + std::to_string(event.index);
    if (event.kind == wf::RunEvent::Kind::step_output) text += " " + event.value.as<std::string>();
    return event.status.empty() ? text : text + " " + event.status;
}

inline const auto inc = wf::step("inc", [](const int& n) { return n + 1; });
inline const auto gate = wf::step("gate", [](const int& n, Asks& context) { return n + context.suspend("how many?"); });

}  // namespace acceptance
