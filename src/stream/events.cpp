#include "src/stream/events.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "src/stream/commit_events.hpp"
#include "src/stream/topic.hpp"
#include "src/value/lasting.hpp"

namespace stategraph::engine {

Events& Events::nobody() noexcept {
    static Lasting<Events> silent;
    return *silent;
}

void Events::attach(std::shared_ptr<stream::Topic> topic, bool stored, std::shared_ptr<const RunStop> stop) {
    topic_ = std::move(topic);
    stop_ = std::move(stop);
    stored_ = stored;
}

bool Events::sinkWants(StreamMode mode, bool inner) const noexcept {
    return sink_ != nullptr && (options_.subgraphs || !inner) && options_.modes.has(mode);
}

// A subscriber of a hub reads in the log what the log says.
bool Events::topicWants(StreamMode mode, bool inner) const noexcept {
    if (topic_ == nullptr || !topic_->wants(mode, inner)) return false;
    return !stored_ || inner ||
           (mode != StreamMode::values && mode != StreamMode::updates && mode != StreamMode::checkpoints);
}

bool Events::wants(StreamMode mode, bool inner) const noexcept {
    if (!any()) return false;
    if (sinkWants(mode, inner) || topicWants(mode, inner)) return true;
    return (mode == StreamMode::tasks || mode == StreamMode::checkpoints) && wantsDebug(inner);
}

void Events::at(CheckpointId id) noexcept {
    if (topic_ != nullptr) at_.store(stream::sequenceOf(id), std::memory_order_relaxed);
}

void Events::committed(CheckpointId id) {
    if (topic_ != nullptr) topic_->committed(stream::sequenceOf(id), stop_.get());
}

void Events::changed() {
    if (topic_ != nullptr) topic_->changed();
}

void Events::emit(std::optional<StreamEvent>&& event, const stream::Readers& readers) {
    if (!event) return;
    const bool inner = !event->ns.empty();
    if (topicWants(event->mode, inner))
        topic_->offer(*event, at_.load(std::memory_order_relaxed), stop_.get(), readers);
    if (readers.has(options_) && sinkWants(event->mode, inner)) give(std::move(*event));
}

// Even if a mode is requested, no event of the task may be meant for any of its readers; then none is created.
bool Events::wantsInputs(bool with_inputs) const noexcept {
    return (sink_ != nullptr && options_.task_inputs == with_inputs) ||
           (topic_ != nullptr && topic_->wantsInputs(with_inputs));
}

void Events::give(StreamEvent&& event) {
    const detail::LockGuard lock(mutex_);
    sink_->take(std::move(event));
}

void Events::noteMessage(TaskId task, int attempt, std::string_view message) {
    const detail::LockGuard lock(mutex_);
    const auto same = [&](const Emitted& each) { return each.task == task && each.message == message; };
    const auto known = std::find_if(emitted_.rbegin(), emitted_.rend(), same);
    if (known != emitted_.rend()) {
        known->attempt = attempt;
        return;
    }
    if (emitted_.size() == emitted_max) emitted_.erase(emitted_.begin());
    emitted_.push_back({task, attempt, std::string(message)});
}

std::vector<std::string> Events::takeMessages(TaskId task, int attempt) {
    std::vector<std::string> messages;
    const detail::LockGuard lock(mutex_);
    for (Emitted& each : emitted_) {
        if (each.task == task && each.attempt == attempt) messages.push_back(std::move(each.message));
    }
    std::erase_if(emitted_, [&](const Emitted& each) { return each.task == task; });
    return messages;
}

void Events::noteInside(TaskId task, std::vector<std::string>&& messages) {
    const detail::LockGuard lock(mutex_);
    if (inside_.size() == inside_max) inside_.erase(inside_.begin());
    inside_.push_back({task, std::move(messages)});
}

std::vector<std::string> Events::takeInside(TaskId task) {
    std::vector<std::string> messages;
    const detail::LockGuard lock(mutex_);
    for (ReportedInside& each : inside_) {
        if (each.task == task) std::ranges::move(each.messages, std::back_inserter(messages));
    }
    std::erase_if(inside_, [&](const ReportedInside& each) { return each.task == task; });
    return messages;
}

// The run has ended, however it did, but its end was not reported yet.
Events::~Events() {
    if (is_run_open_ && topic_ != nullptr) topic_->runEnds(nullptr, at_.load(std::memory_order_relaxed), stop_.get());
}

void Events::runBegins() {
    is_run_open_ = true;
    if (topic_ != nullptr) topic_->runBegins();
}

bool Events::closeRun(CheckpointId stored) noexcept {
    if (!std::exchange(is_run_open_, false)) return false;
    if (stored && stream::sequenceOf(stored) > at_.load(std::memory_order_relaxed)) at(stored);
    return true;
}

void Events::giveRunEnd(std::optional<StreamEvent>&& event) noexcept {
    const bool is_wanted = event && topicWants(StreamMode::runs, false);
    if (topic_ != nullptr)
        topic_->runEnds(is_wanted ? &*event : nullptr, at_.load(std::memory_order_relaxed), stop_.get());
    try {
        if (event && sinkWants(StreamMode::runs, false)) give(std::move(*event));
    } catch (...) {
        // There is no memory. The reader of the stream learns of the run's end from the end of the stream.
    }
}

}  // namespace stategraph::engine
