#include "checkpoint/paths.hpp"

namespace stategraph::checkpoint {

std::string pullPath(std::string_view node) { return "pull:" + std::string(node); }

std::string pushPath(std::size_t index) {
    const std::string digits = std::to_string(index);
    return "push:" + std::string(10 - digits.size(), '0') + digits;
}

std::string effectPath(TaskId task, std::string_view key) {
    std::string path(effect_prefix);
    path += task.toString();
    path += ':';
    path += key;
    return path;
}

}  // namespace stategraph::checkpoint
