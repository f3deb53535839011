#include <stategraph/detail/message_fold.hpp>

#include <algorithm>
#include <unordered_map>

namespace stategraph::detail {

struct MessageIndex::Impl {
    std::unordered_map<std::string, std::size_t> places;
};

MessageIndex::MessageIndex() noexcept : impl_(nullptr) {}
MessageIndex::~MessageIndex() = default;

void MessageIndex::add(std::string_view id, std::size_t at) {
    if (!impl_) impl_ = Owned(new Impl);
    if (!id.empty()) impl_->places.emplace(id, at);
}

std::size_t MessageIndex::find(std::string_view id, std::size_t otherwise) const {
    if (!impl_) return otherwise;
    const auto found = impl_->places.find(std::string(id));
    return found != impl_->places.end() ? found->second : otherwise;
}

void MessageIndex::clear() noexcept {
    if (impl_) impl_->places.clear();
}

struct MessageRemovals::Impl {
    std::vector<std::size_t> marked;  // in ascending order
    std::vector<std::string> gone;
};

MessageRemovals::MessageRemovals() noexcept : impl_(nullptr) {}
MessageRemovals::~MessageRemovals() = default;

MessageRemovals::Impl& MessageRemovals::impl() {
    if (!impl_) impl_ = Owned(new Impl);
    return *impl_;
}

void MessageRemovals::mark(std::size_t at) {
    auto& marked = impl().marked;
    const auto place = std::lower_bound(marked.begin(), marked.end(), at);
    if (place == marked.end() || *place != at) marked.insert(place, at);
}

void MessageRemovals::unmark(std::size_t at) noexcept {
    if (!impl_) return;
    auto& marked = impl_->marked;
    const auto place = std::lower_bound(marked.begin(), marked.end(), at);
    if (place != marked.end() && *place == at) marked.erase(place);
}

void MessageRemovals::clearMarks() noexcept {
    if (impl_) impl_->marked.clear();
}

bool MessageRemovals::takeMarked(std::size_t& at) noexcept {
    if (!impl_ || impl_->marked.empty()) return false;
    at = impl_->marked.back();
    impl_->marked.pop_back();
    return true;
}

void MessageRemovals::addGone(std::string_view id) { impl().gone.emplace_back(id); }

bool MessageRemovals::isGone(std::string_view id) const noexcept {
    return impl_ && std::find(impl_->gone.begin(), impl_->gone.end(), id) != impl_->gone.end();
}

std::string messageId(const TaskId& task, std::size_t write, std::size_t place) {
    return task.toString() + "-" + std::to_string(write) + "-" + std::to_string(place);
}

}  // namespace stategraph::detail
