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
                    .limit = options.thread_id ? 1 : page_size,
                    .heads = true};
    std::optional<std::string> first_of_page;
    std::optional<std::string> last;
    for (bool more = true; more;) {
        std::vector<ListedCheckpoint> page = saver.list(query);
        if (last && !page.empty() && page.front().thread_id == first_of_page) {
            // A saver that does not give pages begins anew each time: then all at once.
            query.limit.reset();
            query.after_thread_id.reset();
            page = saver.list(query);
            const auto known = std::find_if(page.rbegin(), page.rend(), [&](const auto& row) { return row.thread_id == *last; });
            page.erase(page.begin(), known.base());
        }
        more = !options.thread_id && query.limit && page.size() >= *query.limit;
        if (!page.empty()) first_of_page = page.front().thread_id;
        for (const ListedCheckpoint& row : page) {
            if (last == row.thread_id) continue;  // one thread's checkpoints stand together
            last = row.thread_id;
            checkThread(saver, core, row.thread_id, row.id, found);
        }
        query.after_thread_id = last;
    }
    return found;
}

}  // namespace stategraph::detail
