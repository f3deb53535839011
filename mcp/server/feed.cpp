#include "mcp/server/feed.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace stategraph::mcp::detail {

void Feed::add(std::string message) {
    if (message.empty() || has_ended_) return;
    bytes_ += message.size();
    messages_.push_back(std::move(message));
    while (bytes_ > bytes_max_ && first_ < read_) {
        bytes_ -= messages_.front().size();
        messages_.pop_front();
        ++first_;
    }
    if (announce_) announce_();
}

void Feed::send(std::string message) noexcept {
    try {
        const stategraph::detail::LockGuard lock(mutex_);
        add(std::move(message));
    } catch (const std::bad_alloc&) {  // the client misses a message, which is better than the end of the process
    }
}

void Feed::finish(std::string message, int error_code) noexcept {
    const stategraph::detail::LockGuard lock(mutex_);
    try {
        add(std::move(message));
    } catch (const std::bad_alloc&) {  // the response ends without an answer
    }
    has_ended_ = true;
    error_code_ = error_code;
    if (announce_) announce_();
}

bool Feed::isFull() const noexcept {
    const stategraph::detail::LockGuard lock(mutex_);
    return bytes_ >= bytes_max_ && first_ >= read_;
}

Feed::Read Feed::read(std::uint64_t from) {
    const stategraph::detail::LockGuard lock(mutex_);
    Read made;
    std::uint64_t number = std::max(from, first_);
    for (; number - first_ < messages_.size(); ++number) {
        if (const std::string id = idOf(number); !id.empty()) made.text += "id: " + id + "\n";
        made.text += "event: message\ndata: " + messages_[number - first_] + "\n\n";
    }
    read_ = std::max(read_, number);
    made.next = number;
    made.is_end = has_ended_;
    return made;
}

std::optional<Feed::Only> Feed::only() const {
    const stategraph::detail::LockGuard lock(mutex_);
    if (!has_ended_ || first_ != 1 || messages_.size() > 1) return {};
    return Only{messages_.empty() ? std::string() : messages_.front(), error_code_};
}

bool Feed::hasEnded() const {
    const stategraph::detail::LockGuard lock(mutex_);
    return has_ended_;
}

std::size_t Feed::bytes() const {
    const stategraph::detail::LockGuard lock(mutex_);
    return bytes_;
}

void Feed::listen(std::function<void()> announce) {
    const stategraph::detail::LockGuard lock(mutex_);
    announce_ = std::move(announce);
}

}  // namespace stategraph::mcp::detail
