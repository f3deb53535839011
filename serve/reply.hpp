#pragma once
#include <functional>
#include <memory>
#include <variant>

#include "serve/connection.hpp"
#include "serve/handler_stream.hpp"

// The answer of a connection to a request: serve/replies.cpp chooses it, and serve/connection.cpp sends it.
namespace stategraph::serve {

inline constexpr const char* json_type = "application/json; charset=utf-8";

/// A run to which a client reconnects.
struct Resumed {
    std::shared_ptr<Endpoint> endpoint;
    const Protocol* protocol;  // one of the endpoint's
    std::shared_ptr<ActiveRun> run;
};

/// The answer has to wait for the stores.
struct Ready {};

/// An answer of a handler that is sent later.
struct Later {
    Answer answer;
    std::function<bool()> is_due;
};

/// A WebSocket that a handler answers with.
struct HandlerTalk {
    HandlerSocket socket;
    Held::Place place = {};  // among the client's streams
};

struct Connection::Reply
    : std::variant<Answer, EventStream::Source, Resumed, HandlerStream, HandlerTalk, Ready, Later> {
    using variant::variant;
};

}  // namespace stategraph::serve
