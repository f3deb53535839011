#pragma once
#include <memory>
#include <variant>

#include "serve/connection.hpp"
#include "serve/handler_stream.hpp"

// What a connection answers a request with: serve/replies.cpp decides, serve/connection.cpp sends.
namespace stategraph::serve {

inline constexpr const char* json_type = "application/json; charset=utf-8";

/// A run that a client comes back to.
struct Resumed {
    std::shared_ptr<Endpoint> endpoint;
    const Protocol* protocol;  // the endpoint's
    std::shared_ptr<ActiveRun> run;
};

struct Connection::Reply : std::variant<Answer, EventStream::Source, Resumed, HandlerStream> {
    using variant::variant;
};

}  // namespace stategraph::serve
