#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/export.hpp>
#include <stategraph/inspect/server.hpp>

#include "inspect/app/row_messages.hpp"
#include "tests/checkpoint/bytes.hpp"
#include "tests/fault/rounds.hpp"
#include "tests/golden/rows.hpp"
#include "tests/inspect/inspected_api.hpp"
#include "tests/serve/client.hpp"

// Clients of the inspector that mean harm: without the key, with lies in ids and bodies, and many at once.
namespace sg = stategraph;
namespace rows = stategraph::inspect::rows;
using namespace inspected_api;

namespace {

const std::string key_field = std::string("X-Stategraph-Key: ") + key + "\r\n";

std::shared_ptr<sg::MemorySaver> asking() {
    const auto saver = std::make_shared<sg::MemorySaver>();
    graph()
        .compile({.checkpointer = saver})
        .invoke(Update{sg::set(&Order::topic, std::string("tea"))}, {.thread_id = "asks"});
    return saver;
}

std::string exported(sg::BaseCheckpointSaver& saver) {
    std::ostringstream lines;
    sg::exportThread(saver, "asks", lines);
    return lines.str();
}

/// The status of an operation, as the server would answer it.
int statusOf(Store& store, const Place& place, std::string_view body, bool is_post = true) {
    try {
        return is_post ? store.post(place, body).status : store.get(place).status;
    } catch (const sg::Error& error) {
        return error.code() == sg::Errc::invalid_argument || error.code() == sg::Errc::wrong_type ? 400 : 500;
    }
}

}  // namespace

TEST_CASE("the body of a request without the key is not waited for, however small it is") {
    sg::inspect::Server server(asking(), {.key = key});
    const std::string host = "Host: 127.0.0.1:" + std::to_string(server.port()) + "\r\n";
    for (const char* const field : {"Content-Length: 900000\r\n", "Transfer-Encoding: chunked\r\n"}) {
        CAPTURE(field);
        client::Connection connection(server.port());
        connection.send("POST /api/check HTTP/1.1\r\n" + host + field + "\r\n");  // the body never comes
        const auto refused = connection.read();
        CHECK(refused.status == 401);
        CHECK(refused.headers.at("connection") == "close");
    }
    CHECK(client::get(server.port(), "/").status == 200);
    CHECK(client::get(server.port(), "/api/about").status == 401);
    CHECK(client::get(server.port(), "/api/about", key_field).status == 200);
}

TEST_CASE("clients that follow leave connections for those that ask") {
    sg::inspect::Server server(asking(), {.key = key});
    std::string what = "head";
    SUBCASE("the newest checkpoint") {}
    SUBCASE("live texts") { what = "live"; }
    const std::string request = "GET /api/threads/asks/" + what + " HTTP/1.1\r\nHost: 127.0.0.1\r\n" + key_field +
                                "Accept: text/event-stream\r\n\r\n";
    std::vector<std::unique_ptr<client::Connection>> following;
    std::size_t refused = 0;
    for (int i = 0; i < 200; ++i) {
        auto connection = std::make_unique<client::Connection>(server.port());
        connection->send(request);
        const auto answered = connection->head();
        if (answered.status == 503) {
            ++refused;
        } else {
            CHECK(answered.status == 200);
            following.push_back(std::move(connection));
        }
    }
    CHECK(following.size() == sg::inspect::Api::followers_max);
    CHECK(refused == 200 - following.size());
    CHECK(client::get(server.port(), "/api/about", key_field).status == 200);
    // Those that have disconnected make room, within the time at which the server looks.
    following.clear();
    int status = 503;
    for (int tries = 0; status == 503 && tries < 15'000; ++tries) {
        client::Connection connection(server.port());
        connection.send(request);
        status = connection.head().status;
        if (status == 503) std::this_thread::sleep_for(std::chrono::milliseconds(20));  // sleeps: between two tries
    }
    CHECK(status == 200);
}

TEST_CASE("a name in a path is a name, whatever it looks like, and an error about it is JSON") {
    sg::inspect::Server server(asking(), {.write = true, .key = key});
    for (const char* const name : {"..%2f..%2fetc%2fpasswd", "%2e%2e", "..", "%00", "%ff%fe", "%0d%0aX:%20y", "%25ff",
                                   "%F0%9F%9A%80", "%22%7d", "'%20or%201=1--", "%e2%80%ae"}) {
        CAPTURE(name);
        for (const char* const rest : {"/head", "/timeline", "/logs", "/deletion", "/stats", "/export",
                                       "/checkpoints/newest", "/checkpoints/newest/graph"}) {
            const auto answered = client::get(server.port(), std::string("/api/threads/") + name + rest, key_field);
            CAPTURE(answered.body);
            if (std::string(rest) != "/head") CHECK(answered.status >= 400);
            CHECK(answered.status < 500);
            CHECK(!answered.headers.contains("x"));
            boost::system::error_code broken;
            (void)json::parse(answered.body, broken);
            CHECK(!broken);
            CHECK(answered.body.find("root:") == std::string::npos);
        }
    }
    CHECK(client::get(server.port(), "/..%2f..%2fetc%2fpasswd", key_field).status == 404);
    CHECK(client::get(server.port(), "/app.js%00", key_field).status == 404);
    CHECK(client::get(server.port(), "/api/%", key_field).status == 400);
    CHECK(client::get(server.port(), "/api/threads?text=%zz", key_field).status == 400);
}

TEST_CASE("the text of a refusal is a text, also if a name in it is not UTF-8") {
    Store store;
    const auto refused = store.get({{"threads", "caf\xe9", "deletion"}});
    CHECK(refused.status == 404);
    CHECK(textAt(refused.value(), "/error") == "there is no thread 'caf\\xe9'");
}

TEST_CASE("bodies that are nested deeply, or are no JSON, are refused by every operation that stores") {
    Store store({.write = true});
    const std::string before = golden::rowsOf(*store.saver);
    std::vector<std::string> bodies = {"[", "nul", "\xff\xfe", "{\"values\":", "[]", "1", "\"x\"", "{\"\":{}}"};
    for (const std::size_t depth : {300U, 100'000U}) {
        bodies.push_back(std::string(depth, '['));
        bodies.push_back(std::string(depth, '[') + std::string(depth, ']'));
        std::string objects;
        for (std::size_t i = 0; i < depth; ++i) objects += "{\"values\":";
        bodies.push_back(objects + "1" + std::string(depth, '}'));
        bodies.push_back("{\"values\":{\"topic\":" + std::string(depth, '[') + std::string(depth, ']') + "}}");
    }
    for (const char* const operation : {"answer", "copy", "prune", "delete"}) {
        for (const std::string& body : bodies) CHECK(statusOf(store, {{"threads", "asks", operation}}, body) == 400);
    }
    for (const char* const operation : {"fork", "raw_edit"}) {
        for (const std::string& body : bodies)
            CHECK(statusOf(store, {{"threads", "asks", "checkpoints", "newest", operation}}, body) == 400);
    }
    for (const char* const operation :
         {"tuple", "list", "put", "graph", "put_graph", "open", "newest", "due", "count"}) {
        for (const std::string& body : bodies) CHECK(statusOf(store, {{"rows", operation}}, body) == 400);
    }
    CHECK(golden::rowsOf(*store.saver) == before);
}

TEST_CASE("ids that lie are answered or refused") {
    Store store({.write = true});
    const std::string before = golden::rowsOf(*store.saver);
    const std::string other = textAt(store.checkpoint("done/with slash"), "/checkpoint_id");
    const std::vector<std::string> ids = {"00000000-0000-0000-0000-000000000000",
                                          "ffffffff-ffff-ffff-ffff-ffffffffffff",
                                          other,
                                          "newest",
                                          "",
                                          "-1",
                                          std::string(10'000, '0'),
                                          "0x1"};
    for (const std::string& id : ids) {
        CAPTURE(id);
        const std::vector<Place> places = {
            {{"threads", "asks", "timeline"}, {{"before", id}}},
            {{"threads", "asks", "timeline"}, {{"from", id}}},
            {{"threads", "asks", "head"}, {{"after", id}}},
            {{"threads"}, {{"after", id}}},
            {{"threads"}, {{"after", id + "/asks"}}},
            {{"questions"}, {{"after", id + "/" + id}}},
            {{"threads", "asks", "checkpoints", id}},
            {{"threads", "asks", "checkpoints", id}, {{"ns", "inner:" + id}}},
            {{"threads", "asks", "checkpoints", "newest", "difference"}, {{"to_checkpoint", id}, {"to_thread", id}}},
            {{"threads", "asks", "checkpoints", id, "writers"}, {{"channel", id}}},
            {{"threads", "asks", "checkpoints", id, "values"}, {{"path", "/" + id}, {"from", "18446744073709551615"}}},
            {{"threads", "asks", "checkpoints", "newest", "values"},
             {{"path", "/notes"}, {"from", "18446744073709551615"}, {"count", "1000"}}}};
        for (const Place& place : places) CHECK(statusOf(store, place, {}, false) < 500);
        CHECK(statusOf(store, {{"threads", "asks", "delete"}}, R"({"newest":")" + id + "\"}") != 200);
        if (id == "newest") continue;
        CHECK(statusOf(store, {{"threads", "asks", "checkpoints", id, "raw_edit"}}, R"({"values":{"n":1}})") == 400);
        CHECK(statusOf(store, {{"threads", "asks", "answer"}}, R"({"value":1,"id":")" + id + "\"}") == 400);
    }
    CHECK(golden::rowsOf(*store.saver) == before);
}

TEST_CASE("exported threads that are cut, or whose lines lie, are refused by the check") {
    Store store;
    store.api.add("order", std::make_shared<sg::inspect::detail::GraphOnPage<Order, Order, Order>>(store.app));
    const std::string whole = exported(*store.saver);
    const auto check = [&](std::string lines) {
        return statusOf(store, {{"check"}},
                        rows::encoded(rows::Check{.graph = {}, .lines = std::move(lines), .after = {}}));
    };
    CHECK(check(whole) == 200);
    CHECK(check(whole + whole) == 200);
    const std::uint64_t seed = tests::seed();
    CAPTURE(seed);
    bytes::Random random(seed);
    for (std::size_t i = 0; i < fault::rounds(150); ++i) {
        const std::size_t at = 1 + random.below(whole.size() - 2);
        CAPTURE(at);
        CHECK(check(whole.substr(0, at)) >= 400);
        CHECK(check(whole + whole.substr(0, at)) >= 400);
        std::string changed = whole;
        changed[at] = static_cast<char>(changed[at] ^ (1 + random.below(127)));
        CHECK(check(changed) >= 400);
    }
    CHECK(check(std::string(std::size_t{8} << 20U, '{')) >= 400);
    CHECK(check(std::string(std::size_t{1} << 20U, '\n')) >= 400);
}

TEST_CASE("messages about rows that are changed at random are answered or refused, and the store stays readable") {
    const std::uint64_t seed = tests::seed();
    CAPTURE(seed);
    bytes::Random random(seed);
    Store store({.write = true});
    const auto newest = store.saver->list({.thread_id = "asks"}).front();
    const rows::Commit commit{.id = sg::CheckpointId{newest.id.high() + 1, newest.id.low()},
                              .parent = newest.id,
                              .base = newest.id,
                              .bytes = std::string(newest.bytes.view())};
    rows::Put put;
    put.thread = "asks";
    put.head = newest.id;
    put.commits = {commit};
    put.writes = {{.id = newest.id, .path = "pull:ask", .bytes = "x", .expected = {}}};
    const std::vector<std::pair<std::string, std::string>> messages = {
        {"put", rows::encoded(put)},
        {"list", rows::encoded(rows::toMessage(sg::ListQuery{.thread_id = "asks", .limit = 3, .with_writes = true}))},
        {"graph", rows::encoded(rows::Graph{})},
        {"check", rows::encoded(rows::Check{.graph = "x", .lines = "{}", .after = {}})}};
    for (std::size_t i = 0; i < fault::rounds(3000); ++i) {
        auto [operation, body] = messages[random.below(messages.size())];
        for (std::size_t times = random.below(4); times > 0 && !body.empty(); --times) {
            const std::size_t at = random.below(body.size());
            if (random.below(3) == 0) {
                body.insert(at, 1, static_cast<char>(random.below(256)));
            } else if (random.below(4) == 0) {
                body.erase(at, random.below(9));
            } else {
                body[at] = static_cast<char>(random.below(256));
            }
        }
        CAPTURE(operation);
        const Place place{operation == "check" ? std::vector<std::string>{"check"}
                                               : std::vector<std::string>{"rows", operation}};
        CHECK(statusOf(store, place, body) >= 200);
    }
    // What was stored may be damaged, which every reader says.
    for (const char* const operation : {"timeline", "deletion", "logs", "head"})
        CHECK(store.get({{"threads", "asks", operation}}).status == 200);
    CHECK(store.get({{"threads"}}).status == 200);
}
