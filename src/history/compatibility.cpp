#include <stategraph/compatibility.hpp>

#include <stategraph/error.hpp>

#include "src/commit/resume_check.hpp"

// checkCompatibility: checks the newest checkpoint of every thread, a page of threads at a time.
namespace stategraph::detail {
namespace {

constexpr std::size_t heads_page_size = 256;

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
    } catch (const std::exception& error) {  // thrown by a user's Codec
        found.push_back({thread_id, head, {}, {}, {}, error.what()});
    }
}

}  // namespace

std::vector<IncompatibleThread> checkThreads(BaseCheckpointSaver& saver, const Core& core,
                                             const CompatibilityOptions& options) {
    std::vector<IncompatibleThread> found;
    saver.forEachHead({.thread_id = options.thread_id}, heads_page_size, [&](const ListedCheckpoint& head) {
        checkThread(saver, core, head.thread_id, head.id, found);
        return true;
    });
    return found;
}

}  // namespace stategraph::detail
