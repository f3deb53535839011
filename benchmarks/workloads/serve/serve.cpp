// The events that an endpoint sends. A graph writes custom events of about 100 bytes, and one client or 100 clients
// receive them as lines of JSON or as server-sent events. The floor is a server of bare Boost.Beast that writes the
// same bytes to the same clients, in chunks as large as the endpoint's. The clients are in the same process, on a
// thread of their own.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <stategraph/memory_saver.hpp>
#include <stategraph/serve/server.hpp>
#include <stategraph/stategraph.hpp>

#include "benchmarks/support/workload.hpp"

// This is not in an unnamed namespace, so that coroutines which the server's templates create from it have distinct
// names.
namespace served {

struct State {
    int n = 0;
    static constexpr auto channels() { return stategraph::channels<&State::n>(); }
};

}  // namespace served

namespace bench {
namespace {

namespace sg = stategraph;
namespace serve = stategraph::serve;
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;

constexpr std::size_t chunk_bytes = 16U << 10U;  // the same as the endpoint's
constexpr char mark = '~';                       // once in each event's text, and nowhere else
constexpr std::string_view last_chunk = "\r\n0\r\n\r\n";

sg::CompiledGraph<served::State> writes(std::size_t events) {
    sg::StateGraph<served::State> graph;
    graph.addNode("write", [events](const served::State&, sg::Runtime& runtime) -> sg::Update<served::State> {
        const std::string text = mark + std::string(99, 'x');
        for (std::size_t i = 0; i < events; ++i) runtime.write(text);
        return {};
    });
    graph.addEdge(sg::START, "write").addEdge("write", sg::END);
    return graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
}

/// Clients that each send a request and read its response, on connections that stay open.
class Clients {
public:
    Clients(std::uint16_t port, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            sockets_.emplace_back(context_);
            sockets_.back().connect({asio::ip::address_v4::loopback(), port});
            sockets_.back().set_option(tcp::no_delay(true));
        }
    }
    /// Returns the number of events that all clients received together. `body` receives what the first client received.
    std::size_t ask(bool is_sse, std::string* body = nullptr) {
        std::size_t events = 0;
        for (tcp::socket& socket : sockets_) {
            asio::co_spawn(context_, talk(socket, requestOf(is_sse), events, std::exchange(body, nullptr)),
                           asio::detached);
        }
        context_.restart();
        context_.run();
        return events;
    }

private:
    std::string requestOf(bool is_sse) {
        const std::string accept = is_sse ? "text/event-stream" : "application/x-ndjson";
        return "POST /writes/t" + std::to_string(++runs_) + "/start HTTP/1.1\r\nHost: localhost\r\nAccept: " + accept +
               "\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{\"input\":{}}";
    }
    static asio::awaitable<void> talk(tcp::socket& socket, std::string request, std::size_t& events,
                                      std::string* body) {
        co_await asio::async_write(socket, asio::buffer(request), asio::use_awaitable);
        std::vector<char> part(256U << 10U);
        std::string end;  // the last bytes that arrived
        while (!end.ends_with(last_chunk)) {
            const std::size_t size = co_await socket.async_read_some(asio::buffer(part), asio::use_awaitable);
            const std::string_view text(part.data(), size);
            events += static_cast<std::size_t>(std::count(text.begin(), text.end(), mark));
            if (body != nullptr) body->append(text);
            end.append(text.substr(text.size() - std::min(text.size(), last_chunk.size())));
            end.erase(0, end.size() - std::min(end.size(), last_chunk.size()));
        }
    }

    asio::io_context context_{1};
    std::vector<tcp::socket> sockets_;
    std::size_t runs_ = 0;
};

/// The server of the floor. It answers each request with a text that it was given.
class Bare {
public:
    explicit Bare(std::string body) : body_(std::move(body)) {
        asio::co_spawn(context_, accept(), asio::detached);
        for (std::thread& each : threads_) each = std::thread([this] { context_.run(); });
    }
    ~Bare() {
        context_.stop();
        for (std::thread& each : threads_) each.join();
    }
    std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

private:
    asio::awaitable<void> accept() {
        for (;;) {
            auto [error, socket] =
                co_await acceptor_.async_accept(asio::make_strand(context_), asio::as_tuple(asio::use_awaitable));
            if (error) co_return;
            const auto executor = socket.get_executor();
            asio::co_spawn(executor, serveOne(tcp::socket(std::move(socket))), asio::detached);
        }
    }
    asio::awaitable<void> serveOne(tcp::socket socket) {
        socket.set_option(tcp::no_delay(true));
        beast::flat_buffer in;
        for (;;) {
            http::request<http::string_body> request;
            auto [error, read] = co_await http::async_read(socket, in, request, asio::as_tuple(asio::use_awaitable));
            if (error) co_return;
            http::response<http::empty_body> head(http::status::ok, 11);
            head.chunked(true);
            http::response_serializer<http::empty_body> serializer(head);
            co_await http::async_write_header(socket, serializer, asio::use_awaitable);
            for (std::size_t at = 0; at < body_.size(); at += chunk_bytes) {
                const asio::const_buffer piece(body_.data() + at, std::min(chunk_bytes, body_.size() - at));
                co_await asio::async_write(socket, http::make_chunk(piece), asio::use_awaitable);
            }
            co_await asio::async_write(socket, http::make_chunk_last(), asio::use_awaitable);
        }
    }

    const std::string body_;
    asio::io_context context_{2};
    tcp::acceptor acceptor_{context_, {asio::ip::address_v4::loopback(), 0}};
    std::thread threads_[2];
};

/// Returns what was sent, without the head and the sizes of chunks.
std::string bodyOf(const std::string& response) {
    std::string body;
    std::size_t at = response.find("\r\n\r\n") + 4;
    for (;;) {
        const std::size_t size = std::stoul(response.substr(at, 16), nullptr, 16);
        if (size == 0) return body;
        at = response.find("\r\n", at) + 2;
        body.append(response, at, size);
        at += size + 2;
    }
}

/// No event is dropped, because there is room for all of them if a client is slower than the graph.
serve::ServerOptions roomy(std::size_t events) {
    serve::ServerOptions options;
    options.events_max = 2 * events + 100;
    options.event_bytes_max = 1U << 30U;
    return options;
}

void measure(benchmark::State& state, Clients& clients, bool is_sse, std::size_t wanted) {
    std::size_t passed = 0;
    for (auto _ : state) {
        const std::size_t events = clients.ask(is_sse);
        if (events != wanted) state.SkipWithError("events were lost");
        passed += events;
    }
    state.counters["events_per_second"] = benchmark::Counter(static_cast<double>(passed), benchmark::Counter::kIsRate);
}

void endpoint(benchmark::State& state, bool is_sse, std::size_t count, std::size_t events) {
    serve::Server server(roomy(events));
    server.add("writes", serve::endpoint(writes(events)));
    Clients clients(server.port(), count);
    measure(state, clients, is_sse, count * events);
}

void byHand(benchmark::State& state, bool is_sse, std::size_t count, std::size_t events) {
    std::string response;
    {
        serve::Server server(roomy(events));
        server.add("writes", serve::endpoint(writes(events)));
        Clients(server.port(), 1).ask(is_sse, &response);
    }
    const Bare bare(bodyOf(response));
    Clients clients(bare.port(), count);
    measure(state, clients, is_sse, count * events);
}

}  // namespace

void registerCases() {
    const std::size_t all = quick() ? 1000 : 20'000;  // the events of all clients together
    for (const bool is_sse : {false, true}) {
        const std::string name = is_sse ? "serve/sse" : "serve/ndjson";
        for (const std::size_t clients : {1, 100}) {
            const auto real = [=](benchmark::State& state) { endpoint(state, is_sse, clients, all / clients); };
            const auto floor = [=](benchmark::State& state) { byHand(state, is_sse, clients, all / clients); };
            add(name, clients, real)->UseRealTime()->Unit(benchmark::kMillisecond);
            addFloor(name, clients, floor)->UseRealTime()->Unit(benchmark::kMillisecond);
        }
    }
}

}  // namespace bench
