#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include <stategraph/async.hpp>
#include <stategraph/model/openai.hpp>

#include "tests/support/enough_time.hpp"
#include "tests/support/scripted_server.hpp"
#include "tests/support/until.hpp"

// The HTTP client with servers that behave, and with servers that do not.
namespace {

namespace sg = stategraph;
namespace md = stategraph::model;
using namespace std::chrono_literals;
using Strings = std::vector<std::string>;
using Peer = ScriptedServer::Peer;

const std::string head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";

std::string text(const std::string& piece) {
    return R"(data: {"choices":[{"index":0,"delta":{"content":")" + piece + "\"}}]}\n\n";
}
const std::string stop = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const std::string done = "data: [DONE]\n\n";
const std::string hello = text("Hel") + text("lo") + stop + done;

std::string plain(int status, const std::string& headers, const std::string& body) {
    return "HTTP/1.1 " + std::to_string(status) + " X\r\n" + headers +
           "Connection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}
std::string chunked(const std::string& body, std::size_t size) {
    std::string out = "HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (std::size_t at = 0; at < body.size(); at += size) {
        const std::string piece = body.substr(at, size);
        char hex[20];
        std::snprintf(hex, sizeof hex, "%zx", piece.size());
        out += std::string(hex) + ";ext=1\r\n" + piece + "\r\n";
    }
    return out + "0\r\nTrailer: x\r\n\r\n";
}
/// Reads the request and sends this.
ScriptedServer::Script sends(std::string bytes) {
    return [bytes = std::move(bytes)](Peer& peer) {
        if (!peer.request().empty()) peer.send(bytes);
    };
}

struct Asked {
    std::optional<md::Reply> reply;
    std::optional<md::ModelError> error;
    Strings told;

    std::string what() const { return error ? error->what() : ""; }
    bool says(const std::string& words) const { return what().find(words) != std::string::npos; }
};

Asked ask(const std::string& url, md::HttpOptions http = {.max_retries = 0}, bool is_listening = true) {
    http.connect_limit = 5min;  // a busy machine may pause curl between a connection and its next look
    const auto model =
        md::openai({.base_url = url + "/v1", .api_key = "sk-secret", .model = "m", .http = std::move(http)});
    Asked asked;
    md::Asking asking;
    if (is_listening) asking.tell = [&](const md::Delta& delta) { asked.told.emplace_back(delta.text); };
    const std::vector<md::Message> messages = {md::user("hi")};
    try {
        asked.reply = sg::syncWait(model->ask({.messages = messages}, asking));
    } catch (const md::ModelError& error) {
        asked.error = error;
        CHECK(asked.says("http://127.0.0.1"));
        CHECK(!asked.says("sk-secret"));
    }
    return asked;
}
Asked askServer(std::string bytes) {
    const ScriptedServer server(sends(std::move(bytes)));
    return ask(server.url());
}

}  // namespace

TEST_CASE("an answer is read from a connection that ends with it, and the request is a well-formed one") {
    const ScriptedServer server(sends(head + hello));
    const auto model = md::openai(
        {.base_url = server.url() + "/v1/", .api_key = "sk", .model = "m", .http = {.headers = {{"X-Own", "1"}}}});
    const std::vector<md::Message> messages = {md::user("hi")};
    const md::Asking asking;
    const md::Reply reply = sg::syncWait(model->ask({.messages = messages}, asking));
    CHECK(reply.message.text() == "Hello");
    CHECK((reply.message.finish_reason == md::FinishReason::stop));
    REQUIRE(server.requests().size() == 1);
    const std::string request = server.requests()[0];
    for (const std::string line :
         {"POST /v1/chat/completions HTTP/1.1\r\n", "Authorization: Bearer sk\r\n", "X-Own: 1\r\n",
          "Content-Type: application/json\r\n", "Accept: text/event-stream\r\n"}) {
        CAPTURE(line);
        CHECK(request.find(line) != std::string::npos);
    }
    CHECK(request.find("Host: 127.0.0.1:" + std::to_string(server.port()) + "\r\n") != std::string::npos);
    CHECK(boost::json::parse(request.substr(request.find("\r\n\r\n") + 4)).at("model") == "m");
}

TEST_CASE("an answer is the same in chunks of any size, with a length, with CRLF, and after an informational head") {
    std::string crlf;
    for (const char c : hello) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
    Strings answers = {head + hello, head + crlf, plain(200, "", hello),
                       "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + head + hello};
    for (const std::size_t size : {1, 2, 7, 50, 10000}) answers.push_back(chunked(hello, size));
    for (const std::string& answer : answers) {
        CAPTURE(answer);
        const Asked asked = askServer(answer);
        REQUIRE(asked.what() == "");
        CHECK(asked.reply->message.text() == "Hello");
        CHECK(asked.told == Strings{"Hel", "lo"});
    }
}

TEST_CASE("deltas are reported while the answer is still being made") {
    std::atomic<bool> was_told = false;
    const ScriptedServer server([&](Peer& peer) {
        peer.request();
        peer.send(head + text("a"));
        for (int i = 0; i < 300'000 && !was_told; ++i) std::this_thread::sleep_for(1ms);  // sleeps: between two looks
        peer.send((was_told ? text("b") : text("too late")) + stop + done);
    });
    const auto model = md::openai({.base_url = server.url(), .model = "m"});
    md::Asking asking;
    asking.tell = [&](const md::Delta&) { was_told = true; };
    CHECK(sg::syncWait(model->ask({}, asking)).message.text() == "ab");
}

TEST_CASE("an answer that is whole needs neither [DONE] nor the end of the connection") {
    CHECK(askServer(head + text("a") + stop).reply->message.text() == "a");
    CHECK(askServer(plain(200, "", text("a") + stop)).reply->message.text() == "a");
    // The answer is cut off after the finish reason.
    CHECK(askServer("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + text("a") + stop).reply->message.text() ==
          "a");
    // The server sends [DONE], and the connection stays.
    const ScriptedServer server([](Peer& peer) {
        peer.request();
        peer.send(head + hello);
        CHECK(peer.waitForEnd(5min));
    });
    CHECK(ask(server.url()).reply->message.text() == "Hello");
    // It sends neither: the idle limit ends the connection, which is no error.
    const ScriptedServer silent([](Peer& peer) {
        peer.request();
        peer.send(head + text("a") + stop);
        CHECK(peer.waitForEnd(5min));
    });
    CHECK(withEnoughTime(100ms, [&](std::chrono::milliseconds limit) {
        const Asked asked = ask(silent.url(), {.idle_limit = limit, .max_retries = 0});
        if (asked.error) CHECK(asked.says("nothing happened"));  // the answer took longer than the limit
        return !asked.error && asked.reply->message.text() == "a";
    }));
}

TEST_CASE("an answer that breaks off is an error that may pass, and never a shorter answer") {
    for (const std::string& answer :
         {head, head + text("a"), head + done, head + text("a") + "data: {\"cho", plain(200, "", text("a")),
          "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + text("a"), chunked(text("a"), 5).substr(0, 100),
          std::string("HTTP/1.1 200 OK\r\nContent-Le"), std::string()}) {
        CAPTURE(answer);
        const Asked asked = askServer(answer);
        CHECK(asked.error.has_value());
        CHECK((asked.error && asked.error->isRetryable()));
    }
    const ScriptedServer resets([](Peer& peer) {
        peer.request();
        peer.send(head + text("a"));
        peer.reset();
    });
    CHECK(ask(resets.url()).error->isRetryable());
}

TEST_CASE("errors inside a 200, garbage, pages and other texts are errors that quote what was said") {
    CHECK(
        askServer(head + text("a") + "data: {\"error\":{\"message\":\"boom sk-secret\",\"type\":\"server_error\"}}\n\n")
            .says("boom ***"));
    const Asked page = askServer(plain(200, "Content-Type: text/html\r\n", "<html>Log in</html>"));
    CHECK(page.says("<html>Log in"));
    CHECK(page.says("text/html"));
    CHECK(!page.error->isRetryable());
    CHECK(askServer(plain(200, "Content-Type: application/json\r\n", R"({"error":{"message":"no such model"}})"))
              .says("no such model"));
    CHECK(askServer(head + "data: garbage\n\n").says("garbage"));
    CHECK(askServer("garbage\r\n\r\n").error.has_value());
    CHECK(askServer("SSH-2.0-OpenSSH_9\r\n").error.has_value());
    CHECK(askServer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n").error.has_value());
    CHECK(askServer("HTTP/1.1 200 OK\r\n" + std::string(100000, 'x') + "\r\n\r\n").error.has_value());
}

TEST_CASE("refusals are errors with their status; redirects are not followed") {
    const Asked denied =
        askServer(plain(401, "", R"({"error":{"message":"Incorrect key sk-secret","type":"invalid_request_error"}})"));
    CHECK(denied.error->status() == 401);
    CHECK(!denied.error->isRetryable());
    CHECK(denied.says("Incorrect key ***"));
    const Asked moved = askServer(plain(307, "Location: http://127.0.0.1:1/\r\n", ""));
    CHECK(moved.error->status() == 307);
    CHECK(moved.says("base_url"));
    CHECK(askServer(plain(500, "", std::string(300000, 'x'))).what().size() < 2500);
    CHECK(askServer("HTTP/1.1 502 Bad\r\nContent-Length: 100\r\n\r\nthe gateway").says("502: the gateway"));
    CHECK(askServer(plain(404, "", "")).error->status() == 404);
}

TEST_CASE("what may pass is asked again, after the time that the provider asks for") {
    for (const char* const header : {"Retry-After: 0.1\r\n", "retry-after-ms: 100\r\n"}) {
        const ScriptedServer server([&](Peer& peer) {
            peer.request();
            peer.send(peer.number < 2 ? plain(peer.number == 0 ? 429 : 503, header, "busy") : head + hello);
        });
        const auto begin = std::chrono::steady_clock::now();
        const Asked asked = ask(server.url(), {.max_retries = 2});
        CHECK(asked.what() == "");
        CHECK(server.connections() == 3);
        CHECK(std::chrono::steady_clock::now() - begin >= 200ms);
        CHECK(asked.told == Strings{"Hel", "lo"});
        CHECK(server.requests()[0] == server.requests()[2]);
    }
    const ScriptedServer never(sends(plain(503, "Retry-After: 0\r\n", "busy")));
    const Asked asked = ask(never.url(), {.max_retries = 2});
    CHECK(asked.says("attempt 3"));
    CHECK(asked.error->status() == 503);
    CHECK(never.connections() == 3);
    const ScriptedServer later(sends(plain(503, "Retry-After: 3600\r\n", "busy")));
    CHECK(ask(later.url(), {.max_retries = 2}).error->retryAfter() == 1h);
    CHECK(later.connections() == 1);
}

TEST_CASE("an answer that breaks off is asked for again, but not once something of it was reported") {
    const auto script = [](const std::string& first) {
        return [first](Peer& peer) {
            peer.request();
            peer.send(peer.number == 0 ? first : head + hello);
        };
    };
    const md::HttpOptions retries{.max_retries = 1, .max_retry_wait = 10ms};
    const ScriptedServer before(script(head));
    CHECK(ask(before.url(), retries).reply->message.text() == "Hello");
    const ScriptedServer told(script(head + text("a")));
    const Asked asked = ask(told.url(), retries);
    CHECK(asked.error.has_value());
    CHECK(asked.told == Strings{"a"});
    CHECK(told.connections() == 1);
    // There is no listener, so nothing was reported.
    const ScriptedServer unheard(script(head + text("a")));
    CHECK(ask(unheard.url(), retries, false).reply->message.text() == "Hello");
    CHECK(unheard.connections() == 2);
}

TEST_CASE("a connection without bytes is idle, one with some is not, and the total limit ends both") {
    const ScriptedServer silent([](Peer& peer) {
        peer.request();
        CHECK(peer.waitForEnd(5min));
    });
    const Asked idle = ask(silent.url(), {.idle_limit = 100ms, .max_retries = 0});
    CHECK(idle.says("100 ms"));
    CHECK(idle.error->isRetryable());
    const ScriptedServer stalls([](Peer& peer) {
        peer.request();
        peer.send(head + text("a"));
        CHECK(peer.waitForEnd(5min));
    });
    CHECK(ask(stalls.url(), {.idle_limit = 100ms, .max_retries = 0}).says("100 ms"));
    CHECK(withEnoughTime(200ms, [](std::chrono::milliseconds limit) {
        const ScriptedServer slow([limit](Peer& peer) {
            peer.request();
            for (const char c : head + hello) {
                peer.send(std::string(1, c));
                std::this_thread::sleep_for(limit / 200);  // sleeps: in all more than the limit
            }
        });
        const Asked asked = ask(slow.url(), {.idle_limit = limit, .max_retries = 0});
        if (asked.error) CHECK(asked.says("nothing happened"));
        return !asked.error && asked.reply->message.text() == "Hello";
    }));
    CHECK(withEnoughTime(200ms, [](std::chrono::milliseconds limit) {
        std::atomic<bool> has_pinged{false};
        const ScriptedServer pings([&has_pinged](Peer& peer) {
            peer.request();
            peer.send(head);
            for (int i = 0; i < 30'000 && !peer.waitForEnd(10ms); ++i) {
                peer.send(": ping\n\n");
                has_pinged = true;
            }
        });
        const Asked total = ask(pings.url(), {.idle_limit = 5min, .total_limit = limit, .max_retries = 5});
        CHECK(total.says("total limit of " + std::to_string(limit.count()) + " ms"));
        CHECK(pings.connections() <= 1);
        return has_pinged.load();
    }));
}

TEST_CASE("an answer beyond its limit is refused") {
    const ScriptedServer endless([](Peer& peer) {
        peer.request();
        peer.send(head);
        for (int i = 0; i < 10000 && !peer.waitForEnd(1ms); ++i) peer.send(text(std::string(1000, 'x')));
    });
    const Asked asked = ask(endless.url(), {.max_retries = 0, .max_answer_bytes = 20000});
    CHECK(asked.says("max_answer_bytes"));
    CHECK(!asked.error->isRetryable());
}

TEST_CASE("a server that is not there, a name that is unknown, and a port that answers nothing are errors") {
    // Not a port that the system gives to clients: one of them may be connected to itself.
    constexpr int port = 1;
    const Asked refused = ask("http://127.0.0.1:" + std::to_string(port));
    CHECK(refused.says("connecting"));
    CHECK(refused.error->isRetryable());
    CHECK(refused.error->status() == 0);
    const auto unknown = md::openai(
        {.base_url = "http://no-such-host.invalid", .model = "m", .http = {.connect_limit = 3s, .max_retries = 0}});
    const md::Asking asking;
    CHECK_THROWS_AS(sg::syncWait(unknown->ask({}, asking)), md::ModelError);
    const auto named =
        md::openai({.base_url = "http://localhost:" + std::to_string(port), .model = "m", .http = {.max_retries = 0}});
    CHECK_THROWS_AS(sg::syncWait(named->ask({}, asking)), md::ModelError);
}

TEST_CASE("options that make no sense are refused") {
    using sg::InvalidArgumentError;
    CHECK_THROWS_AS(md::openai({.base_url = "http://x"}), InvalidArgumentError);
    CHECK_THROWS_AS(md::openai({.base_url = "x", .model = "m"}), InvalidArgumentError);
    CHECK_THROWS_AS(md::openai({.api_key = "a\r\nX: y", .model = "m"}), InvalidArgumentError);
    CHECK_THROWS_AS(md::openai({.model = "m", .http = {.idle_limit = 0ms}}), InvalidArgumentError);
    CHECK_THROWS_AS(md::openai({.model = "m", .http = {.max_retries = -1}}), InvalidArgumentError);
    CHECK_THROWS_AS(md::openai({.model = "m", .http = {.ca_file = "/nowhere.pem"}}), InvalidArgumentError);
    CHECK_THROWS_AS(md::openai({.model = "m", .http = {.headers = {{"a b", "c"}}}}), InvalidArgumentError);
}
