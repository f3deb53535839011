#include <algorithm>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/async.hpp>
#include <stategraph/error.hpp>
#include <stategraph/serve/endpoint.hpp>

#include "agent/inbox.hpp"
#include "serve/saying.hpp"
#include "src/graph/core.hpp"

// Messages for graphs with agents inside that were sent while a run was under way: they wait for the next turn.
namespace stategraph::serve::detail {

namespace {

using Messages = std::vector<model::Message>;

bool holds(const Messages& messages, const std::string& id) {
    return std::ranges::find(messages, id, &model::Message::id) != messages.end();
}

/// For a graph whose state holds no conversation.
class NoMessages final : public SentMessages {
public:
    void send(const ThreadId& thread, const Value&, bool, const std::function<SnapshotData()>&) override {
        throw InvalidArgumentError(
            "this graph takes no messages while a run is under way, because its state has no channel \"messages\" of "
            "model::Message; wait for the run's end, or stop it with the strategy \"interrupt\"",
            {.thread_id = thread.toString()});
    }
    Waiting waiting(const ThreadId&, const std::function<SnapshotData()>&) override { return {}; }
    void forget(const ThreadId&, std::int64_t) noexcept override {}
};

/// The graph's state does not count what it has taken, as an agent's does. The conversation has a message if it has its
/// id; each that waits has one.
class KeptMessages final : public SentMessages {
public:
    explicit KeptMessages(const Checkpointer& checkpointer)
        : is_stored_(checkpointer.saver() != nullptr), inbox_(checkpointer) {}

    void send(const ThreadId& thread, const Value& body, bool steers,
              const std::function<SnapshotData()>& read) override {
        if (steers)
            throw InvalidArgumentError(
                "a message cannot steer the run of a graph, because its agents are inside and have their conversations "
                "from it; send the message with the strategy \"enqueue\", or \"interrupt\"",
                {.thread_id = thread.toString()});
        if (!is_stored_)
            throw MissingCheckpointerError(
                "a message can wait for a run only if the graph stores its threads; set "
                "CompileOptions::checkpointer");
        const SnapshotData before = read();
        auto message = sentMessage(body, [&] { return conversationIn(before); });
        if (!message) return;
        const std::string id = inbox_.send(thread, *std::move(message), false, 0);
        if (before.config.checkpoint_id.empty() || inbox_.hasThread(thread)) return;
        if (!id.empty()) inbox_.withdraw(thread, id);
        throw InvalidArgumentError("the thread was deleted while a message was sent to it, and the message is not kept",
                                   {.thread_id = thread.toString()});
    }
    Waiting waiting(const ThreadId& thread, const std::function<SnapshotData()>& read) override {
        const agent::detail::Inbox::Waiting kept = inbox_.read(thread, 0);
        if (kept.messages.empty()) return {};
        const SnapshotData now = read();
        const Messages known = conversationIn(now);
        Messages messages;
        for (const auto& each : kept.messages) {
            if (!holds(known, each.message.id)) messages.push_back(each.message);
        }
        if (messages.empty()) {  // a process has died after it had taken them
            forget(thread, kept.taken);
            return {};
        }
        return {.input = Value(std::map<std::string, Value>{{"messages", Value(messages)}}),
                .at = now.config.checkpoint_id,
                .count = kept.taken};
    }
    void forget(const ThreadId& thread, std::int64_t count) noexcept override {
        try {
            inbox_.forget(thread, count);
        } catch (const std::exception&) {  // the conversation has them, so they are removed the next time
        }
    }

private:
    const bool is_stored_;
    agent::detail::Inbox inbox_;
};

Task<> takeSent(std::shared_ptr<SentMessages> sent, ThreadId thread, std::int64_t count, Begin start,
                RunConfig config) {
    Task<> run = start(std::move(config));
    co_await std::move(run);
    sent->forget(thread, count);
}

}  // namespace

std::shared_ptr<SentMessages> sentMessages(const stategraph::detail::Core& core, const HeldMessages& held) {
    if (!held.are_held) return std::make_shared<NoMessages>();
    return std::make_shared<KeptMessages>(core.options().checkpointer);
}

Begin sentBegin(std::shared_ptr<SentMessages> sent, const ThreadId& thread, SentMessages::Waiting waiting,
                Begin start) {
    return [sent = std::move(sent), thread, at = waiting.at, count = waiting.count,
            start = std::move(start)](RunConfig config) {
        // Another process that was first has taken them.
        if (config.only_at.empty()) config.only_at = at;
        config.only_new = config.only_new || at.empty();
        return takeSent(sent, thread, count, start, std::move(config));
    };
}

}  // namespace stategraph::serve::detail
