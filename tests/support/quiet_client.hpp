#pragma once
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/// A client that allocates nothing.
class QuietClient {
public:
    explicit QuietClient(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in to = {};
        to.sin_family = AF_INET;
        to.sin_port = htons(port);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const timeval patience{300, 0};
        ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        is_open_ = ::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
    }
    QuietClient(const QuietClient&) = delete;
    QuietClient& operator=(const QuietClient&) = delete;
    ~QuietClient() { ::close(socket_); }
    void send(const char* text) { is_open_ = is_open_ && ::send(socket_, text, std::strlen(text), MSG_NOSIGNAL) > 0; }
    void request(const char* method, const char* target, const char* body = "", const char* headers = "") {
        char text[1024];
        std::snprintf(text, sizeof text,
                      "%s %s HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\n%s"
                      "Content-Length: %zu\r\n\r\n%s",
                      method, target, headers, std::strlen(body), body);
        send(text);
    }
    /// Reads until the server closes. Returns false if it neither answered nor closed for five minutes.
    bool read() {
        while (readSome()) {
        }
        return !is_left_;
    }
    /// Reads more; returns false if nothing is left.
    bool readSome() {
        if (!is_open_) return false;
        const ssize_t got = ::recv(socket_, in_ + size_, sizeof in_ - 1 - size_, 0);
        is_left_ = got < 0 && (errno == EAGAIN);
        if (got <= 0) return false;
        size_ += static_cast<std::size_t>(got);
        return true;
    }
    bool has(const char* text) const { return std::strstr(in_, text) != nullptr; }
    const char* text() const { return in_; }
    void endSending() { ::shutdown(socket_, SHUT_WR); }
    void reset() {
        const linger now{1, 0};
        ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
        ::close(std::exchange(socket_, -1));
        is_open_ = false;
    }

private:
    int socket_;
    bool is_open_ = false;
    bool is_left_ = false;
    std::size_t size_ = 0;
    char in_[1U << 15U] = {};
};
