#pragma once
#include <chrono>
#include <memory>
#include <string>

#include <stategraph/task.hpp>

#include "model/http/http_client.hpp"
#include "model/http/stopping.hpp"

namespace stategraph::model::http {

class Connection;

/// One request and its answer, read as it comes. Its tasks are awaited one after the other and resume where they are
/// awaited; the work is on the Asio executor of the run, or on Asio's system executor. However it ends, the socket is
/// closed. Errors of all: ModelError, whose texts name the endpoint; CancelledError if `stopping` is requested.
class HttpStream {
public:
    /// `stopping` stays as long as this.
    HttpStream(std::shared_ptr<const HttpClient> client, Stopping& stopping,
               std::chrono::steady_clock::time_point deadline);

    /// Sends the body, and gives the head of the answer.
    Task<HttpHead> open(std::shared_ptr<const std::string> body);
    /// The next piece of the answer's body; empty: there is none any more.
    Task<std::string> read();
    /// From now on nothing is awaited longer than this.
    void hurry(std::chrono::milliseconds idle_limit);

private:
    std::shared_ptr<Connection> connection_;
    Stopping* stopping_;
    std::chrono::milliseconds idle_limit_;
};

/// Waits. Errors: CancelledError if `stopping` is requested.
Task<> pause(std::chrono::milliseconds time, Stopping& stopping);

}  // namespace stategraph::model::http
