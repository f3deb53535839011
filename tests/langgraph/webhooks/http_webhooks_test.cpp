// Webhooks over HTTP: who is called, and what the call looks like.
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/async.hpp>
#include <stategraph/error.hpp>
#include <stategraph/langgraph/webhooks.hpp>
#include <stategraph/model/model.hpp>

#include "langgraph/webhooks/signature.hpp"
#include "tests/support/scripted_server.hpp"

namespace {

namespace sg = stategraph;
using sg::langgraph::httpWebhooks;
using sg::langgraph::WebhookOptions;

const std::string key = "a key of more than sixteen bytes";

WebhookOptions optionsFor(std::vector<std::string> hosts) {
    return {.hosts = std::move(hosts), .key = key, .limit = std::chrono::minutes(5), .now = [] {
                return std::chrono::system_clock::time_point(std::chrono::seconds(1'700'000'000));
            }};
}

/// A server that answers each request with one head.
struct Answering {
    explicit Answering(std::string status, std::string fields = {})
        : server([=](ScriptedServer::Peer& peer) {
              if (peer.request().empty()) return;
              peer.send("HTTP/1.1 " + status + "\r\nContent-Length: 0\r\n" + fields + "\r\n");
              peer.waitForEnd(std::chrono::minutes(5));
          }) {}
    std::string at(const std::string& host, const std::string& path) const {
        return "http://" + host + ":" + std::to_string(server.port()) + path;
    }
    ScriptedServer server;
};

int send(const WebhookOptions& options, const std::string& url) {
    const auto sender = httpWebhooks(options);
    return sg::syncWait(sender->send({.url = url, .id = "run-1", .body = "{\"a\":1}"}));
}

std::string fieldOf(const std::string& request, const std::string& name) {
    const std::size_t at = request.find("\r\n" + name + ": ");
    if (at == std::string::npos) return {};
    const std::size_t begin = at + name.size() + 4;
    return request.substr(begin, request.find("\r\n", begin) - begin);
}

TEST_CASE("a call has its body, its id, a time, and the signature of all three") {
    const Answering called("204 No Content");
    CHECK(send(optionsFor({"127.0.0.1"}), called.at("127.0.0.1", "/end/?of=a%20run")) == 204);
    const std::string request = called.server.requests().at(0);
    CHECK(request.starts_with("POST /end/?of=a%20run HTTP/1.1\r\n"));
    CHECK(request.ends_with("\r\n\r\n{\"a\":1}"));
    CHECK(fieldOf(request, "Content-Type") == "application/json");
    CHECK(fieldOf(request, "webhook-id") == "run-1");
    CHECK(fieldOf(request, "webhook-timestamp") == "1700000000");
    CHECK(fieldOf(request, "webhook-signature") ==
          sg::langgraph::webhookSignature(key, "run-1", 1'700'000'000, "{\"a\":1}"));
}

TEST_CASE("an address that is not public is called only if it is named itself, also where a name leads to it") {
    const Answering called("200 OK");
    for (const std::vector<std::string>& hosts : {std::vector<std::string>{"localhost"}, std::vector<std::string>{"*"},
                                                  std::vector<std::string>{"localhost", "10.0.0.1"}}) {
        try {
            (void)send(optionsFor(hosts), called.at("localhost", "/"));
            CHECK(false);
        } catch (const sg::model::ModelError& refused) {
            const std::string why = refused.what();
            CAPTURE(why);
            CHECK(why.find("an address that is not allowed") != std::string::npos);
        }
    }
    CHECK(called.server.requests().empty());
    CHECK(send(optionsFor({"localhost", "127.0.0.1"}), called.at("localhost", "")) == 200);
}

TEST_CASE("a host that the options do not have is refused, however it is written") {
    const auto sender = httpWebhooks(optionsFor({"hooks.example.com", "*.Example.org", "127.0.0.1"}));
    for (const char* const url : {"https://hooks.example.com/a?b=c", "https://HOOKS.example.com",
                                  "http://a.example.org:8080/", "https://a.b.EXAMPLE.org./", "http://127.0.0.1:9/"}) {
        CAPTURE(url);
        CHECK_NOTHROW(sender->check(url));
    }
    for (const char* const url :
         {"https://example.com/", "https://hooks.example.com.evil.com/", "https://evil.com/hooks.example.com",
          "https://hooks.example.com@evil.com/", "https://evil.com#hooks.example.com", "https://example.org/",
          "https://badexample.org/", "http://127.0.0.2/", "http://127.1/", "http://2130706433/", "http://[::1]/",
          "http://localhost/", "ftp://hooks.example.com/", "/threads", "", "https://", "https://hooks.example.com/a b",
          "https://hooks.example.com/\r\nX: y", "https://hooks.example.com:99999/"}) {
        CAPTURE(url);
        CHECK_THROWS_AS(sender->check(url), sg::InvalidArgumentError);
    }
    CHECK_THROWS_AS(sender->check("https://hooks.example.com/" + std::string(3000, 'a')), sg::InvalidArgumentError);
}

TEST_CASE("a redirect is not followed, and a refusal is reported with its status") {
    const Answering elsewhere("200 OK");
    const Answering redirecting("302 Found", "Location: " + elsewhere.at("127.0.0.1", "/") + "\r\n");
    CHECK(send(optionsFor({"127.0.0.1"}), redirecting.at("127.0.0.1", "/")) == 302);
    CHECK(elsewhere.server.requests().empty());
    const Answering refusing("500 No");
    CHECK(send(optionsFor({"127.0.0.1"}), refusing.at("127.0.0.1", "/")) == 500);
}

TEST_CASE("options without hosts, and with a short key, are refused") {
    CHECK_THROWS_AS(httpWebhooks(optionsFor({})), sg::InvalidArgumentError);
    WebhookOptions options = optionsFor({"*"});
    options.key = "short";
    CHECK_THROWS_AS(httpWebhooks(options), sg::InvalidArgumentError);
    options = optionsFor({"*"});
    options.limit = {};
    CHECK_THROWS_AS(httpWebhooks(options), sg::InvalidArgumentError);
}

}  // namespace
