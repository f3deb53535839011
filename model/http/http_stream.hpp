#pragma once
#include <chrono>
#include <memory>
#include <string>

#include <stategraph/task.hpp>

#include "model/http/http_client.hpp"
#include "model/http/stopping.hpp"

namespace stategraph::model::http {

class Transfer;

/// One request and its answer, which is read as it arrives. Its tasks are awaited one after the other and resume where
/// they are awaited; the work is done on the Asio executor of the run, or on Asio's system executor. A connection
/// whose answer has ended is kept for later requests, and closed otherwise. All functions throw ModelError, whose text
/// names the endpoint, and CancelledError if `stopping` is requested.
class HttpStream {
public:
    /// `stopping` must outlive this object.
    HttpStream(std::shared_ptr<const HttpClient> client, Stopping& stopping,
               std::chrono::steady_clock::time_point deadline);
    HttpStream(const HttpStream&) = delete;
    HttpStream& operator=(const HttpStream&) = delete;
    ~HttpStream();

    /// Sends the body, and returns the head of the answer.
    Task<HttpHead> open(std::shared_ptr<const std::string> body);
    /// Returns the next piece of the answer's body, which is empty at the end.
    Task<std::string> read();
    /// Limits every later wait to this time.
    void hurry(std::chrono::milliseconds idle_limit);
    /// What may still come is of no interest, and nothing is read any more. The connection is kept if the answer ends
    /// within a moment.
    void leave();

private:
    std::shared_ptr<Transfer> transfer_;  // null after it was left
    Stopping* stopping_;
    std::chrono::milliseconds idle_limit_;
};

/// Waits. Errors: CancelledError if `stopping` is requested.
Task<> pause(std::chrono::milliseconds time, Stopping& stopping);

}  // namespace stategraph::model::http
