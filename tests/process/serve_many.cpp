// SECONDS: 30
// A server with two threads has a thousand streams at once. Some clients never read, some hang up; every other client
// must receive everything, and the server must stay within 200 MB. Prints how many lines per second it passed on.
// NOT WITH: sanitize
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <stategraph/async.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/serve/agent_endpoint.hpp>
#include <stategraph/serve/server.hpp>

namespace sg = stategraph;
namespace agent = stategraph::agent;
namespace model = stategraph::model;
namespace serve = stategraph::serve;
namespace asio = boost::asio;
using asio::ip::tcp;
using namespace std::chrono_literals;

namespace {

constexpr int clients = 1000;
constexpr int pieces = 50;

std::atomic<bool> all_are_there = false;

/// Says fifty words, one every 40 ms, once every client is connected, and occupies no thread while it waits.
class SlowModel final : public model::Model {
public:
    sg::Task<model::Reply> ask(model::Request, const model::Asking& asking) const override {
        while (!all_are_there) co_await sg::sleepFor(20ms);
        std::string all;
        for (int i = 0; i < pieces; ++i) {
            co_await sg::sleepFor(40ms);
            const std::string word = "word" + std::to_string(i) + " ";
            if (asking.tell) asking.tell({model::Delta::Kind::text, word});
            all += word;
        }
        model::Reply reply;
        reply.message = model::assistant(all);
        co_return reply;
    }
};

long residentKb() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmHWM:")) return std::stol(line.substr(6));
    }
    return -1;
}

void raiseLimit() {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 8192);
    setrlimit(RLIMIT_NOFILE, &limit);
}

struct Counts {
    int whole = 0, broken = 0, hung_up = 0;
    std::size_t lines = 0;
};

asio::awaitable<void> talk(std::uint16_t port, int number, Counts& counts) {
    const auto executor = co_await asio::this_coro::executor;
    tcp::socket socket(executor);
    auto [refused] =
        co_await socket.async_connect({asio::ip::address_v4::loopback(), port}, asio::as_tuple(asio::use_awaitable));
    if (refused) {
        ++counts.broken;
        co_return;
    }
    const std::string body = R"({"text":"go"})";
    const std::string request = "POST /slow/t" + std::to_string(number) +
                                "/start?protocol=steps HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                                "Content-Type: application/json\r\nContent-Length: " +
                                std::to_string(body.size()) + "\r\n\r\n" + body;
    boost::system::error_code ignored;
    co_await asio::async_write(socket, asio::buffer(request), asio::redirect_error(asio::use_awaitable, ignored));
    if (number % 20 == 7) {  // this client never reads
        while (counts.whole + counts.broken + counts.hung_up < clients - clients / 20) {
            asio::steady_timer wait(executor, 20ms);
            co_await wait.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
        }
        co_return;
    }
    std::string all;
    char part[4096];
    for (;;) {
        auto [error, count] = co_await socket.async_read_some(asio::buffer(part), asio::as_tuple(asio::use_awaitable));
        if (error) break;
        all.append(part, count);
        if (number % 20 == 13 && all.size() > 1000) {  // this client hangs up
            ++counts.hung_up;
            co_return;
        }
    }
    counts.lines += static_cast<std::size_t>(std::count(all.begin(), all.end(), '\n'));
    bool is_whole = all.find("\"status\":\"done\"") != std::string::npos;
    for (int i = 0; i < pieces; ++i)
        is_whole = is_whole && all.find("word" + std::to_string(i) + " ") != std::string::npos;
    ++(is_whole ? counts.whole : counts.broken);
}

int runClients(std::uint16_t port) {
    raiseLimit();
    asio::io_context context(1);
    Counts counts;
    for (int i = 0; i < clients; ++i) asio::co_spawn(context, talk(port, i, counts), asio::detached);
    const auto begin = std::chrono::steady_clock::now();
    context.run_for(20min);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const int wanted = clients - 2 * (clients / 20);
    std::cout << counts.whole << " clients got all, " << counts.broken << " did not; " << counts.lines << " lines in "
              << seconds << " s, with " << clients / 20 << " that never read and " << clients / 20 << " that hung up"
              << std::endl;
    return counts.whole == wanted && counts.broken == 0 ? 0 : 1;
}

}  // namespace

int main() {
    raiseLimit();
    int pipe_ends[2];
    if (pipe(pipe_ends) != 0) return 2;
    const pid_t child = fork();  // forks before this process has threads
    if (child == 0) {
        std::uint16_t port = 0;
        if (read(pipe_ends[0], &port, sizeof port) != sizeof port) _exit(2);
        _exit(runClients(port));
    }
    serve::ServerOptions limits;
    limits.request_timeout = 20min;  // a busy machine may be slow to send a thousand requests
    serve::Server server(limits);
    const agent::Agent slow({.model = std::make_shared<const SlowModel>(),
                             .compile = {.checkpointer = std::make_shared<sg::MemorySaver>()}});
    serve::EndpointOptions options;
    options.protocols = {serve::stepEvents()};
    server.add("slow", serve::endpoint(slow, options));
    const std::uint16_t port = server.port();
    if (write(pipe_ends[1], &port, sizeof port) != sizeof port) return 2;
    std::size_t most = 0;
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        most = std::max(most, server.runs());
        if (most == clients) all_are_there = true;
        std::this_thread::sleep_for(5ms);  // sleeps: between two looks
    }
    const long kb = residentKb();
    std::cout << "at most " << most << " runs at once, " << kb / 1024 << " MB" << std::endl;
    if (most != clients || WEXITSTATUS(status) != 0 || !WIFEXITED(status)) return 1;
    if (kb > 200 * 1024) {
        std::cerr << "FAILED: the server took " << kb << " kB" << std::endl;
        return 1;
    }
    return 0;
}
