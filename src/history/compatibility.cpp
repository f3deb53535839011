#include <stategraph/compatibility.hpp>

#include <algorithm>

#include <stategraph/error.hpp>

#include "src/commit/resume_check.hpp"

// checkCompatibility: every thread's newest checkpoint, a page of threads at a time.
namespace stategraph::detail {
namespace {

constexpr std::size_t page_size = 256;

void checkThread(BaseCheckpointSaver& saver, const Core& core, const std::string& thread_id, CheckpointId head,
                 std::vector<IncompatibleThread>& found) {
    try {
        engine::checkNewest(core, saver, {thread_id, ""});
    } catch (const SaverError&) {
        throw;
    } catch (const Error& error) {
        const ErrorContext& at = error.context();
        const CheckpointId id = at.checkpoint_id.empty() ? head : CheckpointId(at.checkpoint_id);
        found.push_back({thread_id, id, at.checkpoint_ns, at.node, at.channel, error.message()});
    } catch (const std::exception& error) {  // a user's Codec
        found.push_back({thread_id, head, {}, {}, {}, error.what()});
    }
}

}  // namespace

std::vector<IncompatibleThread> checkThreads(BaseCheckpointSaver& saver, const Core& core, const CompatibilityOptions& options) {
    std::vector<IncompatibleThread> found;
    ListQuery query{.thread_id = options.thread_id,
                    .checkpoint_ns = "",
                    .before = {},
                    .limit = page_size,
                    .heads = true};
    for (;;) {
        const std::vector<ListedCheckpoint> page = saver.list(query);
        for (const ListedCheckpoint& row : page) checkThread(saver, core, row.thread_id, row.id, found);
        if (page.size() < page_size) break;
        query.after_thread_id = page.back().thread_id;
    }
    return found;
}

}  // namespace stategraph::detail
