#include <stategraph/status.hpp>

namespace stategraph {
namespace {

constexpr std::array words{"in_flight", "done",      "interrupted", "failed",  "breakpoint", "limit",
                           "cancelled", "timed_out", "sleeping",    "edited",  "damaged",    "sealed",
                           "set_aside", "drained",   "left",        "retried", "handled"};
static_assert(words.size() == static_cast<std::size_t>(Status::handled) + 1);

}  // namespace

const char* toString(Status status) noexcept {
    const auto number = static_cast<std::size_t>(status);
    return number < words.size() ? words[number] : "?";
}

std::optional<Status> readStatus(std::string_view word) noexcept {
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (word == words[i]) return static_cast<Status>(i);
    }
    return {};
}

}  // namespace stategraph
