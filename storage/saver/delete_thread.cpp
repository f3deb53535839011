#include <stategraph/delete_thread.hpp>

#include <stategraph/ids.hpp>

namespace stategraph {

namespace {

constexpr std::string_view inbox_prefix = "inbox ";

}  // namespace

std::string inboxOf(std::string_view thread_id) { return std::string(inbox_prefix) + std::string(thread_id); }

bool isInbox(std::string_view thread_id) noexcept { return thread_id.starts_with(inbox_prefix); }

void deleteWholeThread(BaseCheckpointSaver& saver, std::string_view thread_id) {
    saver.deleteThread(thread_id);
    // Afterwards: a thread that cannot be deleted, because it runs, keeps what waits for it.
    if (thread_id.size() + inbox_prefix.size() <= ThreadId::size_max) saver.deleteThread(inboxOf(thread_id));
}

}  // namespace stategraph
