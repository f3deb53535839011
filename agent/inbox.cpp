#include "agent/inbox.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/error.hpp>
#include <stategraph/graph.hpp>
#include <stategraph/update.hpp>

namespace stategraph::agent::detail {

namespace {

constexpr const char* keep_node = "keep";
// How often a message is stored anew because another process stored one at the same time.
constexpr int tries_max = 100;

CompiledGraph<Letters> graphOf(const Checkpointer& checkpointer) {
    StateGraph<Letters> graph;
    graph.addNode(keep_node, [](const Letters&) { return Update<Letters>(); });
    graph.addEdge(START, keep_node).addEdge(keep_node, END);
    CompileOptions options;
    options.checkpointer = checkpointer;
    return graph.compile(options);
}

// The name of the thread that keeps the messages of a thread: this, and the thread's name.
constexpr std::string_view inbox_prefix = "inbox ";
constexpr std::size_t threads_with_messages_max = ThreadId::size_max - inbox_prefix.size();

ThreadId threadOfMessages(const ThreadId& thread) {
    return ThreadId(std::string(inbox_prefix) + std::string(thread.view()));
}

/// Leaves out what the thread has taken.
void drop(Letters& letters, std::int64_t taken) {
    const auto count = std::clamp<std::int64_t>(taken - letters.first, 0, std::ssize(letters.waiting));
    letters.waiting.erase(letters.waiting.begin(), letters.waiting.begin() + count);
    letters.first = std::max(letters.first, taken);
}

/// Returns whether the message waits already. If a client has used its id for another message, a number follows the id,
/// so that neither replaces the other.
bool waits(const std::vector<SentMessage>& waiting, model::Message& message) {
    const std::string id = message.id;
    for (int n = 2; !id.empty(); ++n) {
        const auto found =
            std::ranges::find(waiting, message.id, [](const SentMessage& each) { return each.message.id; });
        if (found == waiting.end()) break;
        if (found->message.content == message.content) return true;
        message.id = id + "-" + std::to_string(n);
    }
    return false;
}

}  // namespace

Inbox::Inbox(const Checkpointer& checkpointer) : saver_(checkpointer.saver()) {
    if (saver_) letters_ = graphOf(checkpointer);
}

void Inbox::send(const ThreadId& thread, model::Message message, bool steers, std::int64_t taken) {
    if (!letters_)
        throw MissingCheckpointerError(
            "a message can wait for a run only if the agent stores its threads; set Options::compile.checkpointer");
    const ThreadId name = threadOfMessages(thread);
    for (int left = tries_max;; --left) {
        const auto at = letters_->getState({.thread_id = name});
        Letters letters = at.values;
        drop(letters, taken);
        model::Message named = message;
        if (waits(letters.waiting, named)) break;
        if (letters.waiting.size() >= waiting_max)
            throw InvalidArgumentError(
                "as many messages wait for the run as may (" + std::to_string(waiting_max) + "); try again later",
                {.thread_id = thread.toString()});
        letters.waiting.push_back({std::move(named), steers});
        const CheckpointId newest = at.config.checkpoint_id;
        const UpdateOptions options{.as_node = keep_node,
                                    .durability = Durability::sync,
                                    .only_new = newest.empty(),
                                    .only_at = newest,
                                    .on_busy = OnBusy::wait};
        try {
            letters_->updateState(
                {.thread_id = name},
                {set(&Letters::waiting, std::move(letters.waiting)), set(&Letters::first, letters.first)}, options);
            break;
        } catch (const ConcurrentUpdateError&) {
            if (left == 1) throw;
        }
    }
    const stategraph::detail::LockGuard lock(mutex_);
    empty_.erase(thread.toString());
}

bool Inbox::mayHave(const ThreadId& thread) const {
    const stategraph::detail::LockGuard lock(mutex_);
    return letters_ && !empty_.contains(thread.view());
}

Inbox::Waiting Inbox::read(const ThreadId& thread, std::int64_t taken) {
    if (!letters_ || thread.view().size() > threads_with_messages_max) return {.taken = taken};
    // Before the read: what is sent meanwhile takes the thread out again.
    {
        const stategraph::detail::LockGuard lock(mutex_);
        if (empty_.size() >= threads_max) empty_.clear();
        empty_.emplace(thread.view());
    }
    Waiting waiting;
    try {
        const ThreadId name = threadOfMessages(thread);
        // Most threads have none, which costs less to see than a state.
        if (!saver_->getTuple({.log = {.thread_id = name}})) return {.taken = taken};
        Letters letters = letters_->getState({.thread_id = name}).values;
        drop(letters, taken);
        waiting = {std::move(letters.waiting), letters.first};
    } catch (...) {
        const stategraph::detail::LockGuard lock(mutex_);
        empty_.erase(thread.toString());
        throw;
    }
    if (waiting.messages.empty()) return {.taken = taken};
    waiting.taken += std::ssize(waiting.messages);
    const stategraph::detail::LockGuard lock(mutex_);
    empty_.erase(thread.toString());
    return waiting;
}

Inbox::Waiting Inbox::look(const ThreadId& thread, std::int64_t taken) {
    if (!mayHave(thread)) return {.taken = taken};
    return read(thread, taken);
}

}  // namespace stategraph::agent::detail
