#include "agent/inbox.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/delete_thread.hpp>
#include <stategraph/error.hpp>
#include <stategraph/graph.hpp>
#include <stategraph/id_source.hpp>
#include <stategraph/update.hpp>

namespace stategraph::agent::detail {

namespace {

constexpr const char* keep_node = "keep";
// How often a message is stored anew because another process stored one at the same time.
constexpr int tries_max = 100;
// After so many changes the older checkpoints of the messages' thread are dropped: nobody reads them.
constexpr std::int64_t changes_kept = 32;

CompiledGraph<Letters> graphOf(const Checkpointer& checkpointer) {
    StateGraph<Letters> graph;
    graph.addNode(keep_node, [](const Letters&) { return Update<Letters>(); });
    graph.addEdge(START, keep_node).addEdge(keep_node, END);
    CompileOptions options;
    options.checkpointer = checkpointer;
    return graph.compile(options);
}

ThreadId threadOfMessages(const ThreadId& thread) { return ThreadId(inboxOf(thread.view())); }

bool mayHaveInbox(const ThreadId& thread) { return inboxOf(thread.view()).size() <= ThreadId::size_max; }

/// Leaves out what the thread has taken. Returns whether that was anything.
bool drop(Letters& letters, std::int64_t taken) {
    const auto count = std::clamp<std::int64_t>(taken - letters.first, 0, std::ssize(letters.waiting));
    letters.waiting.erase(letters.waiting.begin(), letters.waiting.begin() + count);
    letters.first = std::max(letters.first, taken);
    return count > 0;
}

/// Drops all checkpoints of the messages' thread but the newest. One that cannot be pruned takes messages all the same.
void dropOlder(BaseCheckpointSaver& saver, const ThreadId& messages) {
    try {
        saver.prune({.thread_id = messages.toString(), .keep_last = 1});
    } catch (const std::exception&) {  // only room is lost, and a later change tries again
    }
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

template <class Change>
void Inbox::edit(const ThreadId& thread, const Change& change) {
    const ThreadId name = threadOfMessages(thread);
    for (int left = tries_max;; --left) {
        const auto at = letters_->getState({.thread_id = name});
        Letters letters = at.values;
        if (!change(letters)) return;
        const CheckpointId newest = at.config.checkpoint_id;
        if (at.step % changes_kept == changes_kept - 1) dropOlder(*saver_, name);
        const UpdateOptions options{.as_node = keep_node,
                                    .durability = Durability::sync,
                                    .only_new = newest.empty(),
                                    .only_at = newest,
                                    .on_busy = OnBusy::wait};
        try {
            letters_->updateState(
                {.thread_id = name},
                {set(&Letters::waiting, std::move(letters.waiting)), set(&Letters::first, letters.first)}, options);
            return;
        } catch (const ConcurrentUpdateError&) {
            if (left == 1) throw;
        }
    }
}

std::string Inbox::send(const ThreadId& thread, model::Message message, bool steers, std::int64_t taken) {
    if (!letters_)
        throw MissingCheckpointerError(
            "a message can wait for a run only if the agent stores its threads; set Options::compile.checkpointer. An "
            "agent inside a graph takes no messages itself: send them to the graph, where it is served, or run the "
            "graph with them");
    // Two that take the same message at one time know it by its id.
    if (message.id.empty()) message.id = "sent-" + std::to_string(IdSource::system().uniqueBits());
    std::string stored_id;
    edit(thread, [&](Letters& letters) {
        drop(letters, taken);
        stored_id.clear();
        model::Message named = message;
        if (waits(letters.waiting, named)) return false;
        if (letters.waiting.size() >= waiting_max)
            throw InvalidArgumentError(
                "as many messages wait for the run as may (" + std::to_string(waiting_max) + "); try again later",
                {.thread_id = thread.toString()});
        stored_id = named.id;
        letters.waiting.push_back({std::move(named), steers});
        return true;
    });
    const stategraph::detail::LockGuard lock(mutex_);
    ++sent_;
    empty_.erase(thread.toString());
    return stored_id;
}

void Inbox::withdraw(const ThreadId& thread, const std::string& id) {
    bool was_last = false;
    edit(thread, [&](Letters& letters) {
        const auto count =
            std::erase_if(letters.waiting, [&](const SentMessage& each) { return each.message.id == id; });
        // Those behind it keep their numbers: a later message must not get a number that is taken.
        letters.first += static_cast<std::int64_t>(count);
        was_last = count > 0 && letters.waiting.empty();
        return count > 0 && !was_last;
    });
    if (was_last) saver_->deleteThread(inboxOf(thread.view()));
}

void Inbox::forget(const ThreadId& thread, std::int64_t taken) {
    if (letters_ && mayHaveInbox(thread)) edit(thread, [&](Letters& letters) { return drop(letters, taken); });
}

bool Inbox::isStored(const ThreadId& thread, CheckpointId at) const {
    if (!saver_ || at.empty()) return false;
    const auto newest = saver_->getTuple({.log = {.thread_id = thread}});
    return newest && newest->id == at;
}

bool Inbox::hasThread(const ThreadId& thread) const {
    return saver_ && saver_->getTuple({.log = {.thread_id = thread}}).has_value();
}

bool Inbox::mayHave(const ThreadId& thread) const {
    const stategraph::detail::LockGuard lock(mutex_);
    return letters_ && !empty_.contains(thread.view());
}

Inbox::Waiting Inbox::read(const ThreadId& thread, std::int64_t taken) {
    if (!letters_ || !mayHaveInbox(thread)) return {.taken = taken};
    std::uint64_t sent = 0;
    {
        const stategraph::detail::LockGuard lock(mutex_);
        sent = sent_;
    }
    const ThreadId name = threadOfMessages(thread);
    Letters letters;
    // Most threads have none, which costs less to see than a state.
    if (saver_->getTuple({.log = {.thread_id = name}})) letters = letters_->getState({.thread_id = name}).values;
    Waiting waiting{.taken = taken};
    waiting.keeps_taken = drop(letters, taken);
    if (!letters.waiting.empty()) waiting.taken = letters.first;
    for (SentMessage& each : letters.waiting) waiting.messages.push_back({std::move(each), ++waiting.taken});
    const stategraph::detail::LockGuard lock(mutex_);
    if (!waiting.messages.empty() || waiting.keeps_taken) {
        empty_.erase(thread.toString());  // another process has sent something
        return waiting;
    }
    if (sent != sent_) return waiting;  // something was sent meanwhile, perhaps to this thread
    if (empty_.size() >= threads_max) empty_.clear();
    empty_.emplace(thread.view());
    return waiting;
}

Inbox::Waiting Inbox::look(const ThreadId& thread, std::int64_t taken) {
    if (!mayHave(thread)) return {.taken = taken};
    return read(thread, taken);
}

}  // namespace stategraph::agent::detail
