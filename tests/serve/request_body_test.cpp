#include <cstddef>
#include <string>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/serve/server.hpp>

#include "tests/serve/client.hpp"

// Which bodies of requests the server reads.
namespace sg = stategraph;
namespace serve = stategraph::serve;

TEST_CASE("a large body is read only of a request that is allowed, and a small one leaves the connection open") {
    std::size_t handled = 0;
    serve::ServerOptions options;
    options.body_bytes_max = 2U << 20U;
    options.authorize = [](const serve::RequestView& request) {
        if (request.header("Authorization").empty()) throw sg::InvalidArgumentError("no key");
        return request.header("Authorization") == "Bearer key" ? 0 : 401;
    };
    serve::Server server(options);
    server.handle("take", [&](const serve::HandlerRequest& request) {
        handled += request.body.size();
        return serve::HandlerAnswer{.body = "{}"};
    });
    const std::string head = "POST /take/it HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ";
    client::Connection large(server.port());
    large.send(head + "other\r\nContent-Length: 1000000\r\n\r\n");  // the body never comes
    const client::Response refused = large.read();
    CHECK(refused.status == 401);
    CHECK(refused.headers.at("connection") == "close");
    client::Connection small(server.port());
    small.send(head + "other\r\nContent-Length: 3\r\n\r\nabc");
    CHECK(small.read().status == 401);
    small.send(head + "key\r\nContent-Length: 3\r\n\r\nabc");
    CHECK(small.read().status == 200);
    const std::string body(1'000'000, 'x');
    small.send(head + "key\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    CHECK(small.read().status == 200);
    CHECK(handled == body.size() + 3);
    small.send("POST /take/it HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
    const client::Response thrown = small.read();
    CHECK(thrown.status == 400);
    CHECK(thrown.body.find("no key") != std::string::npos);
    client::Connection rebound(server.port());
    rebound.send(
        "POST /take/it HTTP/1.1\r\nHost: evil.example\r\nAuthorization: Bearer key\r\nContent-Length: 2000000\r\n\r\n");
    CHECK(rebound.read().status == 421);
}
