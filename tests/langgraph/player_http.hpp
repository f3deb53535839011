#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/langgraph/player_events.hpp"

namespace player {

struct Request {
    std::string method = {};
    std::string path = {};  // with the query
    std::map<std::string, std::string> headers = {};
    std::optional<std::string> body = {};  // JSON
};

/// What came as a reply. `fault` says why it is not whole; it is empty for a whole reply, and for one that the client
/// ended.
struct Reply {
    int status = 0;
    std::map<std::string, std::string> headers = {};  // by names in lower case
    std::string body = {};                            // without the framing of chunks
    std::vector<Event> events = {};                   // of a body of text/event-stream
    std::string fault = {};

    /// The type of the body, without parameters; empty if the reply names none.
    std::string contentType() const;
    bool isStream() const { return contentType() == "text/event-stream"; }
};

/// A request to 127.0.0.1 and its reply, on a connection of its own. The destructor hangs up.
class Exchange {
public:
    /// Whether the client hangs up after this event.
    using Stop = std::function<bool(const Event& event)>;

    /// Sends the request, and reads the reply on another thread, on which `stop` is called.
    Exchange(unsigned short port, Request request, Stop stop = {});
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;
    ~Exchange();

    /// Hangs up.
    void abort();
    /// Waits for the end of the reply. A reply that has not ended after `patience` has a fault.
    Reply wait(std::chrono::milliseconds patience);

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace player
