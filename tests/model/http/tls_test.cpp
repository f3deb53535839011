#include <chrono>
#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include <stategraph/async.hpp>
#include <stategraph/model/openai.hpp>

#include "tests/support/scripted_server.hpp"
#include "tests/support/self_signed.hpp"
#include "tests/support/temporary_folder.hpp"

namespace {

namespace sg = stategraph;
namespace md = stategraph::model;
using namespace std::chrono_literals;
using Peer = ScriptedServer::Peer;

const std::string answer =
    "HTTP/1.1 200 OK\r\n\r\ndata: "
    "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n";

struct Trusted {
    explicit Trusted(const SelfSigned& signed_by) : file((folder / "ca.pem").string()) {
        std::ofstream(file) << signed_by.certificate;
    }
    TemporaryFolder folder;
    std::string file;
};

std::string ask(const std::string& url, const std::string& ca_file, std::chrono::milliseconds limit = 5min) {
    const auto model = md::openai(
        {.base_url = url, .model = "m", .http = {.connect_limit = limit, .max_retries = 0, .ca_file = ca_file}});
    const md::Asking asking;
    try {
        return sg::syncWait(model->ask({}, asking)).message.text();
    } catch (const md::ModelError& error) {
        return std::string(error.isRetryable() ? "again: " : "never: ") + error.what();
    }
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("over TLS a server is believed whose certificate is in the ca_file, by name and by address") {
    const SelfSigned self;
    const Trusted trusted(self);
    const ScriptedServer server(
        [](Peer& peer) {
            peer.request();
            peer.send(answer);
        },
        self.certificate, self.key);
    CHECK(ask(server.url(), trusted.file) == "a");
    CHECK(ask("https://localhost:" + std::to_string(server.port()), trusted.file) == "a");
}

TEST_CASE(
    "over TLS a server that nobody vouches for, with another's name or with an old certificate is refused for that "
    "reason, before anything is sent") {
    const SelfSigned self;
    const Trusted trusted(self);
    const SelfSigned other("DNS:example.com");
    const Trusted trusts_other(other);
    const auto script = [](Peer& peer) { peer.request(); };
    const ScriptedServer server(script, self.certificate, self.key);
    const std::string untrusted = ask(server.url(), "");
    CHECK(has(untrusted, "never: "));
    CHECK(has(untrusted, "ca_file"));
    CHECK(has(ask(server.url(), trusts_other.file), "certificate verify failed"));
    const ScriptedServer stranger(script, other.certificate, other.key);
    const std::string misnamed = ask(stranger.url(), trusts_other.file);
    CHECK(has(misnamed, "never: "));
    CHECK(has(misnamed, "certificate verify failed"));
    CHECK(has(misnamed, "another name"));
    CHECK_FALSE(has(misnamed, "ca_file"));
    const SelfSigned old("IP:127.0.0.1", -1min);
    const Trusted trusts_old(old);
    const ScriptedServer expired(script, old.certificate, old.key);
    const std::string too_late = ask(expired.url(), trusts_old.file);
    CHECK(has(too_late, "expired"));
    CHECK_FALSE(has(too_late, "ca_file"));
    CHECK(server.requests().empty());
    CHECK(stranger.requests().empty());
    CHECK(expired.requests().empty());
}

TEST_CASE("a server without TLS where it is expected, or one that is silent, is an error within the limit") {
    const ScriptedServer plain([](Peer& peer) {
        peer.send("HTTP/1.1 400 Bad\r\n\r\n");
        peer.waitForEnd(5min);  // without RST, which a close has while something is unread
    });
    CHECK(has(ask("https://127.0.0.1:" + std::to_string(plain.port()), ""), "never: "));
    const ScriptedServer silent([](Peer& peer) { CHECK(peer.waitForEnd(5min)); });
    const std::string late = ask("https://127.0.0.1:" + std::to_string(silent.port()), "", 500ms);
    CHECK(has(late, "again: "));
    CHECK(has(late, "nothing happened for 500 ms"));
}
