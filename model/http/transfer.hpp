#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include <curl/curl.h>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <stategraph/detail/mutex.hpp>

#include "model/http/http_client.hpp"

namespace stategraph::model::http {

class CurlLoop;

/// One request and its answer, between the loop that moves its bytes (CurlLoop) and the coroutine that awaits them.
/// The loop calls the functions of its part on its strand, the coroutine the others.
class Transfer : public std::enable_shared_from_this<Transfer> {
public:
    using Clock = std::chrono::steady_clock;
    using Waiter = std::shared_ptr<boost::asio::steady_timer>;

    Transfer(std::shared_ptr<const HttpClient> client, Clock::time_point deadline, std::stop_token stop)
        : client_(std::move(client)), deadline_(deadline), stop_(std::move(stop)) {}
    Transfer(const Transfer&) = delete;
    Transfer& operator=(const Transfer&) = delete;

    /// Begins the request on the loop of this executor's context.
    void start(const boost::asio::any_io_executor& executor, std::shared_ptr<const std::string> body);
    /// None if it has not come yet. Errors: ModelError; boost::system::system_error (operation_aborted) after an end
    /// that nobody reported.
    std::optional<HttpHead> takeHead();
    /// The next piece of the body, at most 16 kB; it is empty at the end. None and errors: as takeHead.
    std::optional<std::string> takePiece();
    /// The timer, whose executor is a strand, is cancelled there whenever something has changed. Null: nobody waits.
    void setWaiter(Waiter waiter);
    bool isStopped() const noexcept { return stop_.stop_requested(); }
    /// The time at which a wait that began at `begin` ends with `tooLate`.
    Clock::time_point limit(Clock::time_point begin, std::chrono::milliseconds idle_limit) const;
    ModelError tooLate(std::chrono::milliseconds idle_limit) const;
    /// Closes the connection, unless the answer is complete.
    void abandon() noexcept;
    /// The rest of the answer is of no interest. Its end is awaited for a moment, so that the connection can be kept.
    void leave() noexcept;

    // The loop's part.
    /// Returns null if it was abandoned, or if there is no memory for it.
    CURL* prepare(CurlLoop& loop, CURLSH* share);
    void touch() noexcept { active_.store(Clock::now().time_since_epoch().count()); }
    void setSocket(curl_socket_t socket) noexcept { socket_ = socket; }
    void detach() noexcept;
    CURL* handle() const noexcept { return easy_; }
    /// Lets more of the body come if it was held back.
    void resume();
    /// The socket is about to be closed.
    void closing(curl_socket_t socket) noexcept;
    /// Whether the request is to be sent again, on a new connection, after this end: a kept one was dead, and it has
    /// not reached the server's side. What did may have been charged.
    bool isRepeated(CURLcode code);
    /// The answer has ended.
    void ended(CURLcode code);
    /// It is no longer in the loop. Called with and without `ended` before.
    void close() noexcept;

private:
    /// What has come, and how it ended.
    struct Answer {
        HttpHead head;
        std::string arrived;
        std::size_t taken = 0;         // of `arrived`
        std::string_view broken_rule;  // why this file ended it
        std::exception_ptr failure;
        bool has_head = false;
        bool is_complete = false;
        bool is_over = false;
    };
    /// What the coroutine has said.
    struct Wishes {
        bool is_held = false;
        bool is_left = false;
        bool is_abandoned = false;
    };

    static std::size_t onHead(char* line, std::size_t, std::size_t size, void* self);
    static std::size_t onBody(char* bytes, std::size_t, std::size_t size, void* self);
    static std::size_t onSend(char* out, std::size_t, std::size_t room, void* self);
    static int onRepeat(void* self, curl_off_t, int);
    static int onConnected(void* self, char*, char*, int, int);
    static curl_socket_t onOpen(void* self, curlsocktype, struct curl_sockaddr* address);

    void setOptions(CURLSH* share) SG_REQUIRES(mutex_);
    void takeLine(std::string_view line) SG_REQUIRES(mutex_);
    bool isFirstRepeat() SG_REQUIRES(mutex_);
    void wake() SG_REQUIRES(mutex_);
    void post(void (CurlLoop::*function)(const std::shared_ptr<Transfer>&)) SG_REQUIRES(mutex_);
    void checkFailure() const SG_REQUIRES(mutex_);
    ModelError failure(CURLcode code) const SG_REQUIRES(mutex_);
    std::string_view step(bool is_reached) const SG_REQUIRES(mutex_);

    const std::shared_ptr<const HttpClient> client_;
    const Clock::time_point deadline_;
    const std::stop_token stop_;
    std::atomic<Clock::rep> active_ = 0;

    // Of the loop alone, from `start` on.
    std::shared_ptr<const std::string> body_;
    CURL* easy_ = nullptr;
    curl_slist* headers_ = nullptr;
    curl_socket_t socket_ = CURL_SOCKET_BAD;
    std::array<char, CURL_ERROR_SIZE> error_{};
    std::size_t head_bytes_ = 0;
    std::size_t discarded_ = 0;
    std::optional<bool> is_delivered_;  // by the connection that was closed first: libcurl may have opened another
    bool was_repeated_ = false;

    mutable stategraph::detail::Mutex mutex_;
    CurlLoop* loop_ SG_GUARDED_BY(mutex_) = nullptr;  // null before it was started and after its end
    Waiter waiter_ SG_GUARDED_BY(mutex_);
    std::size_t sent_ SG_GUARDED_BY(mutex_) = 0;
    bool is_connected_ SG_GUARDED_BY(mutex_) = false;
    Answer answer_ SG_GUARDED_BY(mutex_);
    Wishes wishes_ SG_GUARDED_BY(mutex_);
};

}  // namespace stategraph::model::http
