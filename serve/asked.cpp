#include "serve/asked.hpp"

#include <stategraph/json.hpp>

namespace stategraph::serve {

Value bodyOf(const Request& request) {
    const std::string& text = request.body();
    if (text.find_first_not_of(" \t\r\n") == std::string::npos) return {};
    return parseJson(text);
}

void Asked::readConversation(const Request& request) {
    if (request.method() != http::verb::post) return;
    try {
        const Value body = bodyOf(request);
        if (operation == "chat") {
            chat = readChat(body);
        } else {
            ag_ui = readAgUi(body);
        }
    } catch (...) {
        unread_body = std::current_exception();
    }
}

}  // namespace stategraph::serve
