#include <stategraph/detail/message_fold.hpp>

#include <algorithm>
#include <functional>
#include <unordered_map>

namespace stategraph::detail {

struct MessageIndex::Impl {
    std::unordered_map<std::string, std::size_t> places;
};

MessageIndex::MessageIndex() : impl_(new Impl) {}
MessageIndex::~MessageIndex() = default;

void MessageIndex::add(std::string_view id, std::size_t at) {
    if (!id.empty()) impl_->places.emplace(id, at);
}

std::size_t MessageIndex::find(std::string_view id, std::size_t otherwise) const {
    const auto found = impl_->places.find(std::string(id));
    return found != impl_->places.end() ? found->second : otherwise;
}

void MessageIndex::clear() noexcept { impl_->places.clear(); }

void MessageRemovals::mark(std::size_t at) {
    const auto place = std::lower_bound(marked_.begin(), marked_.end(), at, std::greater<>());
    if (place == marked_.end() || *place != at) marked_.insert(place, at);
}

void MessageRemovals::unmark(std::size_t at) noexcept {
    const auto place = std::lower_bound(marked_.begin(), marked_.end(), at, std::greater<>());
    if (place != marked_.end() && *place == at) marked_.erase(place);
}

void MessageRemovals::addGone(std::string_view id) { gone_.emplace_back(id); }

bool MessageRemovals::isGone(std::string_view id) const noexcept {
    return std::find(gone_.begin(), gone_.end(), id) != gone_.end();
}

std::string messageId(const TaskId& task, std::size_t write, std::size_t place) {
    return task.toString() + "-" + std::to_string(write) + "-" + std::to_string(place);
}

}  // namespace stategraph::detail
