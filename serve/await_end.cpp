#include "serve/await_end.hpp"

#include <chrono>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace stategraph::serve {

asio::awaitable<void> awaitEnd(const ActiveRun& run, const std::atomic<bool>* has_gone) {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    asio::steady_timer wait(executor);
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!run.hasEnded() && !(has_gone != nullptr && *has_gone) && std::chrono::steady_clock::now() < until) {
        wait.expires_after(std::chrono::milliseconds(1));
        boost::system::error_code ignored;
        co_await wait.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
}

}  // namespace stategraph::serve
