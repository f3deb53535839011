#include "model/http/http_stream.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <boost/asio/error.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <stategraph/asio.hpp>

#include "model/http/transfer.hpp"

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

/// The coroutine that awaits a transfer. If it does not reach its end, because it failed or because its execution
/// context is being destroyed, the transfer ends too.
class Awaiting {
public:
    Awaiting(std::shared_ptr<Transfer> transfer, const asio::any_io_executor& strand)
        : transfer_(std::move(transfer)), timer_(std::make_shared<asio::steady_timer>(strand)) {
        transfer_->setWaiter(timer_);
    }
    Awaiting(const Awaiting&) = delete;
    Awaiting& operator=(const Awaiting&) = delete;
    ~Awaiting() {
        transfer_->setWaiter(nullptr);
        if (!is_done_) transfer_->abandon();
    }
    void done() noexcept { is_done_ = true; }
    asio::steady_timer& timer() noexcept { return *timer_; }

private:
    std::shared_ptr<Transfer> transfer_;
    Transfer::Waiter timer_;
    bool is_done_ = false;
};

template <class T>
asio::awaitable<T> await(std::shared_ptr<Transfer> transfer, std::optional<T> (Transfer::*take)(),
                         std::chrono::milliseconds idle_limit) {
    const asio::any_io_executor strand = co_await asio::this_coro::executor;
    Awaiting awaiting(transfer, strand);
    const Transfer::Clock::time_point begin = Transfer::Clock::now();
    for (;;) {
        if (transfer->isStopped()) throw boost::system::system_error(asio::error::operation_aborted);
        if (std::optional<T> taken = ((*transfer).*take)()) {
            awaiting.done();
            T value = std::move(*taken);
            co_return value;
        }
        const Transfer::Clock::time_point limit = transfer->limit(begin, idle_limit);
        if (Transfer::Clock::now() >= limit) throw transfer->tooLate(idle_limit);
        awaiting.timer().expires_at(limit);
        boost::system::error_code changed;
        co_await awaiting.timer().async_wait(asio::redirect_error(asio::use_awaitable, changed));
    }
}

asio::awaitable<HttpHead> open(std::shared_ptr<Transfer> transfer, std::shared_ptr<const std::string> body,
                               std::chrono::milliseconds idle_limit) {
    const asio::any_io_executor strand = co_await asio::this_coro::executor;
    transfer->start(strand, std::move(body));
    HttpHead head = co_await await<HttpHead>(std::move(transfer), &Transfer::takeHead, idle_limit);
    co_return head;
}

}  // namespace

HttpStream::HttpStream(std::shared_ptr<const HttpClient> client, Stopping& stopping,
                       std::chrono::steady_clock::time_point deadline)
    : transfer_(std::make_shared<Transfer>(client, deadline, stopping.token())),
      stopping_(&stopping),
      idle_limit_(client->limits.idle_limit) {}

HttpStream::~HttpStream() {
    if (transfer_) transfer_->abandon();
}

Task<HttpHead> HttpStream::open(std::shared_ptr<const std::string> body) {
    return stoppable<HttpHead>(http::open(transfer_, std::move(body), idle_limit_), *stopping_);
}

Task<std::string> HttpStream::read() {
    return stoppable<std::string>(await<std::string>(transfer_, &Transfer::takePiece, idle_limit_), *stopping_);
}

void HttpStream::hurry(std::chrono::milliseconds idle_limit) { idle_limit_ = std::min(idle_limit_, idle_limit); }

void HttpStream::leave() {
    transfer_->leave();
    transfer_.reset();
}

Task<> pause(std::chrono::milliseconds time, Stopping& stopping) { return stoppable<void>(waits(time), stopping); }

}  // namespace stategraph::model::http
