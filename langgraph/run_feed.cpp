#include "langgraph/run_feed.hpp"

#include <algorithm>
#include <utility>

namespace stategraph::langgraph {

namespace {

constexpr std::size_t piece_bytes = 64U << 10U;

bool isWanted(std::string_view name, const std::vector<std::string>& modes) {
    if (modes.empty()) return true;
    const std::string_view mode = name.substr(0, name.find_first_of("|/"));
    return std::ranges::find(modes, mode) != modes.end();
}

}  // namespace

RunFeed::RunFeed(std::size_t bytes_max, std::shared_ptr<FeedBytes> all, std::size_t about, std::uint64_t base)
    : bytes_max_(bytes_max), all_(std::move(all)), about_(about), base_(base), first_(base) {
    all_->used += about_;
}

RunFeed::~RunFeed() { all_->used -= about_ + bytes_; }

void RunFeed::forgetOldest() {
    const std::size_t size = events_.front().name.size() + events_.front().data.size();
    bytes_ -= size;
    all_->used -= size;
    events_.pop_front();
    ++first_;
}

void RunFeed::tell() const {
    for (const auto& [number, announce] : listeners_) announce();
}

void RunFeed::add(std::string name, std::string data) {
    const stategraph::detail::LockGuard lock(mutex_);
    bytes_ += name.size() + data.size();
    all_->used += name.size() + data.size();
    events_.push_back({std::move(name), std::move(data)});
    while ((bytes_ > bytes_max_ || all_->areTooMany()) && events_.size() > 1) forgetOldest();
    tell();
}

void RunFeed::end(bool is_whole) noexcept {
    const stategraph::detail::LockGuard lock(mutex_);
    if (has_ended_) return;
    has_ended_ = true;
    is_whole_ = is_whole;
    tell();
}

bool RunFeed::hasEnded() const {
    const stategraph::detail::LockGuard lock(mutex_);
    return has_ended_;
}

void RunFeed::forget() {
    const stategraph::detail::LockGuard lock(mutex_);
    while (!events_.empty()) forgetOldest();
}

RunFeed::Read RunFeed::read(std::uint64_t from, const std::vector<std::string>& modes) const {
    return readAs(from, [&](std::uint64_t number, const Event& event, std::string& text) {
        if (!isWanted(event.name, modes)) return;
        text.append("event: ").append(event.name).append("\ndata: ").append(event.data);
        text.append("\nid: ").append(std::to_string(number)).append("\n\n");
    });
}

RunFeed::Read RunFeed::readAs(std::uint64_t from, const Write& write) const {
    const stategraph::detail::LockGuard lock(mutex_);
    Read read{.text = {}, .next = from};
    if (from == 0) {
        read.next = first_;
    } else if (from < first_) {
        read.is_lost = true;
        return read;
    }
    const std::uint64_t end = first_ + events_.size();
    for (; read.next < end && read.text.size() < piece_bytes; ++read.next)
        write(read.next, events_[read.next - first_], read.text);
    if (read.next < end || !has_ended_) return read;
    read.is_end = is_whole_;
    read.is_lost = !is_whole_;
    return read;
}

std::uint64_t RunFeed::first() const {
    const stategraph::detail::LockGuard lock(mutex_);
    return first_;
}

std::uint64_t RunFeed::next() const {
    const stategraph::detail::LockGuard lock(mutex_);
    return first_ + events_.size();
}

std::uint64_t RunFeed::listen(std::function<void()> announce) {
    const stategraph::detail::LockGuard lock(mutex_);
    const std::uint64_t number = next_listener_++;
    listeners_.emplace(number, std::move(announce));
    return number;
}

void RunFeed::unlisten(std::uint64_t listener) {
    const stategraph::detail::LockGuard lock(mutex_);
    listeners_.erase(listener);
}

}  // namespace stategraph::langgraph
