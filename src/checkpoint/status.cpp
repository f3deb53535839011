#include <stategraph/status.hpp>

namespace stategraph {

using detail::status_words;

const char* toString(Status status) noexcept {
    const auto number = static_cast<std::size_t>(status);
    return number < status_words.size() ? status_words[number] : "?";
}

std::optional<Status> readStatus(std::string_view word) noexcept {
    for (std::size_t i = 0; i < status_words.size(); ++i) {
        if (word == status_words[i]) return static_cast<Status>(i);
    }
    return {};
}

}  // namespace stategraph
