#include "src/checkpoint/paths.hpp"

#include <array>
#include <charconv>
#include <system_error>

#include <stategraph/detail/task_digits.hpp>

namespace stategraph::checkpoint {
namespace {

constexpr std::string_view sleeping_prefix = "sleeping:";

}  // namespace

std::string pullPath(std::string_view node) { return "pull:" + std::string(node); }

std::string pushPath(std::size_t index) {
    std::string path = "push:0000000000";
    for (std::size_t at = path.size(); index > 0; index /= 10) path[--at] = static_cast<char>('0' + index % 10);
    return path;
}

std::string sleepingUntil(std::int64_t unix_ms) { return std::string(sleeping_prefix) + std::to_string(unix_ms); }

std::optional<std::int64_t> sleepsUntil(std::string_view word) {
    if (!word.starts_with(sleeping_prefix)) return {};
    word.remove_prefix(sleeping_prefix.size());
    std::int64_t unix_ms = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), unix_ms);
    if (error != std::errc() || end != word.data() + word.size()) return {};
    return unix_ms;
}

std::string effectPath(TaskId task, std::string_view key) {
    std::array<char, effect_prefix.size() + detail::task_digits + 1> begin;
    effect_prefix.copy(begin.data(), effect_prefix.size());
    detail::writeDigits(task, begin.data() + effect_prefix.size());
    begin.back() = ':';
    std::string path;
    path.reserve(begin.size() + key.size());
    path.append(begin.data(), begin.size()).append(key);
    return path;
}

}  // namespace stategraph::checkpoint
