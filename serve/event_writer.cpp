#include "serve/event_writer.hpp"

#include <charconv>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "serve/origin.hpp"

namespace stategraph::serve {

namespace {

bool wantsSse(const Request& request) {
    const std::string_view accept = request[http::field::accept];
    return accept.find("text/event-stream") != std::string_view::npos;
}

}  // namespace

EventWriter::EventWriter(std::shared_ptr<Shared> shared, std::shared_ptr<Socket> socket, const Protocol& protocol,
                         const Request& request)
    : shared_(std::move(shared)),
      socket_(std::move(socket)),
      protocol_(protocol),
      is_sse_(protocol.only_sse || wantsSse(request)),
      is_chunked_(request.version() >= 11),
      keeps_(is_chunked_ && request.keep_alive()),
      head_(http::status::ok, is_chunked_ ? 11 : 10) {
    allowOrigin(request, shared_->options.origins, head_);
}

void EventWriter::add(const std::string& line) {
    if (is_sse_) text_ += "data: ";
    text_ += line;
    text_ += is_sse_ ? "\n\n" : "\n";
}

void EventWriter::addLast() {
    if (is_sse_ && !protocol_.last_data.empty()) add(protocol_.last_data);
}

void EventWriter::addPosition(const std::string& position) {
    if (is_sse_) text_ += "id: " + position + "\n";
}

std::string EventWriter::framed(bool is_last) const {
    std::string out;
    if (is_chunked_ && !text_.empty()) {
        char size[16];
        const auto end = std::to_chars(size, size + sizeof size, text_.size(), 16).ptr;
        out.append(size, end).append("\r\n").append(text_).append("\r\n");
    } else {
        out = text_;
    }
    if (is_chunked_ && is_last) out += "0\r\n\r\n";
    return out;
}

asio::awaitable<bool> EventWriter::writeHead() {
    head_.set(http::field::content_type,
              is_sse_ ? "text/event-stream; charset=utf-8" : "application/x-ndjson; charset=utf-8");
    head_.set(http::field::cache_control, "no-cache, no-transform");
    head_.set("X-Accel-Buffering", "no");
    head_.set("X-Content-Type-Options", "nosniff");
    for (const auto& [name, value] : protocol_.headers) head_.set(name, value);
    head_.keep_alive(keeps_);
    if (is_chunked_) head_.chunked(true);
    http::response_serializer<http::empty_body> serializer(head_);
    socket_->expires_after(shared_->options.write_timeout);
    auto [error, size] = co_await http::async_write_header(*socket_, serializer, asio::as_tuple(asio::use_awaitable));
    socket_->expires_never();
    co_return !error;
}

asio::awaitable<bool> EventWriter::flush(bool is_last) {
    const std::string text = framed(is_last);
    text_.clear();
    if (text.empty()) co_return true;
    socket_->expires_after(shared_->options.write_timeout);
    auto [error, size] = co_await asio::async_write(*socket_, asio::buffer(text), asio::as_tuple(asio::use_awaitable));
    socket_->expires_never();
    co_return !error;
}

}  // namespace stategraph::serve
