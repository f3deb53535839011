#pragma once
#include <chrono>
#include <memory>

#include <boost/asio/awaitable.hpp>

#include "serve/shared.hpp"

namespace stategraph::serve {

/// Whose limit of connections is reached.
enum class Limit : std::uint8_t { of_server, of_client };

/// Answers a connection beyond a limit, whatever it asks for: 503, or 429 for the client's own limit. Await it on the
/// socket's executor.
asio::awaitable<void> refuse(std::shared_ptr<Shared> shared, asio::ip::tcp::socket socket, Limit limit);

/// Tells the log that the server drains, and its streams to end.
void tellDrain(const Shared& shared) noexcept;

}  // namespace stategraph::serve
