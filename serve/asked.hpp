#pragma once
#include <exception>
#include <memory>
#include <optional>
#include <string_view>

#include <stategraph/serve/handler.hpp>

#include "serve/chat.hpp"
#include "serve/http.hpp"
#include "serve/route.hpp"

namespace stategraph::serve {

/// Returns the body as a value; null if it is empty. Errors: InvalidArgumentError.
Value bodyOf(const Request& request);

/// What a request asks for, and who asks.
struct Asked {
    Route route;
    std::string_view operation = {};  // see RequestView::operation
    bool takes_json = false;          // an operation with a body
    /// Who answers; null if it is one of the server's operations.
    std::shared_ptr<const Handler> handler = {};
    /// What the body of a chat asks for, or why it cannot be read. Neither is set before the body is read, and for
    /// other operations.
    std::optional<ChatRequest> chat = {};
    std::exception_ptr unread_chat = {};
    std::optional<Identity> identity = {};
    std::string remote = {};  // the client's address

    /// Reads what the body of a chat asks for.
    void readChatOf(const Request& request);
    std::string_view thread() const { return chat ? chat->thread : route.thread; }
};

}  // namespace stategraph::serve
