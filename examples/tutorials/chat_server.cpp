// A chat server on Boost.Asio and Beast: a request is a run, and its answer the run's events, a line of JSON each,
// while the model speaks. When a client hangs up, its run is stopped.
//
//     START ──► answer ──► END        answer: asks a model, and passes its tokens on as they come
//
// Everything is on one thread: sessions, runs, nodes and what they share. The clients are in this program too, and talk
// to the server over sockets.
#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <stategraph/asio.hpp>
#include <stategraph/messages.hpp>
#include <stategraph/ndjson.hpp>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;
namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::use_awaitable;
using asio::ip::tcp;
using namespace std::chrono_literals;

// [begin state]
struct State {
    std::vector<sg::Message> messages = {};
    // [end state]
    static constexpr auto channels() { return sg::channels(sg::channel<&State::messages>(sg::addMessages)); }
};

// Takes the place of a client of some model's API. All runs share it, without a lock.
class Model {
public:
    // Calls `take` with each token.
    template <class Take>
    asio::awaitable<std::string> complete(const std::vector<sg::Message>& messages, const Take& take) {
        std::string text;
        asio::steady_timer timer(co_await asio::this_coro::executor);
        std::istringstream words("You said " + std::to_string(messages.size()) +
                                 " thing(s), the last was: " + messages.back().content);
        for (std::string word; words >> word;) {
            timer.expires_after(2ms);
            co_await timer.async_wait(use_awaitable);
            const std::string token = (text.empty() ? "" : " ") + word;
            ++tokens_;
            take(token);
            text += token;
        }
        co_return text;
    }
    int tokens() const { return tokens_; }

private:
    int tokens_ = 0;
};

// [begin graph]
sg::CompiledGraph<State> makeGraph(Model& model) {
    sg::StateGraph<State> graph;
    graph.addNode("answer", [&model](const State& state, sg::Runtime& runtime) -> asio::awaitable<sg::Update<State>> {
        sg::Message reply{"assistant", "", "reply-" + std::to_string(state.messages.size())};
        const auto passOn = [&](const std::string& token) {
            runtime.emitMessage(sg::Message{"assistant", token, reply.id});
        };
        reply.content = co_await model.complete(state.messages, passOn);
        co_return sg::Update<State>{sg::add<&State::messages>(reply)};
    });
    graph.addEdge(sg::START, "answer").addEdge("answer", sg::END);
    return graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
}
// [end graph]

// -------------------------------------------------------------------------------------------------------------- server
struct Server {
    sg::CompiledGraph<State> app;
    std::map<std::string, std::string> log = {};  // how each thread's runs ended
};

// [begin send]
// A chunk for each event, and the last one.
asio::awaitable<void> sendEvents(sg::AsioStream<State, State>& events, tcp::socket& socket) {
    for (;;) {
        const auto event = co_await events.next();
        if (!event) break;
        std::ostringstream line;
        sg::NdjsonWriter(line).write(*event);
        const std::string text = line.str();
        co_await asio::async_write(socket, http::make_chunk(asio::buffer(text)), use_awaitable);
    }
    co_await asio::async_write(socket, http::make_chunk_last(), use_awaitable);
}
// [end send]

// [begin serve]
// POST /chat/THREAD with what the user says.
asio::awaitable<void> serve(Server& server, tcp::socket socket) {
    using namespace asio::experimental::awaitable_operators;
    const auto executor = co_await asio::this_coro::executor;
    boost::beast::flat_buffer buffer;
    http::request<http::string_body> request;
    co_await http::async_read(socket, buffer, request, use_awaitable);

    http::response<http::empty_body> head(http::status::ok, request.version());
    head.set(http::field::content_type, "application/x-ndjson");
    head.chunked(true);
    http::response_serializer<http::empty_body> serializer(head);
    co_await http::async_write_header(socket, serializer, use_awaitable);

    const std::string thread(request.target().substr(std::string_view("/chat/").size()));
    const sg::Message said{"user", request.body(), ""};
    auto events = sg::asyncStreamOn(executor, server.app, {sg::add<&State::messages>(said)},
                                    {.thread_id = thread, .on_busy = sg::OnBusy::wait},
                                    {.modes = {sg::StreamMode::messages, sg::StreamMode::runs}});
    // Whichever ends first cancels the other: a client that hangs up makes its socket readable, and the reader of the
    // events stops the run.
    const auto first =
        co_await (sendEvents(events, socket) || socket.async_wait(tcp::socket::wait_read, use_awaitable));
    if (first.index() == 1) {
        for (;;) {  // reads to the end of the run, and ignores the events
            const auto event = co_await events.next();
            if (!event) break;
        }
    }
    server.log[thread] += std::string(" ") + toString(events.outcome().status);
}
// [end serve]

// [begin accept]
asio::awaitable<void> accept(Server& server, tcp::acceptor& acceptor) {
    for (;;) {
        auto [error, socket] = co_await acceptor.async_accept(asio::as_tuple(use_awaitable));
        if (error) break;  // closed
        asio::co_spawn(acceptor.get_executor(), serve(server, std::move(socket)), asio::detached);
    }
}
// [end accept]

// ------------------------------------------------------------------------------------------------------------- clients
// Prints an event; whether it was a token.
bool show(const std::string& line) {
    std::istringstream text(line);
    const auto event = sg::NdjsonReader(text).next();
    if (const auto end = sg::endOf(*event)) std::cout << "\n  the run is " << toString(end->ending) << "\n";
    if (event->mode != sg::StreamMode::messages) return false;
    const auto data = event->data.as<std::map<std::string, sg::Value>>();
    std::cout << data.at("message").as<sg::Message>().content << std::flush;
    return true;
}

// Says something, and hangs up after this many tokens.
asio::awaitable<void> say(tcp::endpoint server, std::string thread, std::string what, int tokens_max) {
    tcp::socket socket(co_await asio::this_coro::executor);
    co_await socket.async_connect(server, use_awaitable);
    http::request<http::string_body> request(http::verb::post, "/chat/" + thread, 11);
    request.set(http::field::host, "localhost");
    request.body() = what;
    request.prepare_payload();
    co_await http::async_write(socket, request, use_awaitable);

    std::cout << thread << " says \"" << what << "\"\n  ";
    boost::beast::flat_buffer buffer;
    http::response_parser<http::string_body> parser;
    std::string& body = parser.get().body();
    int tokens = 0;
    while (!parser.is_done() && tokens < tokens_max) {
        co_await http::async_read_some(socket, buffer, parser, use_awaitable);
        for (std::size_t end = body.find('\n'); end != std::string::npos && tokens < tokens_max;
             end = body.find('\n')) {
            tokens += show(body.substr(0, end));
            body.erase(0, end + 1);
        }
    }
    if (tokens == tokens_max) std::cout << " … and hangs up\n";
}

asio::awaitable<void> clients(tcp::acceptor& acceptor) {
    const tcp::endpoint server = acceptor.local_endpoint();
    constexpr int all = 1000;
    co_await say(server, "ada", "good morning", all);
    co_await say(server, "ada", "tell me a very long story about checkpoints", 4);
    co_await say(server, "bob", "hello", all);
    co_await say(server, "ada", "are you still there?",
                 all);  // the question that was cut short is in the thread, its answer is not
    acceptor.close();
}

// [begin main]
int main() {
    asio::io_context io(1);
    Model model;
    Server server{makeGraph(model)};
    tcp::acceptor acceptor(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    asio::co_spawn(io, accept(server, acceptor), asio::detached);
    asio::co_spawn(io, clients(acceptor), asio::detached);
    io.run();

    std::cout << "\nThe server's log\n";
    for (const auto& [thread, runs] : server.log) std::cout << "  " << thread << ":" << runs << "\n";
    std::cout << "ada's thread has " << server.app.getState({.thread_id = "ada"}).values.messages.size()
              << " messages\n";
}
// [end main]
