#include "serve/refusal.hpp"

#include <array>
#include <string>
#include <tuple>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "serve/audit.hpp"

namespace stategraph::serve {

namespace {

// A refused client gets this long to take the answer, and as many of them at once; further ones get no answer.
constexpr auto patience = std::chrono::seconds(2);
constexpr std::size_t refused_max = 64;

std::string answerOf(Limit limit) {
    const bool is_clients = limit == Limit::of_client;
    const std::string body = errorJson(is_clients ? "this address has as many connections as it may; close some"
                                                  : "the server has as many connections as it may; try again later");
    return std::string(is_clients ? "HTTP/1.1 429 Too Many Requests\r\n" : "HTTP/1.1 503 Service Unavailable\r\n") +
           "Content-Type: application/json; charset=utf-8\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body;
}

/// Counts the refused clients that are being answered.
struct Refused {
    explicit Refused(std::atomic<std::size_t>& all) noexcept : count(all) { place = ++count; }
    ~Refused() { --count; }
    std::atomic<std::size_t>& count;
    std::size_t place;
};

}  // namespace

asio::awaitable<void> refuse(std::shared_ptr<Shared> shared, asio::ip::tcp::socket socket, Limit limit) {
    const Refused one(shared->refused);
    if (one.place > refused_max) co_return;
    Socket stream(std::move(socket));
    try {
        shared->metrics.countRefused(limit == Limit::of_client ? "per_client.connections_max" : "connections_max");
        if (shared->options.log) {
            boost::system::error_code gone;
            const auto remote = stream.socket().remote_endpoint(gone);
            boost::json::object line{{"limit", limit == Limit::of_client ? "per_client" : "server"}};
            if (!gone) line["address"] = remote.address().to_string();
            tell(shared->options.log, "refused", std::move(line));
        }
        const std::string text = answerOf(limit);
        stream.expires_after(patience);
        auto [error, size] =
            co_await asio::async_write(stream, asio::buffer(text), asio::as_tuple(asio::use_awaitable));
        boost::system::error_code ignored;
        stream.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
        // What the client sends is read, because closing with something unread would take the answer from it.
        std::array<char, 4096> unread{};
        while (!error) {
            std::tie(error, size) =
                co_await stream.async_read_some(asio::buffer(unread), asio::as_tuple(asio::use_awaitable));
        }
    } catch (const std::exception&) {  // there is no memory; the client gets no answer
    }
}

void tellDrain(const Shared& shared) noexcept {
    shared.streams.wakeAll();
    try {
        if (shared.options.log) {
            tell(shared.options.log, "drain",
                 {{"runs", shared.runs->size()}, {"connections", shared.connections.load()}});
        }
    } catch (const std::exception&) {  // there is no memory for the line
    }
}

}  // namespace stategraph::serve
