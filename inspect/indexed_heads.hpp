#pragma once
#include <span>

#include <stategraph/saver.hpp>

namespace stategraph::inspect {

/// Calls `take(thread, head)` with the newest checkpoint of each of `threads`, including its pending writes, in their
/// order. Threads that were deleted meanwhile are left out. It makes one call of the saver's `list`.
template <class Take>
void forEachIndexedHead(BaseCheckpointSaver& saver, std::span<const IndexedThread> threads, Take take) {
    ListQuery query{.checkpoint_ns = "", .heads = true, .with_writes = true};
    for (const IndexedThread& thread : threads) query.thread_ids.push_back(thread.place.thread_id);
    if (query.thread_ids.empty()) return;
    auto at = threads.begin();
    for (const ListedCheckpoint& head : saver.list(query)) {
        while (at != threads.end() && at->place.thread_id != head.thread_id) ++at;
        if (at == threads.end()) return;
        take(*at, head);
    }
}

}  // namespace stategraph::inspect
