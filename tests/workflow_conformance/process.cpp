#include "tests/workflow_conformance/process.hpp"

#include <utility>

namespace workflow_conformance {

bool World::isOneOf(const std::string& key, std::int64_t times) {
    const std::lock_guard lock(mutex_);
    std::int64_t& count = counts_[key];
    const bool counts = count < times;
    if (counts) ++count;
    return counts;
}

bool Process::crashed() const {
    const std::lock_guard lock(mutex_);
    return crashed_;
}

void Process::crash() {
    {
        const std::lock_guard lock(mutex_);
        crashed_ = true;
    }
    throw CrashError();
}

void Process::requireAlive() const {
    if (crashed()) throw CrashError();
}

void Process::executed(json::object call) {
    const std::lock_guard lock(mutex_);
    if (crashed_) throw CrashError();
    executed_.push_back(std::move(call));
}

void Process::told(json::array event) {
    const std::lock_guard lock(mutex_);
    if (!crashed_) events_.push_back(std::move(event));
}

json::array Process::takeExecuted() {
    const std::lock_guard lock(mutex_);
    return std::exchange(executed_, {});
}

json::array Process::takeEvents() {
    const std::lock_guard lock(mutex_);
    return std::exchange(events_, {});
}

}  // namespace workflow_conformance
