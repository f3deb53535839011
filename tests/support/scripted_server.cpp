#include "tests/support/scripted_server.hpp"

#include <charconv>
#include <mutex>
#include <set>
#include <thread>

#include <poll.h>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

class ScriptedServer::Impl {
public:
    Impl(Script script, const std::string& certificate, const std::string& key)
        : script_(std::move(script)), acceptor_(context_, {asio::ip::make_address("127.0.0.1"), 0}) {
        if (!certificate.empty()) {
            tls_ = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_server);
            tls_->use_certificate_chain(asio::buffer(certificate));
            tls_->use_private_key(asio::buffer(key), asio::ssl::context::pem);
        }
        port_ = acceptor_.local_endpoint().port();
        accepting_ = std::jthread([this] { accept(); });
    }
    ~Impl() {
        {
            const std::lock_guard lock(mutex_);
            is_ending_ = true;
            for (const int socket : sockets_) ::shutdown(socket, SHUT_RDWR);
        }
        ::shutdown(acceptor_.native_handle(), SHUT_RDWR);
        accepting_.join();
        peers_.clear();
    }

    class Connection final : public Peer {
    public:
        Connection(Impl& server, tcp::socket socket) : server_(&server), socket_(std::move(socket)) {}

        bool secure() {
            if (!server_->tls_) return true;
            stream_ = std::make_unique<asio::ssl::stream<tcp::socket&>>(socket_, *server_->tls_);
            error_code error;
            stream_->handshake(asio::ssl::stream_base::server, error);
            const std::lock_guard lock(server_->mutex_);
            if (!error && SSL_session_reused(stream_->native_handle()) == 0) ++server_->full_handshakes_;
            return !error;
        }
        std::string request() override {
            std::string bytes;
            std::size_t wanted = std::string::npos;
            while (bytes.size() < wanted) {
                char piece[4096];
                error_code error;
                const std::size_t size = stream_ ? stream_->read_some(asio::buffer(piece), error)
                                                 : socket_.read_some(asio::buffer(piece), error);
                if (error) return {};
                bytes.append(piece, size);
                const std::size_t head = bytes.find("\r\n\r\n");
                if (wanted == std::string::npos && head != std::string::npos)
                    wanted = head + 4 + lengthOf(bytes.substr(0, head));
            }
            const std::lock_guard lock(server_->mutex_);
            server_->requests_.push_back(bytes);
            return bytes;
        }
        void send(std::string_view bytes) override {
            error_code ignored;
            if (stream_) {
                asio::write(*stream_, asio::buffer(bytes.data(), bytes.size()), ignored);
            } else {
                asio::write(socket_, asio::buffer(bytes.data(), bytes.size()), ignored);
            }
        }
        void tunnel(unsigned short port) override {
            tcp::socket other(server_->context_);
            error_code error;
            other.connect({asio::ip::make_address("127.0.0.1"), port}, error);
            while (!error) {
                pollfd waiting[2] = {{socket_.native_handle(), POLLIN, 0}, {other.native_handle(), POLLIN, 0}};
                if (::poll(waiting, 2, -1) < 0) continue;
                for (const bool is_answer : {false, true}) {
                    if (waiting[is_answer ? 1 : 0].revents == 0 || error) continue;
                    char piece[4096];
                    const std::size_t size = (is_answer ? other : socket_).read_some(asio::buffer(piece), error);
                    if (!error) asio::write(is_answer ? socket_ : other, asio::buffer(piece, size), error);
                }
            }
        }
        void waitForBytes() override {
            error_code ignored;
            socket_.wait(tcp::socket::wait_read, ignored);
        }
        void reset() override {
            error_code ignored;
            socket_.set_option(asio::socket_base::linger(true, 0), ignored);
            const std::lock_guard lock(server_->mutex_);
            server_->sockets_.erase(socket_.native_handle());
            socket_.close(ignored);
        }
        bool waitForEnd(std::chrono::milliseconds time) override {
            const auto end = std::chrono::steady_clock::now() + time;
            for (;;) {
                const auto left =
                    std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
                if (left.count() <= 0) return false;
                pollfd waiting{socket_.native_handle(), POLLIN, 0};
                if (::poll(&waiting, 1, static_cast<int>(left.count())) <= 0) continue;
                char piece[4096];
                error_code error;
                socket_.read_some(asio::buffer(piece), error);
                if (error) return true;
            }
        }
        tcp::socket& socket() { return socket_; }

    private:
        static std::size_t lengthOf(std::string head) {
            for (char& c : head) c = static_cast<char>(std::tolower(c));
            const std::size_t at = head.find("content-length: ");
            std::size_t length = 0;
            if (at != std::string::npos) std::from_chars(head.data() + at + 16, head.data() + head.size(), length);
            return length;
        }
        Impl* server_;
        tcp::socket socket_;
        std::unique_ptr<asio::ssl::stream<tcp::socket&>> stream_;
    };

    void accept() {
        for (;;) {
            tcp::socket socket(context_);
            error_code error;
            acceptor_.accept(socket, error);
            const std::lock_guard lock(mutex_);
            if (error || is_ending_) return;
            sockets_.insert(socket.native_handle());
            peers_.emplace_back(
                [this, peer = std::make_shared<Connection>(*this, std::move(socket)), number = count_++] {
                    peer->number = number;
                    if (peer->secure()) script_(*peer);
                    const std::lock_guard ending(mutex_);
                    if (peer->socket().is_open()) sockets_.erase(peer->socket().native_handle());
                    error_code ignored;
                    peer->socket().close(ignored);
                    ++ended_;
                });
        }
    }

    const Script script_;
    asio::io_context context_;
    tcp::acceptor acceptor_;
    std::unique_ptr<asio::ssl::context> tls_;
    unsigned short port_ = 0;
    mutable std::mutex mutex_;
    std::set<int> sockets_;
    std::vector<std::string> requests_;
    std::size_t count_ = 0;
    std::size_t full_handshakes_ = 0;
    std::size_t ended_ = 0;
    bool is_ending_ = false;
    std::vector<std::jthread> peers_;
    std::jthread accepting_;
};

ScriptedServer::ScriptedServer(Script script, std::string certificate, std::string key)
    : impl_(std::make_unique<Impl>(std::move(script), certificate, key)) {}
ScriptedServer::~ScriptedServer() = default;

std::string ScriptedServer::url() const {
    return (impl_->tls_ ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(impl_->port_);
}
unsigned short ScriptedServer::port() const { return impl_->port_; }
std::size_t ScriptedServer::connections() const {
    const std::lock_guard lock(impl_->mutex_);
    return impl_->count_;
}
std::size_t ScriptedServer::fullHandshakes() const {
    const std::lock_guard lock(impl_->mutex_);
    return impl_->full_handshakes_;
}
std::size_t ScriptedServer::openConnections() const {
    const std::lock_guard lock(impl_->mutex_);
    return impl_->count_ - impl_->ended_;
}
std::vector<std::string> ScriptedServer::requests() const {
    const std::lock_guard lock(impl_->mutex_);
    return impl_->requests_;
}
