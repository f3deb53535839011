#pragma once
#include <list>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>

#include "serve/event_stream.hpp"
#include "serve/route.hpp"
#include "serve/shared.hpp"

namespace stategraph::serve {

/// One client: it serves the client's requests one after the other.
class Connection : public std::enable_shared_from_this<Connection> {
public:
    Connection(std::shared_ptr<Shared> shared, asio::ip::tcp::socket socket);
    ~Connection();

    /// Serves until the client disconnects, or violates the rules of HTTP. Await it on the socket's executor.
    asio::awaitable<void> serve();
    /// Lets the socket's thread close it. Returns false if there was no memory for that. Call it with
    /// Shared::open_mutex held.
    bool close() noexcept;

private:
    /// The answer to a request: a text, or events.
    struct Reply;
    asio::awaitable<bool> answer(const Request& request);
    asio::awaitable<bool> send(Answer answer);
    asio::awaitable<bool> refuse(const Request& request, http::status status, const std::string& why);
    asio::awaitable<bool> refuseUnread(const boost::system::error_code& error);

    /// The answer to a request that needs no body: a refusal, or that to a preflight request. None: the request may be
    /// served.
    std::optional<Answer> answerToHead(const Request& request) const;
    /// Serves the operations; the table is in serve/replies.cpp.
    class Operations;
    Reply dispatch(const Request& request);
    Reply handled(const Request& request, Route route, const Handler& handler) const;
    Answer textAnswer(const Request& request, http::status status, std::string type, std::string text) const;
    bool isAllowedHost(std::string_view host) const;

    std::shared_ptr<Shared> shared_;
    std::shared_ptr<Socket> socket_;
    beast::flat_buffer buffer_;               // of a limited size
    std::list<Connection*>::iterator place_;  // its place in Shared::open
    bool is_closing_ = false;                 // guarded by Shared::open_mutex
};

}  // namespace stategraph::serve
