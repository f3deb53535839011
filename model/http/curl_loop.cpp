#include "model/http/curl_loop.hpp"

#include <atomic>
#include <new>
#include <utility>

#include <unistd.h>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/system_context.hpp>
#include <boost/asio/system_executor.hpp>

namespace stategraph::model::http {

namespace {

namespace asio = boost::asio;
using boost::system::error_code;

/// How long the end of an answer that is of no interest is awaited.
constexpr std::chrono::milliseconds leave_time(500);
constexpr long most_kept = 32;

std::atomic<bool> is_exiting = false;

/// The executor below the strand of one coroutine, without a claim on the time of its context.
asio::any_io_executor below(const asio::any_io_executor& executor) {
    const auto* const strand = executor.target<asio::strand<asio::any_io_executor>>();
    return asio::prefer(strand != nullptr ? strand->get_inner_executor() : executor,
                        asio::execution::outstanding_work.untracked);
}

}  // namespace

void prepareCurl() {
    // OpenSSL is initialised in libcurl, and cleans up at the end of the process. Asio's own threads, which use it, end
    // before that, and so do the connections that they have kept.
    struct Prepared {
        Prepared() { curl_global_init(CURL_GLOBAL_DEFAULT); }
        ~Prepared() {
            auto& context = asio::query(asio::system_executor(), asio::execution::context);
            context.stop();
            context.join();
            if (asio::has_service<CurlLoop>(context)) asio::use_service<CurlLoop>(context).close();
            is_exiting = true;
        }
    };
    static const Prepared prepared;
}

bool isEnding() noexcept { return is_exiting; }

CurlLoop& CurlLoop::of(const asio::any_io_executor& executor) {
    auto& context = asio::query(executor, asio::execution::context);
    if (!asio::has_service<CurlLoop>(context)) {
        // The services that the loop uses are made before it, so that they end after it.
        const asio::steady_timer timer(asio::make_strand(executor));
        const asio::posix::stream_descriptor descriptor(executor);
    }
    auto& loop = asio::use_service<CurlLoop>(context);
    loop.open(executor);
    return loop;
}

void CurlLoop::open(const asio::any_io_executor& executor) {
    const stategraph::detail::LockGuard lock(opening_);
    if (strand_) return;
    asio::any_io_executor strand = asio::make_strand(below(executor));
    multi_ = curl_multi_init();
    share_ = curl_share_init();
    if (multi_ == nullptr || share_ == nullptr) throw std::bad_alloc();
    timer_.emplace(strand);
    curl_share_setopt(share_, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
    curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, onSocket);
    curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, onTimer);
    curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, most_kept);
    strand_ = std::move(strand);
}

void CurlLoop::start(const std::shared_ptr<Transfer>& transfer) {
    CURL* const easy = multi_ != nullptr ? transfer->prepare(*this, share_) : nullptr;
    if (easy == nullptr) return transfer->close();
    transfers_.insert(transfer);
    if (curl_multi_add_handle(multi_, easy) != CURLM_OK) end(transfer);
}

void CurlLoop::resume(const std::shared_ptr<Transfer>& transfer) {
    if (!transfers_.contains(transfer)) return;
    transfer->resume();
}

void CurlLoop::end(const std::shared_ptr<Transfer>& transfer) {
    if (transfers_.contains(transfer)) remove(transfer);
}

void CurlLoop::leave(const std::shared_ptr<Transfer>& transfer) {
    if (!transfers_.contains(transfer)) return;
    transfer->resume();
    const auto timer = std::make_shared<asio::steady_timer>(strand_, leave_time);
    transfer->setWaiter(timer);
    timer->async_wait([this, transfer, timer](const error_code&) { end(transfer); });
}

void CurlLoop::remove(const std::shared_ptr<Transfer>& transfer) {
    // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): `transfer` may be the element that is erased
    const std::shared_ptr<Transfer> held = transfer;
    transfers_.erase(held);
    curl_multi_remove_handle(multi_, held->handle());
    held->close();
}

void CurlLoop::close() noexcept {
    const stategraph::detail::LockGuard lock(opening_);
    if (multi_ == nullptr) return;
    if (is_exiting) {  // OpenSSL is gone, and the kernel closes what is open
        for (const auto& [socket, watched] : watched_) watched->descriptor.release();
        for (const auto& transfer : transfers_) transfer->detach();
    } else {
        while (!transfers_.empty()) {
            (*transfers_.begin())->setWaiter(nullptr);  // its handler is destroyed with the context
            remove(*transfers_.begin());
        }
        curl_multi_cleanup(multi_);
        curl_share_cleanup(share_);
    }
    multi_ = nullptr;
    transfers_.clear();
    watched_.clear();
    timer_.reset();
    strand_ = asio::any_io_executor();
}

void CurlLoop::act(curl_socket_t socket, int events) {
    if (multi_ == nullptr) return;
    int running = 0;
    curl_multi_socket_action(multi_, socket, events, &running);
    int left = 0;
    while (const CURLMsg* const message = curl_multi_info_read(multi_, &left)) {
        if (message->msg != CURLMSG_DONE) continue;
        const CURLcode code = message->data.result;
        Transfer* transfer = nullptr;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
        const std::shared_ptr<Transfer> held = transfer->shared_from_this();
        if (held->isRepeated(code)) {
            curl_multi_remove_handle(multi_, held->handle());
            if (curl_multi_add_handle(multi_, held->handle()) == CURLM_OK) continue;
        }
        held->ended(code);
        remove(held);
    }
}

// ------------------------------------------------------------------------------------------------- what libcurl wants

int CurlLoop::onTimer(CURLM*, long milliseconds, void* self) {
    auto& loop = *static_cast<CurlLoop*>(self);
    try {
        if (milliseconds < 0) {
            loop.timer_->cancel();
            return 0;
        }
        loop.timer_->expires_after(std::chrono::milliseconds(milliseconds));
        loop.timer_->async_wait([&loop](const error_code& stopped) {
            if (!stopped) loop.act(CURL_SOCKET_TIMEOUT, 0);
        });
        return 0;
    } catch (...) {
        return -1;
    }
}

int CurlLoop::onSocket(CURL* easy, curl_socket_t socket, int wanted, void* self, void*) {
    try {
        static_cast<CurlLoop*>(self)->watch(easy, socket, wanted);
        return 0;
    } catch (...) {
        return -1;
    }
}

int CurlLoop::onClose(void* self, curl_socket_t socket) {
    for (const auto& transfer : static_cast<CurlLoop*>(self)->transfers_) transfer->closing(socket);
    return ::close(socket);
}

void CurlLoop::watch(CURL* easy, curl_socket_t socket, int wanted) {
    const auto found = watched_.find(socket);
    if (wanted == CURL_POLL_REMOVE) {
        if (found == watched_.end()) return;
        found->second->wanted = CURL_POLL_NONE;
        found->second->descriptor.release();  // libcurl closes it, or keeps it
        watched_.erase(found);
        return;
    }
    std::shared_ptr<Watched> watched;
    if (found == watched_.end()) {
        watched = std::make_shared<Watched>(
            Watched{.descriptor = asio::posix::stream_descriptor(strand_, socket), .transfer = {}});
        watched_.emplace(socket, watched);
    } else {
        watched = found->second;
    }
    Transfer* transfer = nullptr;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &transfer);
    if (transfer != nullptr) {
        transfer->setSocket(socket);
        watched->transfer = transfer->weak_from_this();
    }
    watched->wanted = wanted;
    await(socket, watched);
}

void CurlLoop::await(curl_socket_t socket, const std::shared_ptr<Watched>& watched) {
    const auto arm = [&](int side, int events, bool Watched::*is_armed, auto wait_type) {
        if ((watched->wanted & side) == 0 || *watched.*is_armed) return;
        *watched.*is_armed = true;
        watched->descriptor.async_wait(wait_type, [=, this, watched = watched](const error_code& error) {
            *watched.*is_armed = false;
            if ((watched->wanted & side) == 0) return;  // also if it is no longer watched
            if (const auto transfer = watched->transfer.lock()) transfer->touch();
            act(socket, error ? CURL_CSELECT_ERR : events);
            if (watched->wanted != CURL_POLL_NONE) await(socket, watched);
        });
    };
    arm(CURL_POLL_IN, CURL_CSELECT_IN, &Watched::is_reading, asio::posix::stream_descriptor::wait_read);
    arm(CURL_POLL_OUT, CURL_CSELECT_OUT, &Watched::is_writing, asio::posix::stream_descriptor::wait_write);
}

}  // namespace stategraph::model::http
