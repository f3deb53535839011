#include "inspect/http/page_runs.hpp"

#include <exception>
#include <utility>

#include <stategraph/async.hpp>
#include <stategraph/error.hpp>
#include <stategraph/executor.hpp>

namespace stategraph::inspect {
namespace {

std::string textOf(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& known) {
        return known.what();
    } catch (...) {
        return "unknown error";
    }
}

}  // namespace

PageRuns::~PageRuns() {
    stategraph::detail::UniqueLock lock(state_->mutex);
    state_->is_closed = true;
    for (const auto& [thread, control] : state_->runs) control->requestStop();
    state_->changed.wait(lock.native(), [this]() SG_REQUIRES(state_->mutex) { return state_->runs.empty(); });
}

void PageRuns::State::end(const std::string& thread, const std::exception_ptr& error) noexcept {
    const stategraph::detail::LockGuard lock(mutex);
    runs.erase(thread);
    try {
        if (error) {
            if (errors.size() >= runs_max) errors.erase(errors.begin());
            errors[thread] = textOf(error);
        } else {
            errors.erase(thread);
        }
    } catch (const std::exception&) {  // there is no memory for the text
    }
    changed.notify_all();
}

void PageRuns::begin(const std::string& thread, RunConfig config, const serve::Begin& work) {
    config.thread_id = ThreadId(thread);  // before the run is noted, because the name may be refused
    auto control = std::make_shared<RunControl>();
    {
        const stategraph::detail::LockGuard lock(state_->mutex);
        if (state_->is_closed) throw InvalidUpdateError("the inspector's server ends");
        if (state_->runs.contains(thread))
            throw ThreadBusyError("thread '" + thread + "' has a run that this page began; stop it first");
        if (state_->runs.size() >= state_->runs_max)
            throw InvalidUpdateError("this page has too many runs under way; wait for some to end");
        state_->runs.emplace(thread, control);
        state_->errors.erase(thread);
    }
    config.control = std::move(control);
    try {
        spawn(Executor::common(), work(std::move(config)),
              [state = state_, thread](Outcome<void> outcome) { state->end(thread, outcome.error()); });
    } catch (...) {
        state_->end(thread, {});
        throw;
    }
}

bool PageRuns::stop(const std::string& thread) {
    const stategraph::detail::LockGuard lock(state_->mutex);
    const auto found = state_->runs.find(thread);
    if (found == state_->runs.end()) return false;
    found->second->requestStop();
    return true;
}

PageRun PageRuns::last(const std::string& thread) const {
    const stategraph::detail::LockGuard lock(state_->mutex);
    const auto found = state_->errors.find(thread);
    return {.has_ended = !state_->runs.contains(thread),
            .error = found == state_->errors.end() ? std::string() : found->second};
}

}  // namespace stategraph::inspect
