#pragma once
#include <map>
#include <memory>
#include <optional>
#include <set>

#include <curl/curl.h>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "model/http/transfer.hpp"

namespace stategraph::model::http {

/// All requests of one execution context of Asio, and the connections that are kept for the next ones: libcurl's multi
/// interface on Asio's reactor. It is a service of the context, so that connections never outlive it. Its functions run
/// on its strand; no thread waits in them.
class CurlLoop final : public boost::asio::execution_context::service {
public:
    using key_type = CurlLoop;
    static inline boost::asio::execution_context::id id;

    explicit CurlLoop(boost::asio::execution_context& context) : service(context) {}
    CurlLoop(const CurlLoop&) = delete;
    CurlLoop& operator=(const CurlLoop&) = delete;

    /// The loop of the executor's context. Thread-safe.
    static CurlLoop& of(const boost::asio::any_io_executor& executor);
    boost::asio::any_io_executor strand() const { return strand_; }

    void start(const std::shared_ptr<Transfer>& transfer);
    void resume(const std::shared_ptr<Transfer>& transfer);
    /// Ends it if it has not ended; its connection is closed.
    void end(const std::shared_ptr<Transfer>& transfer);
    /// Ends it when its answer has ended, or after a moment.
    void leave(const std::shared_ptr<Transfer>& transfer);
    /// Closes a socket for libcurl.
    static int onClose(void* self, curl_socket_t socket);
    /// Ends all, and closes the kept connections. Nothing begins afterwards.
    void close() noexcept;

private:
    /// A socket, which belongs to libcurl, as Asio's reactor knows it.
    struct Watched {
        boost::asio::posix::stream_descriptor descriptor;
        std::weak_ptr<Transfer> transfer;
        int wanted = CURL_POLL_NONE;
        bool is_reading = false;
        bool is_writing = false;
    };

    static int onSocket(CURL* easy, curl_socket_t socket, int wanted, void* self, void*);
    static int onTimer(CURLM*, long milliseconds, void* self);

    void shutdown() noexcept override { close(); }
    void open(const boost::asio::any_io_executor& executor);
    void watch(CURL* easy, curl_socket_t socket, int wanted);
    void await(curl_socket_t socket, const std::shared_ptr<Watched>& watched);
    void act(curl_socket_t socket, int events);
    void remove(const std::shared_ptr<Transfer>& transfer);

    stategraph::detail::Mutex opening_;
    boost::asio::any_io_executor strand_;  // not changed once it is set
    CURLM* multi_ = nullptr;
    CURLSH* share_ = nullptr;
    std::optional<boost::asio::steady_timer> timer_;
    std::map<curl_socket_t, std::shared_ptr<Watched>> watched_;
    std::set<std::shared_ptr<Transfer>> transfers_;
};

/// Makes libcurl ready for this process.
void prepareCurl();
/// Whether the process is ending, so that no request can be made any more.
bool isEnding() noexcept;

}  // namespace stategraph::model::http
