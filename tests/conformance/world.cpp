#include "tests/conformance/world.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace conformance {
namespace {

std::size_t sizeOf(const json::value& value) {
    std::size_t size = 1;
    if (const json::string* text = value.if_string()) size += text->size();
    if (const json::array* items = value.if_array()) {
        for (const json::value& item : *items) size += sizeOf(item);
    }
    if (const json::object* object = value.if_object()) {
        for (const auto& entry : *object) size += entry.key().size() + sizeOf(entry.value());
    }
    return size;
}

}  // namespace

void World::ran(const std::string& ns, std::string_view node, std::int64_t step, const json::value& input) {
    if (limits_.input_size_max > 0 && sizeOf(input) > limits_.input_size_max)
        throw std::length_error("the node's input is too large");
    const std::lock_guard lock(mutex_);
    if (limits_.executions_max > 0 && ++executions_ > limits_.executions_max)
        throw std::length_error("too many nodes ran");
    executed_.push_back({{"ns", ns}, {"step", step}, {"node", node}, {"input", input}});
}

json::array World::takeExecuted() {
    const std::lock_guard lock(mutex_);
    return std::exchange(executed_, {});
}

void World::asked(const std::string& thread, const json::value& question, stategraph::TaskId id) {
    asked_.insert_or_assign({thread, json::serialize(canonical(question))}, id);
}

stategraph::TaskId World::idOf(const std::string& thread, const json::value& question) const {
    const auto found = asked_.find({thread, json::serialize(canonical(question))});
    return found != asked_.end() ? found->second : stategraph::TaskId(1, 1);
}

bool World::fails(const std::string& ns, std::string_view node, std::int64_t times) {
    const std::lock_guard lock(mutex_);
    std::int64_t& count = failures_[ns + "/" + std::string(node)];
    const bool fails = count < times;
    if (fails) ++count;
    return fails;
}

}  // namespace conformance
