#include <stategraph/serve/server.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/signal_set.hpp>

#include <stategraph/detail/close_on_exec.hpp>
#include <stategraph/detail/mutex.hpp>
#include <stategraph/detail/plain_name.hpp>
#include <stategraph/error.hpp>

#include "serve/audit.hpp"
#include "serve/connection.hpp"
#include "serve/origin.hpp"
#include "serve/refusal.hpp"
#include "serve/route.hpp"
#include "serve/shared.hpp"

namespace stategraph::serve {

namespace {

using asio::ip::tcp;
using Guard = asio::executor_work_guard<asio::io_context::executor_type>;

ServerOptions checked(ServerOptions options) {
    if (options.threads < 1) throw InvalidArgumentError("ServerOptions::threads must be at least 1");
    if (options.connections_max < 1 || options.runs_max < 1)
        throw InvalidArgumentError("connections_max and runs_max must be at least 1");
    if (options.owned && !options.authorize)
        throw InvalidArgumentError("ServerOptions::owned needs authorize, which says whose a request is");
    boost::system::error_code wrong;
    const auto address = asio::ip::make_address(options.address, wrong);
    if (wrong) throw InvalidArgumentError("ServerOptions::address is not an IP address: '" + options.address + "'");
    for (const auto& [name, value] : options.headers) {
        if (!isHeader(name, value))
            throw InvalidArgumentError("ServerOptions::headers has '" + name + "', which is not a header field");
    }
    for (const std::string& origin : options.origins) {
        if (!isOrigin(origin))
            throw InvalidArgumentError("ServerOptions::origins has '" + origin +
                                       "', which is neither an origin such as https://example.org nor \"*\"");
    }
    if (options.hosts.empty() && address.is_loopback()) options.hosts = {"localhost", "127.0.0.1", "[::1]"};
    return options;
}

/// Makes the acceptor listen. Errors: std::system_error.
void listenOn(tcp::acceptor& acceptor, const tcp::endpoint& where) {
    try {
        acceptor.open(where.protocol());
        stategraph::detail::closeOnExec(acceptor.native_handle());
        acceptor.set_option(tcp::acceptor::reuse_address(true));
        acceptor.bind(where);
        acceptor.listen();
        acceptor.non_blocking(true);
    } catch (const boost::system::system_error& error) {
        // Asio's exception is not a std::system_error, and its text does not have the address.
        const std::string address = where.address().to_string();
        const bool is_taken = error.code() == asio::error::address_in_use;
        throw std::system_error(error.code(), "cannot listen on " +
                                                  (where.address().is_v6() ? "[" + address + "]" : address) + ":" +
                                                  std::to_string(where.port()) +
                                                  (is_taken ? " (another program has this port: end it, or choose "
                                                              "another port, or 0 for a free one)"
                                                            : ""));
    }
}

/// A thread for some of the connections, with an execution context of its own, so that its handlers run one after the
/// other without a strand. Without memory, strands of Asio 1.81 fail: creating one reads an uninitialised pointer, and
/// passing one on to the next handler ends the process.
struct Worker {
    Worker() : context(1), guard(context.get_executor()) {}

    /// A handler that throws, because there is no memory, ends neither the thread nor other clients.
    void run() noexcept {
        for (;;) {
            try {
                context.run();
                return;
            } catch (...) {
            }
        }
    }

    asio::io_context context;
    Guard guard;
    std::thread thread;
};

bool isOfOperator(std::string_view name) noexcept { return name == "health" || name == "ready" || name == "metrics"; }

/// Refuses an endpoint that cannot keep whose threads are.
void checkKeepsOwners(const std::string& name, Endpoint& endpoint) {
    try {
        (void)endpoint.ownerOf(ThreadId("stategraph-owner"));
    } catch (const MissingCheckpointerError&) {
        throw InvalidArgumentError("the endpoint '" + name +
                                   "' has no checkpointer, which keeps whose threads are; with ServerOptions::owned "
                                   "compile its graph with one");
    } catch (const std::exception&) {  // the store may be reached when it is needed
    }
}

asio::awaitable<void> serveClient(std::shared_ptr<Connection> connection) {
    try {
        co_await connection->serve();
    } catch (const std::exception&) {  // the exception ends this connection only
    }
}

}  // namespace

/// The acceptor, the signals and the end of the server have a thread of their own. Other threads set what they want and
/// stop its context, which needs no memory; the thread then reads what they want, and continues.
struct Server::Impl {
    explicit Impl(ServerOptions options)
        : shared(std::make_shared<Shared>(checked(std::move(options)))),
          context(1),
          guard(context.get_executor()),
          acceptor(context),
          signals(context) {
        listenOn(acceptor, tcp::endpoint(asio::ip::make_address(shared->options.address), shared->options.port));
        port = acceptor.local_endpoint().port();
        for (std::size_t i = 0; i < shared->options.threads; ++i) workers.push_back(std::make_unique<Worker>());
    }
    ~Impl() {
        is_stopping = true;
        context.stop();
        if (thread.joinable()) thread.join();
        for (const auto& worker : workers) worker->context.stop();
        for (const auto& worker : workers) {
            if (worker->thread.joinable()) worker->thread.join();
        }
        // What it does refers to coroutines that end with the workers.
        shared->large_bodies.join();
    }

    void begin() {
        if (shared->options.handle_signals) {
            signals.add(SIGTERM);
            signals.add(SIGINT);
            signals.async_wait([this](const boost::system::error_code& error, int) {
                if (!error) drain(std::chrono::seconds(10));
            });
        }
        for (const auto& worker : workers) worker->thread = std::thread([&at = *worker] { at.run(); });
        thread = std::thread([this] { work(); });
    }
    void drain(std::chrono::milliseconds patience) noexcept {
        constexpr std::chrono::milliseconds longest = std::chrono::hours(24 * 365);
        {
            const stategraph::detail::LockGuard lock(mutex);
            if (!deadline) deadline = Clock::now() + std::min(patience, longest);
        }
        context.stop();
    }
    void stop() noexcept {
        is_stopping = true;
        context.stop();
    }
    void wait() {
        stategraph::detail::UniqueLock lock(mutex);
        ended.wait(lock.native(), [this]() SG_REQUIRES(mutex) { return has_ended; });
    }

    const std::shared_ptr<Shared> shared;
    std::uint16_t port = 0;

private:
    using Clock = std::chrono::steady_clock;

    /// The handler that is called when clients have connected.
    class Arrival {
    public:
        explicit Arrival(Impl& server) noexcept : server_(&server) { server.is_accepting = true; }
        Arrival(Arrival&& other) noexcept : server_(std::exchange(other.server_, nullptr)) {}
        ~Arrival() {  // if it was not called, there was no memory; `work` begins again
            if (server_ != nullptr) server_->is_accepting = false;
        }
        void operator()(const boost::system::error_code& error) {
            Impl& server = *std::exchange(server_, nullptr);
            server.is_accepting = false;
            if (error == asio::error::operation_aborted) return;
            server.acceptAll();
            server.awaitClients();
        }

    private:
        Impl* server_;
    };

    /// Runs on the server's own thread.
    void work() noexcept {
        while (!is_stopping) {
            try {
                // Called before the requests are read, because a thread stops the context after it has added one.
                context.restart();
                const auto until = drainsUntil();
                if (until) beginDraining();
                if (!is_accepting) awaitClients();
                if (is_stopping || (until && hasDrained(*until))) break;
                if (until) {
                    context.run_for(std::chrono::milliseconds(10));
                } else {
                    context.run();
                }
            } catch (...) {  // there is no memory; it tries again
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
        }
        end();
    }
    void awaitClients() {
        if (acceptor.is_open()) acceptor.async_wait(tcp::acceptor::wait_read, Arrival(*this));
    }
    void acceptAll() {
        while (!is_stopping) {
            boost::system::error_code error;
            const asio::any_io_executor executor = workers[next_worker++ % workers.size()]->context.get_executor();
            tcp::socket socket = acceptor.accept(executor, error);
            if (error == asio::error::would_block || error == asio::error::try_again) return;
            if (error) {  // there are no descriptors, or there is no memory; others will become free
                if (error != asio::error::connection_aborted)
                    std::this_thread::sleep_for(std::chrono::milliseconds(20));
                return;
            }
            welcome(std::move(socket));
        }
    }
    void welcome(tcp::socket socket) {
        boost::system::error_code ignored;
        stategraph::detail::closeOnExec(socket.native_handle());
        socket.set_option(tcp::no_delay(true), ignored);
        const auto executor = socket.get_executor();
        Held::Place place;
        if (const auto limit = limitReached(socket, place)) {
            asio::co_spawn(executor, refuse(shared, std::move(socket), *limit), asio::detached);
            return;
        }
        auto connection = std::make_shared<Connection>(shared, std::move(socket), std::move(place));
        asio::co_spawn(executor, serveClient(std::move(connection)), asio::detached);
    }
    /// Returns none if the client may have another connection, which then has the place.
    std::optional<Limit> limitReached(const tcp::socket& socket, Held::Place& place) {
        if (shared->connections >= shared->options.connections_max) return Limit::of_server;
        if (shared->options.per_client.connections_max == 0) return {};
        boost::system::error_code gone;
        const auto address = socket.remote_endpoint(gone).address();
        if (gone || shared->proxies.has(address)) return {};
        if (shared->held_connections->take(clientAt(address.to_string()).key, place)) return {};
        return Limit::of_client;
    }

    std::optional<Clock::time_point> drainsUntil() {
        const stategraph::detail::LockGuard lock(mutex);
        return deadline;
    }
    void beginDraining() noexcept {
        if (shared->is_draining.exchange(true)) return;
        shared->runs->drain();
        tellDrain(*shared);
    }
    /// Returns whether nothing is left to wait for. Connections without an answer under way are closed. The others get
    /// time until `until` to send what their clients have yet to receive.
    bool hasDrained(Clock::time_point until) noexcept {
        if (Clock::now() >= until) return true;
        if (shared->runs->size() > 0) return false;
        if (looks_without_runs++ == 0) shared->streams.wakeAll();
        if (shared->connections == 0) return true;
        if (looks_without_runs < 20 || shared->streams.answers() > 0) return false;
        boost::system::error_code ignored;
        acceptor.close(ignored);  // new clients would go on for ever
        closeAll();
        return false;
    }
    /// Returns false if some connections could not be closed, because there was no memory.
    bool closeAll() noexcept {
        const stategraph::detail::LockGuard lock(shared->open_mutex);
        bool all = true;
        for (Connection* const each : shared->open) all = each->close() && all;
        return all;
    }
    void end() noexcept {
        shared->is_draining = true;
        shared->has_ended = true;
        boost::system::error_code ignored;
        acceptor.close(ignored);
        signals.cancel(ignored);
        shared->runs->stop();
        // Connections that remain are closed when the server is destroyed.
        for (int left = 100; left > 0 && !closeAll(); --left)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        for (const auto& worker : workers) worker->guard.reset();
        const stategraph::detail::LockGuard lock(mutex);
        has_ended = true;
        ended.notify_all();
    }

    // NOLINTBEGIN(readability-identifier-naming): the members of an Impl are named like those of a struct.
    std::atomic<bool> is_stopping = false;
    std::vector<std::unique_ptr<Worker>> workers;
    std::size_t next_worker = 0;
    int looks_without_runs = 0;
    bool is_accepting = false;
    stategraph::detail::Mutex mutex;
    std::optional<Clock::time_point> deadline SG_GUARDED_BY(mutex);  // the deadline of a drain
    std::condition_variable ended;
    bool has_ended SG_GUARDED_BY(mutex) = false;
    asio::io_context context;
    Guard guard;
    tcp::acceptor acceptor;
    asio::signal_set signals;
    std::thread thread;
    // NOLINTEND(readability-identifier-naming)
};

Server::Server(ServerOptions options) : impl_(std::make_shared<Impl>(std::move(options))) { impl_->begin(); }

Server::~Server() {
    stop();
    wait();
    impl_->shared->runs->waitUntilEmpty(std::chrono::seconds(10));
}

void Server::add(const std::string& name, std::shared_ptr<Endpoint> endpoint) {
    if (!stategraph::detail::isPlainName(name) || isOfOperator(name))
        throw InvalidArgumentError(
            "an endpoint's name is 1 to 64 letters, digits, '-' and '_', and not health, ready or metrics: '" + name +
            "'");
    if (impl_->shared->options.owned) checkKeepsOwners(name, *endpoint);
    const stategraph::detail::LockGuard lock(impl_->shared->mutex);
    if (impl_->shared->handlers.contains(name) || !impl_->shared->endpoints.emplace(name, std::move(endpoint)).second) {
        throw InvalidArgumentError("there is an endpoint '" + name + "' already");
    }
}

void Server::handle(const std::string& name, Handler handler) {
    if (!stategraph::detail::isPlainName(name) || isOfOperator(name))
        throw InvalidArgumentError(
            "a handler's name is 1 to 64 letters, digits, '-' and '_', and not health, ready or metrics: '" + name +
            "'");
    auto kept = std::make_shared<const Handler>(std::move(handler));
    const stategraph::detail::LockGuard lock(impl_->shared->mutex);
    if (impl_->shared->endpoints.contains(name) || !impl_->shared->handlers.emplace(name, std::move(kept)).second)
        throw InvalidArgumentError("'" + name + "' is taken already");
}

void Server::page(const std::string& path, std::string content_type, std::string text) {
    const stategraph::detail::LockGuard lock(impl_->shared->mutex);
    impl_->shared->pages[spelt(path, false)] = {std::move(content_type), std::move(text)};
}

std::uint16_t Server::port() const noexcept { return impl_->port; }

void Server::wait() { impl_->wait(); }
void Server::drain(std::chrono::milliseconds patience) noexcept { impl_->drain(patience); }
void Server::stop() noexcept { impl_->stop(); }

std::size_t Server::runs() const noexcept { return impl_->shared->runs->size(); }
std::size_t Server::connections() const noexcept { return impl_->shared->connections; }
const std::shared_ptr<Shared>& Server::shared() const noexcept { return impl_->shared; }

}  // namespace stategraph::serve
