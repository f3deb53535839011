// NOT WITH: sanitize
// TIMEOUT: 180
// Each allocation of the server's process fails once while it serves a request, while a page comes back to a chat, and
// while it is drained: it continues to serve others, no run and no connection stays, and it ends.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <stategraph/agent/agent.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/model/scripted_model.hpp>
#include <stategraph/serve/agent_endpoint.hpp>
#include <stategraph/serve/server.hpp>

namespace {

std::atomic<bool> armed = false;
std::atomic<long> countdown = 0;
std::atomic<bool> was_hit = false;

void* take(std::size_t size) {
    if (armed.load(std::memory_order_relaxed) && countdown.fetch_sub(1) == 1) {
        was_hit = true;
        throw std::bad_alloc();
    }
    if (void* place = std::malloc(size > 0 ? size : 1)) return place;
    throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return take(size); }
void operator delete(void* place) noexcept { std::free(place); }
void operator delete(void* place, std::size_t) noexcept { std::free(place); }

namespace sg = stategraph;
namespace agent = stategraph::agent;
namespace model = stategraph::model;
namespace serve = stategraph::serve;
using namespace std::chrono_literals;

namespace {

/// A client that allocates nothing.
class Client {
public:
    explicit Client(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in to = {};
        to.sin_family = AF_INET;
        to.sin_port = htons(port);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const timeval patience{10, 0};
        ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        is_open_ = ::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
    }
    Client(const Client&) = delete;
    ~Client() { ::close(socket_); }
    void send(const char* text) { is_open_ = is_open_ && ::send(socket_, text, std::strlen(text), MSG_NOSIGNAL) > 0; }
    /// Until the server closes. False: it neither answered nor closed for ten seconds.
    bool read() {
        while (is_open_) {
            const ssize_t got = ::recv(socket_, in_ + size_, sizeof in_ - 1 - size_, 0);
            if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
            if (got <= 0) break;
            size_ += static_cast<std::size_t>(got);
        }
        in_[size_] = 0;
        return true;
    }
    bool has(const char* text) const { return std::strstr(in_, text) != nullptr; }

private:
    int socket_;
    bool is_open_ = false;
    std::size_t size_ = 0;
    char in_[1U << 16U] = {};
};

int fail(const char* what, long number) {
    std::printf("allocation %ld failed: %s\n", number, what);
    return 1;
}

template <class F>
bool eventually(F holds) {
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::sleep_for(1ms);
    }
    return true;
}

void arm(long number) {
    was_hit = false;
    countdown = number;
    armed = true;
}

struct Served {
    serve::Server server;
    Served() {
        serve::EndpointOptions how;
        how.protocols = {serve::ownEvents(), serve::uiMessages()};
        const auto says = [](const model::Request&) { return model::assistant("some words are said here"); };
        sg::CompileOptions stored;
        stored.checkpointer = std::make_shared<sg::MemorySaver>();
        server.add("a", serve::endpoint(agent::Agent({.model = model::scripted(says), .compile = stored}), how));
    }
    bool servesOthers() {
        Client client(server.port());
        client.send("GET /health HTTP/1.0\r\nHost: localhost\r\n\r\n");
        return client.read() && client.has("200");
    }
    bool isIdle() const { return server.runs() == 0 && server.connections() == 0; }
};

constexpr const char* start =
    "POST /a/t/start HTTP/1.0\r\nHost: localhost\r\nContent-Length: 13\r\n\r\n{\"text\":\"go\"}";
constexpr const char* chat =
    "POST /a/chat HTTP/1.0\r\nHost: localhost\r\nContent-Length: 77\r\n\r\n"
    "{\"id\":\"t\",\"messages\":[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"go\"}]}]}";
constexpr const char* come_back = "GET /a/chat/t/stream HTTP/1.0\r\nHost: localhost\r\n\r\n";

/// The number of allocations that failed, or none if something is wrong.
std::optional<long> requests(bool comes_back) {
    Served served;
    if (!served.servesOthers()) return {};
    for (long number = 1;; ++number) {
        arm(number);
        {
            Client client(served.server.port());
            client.send(comes_back ? chat : start);
            if (comes_back) {
                Client back(served.server.port());
                back.send(come_back);
                if (!back.read()) return fail("a page that came back was left without an end", number), std::nullopt;
            }
            if (!client.read()) return fail("a client was left without an end", number), std::nullopt;
        }
        const bool is_idle = eventually([&] { return served.isIdle(); });
        armed = false;
        if (!is_idle) return fail("a run or a connection stayed", number), std::nullopt;
        if (!served.servesOthers()) return fail("the server does not serve others", number), std::nullopt;
        if (!was_hit) return number - 1;
    }
}

std::optional<long> drains() {
    for (long number = 1;; ++number) {
        Served served;
        Client client(served.server.port());
        client.send(start);
        arm(number);
        served.server.drain(2s);
        served.server.wait();
        armed = false;
        if (!client.read()) return fail("a client of a drained server was left without an end", number), std::nullopt;
        if (!was_hit) return number - 1;
    }
}

}  // namespace

int main() {
    std::thread([] {  // what waits for ever ends the test
        std::this_thread::sleep_for(170s);
        std::printf("the server waits for ever (allocation %ld to go)\n", countdown.load());
        std::fflush(stdout);
        std::_Exit(1);
    }).detach();
    const auto plain = requests(false);
    const auto back = plain ? requests(true) : std::nullopt;
    const auto drained = back ? drains() : std::nullopt;
    if (!drained) return 1;
    std::printf("failed in turn: %ld allocations of a request, %ld of a chat and a page that comes back, %ld of a drain\n",
                *plain, *back, *drained);
    return *plain > 10 && *back > 10 ? 0 : 1;
}
