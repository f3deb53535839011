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
    /// not stored again. Errors: MissingCheckpointerError; InvalidArgumentError if too many wait, or the thread's name
    /// is too long; those of the saver.
    void send(const ThreadId& thread, model::Message message, bool steers, std::int64_t taken);
    /// Whether messages may wait that runs of this process have not seen. Cost: a lock.
    bool mayHave(const ThreadId& thread) const;

    struct Waiting {
        std::vector<SentMessage> messages = {};
        /// What State::taken is when all are taken.
        std::int64_t taken = 0;
    };
    /// Returns what the thread has not taken. Cost: a read of the saver.
    Waiting read(const ThreadId& thread, std::int64_t taken);
    /// The same, but reads only if something may have been sent since nothing was found.
    Waiting look(const ThreadId& thread, std::int64_t taken);

private:
    std::shared_ptr<BaseCheckpointSaver> saver_;
    std::optional<CompiledGraph<Letters>> letters_;
    mutable stategraph::detail::Mutex mutex_;
    std::set<std::string, std::less<>> empty_ SG_GUARDED_BY(mutex_);  // threads of which nothing was found
};

}  // namespace stategraph::agent::detail
