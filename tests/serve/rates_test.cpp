#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/memory_saver.hpp>
#include <stategraph/serve/server.hpp>
#include <stategraph/stategraph.hpp>

#include "serve/client.hpp"
#include "serve/held.hpp"
#include "serve/rates.hpp"
#include "tests/serve/client.hpp"
#include "tests/serve/served_state.hpp"
#include "tests/support/until.hpp"

namespace sg = stategraph;
namespace serve = stategraph::serve;
using namespace std::chrono_literals;
using serve::clientAt;
using serve::clientNamed;

namespace {

using Time = serve::Rates::Clock::time_point;

/// A rate of which nothing comes back while a test runs.
serve::Rate only(double burst) { return {.per_second = 1e-6, .burst = burst}; }

sg::CompiledGraph<served::State> echo() {
    sg::StateGraph<served::State> graph;
    graph.addNode("say", [](const served::State&) -> sg::Update<served::State> {
        return {sg::add(&served::State::said, std::string("so"))};
    });
    graph.addEdge(sg::START, "say").addEdge("say", sg::END);
    return graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
}

constexpr const char* body = R"({"input":{"said":["a"]}})";

}  // namespace

TEST_CASE("a store gives its burst at once, then as much as time brings, and says how long to wait") {
    serve::Rates rates({.per_second = 2, .burst = 3}, 10);
    const serve::Client ada = clientNamed("ada");
    Time now{100s};
    for (int i = 0; i < 3; ++i) CHECK(!rates.take(ada, 1, now));
    CHECK(rates.take(ada, 1, now) == 1s);
    CHECK(rates.waitOf(ada, now) == 1s);
    now += 500ms;
    CHECK(!rates.waitOf(ada, now));
    CHECK(!rates.take(ada, 1, now));
    CHECK(rates.take(ada, 1, now) == 1s);
    CHECK(!rates.take(clientNamed("bob"), 1, now));
    now += 1h;
    for (int i = 0; i < 3; ++i) CHECK(!rates.take(ada, 1, now));
    CHECK(rates.take(ada, 1, now));
}

TEST_CASE("what is taken beyond a store is owed, and the wait says so") {
    serve::Rates bytes({.per_second = 10, .burst = 10}, 10);
    const serve::Client ada = clientNamed("ada");
    const Time now{100s};
    CHECK(!bytes.take(ada, 1000, now));
    CHECK(bytes.take(ada, 1, now) == 100s);  // 990 owed, and one must be there
    CHECK(!bytes.take(ada, 1, now + 100s));
}

TEST_CASE("a rate of 0 limits nothing and remembers nobody, and one that makes no sense is refused") {
    serve::Rates off({}, 1);
    for (int i = 0; i < 1000; ++i) CHECK(!off.take(clientNamed(std::to_string(i)), 1, Time{}));
    CHECK(off.size() == 0);
    CHECK_THROWS_AS(serve::Rates({.per_second = -1}, 1), sg::InvalidArgumentError);
    CHECK_THROWS_AS(serve::Rates({.per_second = 1, .burst = 0.5}, 1), sg::InvalidArgumentError);
    CHECK_THROWS_AS(serve::Rates({.per_second = 1}, 0), sg::InvalidArgumentError);
}

TEST_CASE("nobody gets a full store by making others come, and the table keeps its limit") {
    serve::Rates rates({.per_second = 1, .burst = 2}, 100);
    const serve::Client mallory = clientAt("192.0.2.1");
    Time now{100s};
    for (int i = 0; i < 2; ++i) CHECK(!rates.take(mallory, 1, now));
    CHECK(rates.take(mallory, 1, now));
    for (int i = 0; i < 5000; ++i) {
        (void)rates.take(clientAt("10.0." + std::to_string(i / 250) + "." + std::to_string(i % 250)), 2, now);
        REQUIRE(rates.take(mallory, 1, now));
        REQUIRE(rates.size() <= 100);
    }
    // Whoever came too late shares a store with the neighbourhood, which is not full again for each of them.
    CHECK(rates.take(clientAt("10.0.200.200"), 1, now));
    // Full stores are forgotten, and then there is room.
    now += 1h;
    for (int i = 0; i < 1000; ++i) {
        CHECK(!rates.take(clientNamed(std::to_string(i)), 1, now));
        now += 10s;
    }
    CHECK(rates.size() <= 100);
}

TEST_CASE("a client of IPv6 is its first 64 bits, and IPv4 is the same in both forms") {
    CHECK(clientAt("2001:db8:1:2::1").key == clientAt("2001:db8:1:2:ffff::9").key);
    CHECK(clientAt("2001:db8:1:2::1").key != clientAt("2001:db8:1:3::1").key);
    CHECK(clientAt("::ffff:192.0.2.1").key == clientAt("192.0.2.1").key);
    CHECK(clientAt("192.0.2.1").key != clientAt("192.0.2.2").key);
    CHECK(clientNamed("192.0.2.1").key != clientAt("192.0.2.1").key);
    CHECK(clientNamed(std::string(1000, 'a')).key != clientNamed(std::string(1001, 'a')).key);
    CHECK(clientNamed(std::string(100'000, 'a')).key.size() < 200);
}

TEST_CASE("a forwarded address counts only from a proxy, and is the last one that is not a proxy's") {
    const serve::Proxies proxies({"127.0.0.1", "10.0.0.0/8", "2001:db8:aaaa::/48"});
    struct Case {
        std::string peer;
        std::vector<std::pair<std::string, std::string>> fields;
        std::string client;  // empty: the fields contradict each other
    };
    const std::vector<Case> cases{
        {"192.0.2.7", {{"X-Forwarded-For", "198.51.100.1"}}, "192.0.2.7"},
        {"127.0.0.1", {}, "127.0.0.1"},
        {"127.0.0.1", {{"X-Forwarded-For", "198.51.100.1"}}, "198.51.100.1"},
        {"127.0.0.1", {{"X-Forwarded-For", "1.2.3.4, 198.51.100.1, 10.1.2.3"}}, "198.51.100.1"},
        {"127.0.0.1", {{"X-Forwarded-For", "1.2.3.4"}, {"X-Forwarded-For", "198.51.100.1"}}, "198.51.100.1"},
        {"::ffff:127.0.0.1", {{"X-Forwarded-For", "198.51.100.1"}}, "198.51.100.1"},
        {"::ffff:192.0.2.7", {}, "192.0.2.7"},
        {"127.0.0.1", {{"X-Forwarded-For", "198.51.100.1:4711"}}, "198.51.100.1"},
        {"127.0.0.1", {{"X-Forwarded-For", "[2001:db8::1]:4711"}}, "2001:db8::1"},
        {"2001:db8:aaaa::1", {{"X-Forwarded-For", "2001:db8:bbbb::1"}}, "2001:db8:bbbb::1"},
        {"127.0.0.1", {{"X-Forwarded-For", "198.51.100.1, unknown"}}, "127.0.0.1"},
        // What a client sends hides nothing of what its proxy adds.
        {"127.0.0.1", {{"X-Forwarded-For", "\"x, 198.51.100.1"}}, "198.51.100.1"},
        {"127.0.0.1", {{"X-Forwarded-For", "x\\, 198.51.100.1"}}, "198.51.100.1"},
        {"127.0.0.1", {{"Forwarded", "for=\"x, for=198.51.100.1"}}, ""},
        {"127.0.0.1", {{"Forwarded", "for=\"x\\\", for=198.51.100.1"}}, ""},
        {"127.0.0.1", {{"X-Forwarded-For", "198.51.100.1"}, {"Forwarded", "for=\"x"}}, ""},
        {"127.0.0.1", {{"X-Forwarded-For", "198.51.100.1, <x>, 10.0.0.1"}}, "10.0.0.1"},
        {"127.0.0.1", {{"X-Forwarded-For", "10.0.0.1, 10.0.0.2"}}, "10.0.0.1"},
        {"127.0.0.1", {{"Forwarded", "for=1.2.3.4, for=198.51.100.1;proto=https"}}, "198.51.100.1"},
        {"127.0.0.1", {{"Forwarded", "by=x;For=\"[2001:db8::1]:80\""}}, "2001:db8::1"},
        {"127.0.0.1", {{"Forwarded", "for=198.51.100.1;by=\",for=1.2.3.4\""}}, "198.51.100.1"},
        {"127.0.0.1", {{"Forwarded", "for=_hidden"}}, "127.0.0.1"},
        {"127.0.0.1", {{"X-Forwarded-For", "198.51.100.1"}, {"Forwarded", "for=198.51.100.1"}}, "198.51.100.1"},
        {"127.0.0.1", {{"X-Forwarded-For", "198.51.100.1"}, {"Forwarded", "for=1.2.3.4"}}, ""},
    };
    for (const Case& each : cases) {
        serve::Request request;
        CAPTURE(each.client);
        for (const auto& [name, value] : each.fields) {
            CAPTURE(value);
            request.insert(name, value);
        }
        CHECK(proxies.clientOf(each.peer, request).value_or("") == each.client);
    }
    for (const char* const wrong : {"proxy", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/8x", "::/129"})
        CHECK_THROWS_AS(serve::Proxies({wrong}), sg::InvalidArgumentError);
}

TEST_CASE("a client has as many things as it may, and one more when one has ended") {
    const auto held = std::make_shared<serve::Held>(2);
    serve::Held::Place first, second, third;
    CHECK(held->take("a", first));
    CHECK(held->take("a", second));
    CHECK(!held->take("a", third));
    CHECK(held->take("b", third));
    first = serve::Held::Place();
    serve::Held::Place again, no;
    CHECK(held->take("a", again));
    CHECK(!held->take("a", no));
}

TEST_CASE("requests beyond the client's rate are refused with 429, before the hook, and the operator's are not") {
    std::atomic<int> asked = 0;
    serve::ServerOptions options;
    options.per_client.requests = only(3);
    options.authorize = [&](const serve::RequestView& request) -> serve::Admission {
        ++asked;
        const std::string user(request.header("X-User"));
        return user.empty() ? serve::Admission(401) : serve::Admission(serve::Identity{.name = user});
    };
    serve::Server server(options);
    server.page("/", "text/plain", "here");
    const auto port = server.port();
    // Those with an identity count for it, and not for the address.
    for (int i = 0; i < 3; ++i) CHECK(client::get(port, "/", "X-User: ada\r\n").status == 200);
    const auto refused = client::get(port, "/", "X-User: ada\r\n");
    CHECK(refused.status == 429);
    CHECK(std::stoi(refused.headers.at("retry-after")) > 0);
    CHECK(refused.body.find("requests") != std::string::npos);
    CHECK(client::get(port, "/", "X-User: bob\r\n").status == 200);
    // Those of nobody count for the address, whatever they are.
    CHECK(client::get(port, "/").status == 401);
    CHECK(client::get(port, "/%zz").status == 400);
    CHECK(client::post(port, "/g/t/start", "x=1", "Content-Type: text/plain\r\n").status == 415);
    asked = 0;
    CHECK(client::get(port, "/").status == 429);
    CHECK(client::get(port, "/", "X-User: eve\r\n").status == 429);
    CHECK(asked == 0);
    for (const char* const target : {"/health", "/ready", "/metrics"}) {
        for (int i = 0; i < 5; ++i) {
            const int status = client::get(port, target, "X-User: probe\r\n").status;
            // A server that is too busy to look at its stores for three seconds is not ready.
            CHECK((status == 200 || (status == 503 && std::string(target) == "/ready")));
        }
    }
    // The field of a client that is not a proxy makes nobody else of it.
    CHECK(client::get(port, "/", "X-Forwarded-For: 198.51.100.1\r\n").status == 429);
}

TEST_CASE("a guest behind a named proxy has the rate of its address, which the hook sees") {
    std::string seen;
    serve::ServerOptions options;
    options.threads = 1;
    options.per_client.proxies = {"127.0.0.1"};
    options.per_client.requests = only(2);
    options.authorize = [&](const serve::RequestView& request) -> serve::Admission {
        seen = request.remote();
        return serve::Identity{};  // nobody's in particular
    };
    serve::Server server(options);
    server.page("/", "text/plain", "here");
    for (const std::string address : {"198.51.100.1", "198.51.100.2"}) {
        const std::string field = "X-Forwarded-For: 1.2.3.4, " + address + "\r\n";
        for (int i = 0; i < 2; ++i) CHECK(client::get(server.port(), "/", field).status == 200);
        CHECK(seen == address);
        CHECK(client::get(server.port(), "/", field).status == 429);
    }
    const auto doubtful =
        client::get(server.port(), "/", "X-Forwarded-For: 198.51.100.3\r\nForwarded: for=198.51.100.4\r\n");
    CHECK(doubtful.status == 400);
}

TEST_CASE("runs and stored bytes have rates of their own, which reading does not cost") {
    for (const bool by_bytes : {false, true}) {
        CAPTURE(by_bytes);
        serve::ServerOptions options;
        (by_bytes ? options.per_client.stored_bytes : options.per_client.runs) = only(by_bytes ? 30 : 2);
        serve::Server server(options);
        server.add("echo", serve::endpoint(echo()));
        CHECK(client::post(server.port(), "/echo/1/start", body).status == 200);
        CHECK(client::post(server.port(), "/echo/2/start", body).status == 200);
        const auto refused = client::post(server.port(), "/echo/3/start", body);
        CHECK(refused.status == 429);
        CHECK(refused.body.find(by_bytes ? "stored_bytes" : "runs") != std::string::npos);
        for (int i = 0; i < 5; ++i) CHECK(client::get(server.port(), "/echo/1/state").status == 200);
        CHECK(client::get(server.port(), "/echo/3/state").status == 404);
    }
}

TEST_CASE("a client beyond its streams gets 429, and another stream when one has ended") {
    serve::ServerOptions options;
    options.per_client.streams_max = 1;
    serve::Server server(options);
    server.add("echo", serve::endpoint(echo()));
    CHECK(client::post(server.port(), "/echo/t/start", body).status == 200);
    {
        std::optional<client::Connection> first;
        // A client may have the whole response before the server has ended the stream.
        patience::until([&] {
            first.emplace(server.port());
            first->request("GET", "/echo/t/events?from=0&follow=1");
            return first->head().status == 200;
        });
        const auto refused = client::get(server.port(), "/echo/t/events?from=0");
        CHECK(refused.status == 429);
        CHECK(refused.headers.at("retry-after") == "1");
        CHECK(client::post(server.port(), "/echo/u/start", body).status == 429);
        CHECK(client::get(server.port(), "/echo/u/state").status == 404);  // nothing was begun
        CHECK(client::get(server.port(), "/echo/t/state").status == 200);
    }
    patience::until([&] { return client::get(server.port(), "/echo/t/events?from=0").status == 200; });
}

TEST_CASE("connections beyond the server's limit are answered with 503, and beyond the client's with 429") {
    for (const bool of_client : {false, true}) {
        CAPTURE(of_client);
        serve::ServerOptions options;
        (of_client ? options.per_client.connections_max : options.connections_max) = 2;
        serve::Server server(options);
        client::Connection first(server.port()), second(server.port());
        for (client::Connection* const each : {&first, &second}) {
            each->request("GET", "/health");
            CHECK(each->read().status == 200);
        }
        client::Connection third(server.port());
        const auto refused = third.read();  // it need not ask for anything
        CHECK(refused.status == (of_client ? 429 : 503));
        CHECK(refused.headers.at("retry-after") == "1");
        first.close();
        patience::until([&] {
            client::Connection again(server.port());
            again.send("GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
            return again.head().status == 200;
        });
    }
}

TEST_CASE("a run beyond runs_max is refused with 503 and Retry-After") {
    sg::StateGraph<served::State> graph;
    std::atomic<bool> may_end = false;
    graph.addNode("wait", [&](const served::State&) -> sg::Update<served::State> {
        patience::until([&] { return may_end.load(); });
        return {};
    });
    graph.addEdge(sg::START, "wait").addEdge("wait", sg::END);
    serve::Server server({.runs_max = 1});
    server.add("wait", serve::endpoint(graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()})));
    client::Connection first(server.port());
    first.request("POST", "/wait/1/start", body);
    patience::until([&] { return server.runs() == 1; });
    const auto refused = client::post(server.port(), "/wait/2/start", body);
    CHECK(refused.status == 503);
    CHECK(refused.headers.at("retry-after") == "1");
    may_end = true;
    CHECK(first.read().status == 200);
}
