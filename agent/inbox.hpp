#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <stategraph/agent/agent.hpp>
#include <stategraph/detail/mutex.hpp>

// Messages for a thread that were sent while a run was under way. They are kept in a thread of their own, so that the
// run stays the only writer of its thread. The thread notes in its state how many it has taken (State::taken), in the
// commit that adds them to the conversation, so each is taken once.
namespace stategraph::agent::detail {

struct SentMessage {
    model::Message message = {};
    bool steers = false;
    static constexpr auto fields() {
        return stategraph::fields(field("message", &SentMessage::message), field("steers", &SentMessage::steers));
    }
};

/// The state of the thread that keeps the messages.
struct Letters {
    /// In the order in which they were sent.
    std::vector<SentMessage> waiting = {};
    /// The number of messages before these.
    std::int64_t first = 0;
    static constexpr auto channels() {
        return stategraph::channels(channel("waiting", &Letters::waiting), channel("first", &Letters::first));
    }
};

/// The messages that wait for a run. Safe from any thread.
class Inbox {
public:
    static constexpr std::size_t waiting_max = 100;
    static constexpr std::size_t threads_max = 10'000;

    /// Without a saver nothing can be sent, and nothing waits.
    explicit Inbox(const Checkpointer& checkpointer);

    /// Stores a message; `taken` is the thread's State::taken. One that waits already, with the same id and content, is
    /// not stored again; one without an id gets one. Returns the id of the message that this call has stored, or an
    /// empty text if it waits already. Errors: MissingCheckpointerError; InvalidArgumentError if too many wait, or the
    /// thread's name is too long; those of the saver.
    std::string send(const ThreadId& thread, model::Message message, bool steers, std::int64_t taken);
    /// Removes the message with this id, which `send` has returned, and nothing that others have sent. Errors: those of
    /// the saver.
    void withdraw(const ThreadId& thread, const std::string& id);
    /// Whether messages may wait that runs of this process have not seen. Cost: a lock.
    bool mayHave(const ThreadId& thread) const;

    struct Letter : SentMessage {
        /// What State::taken is when the messages up to this one are taken.
        std::int64_t number = 0;
    };
    struct Waiting {
        std::vector<Letter> messages = {};
        /// What State::taken is when all are taken.
        std::int64_t taken = 0;
        /// Whether messages that the thread has taken are still kept.
        bool keeps_taken = false;
    };
    /// Returns what the thread has not taken. Cost: a read of the saver.
    Waiting read(const ThreadId& thread, std::int64_t taken);
    /// The same, but reads only if something may have been sent since nothing was found.
    Waiting look(const ThreadId& thread, std::int64_t taken);

    /// Removes the messages up to this number, so that no other branch of the thread takes them. Call it only when the
    /// commit that took them is stored. Errors: those of the saver.
    void forget(const ThreadId& thread, std::int64_t taken);
    /// Whether this is the newest checkpoint of the thread that is stored. Errors: those of the saver.
    bool isStored(const ThreadId& thread, CheckpointId at) const;
    /// Whether anything is stored of the thread. Errors: those of the saver.
    bool hasThread(const ThreadId& thread) const;

private:
    /// Changes the stored letters with `change`, and repeats that if another process was first. Stores nothing if
    /// `change` returns false.
    template <class Change>
    void edit(const ThreadId& thread, const Change& change);

    std::shared_ptr<BaseCheckpointSaver> saver_;
    std::optional<CompiledGraph<Letters>> letters_;
    mutable stategraph::detail::Mutex mutex_;
    std::set<std::string, std::less<>> empty_ SG_GUARDED_BY(mutex_);  // threads of which nothing was found
    std::uint64_t sent_ SG_GUARDED_BY(mutex_) = 0;                    // how many messages were stored here
};

}  // namespace stategraph::agent::detail
