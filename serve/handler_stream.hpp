#pragma once
#include <memory>

#include <boost/asio/awaitable.hpp>

#include <stategraph/serve/handler.hpp>

#include "serve/held.hpp"
#include "serve/shared.hpp"

namespace stategraph::serve {

/// An answer of a handler with events.
struct HandlerStream {
    Answer head;  // its body is not sent
    HandlerEvents events;
    Held::Place place = {};  // among the client's streams
};

/// Sends the head, then each event when the handler has one, and a heartbeat if it has none for long. Ends when the
/// handler has no more events, when the client disconnects, or when the server is drained. Returns true if the
/// connection can be used again. Await it on the socket's executor. It throws nothing; if a handler throws, the
/// connection ends.
asio::awaitable<bool> sendEvents(std::shared_ptr<Shared> shared, std::shared_ptr<Socket> socket, HandlerStream stream);

}  // namespace stategraph::serve
