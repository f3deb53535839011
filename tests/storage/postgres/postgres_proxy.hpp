#pragma once
#include <atomic>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/storage/postgres/postgres_helper.hpp"
#include "tests/support/temporary_folder.hpp"

namespace postgres_tests {

/// Stands between a saver and the server, and cuts connections at chosen points.
class Proxy {
public:
    enum class Cut : std::uint8_t {
        none,
        /// The server does not receive the request.
        request,
        /// The server receives the request and has answered when the connection is cut.
        reply,
        /// The server receives the request, and the connection is cut before it answers.
        wait,
    };

    explicit Proxy(const std::string& server = socketOf(conninfo()))
        : server_(server), listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        const sockaddr_un address = addressOf((folder_ / ".s.PGSQL.5432").string());
        if (::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
            ::listen(listener_, 64) != 0)
            throw std::runtime_error("the proxy cannot listen");
        acceptor_ = std::thread([this] { accept(); });
    }
    Proxy(const Proxy&) = delete;
    Proxy& operator=(const Proxy&) = delete;
    ~Proxy() {
        is_ending_ = true;
        acceptor_.join();
        for (std::thread& each : connections_) each.join();
        ::close(listener_);
    }

    std::string address() const {
        return "host=" + folder_.path().string() + " user=sg dbname=postgres connect_timeout=300";
    }
    /// Cuts the next connection whose client sends these bytes, once.
    void cut(Cut how, std::string_view at) {
        const std::lock_guard lock(mutex_);
        at_ = at;
        cut_ = how;
    }
    /// Whether the cut has happened.
    bool hasCut() {
        const std::lock_guard lock(mutex_);
        return cut_ == Cut::none;
    }

    /// The path of the socket that a connection string of these tests names.
    static std::string socketOf(const std::string& info) {
        const std::size_t begin = info.find("host=") + 5;
        return info.substr(begin, info.find(' ', begin) - begin) + "/.s.PGSQL.5432";
    }

private:
    static sockaddr_un addressOf(const std::string& path) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        if (path.size() >= sizeof address.sun_path) throw std::runtime_error("too long for a socket: " + path);
        std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
        return address;
    }
    static bool sendAll(int to, std::string_view bytes) {
        while (!bytes.empty()) {
            const ssize_t sent = ::send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent <= 0) return false;
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        }
        return true;
    }
    bool isReadable(int socket) const {
        pollfd poll{socket, POLLIN, 0};
        return ::poll(&poll, 1, 20) > 0;
    }
    Cut cutOf(std::string_view bytes) {
        const std::lock_guard lock(mutex_);
        if (cut_ == Cut::none || bytes.find(at_) == std::string_view::npos) return Cut::none;
        return std::exchange(cut_, Cut::none);
    }
    void accept() {
        while (!is_ending_) {
            if (!isReadable(listener_)) continue;
            const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
            if (client >= 0) connections_.emplace_back([this, client] { serve(client); });
        }
    }
    void serve(int client) {
        const int server = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const sockaddr_un address = addressOf(server_);
        if (::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) pass(client, server);
        ::close(client);
        ::close(server);
    }
    void pass(int client, int server) {
        std::vector<char> room(1 << 16);
        while (!is_ending_) {
            pollfd polls[] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
            if (::poll(polls, 2, 20) <= 0) continue;
            for (const bool is_client : {true, false}) {
                if (polls[is_client ? 0 : 1].revents == 0) continue;
                const ssize_t got = ::recv(is_client ? client : server, room.data(), room.size(), 0);
                if (got <= 0) return;
                const std::string_view bytes(room.data(), static_cast<std::size_t>(got));
                const Cut cut = is_client ? cutOf(bytes) : Cut::none;
                if (cut == Cut::request) return;
                if (!sendAll(is_client ? server : client, bytes)) return;
                if (cut == Cut::none) continue;
                while (cut == Cut::reply && !is_ending_ && !isReadable(server)) {
                }
                return;
            }
        }
    }

    TemporaryFolder folder_;
    const std::string server_;
    const int listener_;
    std::atomic<bool> is_ending_{false};
    std::mutex mutex_;
    Cut cut_ = Cut::none;
    std::string at_;
    std::thread acceptor_;
    std::vector<std::thread> connections_;  // used by the acceptor's thread until it has ended
};

}  // namespace postgres_tests
