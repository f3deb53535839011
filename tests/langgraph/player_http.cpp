#include "tests/langgraph/player_http.hpp"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstddef>
#include <future>
#include <thread>
#include <utility>

#include <sys/socket.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;

namespace player {
namespace {

constexpr std::size_t largest_body = 64U << 20U;

http::request<http::string_body> messageOf(Request&& request) {
    http::request<http::string_body> message;
    message.method_string(request.method);
    message.target(request.path);
    message.set(http::field::host, "127.0.0.1");
    message.set(http::field::connection, "close");
    if (request.body) message.set(http::field::content_type, "application/json");
    for (const auto& [name, value] : request.headers) message.set(name, value);
    message.body() = std::move(request.body).value_or("");
    if (!message.body().empty() || request.method != "GET") message.content_length(message.body().size());
    return message;
}

std::string lower(std::string_view text) {
    std::string made(text);
    for (char& c : made) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return made;
}

}  // namespace

std::string Reply::contentType() const {
    const auto found = headers.find("content-type");
    if (found == headers.end()) return {};
    const std::string type = found->second.substr(0, found->second.find(';'));
    return lower(type.substr(0, type.find_last_not_of(' ') + 1));
}

class Exchange::Impl {
public:
    Impl(unsigned short port, Request request, Stop stop) : stop_(std::move(stop)), socket_(context_) {
        boost::system::error_code error;
        socket_.connect({asio::ip::address_v4::loopback(), port}, error);
        // Also a request that is aborted at once has been sent before.
        if (!error) http::write(socket_, messageOf(std::move(request)), error);
        reply_ = promise_.get_future();
        thread_ = std::jthread([this, error] { run(error); });
    }
    ~Impl() { abort(); }

    void abort() {
        is_aborted_ = true;
        ::shutdown(socket_.native_handle(), SHUT_RDWR);  // ends what the thread waits for
    }
    Reply wait(std::chrono::milliseconds patience) {
        if (reply_.wait_for(patience) == std::future_status::ready) return reply_.get();
        abort();
        Reply reply = reply_.get();
        reply.fault = "the reply did not end within " + std::to_string(patience.count()) + " ms";
        return reply;
    }

private:
    void run(boost::system::error_code error) {
        Reply reply;
        if (!error) read(reply, error);
        if (error && !is_aborted_) reply.fault = "the connection ended: " + error.message();
        ::shutdown(socket_.native_handle(), SHUT_RDWR);
        promise_.set_value(std::move(reply));
    }

    void read(Reply& reply, boost::system::error_code& error) {
        beast::flat_buffer buffer;
        http::response_parser<http::string_body> parser;
        parser.body_limit(largest_body);
        http::read_header(socket_, buffer, parser, error);
        if (error) return;
        reply.status = parser.get().result_int();
        for (const auto& field : parser.get()) {
            reply.headers[lower({field.name_string().data(), field.name_string().size()})] = std::string(field.value());
        }
        EventReader events;
        bool is_ended = readEvents(parser.get().body(), reply, events);
        while (!is_ended && !error && !parser.is_done()) {
            http::read_some(socket_, buffer, parser, error);
            is_ended = readEvents(parser.get().body(), reply, events);
        }
        if (is_ended) error = {};
    }
    // Takes the bytes that have come. Returns whether the client hangs up.
    bool readEvents(std::string& bytes, Reply& reply, EventReader& events) const {
        const std::string piece = std::exchange(bytes, {});
        reply.body += piece;
        if (!reply.isStream()) return false;
        for (Event& event : events.feed(piece)) {
            reply.events.push_back(std::move(event));
            if (stop_ && stop_(reply.events.back())) return true;
        }
        return false;
    }

    const Stop stop_;
    asio::io_context context_;
    tcp::socket socket_;
    std::atomic<bool> is_aborted_ = false;
    std::promise<Reply> promise_;
    std::future<Reply> reply_;
    std::jthread thread_;
};

Exchange::Exchange(unsigned short port, Request request, Stop stop)
    : impl_(std::make_unique<Impl>(port, std::move(request), std::move(stop))) {}
Exchange::~Exchange() = default;
void Exchange::abort() { impl_->abort(); }
Reply Exchange::wait(std::chrono::milliseconds patience) { return impl_->wait(patience); }

}  // namespace player
