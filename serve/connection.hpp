#pragma once
#include <chrono>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>

#include <stategraph/serve/handler.hpp>

#include "serve/asked.hpp"
#include "serve/event_stream.hpp"
#include "serve/ownership.hpp"
#include "serve/shared.hpp"

namespace stategraph::serve {

struct HandlerTalk;

/// One client: it serves the client's requests one after the other.
class Connection : public std::enable_shared_from_this<Connection> {
public:
    /// `place` is what the connection takes of the client's own limit.
    Connection(std::shared_ptr<Shared> shared, asio::ip::tcp::socket socket, Held::Place place);
    ~Connection();

    /// Serves until the client disconnects, or violates the rules of HTTP. Await it on the socket's executor.
    asio::awaitable<void> serve();
    /// Lets the socket's thread close it. Returns false if there was no memory for that. Call it with
    /// Shared::open_mutex held.
    bool close() noexcept;

private:
    /// The answer to a request: a text, or events.
    struct Reply;
    asio::awaitable<bool> answer(const Request& request, const Asked& asked);
    /// The reply to a request, once the thread's run of which it waits for the end has ended; none: `failure` is why.
    asio::awaitable<std::optional<Reply>> replyTo(const Request& request, const Asked& asked,
                                                  std::exception_ptr& failure);
    asio::awaitable<bool> send(Answer answer);
    /// Sends it when it is due. The arguments must stay until the end.
    asio::awaitable<bool> sendLater(const std::function<bool()>& is_due, const Answer& answer);
    /// Calls it on the thread for large bodies (Shared::large_bodies).
    template <class Work>
    asio::awaitable<void> aside(Work work);
    asio::awaitable<bool> refuse(const Request& request, http::status status, const std::string& why);
    asio::awaitable<bool> refuseUnread(const boost::system::error_code& error);

    /// The answer to a request that needs no body: a refusal, or that to a preflight request. None: the request may be
    /// served, and `asked` is what it asks for.
    std::optional<Answer> answerToHead(const Request& request, Asked& asked) const;
    /// The refusal of a request that the hook does not admit. Otherwise sets who asks.
    std::optional<Answer> refusalByHook(const Request& request, Asked& asked) const;
    /// The refusal of a client that has used up what it may ask for (serve/operate.cpp): of requests, looked at before
    /// the hook; of all that the request takes; of a stream, which `place` then is.
    std::optional<Answer> refusalOfAddress(const Request& request, const Asked& asked) const;
    std::optional<Answer> refusalByRates(const Request& request, const Asked& asked, bool is_refused) const;
    std::optional<Answer> refusalOfStream(const Request& request, const Asked& asked, Held::Place& place) const;
    /// The refusal of a client that has used up its runs; it is a part of refusalByRates where a request begins one.
    std::optional<Answer> refusalOfRun(const Request& request, const Asked& asked) const;
    Answer tooMany(const Request& request, const char* limit, std::chrono::seconds wait) const;
    asio::awaitable<Answer> ready(const Request& request);
    Answer metrics(const Request& request) const;
    /// Counts and logs an answered request.
    void report(const Request& request, const Asked& asked, std::chrono::steady_clock::time_point began) const noexcept;

    /// What the target names.
    Asked targetOf(const Request& request) const;
    /// Serves the operations; the table is in serve/replies.cpp.
    class Operations;
    Reply dispatch(const Request& request, const Asked& asked);
    Reply handled(const Request& request, const Asked& asked) const;

    // WebSockets of handlers (serve/handler_socket.cpp).
    /// The refusal of an upgrade, or the conversation.
    Reply talkOf(const Request& request, const Asked& asked, HandlerSocket socket) const;
    asio::awaitable<void> talk(const Request& request, const Asked& asked, HandlerTalk talk);

    // Threads that belong to their users (serve/owned_threads.cpp).
    /// The refusal of a request for a thread that is not the client's, if threads belong to their users.
    std::optional<Answer> refusalOfOwned(const Request& request, const Asked& asked, Endpoint& endpoint) const;
    /// What is stored of the thread; none: the client may not know. Nothing is read unless threads belong to users.
    std::optional<ThreadOwner> threadFor(const Asked& asked, Endpoint& endpoint) const;
    /// Returns null unless threads belong to users.
    LookWhose lookWhose(const Asked& asked, const std::shared_ptr<Endpoint>& endpoint) const;
    /// The answer for a thread that does not exist.
    Answer noThread(const Request& request, const Asked& asked) const;
    /// The answer to a request that failed.
    Answer failed(const Request& request, const Asked& asked, const std::exception_ptr& error) const;

    Answer textAnswer(const Request& request, http::status status, std::string type, std::string text) const;
    bool isAllowedHost(std::string_view host) const;

    std::shared_ptr<Shared> shared_;
    std::shared_ptr<Socket> socket_;
    const Held::Place held_;
    const std::string remote_;                // the address of the other side
    int status_ = 0;                          // of the newest answer; 0: none was sent
    beast::flat_buffer buffer_;               // of a limited size
    std::list<Connection*>::iterator place_;  // its place in Shared::open
    bool is_closing_ = false;                 // guarded by Shared::open_mutex
};

}  // namespace stategraph::serve
