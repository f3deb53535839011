#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/task.hpp>

#include "mcp/wire.hpp"
#include "model/http/http_client.hpp"
#include "model/http/http_stream.hpp"

namespace stategraph::mcp::detail {

/// What the exchanges of one session share; they may outlive its wire.
class HttpSession : public std::enable_shared_from_this<HttpSession> {
public:
    HttpSession(std::shared_ptr<const model::http::HttpClient> client, std::chrono::milliseconds end_wait,
                WireSink& sink, const WireLimits& limits);

    bool send(std::string text, std::int64_t request);
    void abandon(std::int64_t request) noexcept;
    void setVersion(const std::string& version);
    /// Stops all exchanges, and begins to end the session at the server if it has one.
    void end() noexcept;
    /// The sink is not called any more when this has returned.
    void disconnect() noexcept;
    /// Waits until the session has ended at the server, for `end_wait` at most.
    void awaitEnd() noexcept;
    bool isOver() noexcept;

private:
    struct Message {
        std::string text;
        std::int64_t request;
    };

    void start(Message message) SG_REQUIRES(mutex_);
    std::shared_ptr<const model::http::HttpClient> clientNow(const char* method) SG_REQUIRES(mutex_);
    void ended(std::int64_t exchange, std::size_t bytes, bool was_gate) noexcept;
    void removed() noexcept;
    void deliver(std::string_view text) noexcept;
    void fail(std::int64_t request, std::string_view why) noexcept;
    void breakOff(std::string_view why) noexcept;
    bool isAwaited(std::int64_t request) noexcept;
    /// Keeps the session's id. Returns false if it cannot be one.
    bool takeId(const std::string& id);
    static Task<> removeSession(std::shared_ptr<const model::http::HttpClient> client,
                                std::chrono::steady_clock::time_point deadline);
    /// One message, and what the server answers to it.
    Task<> exchange(std::shared_ptr<const model::http::HttpClient> client, std::shared_ptr<const std::string> body,
                    std::int64_t request, std::stop_token stop);
    Task<> readAnswer(const model::http::HttpClient& client, model::http::HttpStream& stream,
                      const model::http::HttpHead& head, std::int64_t request);
    Task<> readRefusal(const model::http::HttpClient& client, model::http::HttpStream& stream,
                       const model::http::HttpHead& head, std::int64_t request);

    const std::shared_ptr<const model::http::HttpClient> client_;
    const std::chrono::milliseconds end_wait_;
    const WireLimits limits_;

    stategraph::detail::Mutex sink_mutex_;  // held while the sink is called; never taken by `send`
    WireSink* sink_ SG_GUARDED_BY(sink_mutex_);

    stategraph::detail::Mutex mutex_;
    std::string session_id_ SG_GUARDED_BY(mutex_);
    std::string version_ SG_GUARDED_BY(mutex_);
    std::map<std::int64_t, std::pair<std::int64_t, std::stop_source>> exchanges_ SG_GUARDED_BY(mutex_);
    std::int64_t last_exchange_ SG_GUARDED_BY(mutex_) = 0;
    /// Messages that wait until `notifications/initialized` was taken, which servers expect before all others.
    std::deque<Message> waiting_ SG_GUARDED_BY(mutex_);
    bool is_gate_next_ SG_GUARDED_BY(mutex_) = false;
    bool is_gate_closed_ SG_GUARDED_BY(mutex_) = false;
    bool is_stopped_ SG_GUARDED_BY(mutex_) = false;
    bool is_ending_ SG_GUARDED_BY(mutex_) = false;  // the request that ends the session is under way
    std::condition_variable is_removed_;
    std::size_t unsent_bytes_ SG_GUARDED_BY(mutex_) = 0;
};

}  // namespace stategraph::mcp::detail
