#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/agent/agent.hpp>
#include <stategraph/async.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/model/openai.hpp>

#include "tests/support/scripted_server.hpp"
#include "tests/support/self_signed.hpp"
#include "tests/support/temporary_folder.hpp"

// Connections that are kept for the next request, those that died meanwhile, and those through a proxy.
namespace {

namespace sg = stategraph;
namespace md = stategraph::model;
namespace agent = stategraph::agent;
using namespace std::chrono_literals;
using Peer = ScriptedServer::Peer;

std::string event(const std::string& delta, const std::string& reason = "null") {
    return R"(data: {"choices":[{"index":0,"delta":)" + delta + R"(,"finish_reason":)" + reason + "}]}\n\n";
}
std::string answer(const std::string& body, const std::string& headers = {}) {
    return "HTTP/1.1 200 OK\r\n" + headers + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}
const std::string done = "data: [DONE]\n\n";
const std::string hello = event(R"({"content":"hello"})", R"("stop")") + done;
const std::string call =
    event(R"({"tool_calls":[{"index":0,"id":"c","function":{"name":"look","arguments":"{}"}}]})", R"("tool_calls")") +
    done;

struct Trusted {
    explicit Trusted(const SelfSigned& signed_by) : file((folder / "ca.pem").string()) {
        std::ofstream(file) << signed_by.certificate;
    }
    TemporaryFolder folder;
    std::string file;
};

/// Answers each request of a connection with this, until the client closes it.
ScriptedServer::Script keeps(std::string bytes) {
    return [bytes = std::move(bytes)](Peer& peer) {
        while (!peer.request().empty()) peer.send(bytes);
    };
}

std::shared_ptr<const md::Model> modelOf(const std::string& url, const std::string& ca_file = {}) {
    return md::openai({.base_url = url,
                       .api_key = "sk-secret",
                       .model = "m",
                       .http = {.connect_limit = 5min,  // with a handshake of a busy machine
                                .max_retries = 0,
                                .ca_file = ca_file,
                                .max_answer_bytes = 1U << 20U}});
}

std::string ask(const md::Model& model, const std::string& said = "hi") {
    const std::vector<md::Message> messages = {md::user(said)};
    const md::Asking asking;
    try {
        return sg::syncWait(model.ask({.messages = messages}, asking)).message.text();
    } catch (const md::ModelError& error) {
        return error.what();
    }
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// A variable of the environment, for a while. No other thread of these tests reads or writes one.
struct Variable {
    Variable(const char* name, const std::string& value) : name_(name) { ::setenv(name, value.c_str(), 1); }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;
    ~Variable() { ::unsetenv(name_); }

private:
    const char* name_;
};

/// The bytes as a gzip file that does not compress them.
std::string gzipped(const std::string& bytes) {
    std::uint32_t crc = ~std::uint32_t{0};
    for (const char c : bytes) {
        crc ^= static_cast<unsigned char>(c);
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0U);
    }
    const auto size = static_cast<std::uint32_t>(bytes.size());
    std::string out("\x1f\x8b\x08\0\0\0\0\0\0\x03\x01", 11);
    const auto add = [&](std::uint32_t number, int count) {
        for (int i = 0; i < count; ++i) out += static_cast<char>(number >> (8 * i));
    };
    add(size, 2);
    add(~size, 2);
    out += bytes;
    add(~crc, 4);
    add(size, 4);
    return out;
}

}  // namespace

TEST_CASE("an agent of 20 rounds makes one connection, with one handshake if there is TLS") {
    const SelfSigned self;
    const Trusted trusted(self);
    for (const bool is_tls : {false, true}) {
        CAPTURE(is_tls);
        const ScriptedServer server(
            [](Peer& peer) {
                for (int round = 1; !peer.request().empty(); ++round) peer.send(answer(round < 20 ? call : hello));
            },
            is_tls ? self.certificate : "", is_tls ? self.key : "");
        int looks = 0;
        const agent::Tool look =
            agent::tool<sg::Value>("look", {.description = "looks", .parameters = R"({"type":"object"})"},
                                   [&](const sg::Value&) { return std::to_string(++looks); });
        const agent::Agent looking({.model = modelOf(server.url(), trusted.file),
                                    .tools = {look},
                                    .stop_when = {agent::stepCountIs(30)},
                                    .compile = {.checkpointer = std::make_shared<sg::MemorySaver>()}});
        CHECK(looking.say("hi", {.thread_id = "t"}).values.text() == "hello");
        CHECK(looks == 19);
        CHECK(server.requests().size() == 20);
        CHECK(server.connections() == 1);
        CHECK(server.fullHandshakes() == (is_tls ? 1 : 0));
    }
}

TEST_CASE("connections that a server ends after each answer continue one TLS session") {
    const SelfSigned self;
    const Trusted trusted(self);
    const ScriptedServer server(
        [](Peer& peer) {
            peer.request();
            peer.send(answer(hello, "Connection: close\r\n"));
        },
        self.certificate, self.key);
    const auto model = modelOf(server.url(), trusted.file);
    for (int i = 0; i < 3; ++i) CHECK(ask(*model) == "hello");
    CHECK(server.connections() == 3);
    CHECK(server.fullHandshakes() == 1);
}

TEST_CASE("a certificate is checked on a connection that another model has opened with another ca_file") {
    const SelfSigned self;
    const SelfSigned other;
    const Trusted trusted(self);
    const Trusted trusts_other(other);
    const ScriptedServer server(keeps(answer(hello)), self.certificate, self.key);
    CHECK(ask(*modelOf(server.url(), trusted.file)) == "hello");
    CHECK(has(ask(*modelOf(server.url(), trusts_other.file)), "certificate verify failed"));
    CHECK(has(ask(*modelOf(server.url())), "set ca_file"));
    CHECK(server.requests().size() == 1);
}

TEST_CASE("a request that did not reach a server whose kept connection is dead is sent once more, on a new one") {
    const ScriptedServer server([](Peer& peer) {
        peer.request();
        peer.send(answer(hello));
        // The next request is longer than what a system keeps for a program that does not read.
        if (peer.number == 0) peer.waitForBytes();
    });
    const auto model = modelOf(server.url());
    CHECK(ask(*model) == "hello");
    CHECK(ask(*model, std::string(std::size_t{32} << 20U, 'x')) == "hello");
    CHECK(server.connections() == 2);
    CHECK(server.requests().size() == 2);
}

TEST_CASE("a request that has reached its server is not sent again by itself, on a kept connection or a new one") {
    for (const bool is_reset : {false, true}) {
        CAPTURE(is_reset);
        const ScriptedServer server([is_reset](Peer& peer) {
            peer.request();
            if (peer.number == 0) {
                peer.send(answer(hello));
                peer.request();
            }
            if (is_reset) peer.reset();
        });
        const auto model = modelOf(server.url());
        CHECK(ask(*model) == "hello");
        CHECK(has(ask(*model), "failed while awaiting the answer"));
        CHECK(server.requests().size() == 2);
        CHECK(has(ask(*model), "failed while awaiting the answer"));
        CHECK(server.requests().size() == 3);
    }
}

TEST_CASE(
    "HTTPS_PROXY is used for servers with TLS, which it tunnels, and NO_PROXY names those that are reached without") {
    const SelfSigned self;
    const Trusted trusted(self);
    const ScriptedServer server(keeps(answer(hello)), self.certificate, self.key);
    const ScriptedServer proxy([&](Peer& peer) {
        peer.request();
        peer.send("HTTP/1.1 200 Connected\r\n\r\n");
        peer.tunnel(server.port());
    });
    const Variable used("HTTPS_PROXY", proxy.url());
    const auto model = modelOf("https://localhost:" + std::to_string(server.port()), trusted.file);
    for (int i = 0; i < 2; ++i) CHECK(ask(*model) == "hello");
    REQUIRE(proxy.requests().size() == 1);
    CHECK(proxy.requests()[0].starts_with("CONNECT localhost:"));
    CHECK_FALSE(has(proxy.requests()[0], "sk-secret"));
    CHECK(server.connections() == 1);
    const Variable unused("NO_PROXY", "127.0.0.1");
    CHECK(ask(*modelOf(server.url(), trusted.file)) == "hello");
    CHECK(proxy.connections() == 1);
    CHECK(server.connections() == 2);
}

TEST_CASE("a proxy that refuses, and one that is another server than the certificate says, are errors that say so") {
    const ScriptedServer refuses([](Peer& peer) {
        peer.request();
        peer.send("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n");
    });
    const Variable used("HTTPS_PROXY", refuses.url());
    const std::string refused = ask(*modelOf("https://example.com"));
    CHECK(has(refused, "the model at https://example.com/"));
    CHECK(has(refused, "403"));
    const SelfSigned self;
    const Trusted trusted(self);
    const ScriptedServer stranger(keeps(answer(hello)), self.certificate, self.key);
    const ScriptedServer misleads([&](Peer& peer) {
        peer.request();
        peer.send("HTTP/1.1 200 Connected\r\n\r\n");
        peer.tunnel(stranger.port());
    });
    const Variable misled("HTTPS_PROXY", misleads.url());
    CHECK(has(ask(*modelOf("https://example.com", trusted.file)), "the certificate is for another name"));
    CHECK(stranger.requests().empty());
}

TEST_CASE("an answer that is compressed is the same, and its limit is one of what it contains") {
    const ScriptedServer server([](Peer& peer) {
        CHECK(has(peer.request(), "Accept-Encoding: gzip\r\n"));
        peer.send(answer(gzipped(hello), "Content-Encoding: gzip\r\nConnection: close\r\n"));
    });
    CHECK(ask(*modelOf(server.url())) == "hello");
}

TEST_CASE("informational heads without end, and a head or a trailer without end, are errors that end the connection") {
    const std::vector<std::array<std::string, 2>> kinds = {
        {"", "HTTP/1.1 100 Continue\r\n\r\n"},
        {"", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"},
        {"HTTP/1.1 200 OK\r\n", "X-More: and more\r\n"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "X-More: and more\r\n"},
    };
    for (const auto& kind : kinds) {
        CAPTURE(kind[1]);
        const ScriptedServer server([&](Peer& peer) {
            peer.request();
            peer.send(kind[0]);
            for (int i = 0; i < 20'000; ++i) peer.send(kind[1]);
        });
        CHECK(has(ask(*modelOf(server.url())), "its heads have more than 65536 bytes"));
    }
}
