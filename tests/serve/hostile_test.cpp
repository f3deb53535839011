#include <doctest/doctest.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <boost/beast/http.hpp>

#include <stategraph/error.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/serve/agent_endpoint.hpp>
#include <stategraph/serve/server.hpp>

#include "serve/ag_ui_request.hpp"
#include "serve/chat.hpp"
#include "serve/route.hpp"
#include "tests/agent/tools.hpp"
#include "tests/serve/ag_ui_served.hpp"
#include "tests/serve/client.hpp"
#include "tests/support/seed.hpp"

using namespace tools;
namespace serve = stategraph::serve;
namespace http = boost::beast::http;

namespace {

const std::vector<std::string> seeds = {
    "POST /helper/t/start HTTP/1.1\r\nHost: localhost\r\n"
    "Content-Type: application/json\r\nContent-Length: 13\r\n\r\n{\"text\":\"go\"}",
    "POST /helper/t/decide?protocol=steps HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    "Content-Length: "
    "33\r\n\r\n{\"call_id\":\"c1\",\"approved\":true}  ",
    "GET /helper/a%20b/history?limit=3&before=x HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n",
    "POST /helper/chat HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"id\"\r\n0\r\n\r\n",
    "GET /helper/t/events?from=1-2&follow=0 HTTP/1.0\r\nHost: localhost\r\nLast-Event-ID: 7\r\n\r\n",
};
const std::vector<std::string> chats = {
    R"({"id":"t","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"hi"}]}]})",
    R"({"id":"t","messages":[{"role":"assistant","parts":[{"type":"dynamic-tool","toolCallId":"c","state":"approval-responded","approval":{"id":"x","approved":true,"reason":"r"}}]}]})",
};

class Mutator {
public:
    explicit Mutator(unsigned seed) : random_(seed) {}
    std::string mutated(const std::vector<std::string>& from) {
        std::string text = from[at(from.size())];
        for (std::size_t left = at(5); left > 0; --left) change(text, from);
        return text;
    }

private:
    std::size_t at(std::size_t size) { return size == 0 ? 0 : random_() % size; }
    void change(std::string& text, const std::vector<std::string>& from) {
        const std::size_t place = at(text.size());
        switch (at(6)) {
            case 0:
                text.insert(place, 1, static_cast<char>(random_()));
                break;
            case 1:
                text.erase(place, at(8));
                break;
            case 2:
                if (!text.empty()) text[place] = static_cast<char>(random_());
                break;
            case 3:
                text.insert(place, text.substr(at(text.size()), at(20)));
                break;
            case 4:
                text.resize(place);
                break;
            default:
                text.insert(place, from[at(from.size())].substr(0, at(40)));
                break;
        }
    }
    std::mt19937 random_;
};

/// STATEGRAPH_HOSTILE=1000000 sets a larger number for runs by hand.
std::size_t wanted(std::size_t otherwise) {
    const char* const given = std::getenv("STATEGRAPH_HOSTILE");
    return given != nullptr ? std::stoul(given) : otherwise;
}

}  // namespace

TEST_CASE("targets and chats that are anything at all are read or refused") {
    const unsigned seed = tests::seed();
    CAPTURE(seed);
    Mutator mutator(seed);
    std::size_t refused = 0, read = 0;
    for (std::size_t left = wanted(30'000); left > 0; --left) {
        const std::string text = mutator.mutated(seeds);
        http::request_parser<http::string_body> parser;
        boost::system::error_code broken;
        parser.eager(true);
        parser.body_limit(1000);
        parser.put(boost::asio::buffer(text), broken);
        try {
            if (!broken && parser.is_header_done()) {
                serve::Route route = serve::routeOf(parser.get().target());
                (void)route.fits("/:endpoint/:thread/state");
                ++read;
            }
            (void)serve::readChat(sg::parseJson(mutator.mutated(chats)));
            ++read;
        } catch (const sg::Error&) {
            ++refused;
        }
    }
    CHECK(read > 0);
    CHECK(refused > 0);
}

TEST_CASE("requests of AG-UI that are anything at all are read or refused") {
    const unsigned seed = tests::seed();
    CAPTURE(seed);
    Mutator mutator(seed);
    const std::vector<std::string> talks = {
        R"({"threadId":"t","runId":"r","state":{"log":["a"],"tone":"b"},"tools":[],"context":[],"messages":[
        {"id":"m1","role":"user","content":[{"type":"text","text":"hi"},{"type":"image","source":{"type":"data",
        "value":"aGk=","mimeType":"image/png"}}]}]})",
        R"({"threadId":"t","runId":"r","messages":[{"id":"a","role":"assistant","toolCalls":[{"id":"c2","type":"function",
        "function":{"name":"look","arguments":"{}"}}]},{"id":"r","role":"tool","toolCallId":"c2","content":"[1]"}],
        "resume":[{"interruptId":"0102030405060708090a0b0c0d0e0f10","status":"resolved","payload":{"approved":true}}]})"};
    const std::string stored =
        R"({"values":{"messages":[{"id":"m0"}],"log":["a"]},"tasks":[{"name":"tool","interrupts":[
        {"id":"0102030405060708090a0b0c0d0e0f10","index":0,"answered":false,"value":{"type":"tool-approval","call_id":"c1",
        "tool":"gated","arguments":{}}},{"id":"1102030405060708090a0b0c0d0e0f10","index":0,"answered":false,
        "value":{"type":"tool-call","call_id":"c2","tool":"look","arguments":{}}}]}]})";
    const auto gardener = serve::endpoint(ag_ui::gardener(std::make_shared<Ledger>()));
    const auto talking = serve::endpoint(ag_ui::talking());
    std::size_t refused = 0, read = 0;
    for (std::size_t left = wanted(10'000); left > 0; --left) {
        try {
            const serve::AgUiRequest request = serve::readAgUi(sg::parseJson(mutator.mutated(talks)));
            if (!request.beginsRun()) continue;
            const serve::Endpoint& endpoint = left % 2 == 0 ? *gardener : *talking;
            (void)serve::turnOf(request, endpoint, stored);
            ++read;
        } catch (const sg::Error&) {
            ++refused;
        }
    }
    CHECK(read > 0);
    CHECK(refused > 0);
}

TEST_CASE("a server takes requests that are anything at all, and continues") {
    const unsigned seed = tests::seed();
    CAPTURE(seed);
    Mutator mutator(seed);
    serve::ServerOptions options;
    options.request_timeout = std::chrono::seconds(2);
    serve::Server server(options);
    const agent::Agent helper(
        {.model = model::scripted([](const model::Request&) { return model::assistant("ok"); }), .compile = stored()});
    serve::EndpointOptions how;
    how.protocols = {serve::stepEvents(), serve::uiMessages()};
    server.add("helper", serve::endpoint(helper, how));
    for (int i = 0; i < 300; ++i) {
        client::Connection connection(server.port());
        const std::string text = mutator.mutated(seeds);
        boost::system::error_code ended;
        boost::asio::write(connection.socket(), boost::asio::buffer(text), ended);
        connection.socket().shutdown(boost::asio::ip::tcp::socket::shutdown_send, ended);
        std::string answer;
        boost::asio::read(connection.socket(), boost::asio::dynamic_buffer(answer), ended);
        if (answer.empty()) continue;
        CAPTURE(text);
        const bool is_fine = answer.starts_with("HTTP/1.1 2") || answer.starts_with("HTTP/1.0 2") ||
                             answer.starts_with("HTTP/1.1 4") || answer.starts_with("HTTP/1.0 4");
        CHECK(is_fine);
    }
    CHECK(client::get(server.port(), "/health").status == 200);
}
