#include "src/stream/mailbox.hpp"

#include <algorithm>
#include <utility>

#include <stategraph/error.hpp>

#include "src/stream/message_event.hpp"
#include "src/threads/run_stop.hpp"

namespace stategraph::stream {
namespace {

// How many waiting events are looked at for the message that a part belongs to: many more than models write at once.
constexpr std::size_t join_search_max = 64;

// Estimates the size of an event: its values, and the object.
std::size_t sizeOf(const StreamEvent& event) noexcept {
    std::size_t bytes = sizeof(Mailbox::Waiting) + event.data.bytes().size() + event.node.size();
    for (const auto& segment : event.ns) bytes += sizeof(segment) + segment.size();
    for (const auto& interrupt : event.interrupts) bytes += sizeof(interrupt) + interrupt.value.bytes().size();
    return bytes;
}

}  // namespace

bool Mailbox::wants(const StreamEvent& event) const noexcept {
    return options_.modes.has(event.mode) && (options_.subgraphs || event.ns.empty());
}

bool Mailbox::isFull(std::size_t bytes) const noexcept {
    return !events_.empty() && (events_.size() >= options_.capacity || bytes_ + bytes > options_.capacity_bytes);
}

// Events of other modes are dropped first, because a reader that waits for the end of a run must not miss it.
void Mailbox::dropOldest() {
    const auto isOther = [](const Waiting& each) { return each.event.mode != StreamMode::runs; };
    auto oldest = std::find_if(events_.begin(), events_.end(), isOther);
    if (oldest == events_.end()) oldest = events_.begin();
    bytes_ -= oldest->bytes;
    events_.erase(oldest);
    dropped_.fetch_add(1);
}

void Mailbox::push(const StreamEvent& event, std::int64_t after, std::size_t bytes) {
    events_.push_back({event, after, bytes});
    bytes_ += bytes;
    notifyReader();
}

// Called under the lock, because the waiting reader exists until then.
void Mailbox::notifyReader() noexcept {
    filled_.notify_all();
    if (Waiter* const waiter = std::exchange(waiter_, nullptr)) waiter->wake(waiter->context);
}

// Appends the event to the newest waiting part of the same message. The text is only kept: the reader puts the parts
// together, so that a run that is ahead does not copy a growing text for each part of it.
bool Mailbox::joinPart(const StreamEvent& event) {
    std::size_t left = join_search_max;
    for (auto at = events_.rbegin(); at != events_.rend() && left > 0; ++at, --left) {
        const auto text = continuation(at->event, event);
        if (!text) continue;
        if (at->bytes + text->size() > options_.capacity_bytes) return false;
        at->joined.append(*text);
        at->bytes += text->size();
        bytes_ += text->size();
        while (events_.size() > 1 && bytes_ > options_.capacity_bytes) dropOldest();
        return true;
    }
    return false;
}

void Mailbox::disconnect() {
    disconnected_ = true;
    closed_ = true;
    events_.clear();
    bytes_ = 0;
    notifyReader();
    room_.notify_all();
}

// Returns false if the run is to end first.
template <class Ready>
bool Mailbox::waitForRoom(std::unique_lock<std::mutex>& lock, const engine::RunStop* stop, Ready has_room) {
    const auto is_over = [&]() SG_REQUIRES(mutex_) { return closed_ || has_room(); };
    if (stop != nullptr) return stop->wait(room_, lock, is_over);
    room_.wait(lock, is_over);
    return true;
}

void Mailbox::offer(const StreamEvent& event, std::int64_t after, const engine::RunStop* stop) {
    if (!wants(event)) return;
    detail::UniqueLock lock(mutex_);
    if (!closed_ && !ends_after_) offerLocked(lock.native(), event, after, stop);
}

void Mailbox::runEnds(const StreamEvent* end, std::int64_t after, const engine::RunStop* stop) noexcept {
    detail::UniqueLock lock(mutex_);
    if (closed_ || ends_after_) return;
    // Set before it waits for room, so that events of other runs are not accepted.
    if (options_.until == Until::run_end) {
        ends_after_ = after;
        is_ending_ = true;
    }
    try {
        if (end != nullptr && wants(*end)) offerLocked(lock.native(), *end, after, stop);
    } catch (...) {
        dropped_.fetch_add(1);
    }
    is_ending_ = false;
    changed_ = true;
    notifyReader();
}

void Mailbox::offerLocked(std::unique_lock<std::mutex>& lock, const StreamEvent& event, std::int64_t after,
                          const engine::RunStop* stop) {
    const std::size_t bytes = sizeOf(event);
    if (isFull(bytes)) {
        switch (options_.on_full) {
            case OnFull::drop_ephemeral:
                if (event.mode != StreamMode::runs) {
                    dropped_.fetch_add(1);
                    return;
                }
                while (isFull(bytes)) dropOldest();
                break;
            case OnFull::coalesce:
                if (joinPart(event)) return;
                while (isFull(bytes)) dropOldest();
                break;
            case OnFull::disconnect:
                disconnect();
                return;
            case OnFull::block:
                if (!waitForRoom(lock, stop, [&]() SG_REQUIRES(mutex_) { return !isFull(bytes); })) {
                    if (event.mode != StreamMode::runs) {
                        dropped_.fetch_add(1);
                        return;
                    }
                    while (isFull(bytes)) dropOldest();
                }
                if (closed_) return;
                break;
        }
    }
    push(event, after, bytes);
}

void Mailbox::committed(std::int64_t sequence, const engine::RunStop* stop) {
    detail::UniqueLock lock(mutex_);
    if (closed_ || ends_after_) return;
    if (!first_notified_) first_notified_ = sequence;
    ++ahead_;
    changed_ = true;
    notifyReader();
    if (ahead_ <= options_.capacity) return;
    if (options_.on_full == OnFull::disconnect) disconnect();
    if (options_.on_full == OnFull::block)
        (void)waitForRoom(lock.native(), stop, [this]() SG_REQUIRES(mutex_) { return ahead_ <= options_.capacity; });
}

void Mailbox::changed() {
    const detail::LockGuard lock(mutex_);
    changed_ = true;
    notifyReader();
}

std::optional<Mailbox::Waiting> Mailbox::take(std::int64_t bound, std::int64_t end_bound, bool read) {
    const detail::LockGuard lock(mutex_);
    if (closed_ || (changed_ && !read) || events_.empty() || events_.front().after >= bound) return {};
    if (events_.front().after >= end_bound && isRunEnd(events_.front().event)) return {};
    if (Waiting& front = events_.front(); !front.joined.empty()) {
        append(front.event, front.joined);
        front.joined.clear();
    }
    std::optional<Waiting> first = std::move(events_.front());
    events_.pop_front();
    bytes_ -= first->bytes;
    room_.notify_all();
    return first;
}

bool Mailbox::takeChanged() {
    const detail::LockGuard lock(mutex_);
    return std::exchange(changed_, false);
}

void Mailbox::told(std::int64_t sequence) {
    const detail::LockGuard lock(mutex_);
    if (ahead_ == 0 || !first_notified_ || sequence < *first_notified_) return;
    --ahead_;
    room_.notify_all();
}

void Mailbox::toldAll() {
    const detail::LockGuard lock(mutex_);
    if (changed_) return;
    ahead_ = 0;
    room_.notify_all();
}

bool Mailbox::wait(std::optional<Clock::time_point> deadline) {
    detail::UniqueLock lock(mutex_);
    const auto ready = [this]() SG_REQUIRES(mutex_) { return isReady(); };
    if (!deadline) {
        filled_.wait(lock.native(), ready);
    } else if (!filled_.wait_until(lock.native(), *deadline, ready)) {
        return false;
    }
    return !closed_;
}

bool Mailbox::watch(Waiter& waiter) {
    const detail::LockGuard lock(mutex_);
    if (waiter_ != nullptr)
        throw InvalidArgumentError(
            "a subscription is read by two at a time: await its `asyncNext` before you call it again");
    if (isReady()) return false;
    waiter_ = &waiter;
    return true;
}

void Mailbox::forget(const Waiter& waiter) noexcept {
    const detail::LockGuard lock(mutex_);
    if (waiter_ == &waiter) waiter_ = nullptr;
}

void Mailbox::wakeReader() noexcept {
    const detail::LockGuard lock(mutex_);
    woken_ = true;
    notifyReader();
}

bool Mailbox::takeWoken() noexcept {
    const detail::LockGuard lock(mutex_);
    return std::exchange(woken_, false);
}

std::optional<std::int64_t> Mailbox::endsAfter() const {
    const detail::LockGuard lock(mutex_);
    return ends_after_;
}

Mailbox::Left Mailbox::left() const {
    const detail::LockGuard lock(mutex_);
    if (is_ending_) return Left::end;
    return events_.empty() && !changed_ ? Left::nothing : Left::log;
}

void Mailbox::close() noexcept {
    const detail::LockGuard lock(mutex_);
    closed_ = true;
    notifyReader();
    room_.notify_all();
}

std::size_t Mailbox::waiting() const {
    const detail::LockGuard lock(mutex_);
    return events_.size();
}

}  // namespace stategraph::stream
