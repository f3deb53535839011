#include <stategraph/serve/server.hpp>

#include <condition_variable>
#include <list>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <stategraph/detail/plain_name.hpp>
#include <stategraph/error.hpp>

#include "serve/connection.hpp"
#include "serve/shared.hpp"

namespace stategraph::serve {

namespace {

using asio::ip::tcp;
using Guard = asio::executor_work_guard<asio::io_context::executor_type>;

ServerOptions checked(ServerOptions options) {
    if (options.threads < 1) throw InvalidArgumentError("ServerOptions::threads must be at least 1");
    if (options.connections_max < 1 || options.runs_max < 1)
        throw InvalidArgumentError("connections_max and runs_max must be at least 1");
    boost::system::error_code wrong;
    const auto address = asio::ip::make_address(options.address, wrong);
    if (wrong) throw InvalidArgumentError("ServerOptions::address is no IP address: '" + options.address + "'");
    if (options.hosts.empty() && address.is_loopback()) options.hosts = {"localhost", "127.0.0.1", "[::1]"};
    return options;
}

}  // namespace

struct Server::Impl : std::enable_shared_from_this<Server::Impl> {
    explicit Impl(ServerOptions options)
        : shared(std::make_shared<Shared>(checked(std::move(options)))),
          context(static_cast<int>(shared->options.threads)),
          guard(context.get_executor()),
          acceptor(asio::make_strand(context)),
          signals(acceptor.get_executor()),
          patience(acceptor.get_executor()),
          look(acceptor.get_executor()) {
        shared->sockets = context.get_executor();
        const tcp::endpoint where(asio::ip::make_address(shared->options.address), shared->options.port);
        acceptor.open(where.protocol());
        acceptor.set_option(tcp::acceptor::reuse_address(true));
        acceptor.bind(where);
        acceptor.listen();
        port = acceptor.local_endpoint().port();
    }

    void begin() {
        asio::co_spawn(acceptor.get_executor(), accept(shared_from_this()), asio::detached);
        if (shared->options.handle_signals) {
            signals.add(SIGTERM);
            signals.add(SIGINT);
            signals.async_wait([weak = weak_from_this()](const boost::system::error_code& error, int) {
                const auto self = weak.lock();
                if (!error && self) self->drainNow(std::chrono::seconds(10));
            });
        }
        for (std::size_t i = 0; i < shared->options.threads; ++i) {
            threads.emplace_back([this] { work(); });
        }
    }

    /// What a handler throws, without memory, ends neither the thread nor the other clients.
    void work() {
        for (;;) {
            try {
                context.run();
                return;
            } catch (const std::exception&) {
            }
        }
    }
    static asio::awaitable<void> accept(std::shared_ptr<Impl> self) {
        while (self->acceptor.is_open()) {
            try {
                auto [error, socket] = co_await self->acceptor.async_accept(asio::make_strand(self->context),
                                                                            asio::as_tuple(asio::use_awaitable));
                if (!error) {
                    if (self->shared->connections < self->shared->options.connections_max)
                        self->welcome(std::move(socket));
                    continue;
                }
                if (error == asio::error::operation_aborted) break;
                // No descriptors, or no memory: others will be free.
                asio::steady_timer wait(self->acceptor.get_executor(), std::chrono::milliseconds(20));
                boost::system::error_code ignored;
                co_await wait.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
                continue;
            } catch (const std::bad_alloc&) {  // it listens on
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
    void welcome(tcp::socket socket) {
        boost::system::error_code ignored;
        socket.set_option(tcp::no_delay(true), ignored);
        const auto executor = socket.get_executor();
        try {
            const auto connection = std::make_shared<Connection>(shared, std::move(socket));
            std::erase_if(connections, [](const std::weak_ptr<Connection>& each) { return each.expired(); });
            connections.push_back(connection);
            asio::co_spawn(executor, serve(connection), asio::detached);
        } catch (const std::bad_alloc&) {  // the client is left
        }
    }
    static asio::awaitable<void> serve(std::shared_ptr<Connection> connection) {
        try {
            co_await connection->serve();
        } catch (const std::exception&) {  // it ends this connection, and no other
        }
    }

    void drainNow(std::chrono::milliseconds time) noexcept {
        if (shared->is_draining.exchange(true)) return;
        boost::system::error_code ignored;
        acceptor.close(ignored);
        shared->runs->drain();
        try {
            patience.expires_after(time);
            patience.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
                if (!error) self->stopNow();
            });
            lookForEnd();
        } catch (const std::exception&) {  // without a timer nothing would end it
            stopNow();
        }
    }
    /// Has the server's strand do it; where there is no memory for that, tries again for some seconds, and then ends
    /// without it.
    template <class F>
    void soon(F what) noexcept {
        for (int left = 500; left > 0; --left) {
            try {
                asio::post(acceptor.get_executor(), what);
                return;
            } catch (const std::exception&) {
                std::this_thread::sleep_for(std::chrono::milliseconds(10));
            }
        }
        shared->is_draining = true;
        shared->runs->stop();
        context.stop();
        setEnded();
    }
    void setEnded() noexcept {
        const std::lock_guard lock(mutex);
        has_ended = true;
        ended.notify_all();
    }
    /// Until nothing is left to wait for.
    void lookForEnd() {
        if (shared->runs->size() == 0 && !is_stopped) {
            closeIdle();
            if (shared->connections == 0) {
                stopNow();
                return;
            }
        }
        look.expires_after(std::chrono::milliseconds(10));
        look.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
            if (!error && !self->is_stopped) self->lookForEnd();
        });
    }
    /// Those that wait for a request. What a run's clients have still to be told they are given time for.
    void closeIdle() {
        if (++looks_without_runs < 20) return;
        closeAll();
    }
    void closeAll() {
        for (const auto& each : connections) {
            if (const auto connection = each.lock()) connection->close();
        }
    }
    void stopNow() noexcept {
        if (std::exchange(is_stopped, true)) return;
        shared->is_draining = true;
        boost::system::error_code ignored;
        acceptor.close(ignored);
        signals.cancel(ignored);
        patience.cancel();
        look.cancel();
        shared->runs->stop();
        closeAll();
        guard.reset();
        setEnded();
    }

    const std::shared_ptr<Shared> shared;
    asio::io_context context;
    Guard guard;
    tcp::acceptor acceptor;  // with what else is on its strand
    asio::signal_set signals;
    asio::steady_timer patience, look;
    std::list<std::weak_ptr<Connection>> connections;
    int looks_without_runs = 0;
    bool is_stopped = false;
    std::uint16_t port = 0;
    std::vector<std::thread> threads;
    std::mutex mutex;
    std::condition_variable ended;
    bool has_ended = false;
};

Server::Server(ServerOptions options) : impl_(std::make_shared<Impl>(std::move(options))) { impl_->begin(); }

Server::~Server() {
    stop();
    wait();
    impl_->shared->runs->waitUntilEmpty(std::chrono::seconds(10));
    impl_->context.stop();
    for (std::thread& thread : impl_->threads) thread.join();
}

void Server::add(const std::string& name, std::shared_ptr<Endpoint> endpoint) {
    if (!stategraph::detail::isPlainName(name) || name == "health")
        throw InvalidArgumentError("an endpoint's name is 1 to 64 letters, digits, '-' and '_': '" + name + "'");
    const std::lock_guard lock(impl_->shared->mutex);
    if (!impl_->shared->endpoints.emplace(name, std::move(endpoint)).second) {
        throw InvalidArgumentError("there is an endpoint '" + name + "' already");
    }
}

void Server::page(const std::string& path, std::string content_type, std::string text) {
    const std::lock_guard lock(impl_->shared->mutex);
    impl_->shared->pages[path] = {std::move(content_type), std::move(text)};
}

std::uint16_t Server::port() const noexcept { return impl_->port; }

void Server::wait() {
    std::unique_lock lock(impl_->mutex);
    impl_->ended.wait(lock, [this] { return impl_->has_ended; });
}

void Server::drain(std::chrono::milliseconds patience) noexcept {
    impl_->soon([impl = impl_, patience] { impl->drainNow(patience); });
}

void Server::stop() noexcept {
    impl_->soon([impl = impl_] { impl->stopNow(); });
}

std::size_t Server::runs() const noexcept { return impl_->shared->runs->size(); }
std::size_t Server::connections() const noexcept { return impl_->shared->connections; }

}  // namespace stategraph::serve
