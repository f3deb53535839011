#include "src/commit/thread_reading.hpp"

#include <algorithm>

namespace stategraph::engine {

bool ThreadReading::isStill(const CheckpointTuple& now) const noexcept {
    const CheckpointTuple& read = from.tuple;
    const auto isSameCommit = [](const StoredCommit& a, const StoredCommit& b) {
        return a.id == b.id && a.bytes.view() == b.bytes.view();
    };
    const auto isSameWrite = [](const StoredWrite& a, const StoredWrite& b) {
        return a.path == b.path && a.bytes == b.bytes;
    };
    return now.id == read.id && now.head == read.head && !now.next &&
           std::ranges::equal(now.commits, read.commits, isSameCommit) &&
           std::ranges::equal(now.writes, read.writes, isSameWrite);
}

}  // namespace stategraph::engine
