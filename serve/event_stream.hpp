#pragma once
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "serve/event_writer.hpp"
#include "serve/ownership.hpp"
#include "serve/run_replay.hpp"
#include "serve/shared.hpp"

namespace stategraph::serve {

/// One response that sends events while they happen: from its first line to its last, or until its client disconnects.
class EventStream {
public:
    struct Source {
        std::shared_ptr<Endpoint> endpoint;
        const Protocol* protocol;  // one of the endpoint's
        Subscription subscription;
        /// The run that the request began; null if the request only reads.
        std::shared_ptr<ActiveRun> run;
        /// Whether the run takes answers. If so, open questions are reported only at its end, because they look open
        /// until it has stored the answers.
        bool takes_answers = false;
        Opening opening = {};
        /// What the client is told of errors.
        ErrorText error_text = {};
        LookWhose whose = {};
        /// The thread, as the client names it.
        ThreadId thread = {};
    };
    EventStream(std::shared_ptr<Shared> shared, std::shared_ptr<Socket> socket, Source source, const Request& request);
    /// Also called if Asio destroyed the coroutine of `run` without resuming it, as it does without memory. The client
    /// then counts as disconnected.
    ~EventStream();
    EventStream(const EventStream&) = delete;
    EventStream& operator=(const EventStream&) = delete;

    /// Returns true if the connection can be used again. If the run is refused before it begins, the answer is the
    /// refusal. Await it on the socket's executor.
    asio::awaitable<bool> run();

private:
    struct Watch;

    /// Returns false if not everything could be sent to the client.
    asio::awaitable<bool> tellAll();
    /// Waits for something to report. Returns false if there is no more.
    asio::awaitable<bool> gather();
    bool wasRefused(bool has_more) const;
    void take(const HubEvent& event);
    /// Call it for a client that has disconnected.
    void leave() noexcept;
    /// Whether the server drains, and no run is under way that could tell more.
    bool mustLeave() const;
    bool endsWith(const EndOfRun& end) const noexcept;
    Closing missedEnd() const;
    void close();
    bool tells(StreamMode mode) const noexcept { return source_.protocol->modes.has(mode); }

    std::shared_ptr<Shared> shared_;
    std::shared_ptr<Socket> socket_;
    Source source_;
    std::unique_ptr<Encoder> encoder_;
    std::shared_ptr<Watch> watch_;
    EventWriter writer_;
    Streams::Place place_;
    RunEvents events_;
    OwnEventsOnly own_;
    std::optional<Closing> closing_;  // none until a run or the server ends
    CheckpointId ended_at_;           // the newest checkpoint at the end of the run
    bool is_over_ = false;
    bool has_ended_ = false;  // whether `run` has reached its end
    bool is_head_sent_ = false;
    bool has_told_end_ = false;  // whether it tells the end of the run next, or has told it
    bool has_told_ = false;      // whether it has sent more than the beginning and end of the run, and open questions
    std::vector<std::string> lines_;
};

}  // namespace stategraph::serve
