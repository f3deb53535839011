#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

// A client of WebSockets for tests, which shares no code with the server.
namespace langgraph_tests {

class WebSocket {
public:
    WebSocket(std::uint16_t port, std::string_view target, std::string_view headers = {}) : socket_(context_) {
        namespace asio = boost::asio;
        socket_.connect({asio::ip::address_v4::loopback(), port});
        std::string request("GET ");
        request.append(target).append(" HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n");
        request.append("Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n");
        asio::write(socket_, asio::buffer(request.append(headers).append("\r\n")));
        const std::size_t size = asio::read_until(socket_, asio::dynamic_buffer(in_), "\r\n\r\n");
        status = std::stoi(in_.substr(9, 3));
        in_.erase(0, size);
    }

    /// Sends a message, masked with zeros; `kind`: 1 for a text, 2 for bytes.
    void send(std::string_view text, unsigned char kind = 1) {
        std::string frame;
        frame += static_cast<char>(0x80U | kind);
        if (text.size() < 126) {
            frame += static_cast<char>(0x80U | text.size());
        } else {  // less than 64 KiB
            frame += static_cast<char>(0xFEU);
            frame += static_cast<char>(text.size() >> 8U);
            frame += static_cast<char>(text.size() & 0xFFU);
        }
        frame.append(4, '\0').append(text);
        boost::asio::write(socket_, boost::asio::buffer(frame));
    }
    /// The next text; empty: the server has ended the conversation, `code` says why.
    std::string next() {
        for (;;) {
            const std::string head = bytes(2);
            if (head.size() < 2) return {};
            const unsigned kind = static_cast<unsigned char>(head[0]) & 0x0FU;
            std::size_t size = static_cast<unsigned char>(head[1]) & 0x7FU;
            if (size >= 126) {
                std::size_t read = 0;
                for (const char each : bytes(size == 126 ? 2 : 8)) read = read << 8U | static_cast<unsigned char>(each);
                size = read;
            }
            std::string body = bytes(size);
            if (kind == 1) return body;
            if (kind != 8) continue;  // a ping
            if (body.size() >= 2) code = static_cast<unsigned char>(body[0]) << 8 | static_cast<unsigned char>(body[1]);
            return {};
        }
    }

    int status = 0;
    int code = 0;

private:
    /// Less if the connection ends.
    std::string bytes(std::size_t size) {
        boost::system::error_code end;
        if (in_.size() < size) {
            boost::asio::read(socket_, boost::asio::dynamic_buffer(in_),
                              boost::asio::transfer_at_least(size - in_.size()), end);
        }
        std::string text = in_.substr(0, size);
        in_.erase(0, text.size());
        return text.size() < size ? std::string() : text;
    }

    boost::asio::io_context context_;
    boost::asio::ip::tcp::socket socket_;
    std::string in_;
};

}  // namespace langgraph_tests
