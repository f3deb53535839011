#include <boost/asio.hpp>

#include <stategraph/asio.hpp>
#include <stategraph/json.hpp>
#include <stategraph/rocksdb_saver.hpp>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;
namespace asio = boost::asio;
using asio::ip::tcp;
using namespace std::chrono_literals;

struct Request {
    std::string thread = {};
    std::string text = {};
    static constexpr auto fields() { return sg::fields<&Request::thread, &Request::text>(); }
};
struct Chat {
    std::vector<std::string> turns = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&Chat::turns>(sg::append)); }
};
using App = sg::CompiledGraph<Chat>;

sg::Task<sg::Update<Chat>> answer(const Chat& state, sg::Runtime& runtime) {
    std::string text;
    const std::vector<std::string> words{"You", "said:", state.turns.back()};  // stands for a model that streams
    for (const auto& word : words) {
        co_await sg::sleepFor(runtime, 20ms);
        runtime.write(word);
        text += word + " ";
    }
    co_return sg::update(sg::add<&Chat::turns>(text));
}

asio::awaitable<void> serve(tcp::socket socket, const App& app) {
    std::string line;
    co_await asio::async_read_until(socket, asio::dynamic_buffer(line), '\n', asio::use_awaitable);
    const auto request = sg::parseJson(line).as<Request>();
    auto events = sg::asyncStreamOn(socket.get_executor(), app, {sg::add<&Chat::turns>(request.text)}, {.thread_id = request.thread},
                                    {.modes = sg::StreamMode::custom});
    while (auto event = co_await events.next()) {
        const std::string word = event->data.toJson() + "\n";
        co_await asio::async_write(socket, asio::buffer(word), asio::use_awaitable);
    }
}

asio::awaitable<void> listen(const App& app) {
    tcp::acceptor acceptor(co_await asio::this_coro::executor, {tcp::v4(), 8080});
    for (;;) {
        auto socket = co_await acceptor.async_accept(asio::use_awaitable);
        asio::co_spawn(acceptor.get_executor(), serve(std::move(socket), app), asio::detached);
    }
}

int main() {
    sg::StateGraph<Chat> graph;
    graph.addNode("answer", answer);
    graph.addEdge(sg::START, "answer");
    graph.addEdge("answer", sg::END);
    const auto app = graph.compile({.checkpointer = std::make_shared<sg::RocksDBSaver>("chats")});
    asio::io_context context;
    asio::co_spawn(context, listen(app), asio::detached);
    context.run();
}
