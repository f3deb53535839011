#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include <stategraph/error.hpp>
#include <stategraph/serve/server.hpp>

#include "tests/serve/client.hpp"
#include "tests/support/until.hpp"

// Handlers that answer with server-sent events: when the events are sent, and when the response ends.
namespace sg = stategraph;
namespace serve = stategraph::serve;
using namespace std::chrono_literals;

namespace {

/// Counts up to a number, then asks `end` what follows.
class Counter {
public:
    explicit Counter(int most) : most_(most) {}
    std::optional<std::string> next() {
        ++calls;
        if (said_ < most_) return "{\"n\":" + std::to_string(++said_) + "}";
        return end();
    }
    std::function<std::optional<std::string>()> end = [] { return std::optional<std::string>(""); };
    std::atomic<int> calls = 0;

private:
    const int most_;
    int said_ = 0;
};

/// Options without heartbeats between the events of a busy machine.
serve::ServerOptions patient() {
    serve::ServerOptions options;
    options.heartbeat = 5min;
    return options;
}

class Served {
public:
    explicit Served(int most, serve::ServerOptions options = patient()) : counter(std::make_shared<Counter>(most)) {
        server.emplace(std::move(options));
        server->handle("own", [counter = counter](const serve::HandlerRequest& request) -> serve::HandlerAnswer {
            serve::HandlerEvents events{[counter] { return counter->next(); }, 1ms};
            if (request.segments.at(0) == "late") return {.status = 202, .events = std::move(events)};
            if (request.segments.at(0) == "none") return {.events = serve::HandlerEvents{}};
            return {.events = std::move(events)};
        });
    }
    std::shared_ptr<Counter> counter;
    std::optional<serve::Server> server;
};

TEST_CASE("a handler's events are sent as they come, and the connection is used again after the last") {
    Served served(3);
    served.counter->end = [] { return std::optional<std::string>(); };
    client::Connection connection(served.server->port());
    connection.request("GET", "/own/a");
    const client::Response events = connection.read();
    CHECK(events.status == 200);
    CHECK(events.headers.at("content-type") == "text/event-stream; charset=utf-8");
    CHECK(events.headers.count("content-length") == 0);
    CHECK(events.body == "data: {\"n\":1}\n\ndata: {\"n\":2}\n\ndata: {\"n\":3}\n\n");
    connection.request("GET", "/health");
    CHECK(connection.read().status == 200);
}

TEST_CASE("lines of an event's data are lines of the event") {
    Served served(0);
    int calls = 0;
    served.counter->end = [&calls] {
        return ++calls == 1 ? std::optional<std::string>("a\nb\rc") : std::optional<std::string>();
    };
    CHECK(client::get(served.server->port(), "/own/a").body == "data: a\ndata: b\ndata: c\n\n");
}

TEST_CASE("a client of HTTP/1.0 gets events without chunks, and the connection ends with them") {
    Served served(2);
    served.counter->end = [] { return std::optional<std::string>(); };
    client::Connection connection(served.server->port());
    connection.send("GET /own/a HTTP/1.0\r\nHost: localhost\r\n\r\n");
    CHECK(connection.read().body == "data: {\"n\":1}\n\ndata: {\"n\":2}\n\n");
}

TEST_CASE("where nothing is new for long the client is sent a heartbeat") {
    serve::ServerOptions options;
    options.heartbeat = 5ms;
    Served served(1, options);
    client::Connection connection(served.server->port());
    connection.request("GET", "/own/a");
    CHECK(connection.head().status == 200);
    CHECK(connection.chunk() == "data: {\"n\":1}\n\n");
    CHECK(connection.chunk() == ": \n\n");
    CHECK(connection.chunk() == ": \n\n");
}

TEST_CASE("a handler is not asked any more when its client has gone") {
    Served served(1);
    {
        client::Connection connection(served.server->port());
        connection.request("GET", "/own/a");
        CHECK(connection.head().status == 200);
        CHECK(connection.chunk() == "data: {\"n\":1}\n\n");
    }
    CHECK(patience::eventually([&] { return served.server->connections() == 0; }));
    CHECK(served.counter.use_count() == 2);  // held by the test and by the handler, and by no response
}

TEST_CASE("a handler that throws between events breaks its response off, and no other") {
    Served served(1);
    served.counter->end = []() -> std::optional<std::string> { throw std::runtime_error("the disk is gone"); };
    client::Connection connection(served.server->port());
    connection.request("GET", "/own/a");
    CHECK(connection.head().status == 200);
    CHECK(connection.chunk() == "data: {\"n\":1}\n\n");
    CHECK_THROWS(connection.chunk());
    CHECK(client::get(served.server->port(), "/health").status == 200);
}

TEST_CASE("events without a function, or with another status than 200, are refused, and HEAD asks for none") {
    Served served(1);
    CHECK(client::get(served.server->port(), "/own/late").status == 500);
    CHECK(client::get(served.server->port(), "/own/none").status == 500);
    client::Connection connection(served.server->port());
    connection.request("HEAD", "/own/a");
    CHECK(connection.head().status == 200);
    CHECK(served.counter->calls == 0);
}

TEST_CASE("a server that drains ends responses of events, and one that is stopped does not wait for them") {
    for (const bool drains : {true, false}) {
        CAPTURE(drains);
        Served served(1);
        client::Connection connection(served.server->port());
        connection.request("GET", "/own/a");
        CHECK(connection.head().status == 200);
        CHECK(connection.chunk() == "data: {\"n\":1}\n\n");
        if (drains) {
            served.server->drain(1h);
        } else {
            served.server->stop();
        }
        served.server->wait();
        if (drains) {  // an EventSource is told when to come back
            CHECK(connection.chunk() == "retry: 1000\n\n");
            CHECK(connection.chunk().empty());
        } else {
            // Broken off, unless the response was about to look for events: then it ends as if the server drained.
            std::string last;
            try {
                last = connection.chunk();
            } catch (const std::exception&) {  // broken off
            }
            CHECK((last.empty() || last == "retry: 1000\n\n"));
        }
    }
}

TEST_CASE("clients that follow at once are each sent every event") {
    serve::ServerOptions options;
    options.threads = 2;
    serve::Server server(options);
    server.handle("own", [](const serve::HandlerRequest&) -> serve::HandlerAnswer {
        auto counter = std::make_shared<Counter>(20);
        counter->end = [] { return std::optional<std::string>(); };
        return {.events = serve::HandlerEvents{[counter] { return counter->next(); }, 1ms}};
    });
    std::vector<std::thread> clients;
    std::atomic<int> whole = 0;
    for (int i = 0; i < 8; ++i) {
        clients.emplace_back([&] {
            if (client::get(server.port(), "/own/a").objects().size() == 20) ++whole;
        });
    }
    for (std::thread& each : clients) each.join();
    CHECK(whole == 8);
}

}  // namespace
