#include "tests/conformance/world.hpp"

#include <algorithm>
#include <utility>

namespace conformance {

void World::ran(const std::string& ns, std::string_view node, std::int64_t step, const json::value& input) {
    const std::lock_guard lock(mutex_);
    executed_.push_back({{"ns", ns}, {"step", step}, {"node", node}, {"input", input}});
}

json::array World::takeExecuted() {
    const std::lock_guard lock(mutex_);
    return std::exchange(executed_, {});
}

bool World::fails(const std::string& ns, std::string_view node, std::int64_t times) {
    const std::lock_guard lock(mutex_);
    std::int64_t& count = failures_[ns + "/" + std::string(node)];
    const bool fails = count < times;
    if (fails) ++count;
    return fails;
}

}  // namespace conformance
