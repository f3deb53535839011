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

/// One client: its requests, one after the other.
class Connection : public std::enable_shared_from_this<Connection> {
public:
    Connection(std::shared_ptr<Shared> shared, asio::ip::tcp::socket socket);
    ~Connection();

    /// Until the client goes, or does what it may not. Await it on the socket's executor.
    asio::awaitable<void> serve();
    /// Has the socket's thread close it. False: there was no memory for that. Call it with Shared::open_mutex held.
    bool close() noexcept;

private:
    /// A request's answer: a text, or events.
    struct Reply;
    asio::awaitable<bool> answer(const Request& request);
    asio::awaitable<bool> send(Answer answer);
    asio::awaitable<bool> refuse(const Request& request, http::status status, const std::string& why);
    asio::awaitable<bool> refuseUnread(const boost::system::error_code& error);

    Reply reply(const Request& request);
    Reply lookOf(const Request& request, const Route& route, const std::shared_ptr<Endpoint>& endpoint);
    Reply schemaOf(const Request& request, const Route& route, const Endpoint& endpoint) const;
    Reply cancel(const Request& request, const Route& route, const std::shared_ptr<Endpoint>& endpoint);
    Reply runOf(const Request& request, const Route& route, const std::shared_ptr<Endpoint>& endpoint);
    Reply chatOf(const Request& request, const Route& route, const std::shared_ptr<Endpoint>& endpoint);
    Reply eventsOf(const Request& request, const Route& route, const std::shared_ptr<Endpoint>& endpoint);
    EventStream::Source begin(const std::shared_ptr<Endpoint>& endpoint, const Protocol& protocol,
                              const ThreadId& thread, RunTable::Place& place, const Begin& work, bool takes_answers);
    std::unique_ptr<RunTable::Place> reserve(const std::shared_ptr<Endpoint>& endpoint, const ThreadId& thread);
    void recordRun(const std::shared_ptr<Endpoint>& endpoint, Subscription subscription,
                   const std::shared_ptr<ActiveRun>& run, bool takes_answers);
    Answer textAnswer(const Request& request, http::status status, std::string type, std::string text) const;
    bool isAllowedHost(std::string_view host) const;

    std::shared_ptr<Shared> shared_;
    std::shared_ptr<Socket> socket_;
    beast::flat_buffer buffer_;
    std::list<Connection*>::iterator place_;  // in Shared::open
    bool is_closing_ = false;                 // with Shared::open_mutex
};

}  // namespace stategraph::serve
