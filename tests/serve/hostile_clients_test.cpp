#include <string>

#include <doctest/doctest.h>

#include <stategraph/serve/server.hpp>

#include "tests/serve/client.hpp"

// Clients that break the rules of HTTP, or use them to the end.
namespace serve = stategraph::serve;

namespace {

/// A busy machine may take long for a request that is in several pieces.
serve::ServerOptions patient() {
    serve::ServerOptions options;
    options.request_timeout = std::chrono::minutes(5);
    return options;
}

serve::HandlerAnswer size(const serve::HandlerRequest& request) {
    return {.body = std::to_string(request.body.size())};
}

/// Sends a head and then one piece after the other, as much as the server accepts. Returns the response; empty if the
/// connection was closed without one, and "all" if everything was accepted.
std::string flood(std::uint16_t port, const std::string& head, const std::string& piece, std::size_t pieces) {
    client::Connection connection(port);
    connection.send(head);
    boost::system::error_code broken;
    std::size_t sent = 0;
    while (sent < pieces && !broken) {
        boost::asio::write(connection.socket(), boost::asio::buffer(piece), broken);
        ++sent;
    }
    if (!broken) return "all";
    std::string answer;
    boost::asio::read(connection.socket(), boost::asio::dynamic_buffer(answer), broken);
    return answer;
}

const std::string chunked_head = "POST /take/it HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";

}  // namespace

TEST_CASE(
    "a chunk whose extension never ends, and a trailer that never ends, are refused before they fill the memory") {
    serve::Server server(patient());
    server.handle("take", size);
    const std::string piece(std::size_t{1} << 20U, 'x');
    // The server reads less than a megabyte; the sockets hold some more.
    CHECK(flood(server.port(), chunked_head + "3;a=", piece, 64) != "all");
    CHECK(flood(server.port(), chunked_head + "3\r\nabc\r\n0;a=", piece, 64) != "all");
    CHECK(flood(server.port(), chunked_head + "3\r\nabc\r\n0\r\nX: ", piece, 64) != "all");
    CHECK(flood(server.port(), "GET /take/it HTTP/1.1\r\nHost: localhost\r\nX: ", piece, 64) != "all");

    client::Connection small(server.port());
    small.send(chunked_head + "3;a=" + std::string(100'000, 'x'));
    CHECK(small.read().status == 431);
    client::Connection good(server.port());
    good.send(chunked_head + "3;a=b\r\nabc\r\n2\r\nde\r\n0\r\nX: y\r\n\r\n");
    CHECK(good.read().body == "5");
    const std::string large(900'000, 'y');
    good.send(chunked_head + "dbba0\r\n" + large + "\r\n0\r\n\r\n");
    CHECK(good.read().body == "900000");
}

TEST_CASE("a request with several hosts, with none, or with another host after an allowed one is refused") {
    serve::Server server(patient());
    server.handle("take", size);
    const auto status = [&](const std::string& target, const std::string& fields) {
        client::Connection connection(server.port());
        connection.send("GET " + target + " HTTP/1.1\r\n" + fields + "Connection: close\r\n\r\n");
        return connection.read().status;
    };
    CHECK(status("/take/it", "Host: localhost\r\n") == 200);
    CHECK(status("/take/it", "Host: localhost:1\r\n") == 200);
    CHECK(status("/take/it", "Host: localhost\r\nHost: evil.example\r\n") == 400);
    CHECK(status("/take/it", "Host: evil.example\r\nHost: localhost\r\n") == 400);
    CHECK(status("/take/it", "") == 421);
    for (const char* host : {"evil.example", "localhost.evil.example", "evil.example#localhost", "[::1]evil.example",
                             "127.0.0.1.evil.example", "user@evil.example", "[::1", "", "0"}) {
        CAPTURE(host);
        CHECK(status("/take/it", std::string("Host: ") + host + "\r\n") == 421);
    }
    CHECK(status("http://evil.example/take/it", "Host: localhost\r\n") == 400);
    CHECK(status("//take/it", "Host: localhost\r\n") == 404);
}

TEST_CASE("the text of an error is JSON in UTF-8, whatever bytes the request has") {
    serve::Server server(patient());
    server.handle("take", [](const serve::HandlerRequest& request) -> serve::HandlerAnswer {
        throw std::runtime_error("there is no '" + request.segments.at(0) + "'");
    });
    for (const char* const name :
         {"%ff", "%c3%28", "%ed%a0%80", "%f4%90%80%80", "%00%0d%0a", "%22%5c", "%e2%82", "%c0%80"}) {
        CAPTURE(name);
        for (const std::string& path : {std::string("/take/") + name, std::string("/nothing/") + name}) {
            const auto answered = client::get(server.port(), path);
            CHECK(answered.status >= 400);
            boost::system::error_code broken;
            const auto value = boost::json::parse(answered.body, broken);
            CHECK_MESSAGE(!broken, answered.body);
        }
    }
    // What the handler threw is not for strangers.
    CHECK(client::get(server.port(), "/take/%e2%82%ac").body.find("\xE2\x82\xAC") == std::string::npos);
}

TEST_CASE("requests that come all at once are answered one after the other, and a slow one does not hold others up") {
    serve::Server server(patient());
    server.handle("take", size);
    client::Connection slow(server.port());
    slow.send("POST /take/it HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nx");
    client::Connection many(server.port());
    std::string all;
    for (int i = 0; i < 300; ++i) {
        const std::string body(static_cast<std::size_t>(i), 'x');
        all += "POST /take/it HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(i) + "\r\n\r\n" + body;
    }
    many.send(all);
    for (int i = 0; i < 300; ++i) CHECK(many.read().body == std::to_string(i));
    slow.send("12345678");
    CHECK(slow.read().body == "9");
}

TEST_CASE("a transfer coding other than chunked is refused, and what follows is no request") {
    serve::Server server(patient());
    server.handle("take", size);
    const std::string smuggled = "GET /take/smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for (const std::string coding :
         {"xchunked", "identity", "gzip, chunked", "chunked, chunked", "chunked\r\nTransfer-Encoding: x"}) {
        CAPTURE(coding);
        client::Connection connection(server.port());
        connection.send("POST /take/it HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: " + coding + "\r\n\r\n" +
                        smuggled);
        CHECK(connection.read().status == 400);
        boost::system::error_code broken;
        std::string more;
        boost::asio::read(connection.socket(), boost::asio::dynamic_buffer(more), broken);
        CHECK(more.empty());
    }
    client::Connection old(server.port());
    old.send("POST /take/it HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    CHECK(old.read().status == 400);
    client::Connection good(server.port());
    good.send("POST /take/it HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: Chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
    CHECK(good.read().body == "3");
}
