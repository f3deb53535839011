#include <doctest/doctest.h>

#include <cctype>
#include <string>
#include <vector>

#include <stategraph/inspect/server.hpp>
#include <stategraph/memory_saver.hpp>

#include "tests/checkpoint/bytes.hpp"
#include "tests/fault/rounds.hpp"
#include "tests/golden/rows.hpp"
#include "tests/serve/client.hpp"
#include "tests/support/inspected.hpp"

// Requests that are invalid, or nearly so: the server answers or refuses them, continues, and stores nothing.
namespace sg = stategraph;
using namespace inspected;

namespace {

constexpr const char* key = "0123456789abcdef";

std::vector<std::string> goodTargets(const std::string& id) {
    const std::string at = "/api/threads/asks/checkpoints/" + id;
    return {"/",
            "/app.js",
            "/api/about",
            "/api/threads?status=done&since_s=60&text=x&metadata=shop=%5B1%5D&limit=5",
            "/api/questions?limit=1&after=" + id,
            "/api/stats",
            "/api/threads/asks/logs",
            "/api/threads/asks/timeline?ns=&limit=3&before=" + id,
            "/api/threads/asks/head?after=" + id,
            "/api/threads/asks/stats",
            "/api/threads/asks/export",
            at,
            at + "/values?path=/notes/0&from=0&count=2&bytes_max=7",
            at + "/value?path=/topic",
            at + "/changes",
            at + "/difference?to_thread=asks&to_checkpoint=newest",
            at + "/causes",
            at + "/writers?channel=notes&limit=2",
            at + "/graph",
            at + "/fork",
            "/api/threads/asks/answer",
            "/api/threads/asks/copy",
            "/api/threads/asks/prune",
            "/api/threads/asks/delete",
            "/api/threads/asks/run"};
}

/// Changes a few characters, and leaves out those that a request's line cannot have, because they would end the line.
std::string changed(std::string text, const std::string& other, bytes::Random& random) {
    static const std::string odd = "%/?&=#.~0a-:\x7f\x80\xff \"<{[";
    for (std::size_t times = random.below(5); times > 0 && !text.empty(); --times) {
        const std::size_t at = random.below(text.size());
        switch (random.below(4)) {
            case 0:
                text[at] = odd[random.below(odd.size())];
                break;
            case 1:
                text.insert(at, 1 + random.below(3), odd[random.below(odd.size())]);
                break;
            case 2:
                text.erase(at, random.below(8));
                break;
            default:
                text.insert(at, other.substr(std::min(at, other.size()), random.below(16)));
        }
    }
    return text;
}

TEST_CASE("random requests are answered or refused, and a read-only store stays as it is") {
    const std::uint64_t seed = tests::seed();
    CAPTURE(seed);
    bytes::Random random(seed);
    const auto saver = std::make_shared<sg::MemorySaver>();
    const App app = graph().compile({.checkpointer = saver});
    app.invoke(Update{sg::set(&Order::topic, std::string("tea"))}, {.thread_id = "asks"});
    const std::string before = golden::rowsOf(*saver);
    sg::inspect::Server server(saver, {.redact = {"no*x"}, .key = key});
    server.add("order", app);
    const auto targets = goodTargets(saver->list({.thread_id = "asks"}).front().id.toString());
    const std::vector<std::string> bodies = {
        "",  "{}",   R"({"id":"00","value":1})", R"({"note":"x"})", R"({"to":"x","keep_last":1,"newest":""})",
        "[", "\xff", R"({"until":"next"})"};
    int answered = 0;
    int refused = 0;
    for (std::size_t i = 0; i < fault::rounds(400); ++i) {
        const std::string target =
            changed(targets[random.below(targets.size())], targets[random.below(targets.size())], random);
        const std::string method = random.below(3) == 0 ? "POST" : "GET";
        CAPTURE(method);
        CAPTURE(target);
        client::Connection connection(server.port());
        const std::string origin = "http://127.0.0.1:" + std::to_string(server.port());
        const std::string& body = bodies[random.below(bodies.size())];
        const std::string accept = random.below(3) == 0 ? "text/event-stream" : "*/*";
        connection.send(method + " " + target + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(server.port()) +
                        "\r\nOrigin: " + origin + "\r\nAccept: " + accept + "\r\nX-Stategraph-Key: " + key +
                        "\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
        const int status = connection.head().status;
        CHECK(status >= 200);
        CHECK(status < 500);
        ++(status < 300 ? answered : refused);
    }
    CHECK(answered > 0);
    CHECK(refused > 0);
    CHECK(golden::rowsOf(*saver) == before);
    CHECK(client::get(server.port(), "/api/about", std::string("X-Stategraph-Key: ") + key + "\r\n").status == 200);
}

TEST_CASE("a run of a thread whose name is too long is refused, and leaves no run behind") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto app = graph().compile({.checkpointer = saver});
    sg::inspect::Server server(saver, {.write = true, .key = key});  // its end waits for runs of the page
    server.add("order", app);
    const std::string fields = std::string("X-Stategraph-Key: ") + key + "\r\nContent-Type: application/json\r\n";
    for (int i = 0; i < 100; ++i) {
        const auto refused = client::post(server.port(), "/api/threads/" + std::string(200, 'x') + "/run",
                                          R"({"input":{"topic":"tea"}})", fields);
        CHECK(refused.status == 400);
        CHECK(refused.body.find("too many runs") == std::string::npos);
    }
}

TEST_CASE("a name with every odd character is shown") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const App app = graph().compile({.checkpointer = saver});
    std::string name = "</script>\xE2\x80\xAE\xF0\x9F\x9A\x80";
    for (char c = 1; c < 127; ++c) {
        if (std::isalnum(static_cast<unsigned char>(c)) == 0) name += c;
    }
    app.invoke(Update{sg::set(&Order::topic, name)}, {.thread_id = name});
    sg::inspect::Server server(saver, {.key = key});
    std::string encoded;
    for (const char c : name) {
        static constexpr std::string_view digits = "0123456789abcdef";
        const auto byte = static_cast<unsigned char>(c);
        encoded += '%';
        encoded += digits[byte / 16];
        encoded += digits[byte % 16];
    }
    const std::string header = std::string("X-Stategraph-Key: ") + key + "\r\n";
    const auto shown = client::get(server.port(), "/api/threads/" + encoded + "/checkpoints/newest", header);
    REQUIRE(shown.status == 200);
    const auto value = boost::json::parse(shown.body);
    CHECK(value.at("thread_id").as_string() == name);
    CHECK(shown.headers.at("content-type").starts_with("application/json"));
    CHECK(shown.headers.at("x-content-type-options") == "nosniff");
}

}  // namespace
