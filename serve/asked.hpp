#pragma once
#include <exception>
#include <memory>
#include <optional>
#include <string_view>

#include <stategraph/serve/handler.hpp>

#include "serve/ag_ui_request.hpp"
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
    /// What the body of a conversation asks for, or why it cannot be read. None is set before the body is read, and for
    /// other operations.
    std::optional<ChatRequest> chat = {};
    std::optional<AgUiRequest> ag_ui = {};
    std::exception_ptr unread_body = {};
    std::optional<Identity> identity = {};
    std::string remote = {};  // the client's address

    /// Whether the body names the thread.
    bool isConversation() const noexcept { return operation == "chat" || operation == "ag-ui"; }
    /// Reads what the body of a conversation asks for.
    void readConversation(const Request& request);
    std::string_view thread() const {
        if (chat) return chat->thread;
        return ag_ui ? ag_ui->thread : route.thread;
    }
};

}  // namespace stategraph::serve
