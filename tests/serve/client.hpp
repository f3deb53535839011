#pragma once
#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <boost/json.hpp>

// An independent client for tests of the server, which shares no code with it.
namespace client {

namespace asio = boost::asio;
namespace json = boost::json;
using asio::ip::tcp;

struct Response {
    int status = 0;
    std::map<std::string, std::string> headers;  // with names in lower case
    std::string body;                            // without the chunk framing

    std::vector<std::string> lines() const {
        std::vector<std::string> all;
        std::string_view left = body;
        while (!left.empty()) {
            const std::size_t end = std::min(left.find('\n'), left.size());
            if (end > 0) all.emplace_back(left.substr(0, end));
            left.remove_prefix(std::min(end + 1, left.size()));
        }
        return all;
    }
    std::vector<json::object> objects() const {
        std::vector<json::object> all;
        for (const std::string& line : lines()) {
            const std::string_view text =
                std::string_view(line).starts_with("data: ") ? std::string_view(line).substr(6) : line;
            if (text.starts_with('{')) all.push_back(json::parse(text).as_object());
        }
        return all;
    }
};

/// One connection to the server.
class Connection {
public:
    explicit Connection(std::uint16_t port) : socket_(context_) {
        socket_.connect({asio::ip::address_v4::loopback(), port});
    }

    void send(std::string_view text) { asio::write(socket_, asio::buffer(text)); }
    void request(std::string_view method, std::string_view target, std::string_view body = {},
                 std::string_view headers = {}) {
        std::string text;
        text.append(method).append(" ").append(target).append(" HTTP/1.1\r\nHost: localhost\r\n").append(headers);
        if (!body.empty() && headers.find("Content-Type:") == std::string_view::npos)
            text += "Content-Type: application/json\r\n";
        text += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n";
        send(text.append(body));
    }
    Response head() {
        Response response;
        const std::size_t size = asio::read_until(socket_, asio::dynamic_buffer(in_), "\r\n\r\n");
        std::string_view text = std::string_view(in_).substr(0, size);
        response.status = std::stoi(std::string(text.substr(9, 3)));
        text.remove_prefix(text.find("\r\n") + 2);
        while (text.size() > 2) {
            const std::string_view line = text.substr(0, text.find("\r\n"));
            std::string name(line.substr(0, line.find(':')));
            for (char& c : name) c = static_cast<char>(std::tolower(c));
            response.headers[name] = line.substr(line.find(':') + 2);
            text.remove_prefix(line.size() + 2);
        }
        in_.erase(0, size);
        return response;
    }
    /// The next chunk of a response; empty at its end.
    std::string chunk() {
        const std::size_t line = asio::read_until(socket_, asio::dynamic_buffer(in_), "\r\n");
        const std::size_t size = std::stoul(in_.substr(0, line), nullptr, 16);
        in_.erase(0, line);
        const std::string text = bytes(size);
        bytes(2);
        return text;
    }
    Response read() {
        Response response = head();
        if (response.headers.count("transfer-encoding") != 0) {
            for (std::string piece = chunk(); !piece.empty(); piece = chunk()) response.body += piece;
        } else if (response.headers.count("content-length") != 0) {
            response.body = bytes(std::stoul(response.headers.at("content-length")));
        } else {
            boost::system::error_code end;
            asio::read(socket_, asio::dynamic_buffer(in_), end);
            response.body = in_;
        }
        return response;
    }
    void close() { socket_.close(); }
    tcp::socket& socket() noexcept { return socket_; }

private:
    std::string bytes(std::size_t size) {
        if (in_.size() < size)
            asio::read(socket_, asio::dynamic_buffer(in_), asio::transfer_at_least(size - in_.size()));
        std::string text = in_.substr(0, size);
        in_.erase(0, size);
        return text;
    }

    asio::io_context context_;
    tcp::socket socket_;
    std::string in_;
};

inline Response get(std::uint16_t port, std::string_view target, std::string_view headers = {}) {
    Connection connection(port);
    connection.request("GET", target, {}, headers);
    return connection.read();
}
inline Response post(std::uint16_t port, std::string_view target, std::string_view body,
                     std::string_view headers = {}) {
    Connection connection(port);
    connection.request("POST", target, body, headers);
    return connection.read();
}

/// Whether a response says that its run has failed or was refused. A server waits for 250 ms for a run that is refused
/// at once, and answers with a status; on a busy machine the response may have begun before, and then ends with this.
inline bool tellsFailure(const Response& response) {
    return response.status == 200 && (response.body.find("\"failed\"") != std::string::npos ||
                                      response.body.find("\"type\":\"error\"") != std::string::npos);
}
/// Posts what is to be refused, again if the response had begun before: what is refused changes nothing.
inline Response refused(std::uint16_t port, std::string_view target, std::string_view body) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(5);
    Response response = post(port, target, body);
    while (tellsFailure(response) && std::chrono::steady_clock::now() < end) response = post(port, target, body);
    return response;
}

}  // namespace client
