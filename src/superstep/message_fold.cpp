#include <stategraph/detail/message_fold.hpp>

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

std::string messageId(const TaskId& task, std::size_t write, std::size_t place) {
    return task.toString() + "-" + std::to_string(write) + "-" + std::to_string(place);
}

}  // namespace stategraph::detail
