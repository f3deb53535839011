#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/inspect/server.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/testing/saver_contract.hpp>

#include "inspect/app/app_saver.hpp"
#include "tests/checkpoint/bytes.hpp"
#include "tests/fault/rounds.hpp"
#include "tests/support/inspected.hpp"
#include "tests/support/scripted_server.hpp"

// The saver of a running program, used by another one over HTTP.
namespace sg = stategraph;
using sg::inspect::AppAddress;
using sg::inspect::AppLimits;
using sg::inspect::AppSaver;
using sg::inspect::readAppAddress;

namespace {

struct AppFactory {
    std::unique_ptr<sg::BaseCheckpointSaver> make() { return reopen(); }
    std::unique_ptr<sg::BaseCheckpointSaver> reopen() {
        return std::make_unique<AppSaver>(readAppAddress(server.url()), true);
    }
    std::shared_ptr<sg::MemorySaver> saver = std::make_shared<sg::MemorySaver>();
    sg::inspect::Server server{saver, {.write = true}};
};

}  // namespace

STATEGRAPH_SAVER_CONTRACT(AppFactory);

namespace {

constexpr const char* key = "0123456789abcdef";

/// What a call throws, as text.
template <class E, class Call>
std::string errorOf(Call call) {
    try {
        call();
    } catch (const E& error) {
        return error.what();
    }
    return "no error";
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::string httpAnswer(std::string_view body, std::string_view type = "application/json",
                       std::string_view status = "200 OK") {
    return "HTTP/1.1 " + std::string(status) + "\r\nContent-Type: " + std::string(type) +
           "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}
std::string goodAbout() { return httpAnswer(R"({"version":"0.1.0","write":true,"rows":1,"graphs":[],"redacted":[]})"); }

/// The address of a scripted server.
AppAddress at(const ScriptedServer& server) { return readAppAddress(server.url() + "/#k=" + key); }

/// What opening a program says that answers in this way.
std::string openingSays(const std::string& answer, const AppLimits& limits = {}) {
    const ScriptedServer server([&](ScriptedServer::Peer& peer) {
        if (peer.request().empty()) return;
        peer.send(answer);
    });
    return errorOf<sg::SaverError>([&] { const AppSaver saver(at(server), false, limits); });
}

/// What a call says of a program that answers the second request in this way.
template <class Call>
std::string callSays(const std::string& answer, Call call) {
    const ScriptedServer server([&](ScriptedServer::Peer& peer) {
        for (std::string request = peer.request(); !request.empty(); request = peer.request()) {
            const bool is_first = request.starts_with("GET /api/about");
            peer.send(is_first ? goodAbout() : answer);
            if (!is_first) return;
        }
    });
    AppSaver saver(at(server), false);
    return errorOf<sg::SaverError>([&] { call(saver); });
}
std::string readingSays(const std::string& answer) {
    return callSays(answer, [](AppSaver& saver) { (void)saver.getTuple({.log = {"t"}}); });
}
std::string indexSays(const std::string& answer) {
    return callSays(answer, [](AppSaver& saver) { (void)saver.openThreads({}); });
}

}  // namespace

TEST_CASE("an address of a program has a loopback host, a port and a key, and no error shows the key") {
    const AppAddress address = readAppAddress("http://127.0.0.1:41873/#k=0123456789abcdef");
    CHECK(address.host == "127.0.0.1");
    CHECK(address.port == 41873);
    CHECK(address.key == key);
    CHECK(address.shown() == "http://127.0.0.1:41873/");
    CHECK(readAppAddress("http://localhost:1#0123456789abcdef").key == key);
    for (const char* wrong :
         {"http://127.0.0.1:41873/", "http://127.0.0.1:41873/#k=", "http://127.0.0.1/#k=secret-key",
          "http://127.0.0.1:0/#k=secret-key", "http://127.0.0.1:70000/#k=secret-key",
          "http://127.0.0.1:4x/#k=secret-key", "https://127.0.0.1:41873/#k=secret-key",
          "http://192.168.1.2:41873/#k=secret-key", "http://127.0.0.1.evil.example:80/#k=secret-key",
          "http://evil.example@127.0.0.1:80/#k=secret-key", "http://127.0.0.1:41873/#/t/secret-key",
          "http://[::1]:41873/#k=secret-key"}) {
        CAPTURE(wrong);
        const std::string said = errorOf<sg::InvalidArgumentError>([&] { readAppAddress(wrong); });
        CHECK(has(said, "#k=KEY"));
        CHECK_FALSE(has(said, "secret"));
    }
}

TEST_CASE("a program that is not there, has another key, or only reads is said to be so") {
    std::string url;
    {
        const sg::inspect::Server server(std::make_shared<sg::MemorySaver>(), {.key = key});
        url = server.url();
        const std::string plain = url.substr(0, url.find('#'));
        CHECK(has(errorOf<sg::SaverError>([&] { AppSaver(readAppAddress(plain + "#k=0123456789abcdeX"), false); }),
                  "the key after '#' is not its key"));
        CHECK(has(errorOf<sg::SaverError>([&] { AppSaver(readAppAddress(url), true); }), "read-only"));
        AppSaver reads(readAppAddress(url), false);
        CHECK_FALSE(reads.getTuple({.log = {"t"}}));
        CHECK(has(errorOf<sg::SaverError>([&] { reads.deleteThread("t"); }), "read-only"));
    }
    // Not the port that it had, which another program may have now.
    const std::string nobody = std::string("http://127.0.0.1:1/#k=") + key;
    const std::string gone = errorOf<sg::SaverError>([&] { AppSaver(readAppAddress(nobody), false); });
    CHECK(has(gone, "nothing listens there"));
    CHECK_FALSE(has(gone, key));
}

TEST_CASE("what does not answer as an inspector is refused with a reason, and within a limit of time and bytes") {
    CHECK(has(openingSays(httpAnswer("<html>", "text/html")), "no inspector"));
    CHECK(has(openingSays(httpAnswer("nothing here", "text/plain", "404 Not Found")), "status 404"));
    CHECK(has(openingSays(httpAnswer(R"({"version":"0.0.9","write":true,"graphs":[]})")), "version 0.0.9"));
    CHECK(has(openingSays("SSH-2.0-OpenSSH_9.2\r\n"), "does not speak HTTP"));
    CHECK(has(openingSays(""), "the connection ended"));
    CHECK(has(openingSays(goodAbout().substr(0, goodAbout().size() - 5)), "the connection ended while reading"));
    const AppLimits small{.answer_bytes_max = 1000};
    CHECK(has(openingSays(httpAnswer(std::string(1001, ' ')), small), "larger than any"));
    CHECK(has(openingSays("HTTP/1.1 200 OK\r\nX: " + std::string(70000, 'x') + "\r\n\r\n"), "larger than any"));
    std::string endless = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (int i = 0; i < 20; ++i) endless += "64\r\n" + std::string(100, 'x') + "\r\n";
    CHECK(has(openingSays(endless, small), "larger than any"));

    const ScriptedServer silent([](ScriptedServer::Peer& peer) {
        (void)peer.request();
        peer.waitForEnd(std::chrono::seconds(60));
    });
    const AppLimits impatient{.idle_limit = std::chrono::milliseconds(50)};
    CHECK(
        has(errorOf<sg::SaverError>([&] { AppSaver(at(silent), false, impatient); }), "nothing happened for too long"));
}

TEST_CASE("rows that are not understood are an error of the saver, and never more") {
    const std::string cbor = "application/cbor";
    CHECK(has(readingSays(httpAnswer("{}")), "not understood"));
    CHECK(has(readingSays(httpAnswer("\xff", cbor)), "not understood"));
    CHECK(has(readingSays(httpAnswer(std::string("\xf6\xf6"), cbor)), "something follows"));
    // An array that claims to have 2^60 items, and an id of three bytes.
    CHECK(has(readingSays(httpAnswer("\xa1\x67"
                                     "commits\x9b\x10\x00\x00\x00\x00\x00\x00\x00",
                                     cbor)),
              "not understood"));
    CHECK(has(readingSays(httpAnswer("\xa1\x62id\x43xyz", cbor)), "an id has 3 bytes"));
    CHECK(has(indexSays(httpAnswer("\x81\xa1\x67outlook\xa1\x66status\x18\x63", cbor)), "status is 99"));
    CHECK(has(readingSays(httpAnswer("what?", "text/plain", "500 Internal Server Error")), "status 500"));
    CHECK(has(readingSays(httpAnswer(R"({"error":"the disk is full","code":"SAVER_FAILED"})", "application/json",
                                     "503 Service Unavailable")),
              "the disk is full"));
    CHECK(readingSays(httpAnswer("\xf6", cbor)) == "no error");
}

TEST_CASE("a list that does not end, or repeats itself, is an error") {
    const std::string row = "\xa2\x62id\x50" + std::string(16, '\1') + "\x66thread\x61t";
    const std::string page = "\xa2\x64more\xf5\x64rows\x81" + row;
    const ScriptedServer server([&](ScriptedServer::Peer& peer) {
        for (std::string request = peer.request(); !request.empty(); request = peer.request())
            peer.send(request.starts_with("GET") ? goodAbout() : httpAnswer(page, "application/cbor"));
    });
    AppSaver saver(at(server), false);
    CHECK(has(errorOf<sg::SaverError>([&] { (void)saver.list({.thread_id = "t", .checkpoint_ns = ""}); }),
              "sends the same rows"));
    CHECK(has(errorOf<sg::SaverError>([&] { (void)saver.list({.thread_id = "t"}); }), "does not send"));
    CHECK(saver.list({.thread_id = "t", .checkpoint_ns = "", .limit = 1}).size() == 1);
}

TEST_CASE("a kept connection that the program has closed is opened again, and a write is sent once") {
    const ScriptedServer server([&](ScriptedServer::Peer& peer) {
        const std::string request = peer.request();
        if (request.empty()) return;
        if (request.starts_with("GET")) return peer.send(goodAbout());
        if (request.find("/api/rows/put ") == std::string::npos) peer.send(httpAnswer("\xf6", "application/cbor"));
    });
    AppSaver saver(at(server), true);
    CHECK_FALSE(saver.getTuple({.log = {"t"}}));
    CHECK_FALSE(saver.getTuple({.log = {"t"}}));
    const std::string said =
        errorOf<sg::SaverError>([&] { saver.put({.log = {"t"}, .expected_head = {}, .commits = {}, .writes = {}}); });
    CHECK(has(said, "whether it has stored this is not known"));
    int puts = 0;
    for (const std::string& request : server.requests()) puts += request.find("/api/rows/put ") != std::string::npos;
    CHECK(puts == 1);
}

TEST_CASE("long lists come in pages, and are the same as those of the program") {
    AppFactory factory;
    const auto app = inspected::graph().compile({.checkpointer = factory.saver});
    for (int i = 0; i < 3; ++i) {
        const std::string thread = "t" + std::to_string(i);
        app.invoke(inspected::Update{sg::set(&inspected::Order::topic, std::string(9'000'000, 'x'))},
                   {.thread_id = thread});
        app.invoke(sg::resume(std::string("yes")), {.thread_id = thread});
    }
    const auto saver = factory.make();
    const std::vector<sg::ListQuery> queries = {
        {.thread_id = "t0", .checkpoint_ns = ""},
        {.thread_id = "t0", .checkpoint_ns = "", .limit = 3, .with_writes = true},
        {.checkpoint_ns = "", .heads = true},
        {.checkpoint_ns = "", .limit = 2, .heads = true, .after_thread_id = "t0"},
        {.checkpoint_ns = "", .heads = true, .thread_ids = {"t2", "no", "t0", "t1"}},
        {.thread_id = "t1", .heads = true},
        {}};
    for (const sg::ListQuery& query : queries) {
        const auto wanted = factory.saver->list(query);
        const auto found = saver->list(query);
        REQUIRE(found.size() == wanted.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
            CHECK(found[i].thread_id == wanted[i].thread_id);
            CHECK(found[i].id == wanted[i].id);
            CHECK((found[i].bytes == wanted[i].bytes));
            CHECK(found[i].writes.size() == wanted[i].writes.size());
        }
    }
}

TEST_CASE("random messages about rows are answered or refused, and an error has no status of the server") {
    const std::uint64_t seed = tests::seed();
    CAPTURE(seed);
    bytes::Random random(seed);
    AppFactory factory;
    const auto app = inspected::graph().compile({.checkpointer = factory.saver});
    app.invoke(inspected::Update{sg::set(&inspected::Order::topic, std::string("tea"))}, {.thread_id = "t"});
    sg::inspect::AppClient client(readAppAddress(factory.server.url()));
    using namespace sg::inspect;
    const std::vector<std::string> bodies = {
        rows::encoded(rows::TupleWanted{"t", "", {}, {}}),
        rows::encoded(rows::toMessage({.thread_id = "t", .checkpoint_ns = "", .limit = 3})),
        rows::encoded(rows::OpenWanted{{0, 2}, {}, 5, true}),
        rows::encoded(rows::NewestWanted{{1}, rows::Place{{}, "t"}, 5, false}),
        rows::encoded(rows::Put{.thread = "t",
                                .ns = "",
                                .head = {},
                                .commits = {{}},
                                .writes = {{}},
                                .compared = {},
                                .outlook = {},
                                .summary = {}}),
        rows::encoded(rows::Prune{.thread = "t", .keep_last = 1, .older_than = {}, .unused_since = {}})};
    const std::vector<std::string> operations = {"rows/tuple", "rows/list",  "rows/open",  "rows/newest",
                                                 "rows/due",   "rows/count", "rows/graph", "rows/size",
                                                 "rows/put",   "rows/prune", "rows/none",  "check"};
    int answered = 0;
    for (std::size_t i = 0; i < fault::rounds(600); ++i) {
        std::string body = bodies[random.below(bodies.size())];
        for (std::size_t times = random.below(4); times > 0 && !body.empty(); --times)
            body[random.below(body.size())] = static_cast<char>(random.below(256));
        if (random.below(8) == 0) body.resize(random.below(body.size() + 1));
        const std::string& operation = operations[random.below(operations.size())];
        CAPTURE(operation);
        CAPTURE(i);
        const AppAnswer answer = client.post("/api/" + operation, rows::content_type, body, false);
        CHECK(answer.status < 500);
        answered += answer.status == 200 ? 1 : 0;
    }
    CHECK(answered > 0);
    CHECK(app.getState({.thread_id = "t"}).values.topic == "tea");
}
