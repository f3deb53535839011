#pragma once
#include <chrono>
#include <memory>
#include <stop_token>
#include <string>

#include <boost/asio/awaitable.hpp>

#include "model/http/http_client.hpp"

// HTTP/1.1 on Boost.Beast, over TCP or TLS: one request on one connection. Its coroutines are awaited one after the
// other. Each of them must run on a strand, and owns all that it uses.
namespace stategraph::model::http {

class Connection;

std::shared_ptr<Connection> makeConnection(std::shared_ptr<const HttpClient> client,
                                           std::chrono::steady_clock::time_point deadline, std::stop_token stop);

/// Connects, sends the body as JSON, and reads the answer's head. Errors: ModelError; boost::system::system_error
/// (operation_aborted) if it was cancelled. After an error the connection is closed.
boost::asio::awaitable<HttpHead> openConnection(std::shared_ptr<Connection> connection,
                                                std::shared_ptr<const std::string> body);
/// Returns the next piece of the answer's body, at most 16 kB; it is empty at the end of the body. Waiting for a byte
/// may take at most `idle_limit`. Errors: as above.
boost::asio::awaitable<std::string> readConnection(std::shared_ptr<Connection> connection,
                                                   std::chrono::milliseconds idle_limit);

}  // namespace stategraph::model::http
