#pragma once
#include <chrono>
#include <memory>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "serve/ownership.hpp"
#include "serve/replay.hpp"
#include "serve/shared.hpp"

namespace stategraph::serve {

/// Decides which of a run's events belong to the response that began it.
class RunEvents {
public:
    explicit RunEvents(bool takes_answers) : takes_answers_(takes_answers) {}
    /// False: the event reports a question that was open before, which the run may be about to answer; or, when a
    /// superstep that began in an earlier run ends, what graphs inside did in that run.
    bool belongs(const HubEvent& event) noexcept {
        if (event.mode == StreamMode::runs) {
            if (!has_begun_) begun_at_ = event.time;
            has_begun_ = true;
            return true;
        }
        if (event.durable && !event.ns.empty()) return event.time >= begun_at_;
        const bool is_early = takes_answers_ || !has_begun_;
        return !is_early || event.interrupts.empty();
    }
    bool hasBegun() const noexcept { return has_begun_; }

private:
    bool takes_answers_;
    bool has_begun_ = false;
    std::chrono::system_clock::time_point begun_at_ = {};
};

/// The data for writing a run's parts into its replay.
struct Recording {
    std::shared_ptr<Endpoint> endpoint;
    const Protocol* protocol;  // one of the endpoint's
    Subscription subscription;
    std::shared_ptr<ActiveRun> run;
    bool takes_answers = false;
    Opening opening = {};
    ErrorText error_text = {};
    LookWhose whose = {};
};
/// Records until the run has ended. Await it on an executor of its own. It throws nothing.
asio::awaitable<void> record(Recording recording, std::shared_ptr<Replay> replay);

enum class Replayed : std::uint8_t {
    all,      // the response was sent, and the connection can be used again
    broken,   // the connection cannot be used again
    nothing,  // the run was refused before it began, and nothing was sent
};
/// Sends a response that begins with the events of a run so far and continues until the run's end, for a client that
/// reconnects. It waits if the run is about to begin. Await it on the socket's executor. The protocol and the request
/// must outlive it.
asio::awaitable<Replayed> replay(std::shared_ptr<Shared> shared, std::shared_ptr<Socket> socket,
                                 const Protocol& protocol, std::shared_ptr<ActiveRun> run, const Request& request);

}  // namespace stategraph::serve
