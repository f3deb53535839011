#pragma once
#include <memory>

#include <boost/asio/awaitable.hpp>

#include <stategraph/serve/handler.hpp>

#include "serve/shared.hpp"

namespace stategraph::serve {

/// What a handler answers with events.
struct HandlerStream {
    Answer head;  // its body is not sent
    HandlerEvents events;
};

/// Sends the head, then each event when the handler has one, and a heartbeat where it has none for long. Ends when the
/// handler has no more events, when the client disconnects, or when the server is drained. True: the connection can be
/// used again. Await it on the socket's executor. Errors: none; a handler that throws ends the connection.
asio::awaitable<bool> sendEvents(std::shared_ptr<Shared> shared, std::shared_ptr<Socket> socket, HandlerStream stream);

}  // namespace stategraph::serve
