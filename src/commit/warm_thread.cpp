#include "src/commit/warm_thread.hpp"

#include <utility>

#include "src/value/next_id.hpp"

namespace stategraph::engine {
namespace {

// Returns the newest commit of a thread that is older than this one, or the newest of all if `before` is none.
std::optional<ListedCheckpoint> newestBefore(BaseCheckpointSaver& saver, std::string_view thread_id,
                                             CheckpointId before) {
    auto rows = saver.list(
        {.thread_id = std::string(thread_id), .checkpoint_ns = "", .before = before, .limit = 1, .with_writes = true});
    if (rows.empty()) return {};
    return std::move(rows.front());
}

}  // namespace

std::optional<checkpoint::Folded> findWarmHead(BaseCheckpointSaver& saver, const detail::Core& core,
                                               std::string_view thread_id, const WarmThread& warm) {
    std::optional<ListedCheckpoint> head = newestBefore(saver, thread_id, {});
    if (!head || head->id != warm.id || !head->writes.empty() || !head->bytes.view().starts_with(warm.checksum))
        return {};
    if (warm.account.base != warm.id) {
        // A prune may have dropped commits from which the thread was read, and rewritten another one as a whole. It
        // drops the base before the commits after it, unless the base has a question.
        const auto base = newestBefore(saver, thread_id, detail::nextId(warm.account.base));
        if (!base || base->id != warm.account.base || !base->writes.empty()) return {};
    }
    checkpoint::Folded from;
    from.tuple.id = from.tuple.head = warm.id;
    from.tuple.commits.push_back({warm.id, std::move(head->bytes)});
    from.commit = checkpoint::readCommit({thread_id, "", warm.id}, from.tuple.commits.front().bytes, true);
    from.commit.base = warm.account.base;
    from.graph = core.topology().fingerprint;
    from.schema = core.schema().fingerprint();
    return from;
}

}  // namespace stategraph::engine
