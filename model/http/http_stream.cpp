#include "model/http/http_stream.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <stategraph/asio.hpp>

#include "model/http/http_connection.hpp"

namespace stategraph::model::http {

namespace {

namespace asio = boost::asio;

/// Awaits a coroutine of Asio as `fromAsio` does, and cancels it if this task is destroyed meanwhile. The coroutine
/// refers to nothing of the task, so the node that awaits need not exist until it has ended.
template <class T>
Task<T> stoppable(asio::awaitable<T> called, Stopping& stopping) {
    stopping.check();
    detail::AsioCallOptions options;
    options.stop = stopping.token();
    Task<T> waiting = detail::awaitAsio<T>(std::move(called), std::move(options));
    StopsAtEnd abandoning(stopping);  // destroyed before `waiting`, which must exist to be cancelled
    try {
        if constexpr (std::is_void_v<T>) {
            co_await std::move(waiting);
            abandoning.release();
        } else {
            T value = co_await std::move(waiting);
            abandoning.release();
            co_return value;
        }
    } catch (...) {
        abandoning.release();
        stopping.check();  // its outcome does not matter if a stop is requested
        throw;
    }
}

asio::awaitable<void> waits(std::chrono::milliseconds time) {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor, time);
    co_await timer.async_wait(asio::use_awaitable);
}

}  // namespace

HttpStream::HttpStream(std::shared_ptr<const HttpClient> client, Stopping& stopping,
                       std::chrono::steady_clock::time_point deadline)
    : connection_(makeConnection(client, deadline, stopping.token())),
      stopping_(&stopping),
      idle_limit_(client->limits.idle_limit) {}

Task<HttpHead> HttpStream::open(std::shared_ptr<const std::string> body) {
    return stoppable<HttpHead>(openConnection(connection_, std::move(body)), *stopping_);
}

Task<std::string> HttpStream::read() {
    return stoppable<std::string>(readConnection(connection_, idle_limit_), *stopping_);
}

void HttpStream::hurry(std::chrono::milliseconds idle_limit) { idle_limit_ = std::min(idle_limit_, idle_limit); }

Task<> pause(std::chrono::milliseconds time, Stopping& stopping) { return stoppable<void>(waits(time), stopping); }

}  // namespace stategraph::model::http
