#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/executor.hpp>
#include <stategraph/serve/endpoint.hpp>
#include <stategraph/serve/handler.hpp>
#include <stategraph/serve/limits.hpp>
#include <stategraph/serve/log.hpp>

// Serves graphs over HTTP: they are started, answered, cancelled and read, and their events are sent as lines of JSON
// or server-sent events while they run.
namespace stategraph::serve {

struct Shared;

/// The options of a server.
struct ServerOptions {
    /// The address on which it listens. With an address other than the loopback, other computers can connect: set
    /// `authorize` too.
    std::string address = "127.0.0.1";
    /// The port; 0: a free one (Server::port).
    std::uint16_t port = 0;
    /// The number of threads for sockets; runs use `executor`. Each connection stays on one thread. At least 1.
    std::size_t threads = 2;
    /// The executor of runs; null: the common one.
    std::shared_ptr<Executor> executor = {};
    /// Decides whether a request may be served, and whose request it is. Null: every request is. It is called before
    /// the body is read, except for a chat and AG-UI, whose bodies name the thread; a body of more than 64 KiB of a
    /// refused request is not read, and the connection is closed. If it throws, the request is refused.
    Authorize authorize = {};
    /// Whether a thread belongs to the identity that began it, which `authorize` names. Another's thread is answered
    /// like one that does not exist: 404. A thread of nobody, which a program has begun without owner_key, is nobody's
    /// to see. Requests about threads that name no identity get 401. Errors of the server: InvalidArgumentError without
    /// `authorize`; of Server::add for an endpoint that stores nothing.
    bool owned = false;
    /// Whether clients are told the texts of errors of runs, steps and tools, as while you develop. Otherwise they get
    /// a number, and `log` has it beside the text.
    bool show_errors = false;
    /// Is told what happened, line by line. Null: lines with errors of which clients know the number go to standard
    /// error.
    Log log = {};
    /// The allowed values of the header field Host, without port; "*": any. Other requests are refused. This prevents
    /// foreign web pages from reaching the server under a host name of their own. Not given: the names of the loopback
    /// if `address` is the loopback, otherwise "localhost" and any IP address.
    std::vector<std::string> hosts = {};
    /// The origins of pages, besides the server's own, that may send requests and read responses, such as
    /// "https://example.org"; "*": any. Pages of other origins can change nothing. Errors of the server: as `headers`.
    std::vector<std::string> origins = {};

    /// Header fields of every response, such as Content-Security-Policy. Errors: InvalidArgumentError for control
    /// characters.
    std::vector<std::pair<std::string, std::string>> headers = {};

    /// What one client may ask for in a time, and at the same time.
    ClientLimits per_client = {};
    /// Figures of the program's own in `/metrics`.
    Gauges gauges = {};

    /// How many connections may be open; more of them are refused with 503.
    std::size_t connections_max = 10'000;
    /// The largest body of a request; a larger one is refused with 413.
    std::size_t body_bytes_max = 1U << 20U;
    /// The largest header of a request; a larger one is refused with 431.
    std::size_t header_bytes_max = 16U << 10U;
    /// How many runs may be under way.
    std::size_t runs_max = 10'000;
    /// How long a request may take to arrive, and how long a connection may wait for the next one.
    std::chrono::milliseconds request_timeout = std::chrono::seconds(30);
    /// How long a client may take to accept what is sent, and once more for each MiB of an answer; then the connection
    /// is closed.
    std::chrono::milliseconds write_timeout = std::chrono::seconds(30);
    /// If nothing happens for this time, a comment is sent to keep the connection open.
    std::chrono::milliseconds heartbeat = std::chrono::seconds(15);
    /// How many events may wait for a slow client. Beyond that, pieces of a text are joined and the oldest events are
    /// dropped. Durable events are never lost.
    std::size_t events_max = 256;
    /// How many bytes of events may wait for a slow client.
    std::size_t event_bytes_max = 256U << 10U;
    /// How many bytes of a run's response are kept for clients that reconnect to a chat. A run continues if its
    /// response is longer or cannot be recorded because no memory is left; a client that reconnects to it is refused
    /// with 503.
    std::size_t replay_bytes_max = 4U << 20U;
    /// How many bytes of responses are kept for all runs together.
    std::size_t replay_bytes_all = 256U << 20U;
    /// Whether SIGTERM and SIGINT drain the server.
    bool handle_signals = false;
};

/// An HTTP server.
///
///   POST /NAME/THREAD/start, /resume, /decide    runs, and answers with the run's events
///   GET  /NAME/THREAD/events?from=POSITION       the events after a position, and those of the run that is under
/// way; also by Last-Event-ID
///   POST /NAME/THREAD/cancel                     stops the run that is under way here, or ends a thread that waits
///   GET  /NAME/THREAD/state, /history?limit=N    as JSON
///   POST /NAME/chat, GET /NAME/chat/THREAD/stream  what `useChat` of the AI SDK asks for (protocol "ui")
/// A client that comes back to a chat is sent the response of the run under way from its beginning, then what follows,
/// each part once; 204 if no run is under way, or the one that was about to begin is refused.
///   GET  /NAME/schema                            JSON Schemas of the state, the input and each protocol's lines;
/// ?as=typescript: declarations
///   GET  /health                                 {"runs", "connections"}: the server is alive
///   GET  /ready                                  200 if the stores of all endpoints answer, 503 if not, and from
/// `drain` on
///   GET  /metrics                                figures in the text form of Prometheus
///
/// Responses with events are lines of JSON (application/x-ndjson), or server-sent events where the client accepts
/// text/event-stream. A body must be application/json. What is refused is answered with 4xx and {"error"}. Every method
/// is safe from any thread.
class Server {
public:
    /// The server listens when this returns. Errors: InvalidArgumentError for options that make no sense;
    /// std::system_error, which names the address, if it cannot be listened on, as when another program has the port.
    explicit Server(ServerOptions options = {});
    /// Calls stop().
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    /// Serves a graph under a name of letters, digits, '-' and '_'. Errors: InvalidArgumentError for another name, or
    /// one that is taken.
    void add(const std::string& name, std::shared_ptr<Endpoint> endpoint);
    /// Answers GET PATH with a text, such as a page.
    void page(const std::string& path, std::string content_type, std::string text);

    /// A handler answers every request whose path begins with /NAME/. Errors: as `add`.
    void handle(const std::string& name, Handler handler);

    std::uint16_t port() const noexcept;
    /// Blocks until the server has been drained or stopped.
    void wait();
    /// Ends each run after its current superstep, and each stream with a last word for its client; begins no more runs
    /// (503 with Retry-After), and answers everything else. When all have ended, or after `patience`, does what stop()
    /// does. The threads can be resumed, by any process. Returns immediately.
    void drain(std::chrono::milliseconds patience = std::chrono::seconds(10)) noexcept;
    /// Stops all runs and closes all connections. Threads can be resumed later.
    void stop() noexcept;

    std::size_t runs() const noexcept;
    std::size_t connections() const noexcept;

    /// The implementation, for the library itself.
    const std::shared_ptr<Shared>& shared() const noexcept;

private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace stategraph::serve
