#include <stategraph/workflow/waker.hpp>

#include <algorithm>
#include <stop_token>
#include <thread>

#include "workflow/flow_impl.hpp"

namespace stategraph::workflow {

struct Waker::Impl {
    Impl(std::vector<Flow> woken, WakerOptions with) : flows(std::move(woken)), options(std::move(with)) {
        for (const Flow& flow : flows) flow.impl_->bells.add(bell);
        thread = std::jthread([this](const std::stop_token& stop) { run(stop); });
    }

    void run(const std::stop_token& stop) {
        while (!stop.stop_requested()) bell->wait(resumeDue(stop), stop);
    }
    Bell::Time resumeDue(const std::stop_token& stop);
    void resume(const Flow& flow, const std::string& run_id);
    void report(const std::string& run_id) const noexcept;

    std::vector<Flow> flows;
    WakerOptions options;
    std::shared_ptr<Bell> bell = std::make_shared<Bell>();
    std::jthread thread;  // last, so that it ends before the other members are destroyed
};

// Resumes the runs that are due. Returns when to look again.
Bell::Time Waker::Impl::resumeDue(const std::stop_token& stop) {
    constexpr std::chrono::milliseconds longest = std::chrono::hours(24);  // the greatest interval would overflow
    Bell::Time next = std::chrono::system_clock::now() + std::min(options.poll_interval, longest);
    for (const Flow& flow : flows) {
        try {
            for (const Flow::DueRun& due : flow.dueRuns(next)) {
                if (stop.stop_requested()) return next;
                if (!due.at && !options.takes_left_runs) continue;
                if (due.at && *due.at > std::chrono::system_clock::now()) {
                    next = std::min(next, *due.at);
                } else {
                    resume(flow, due.run_id);
                }
            }
        } catch (...) {
            report({});
        }
    }
    return next;
}

void Waker::Impl::resume(const Flow& flow, const std::string& run_id) {
    try {
        const RunView view = flow.restart(run_id);
        try {
            if (options.on_resumed) options.on_resumed(run_id, view);
        } catch (...) {
            // An exception of the callback does not change the run.
        }
    } catch (const RefusedError& error) {
        // Otherwise another process, or a caller, was first.
        if (error.why() == Refusal::changed_definition) report(run_id);
    } catch (...) {
        report(run_id);
    }
}

void Waker::Impl::report(const std::string& run_id) const noexcept {
    try {
        if (options.on_error) options.on_error(run_id, std::current_exception());
    } catch (...) {
        // The run stays due, and the next look tries again.
    }
}

Waker::Waker(std::vector<Flow> flows, WakerOptions options) {
    if (options.poll_interval < std::chrono::milliseconds(1)) {
        throw InvalidArgumentError(
            "WakerOptions::poll_interval is below 1 ms; give it the longest time that a left run may wait");
    }
    impl_ = std::make_unique<Impl>(std::move(flows), std::move(options));
}
Waker::~Waker() = default;

}  // namespace stategraph::workflow
