#include <doctest/doctest.h>

#include <string>

#include <boost/json.hpp>

#include <stategraph/answer.hpp>
#include <stategraph/inspect/server.hpp>
#include <stategraph/memory_saver.hpp>

#include "inspect/http/api.hpp"
#include "tests/serve/client.hpp"
#include "tests/support/inspected.hpp"

// The inspector's lists and heads, followed by server-sent events.
namespace sg = stategraph;
using namespace inspected;
namespace json = boost::json;

namespace {

constexpr const char* key = "0123456789abcdef";
const std::string headers = std::string("X-Stategraph-Key: ") + key + "\r\nAccept: text/event-stream\r\n";

struct Store {
    Store() { app.invoke(Update{sg::set(&Order::topic, std::string("tea"))}, {.thread_id = "asks"}); }
    std::shared_ptr<sg::MemorySaver> saver = std::make_shared<sg::MemorySaver>();
    App app = graph().compile({.checkpointer = saver});
    sg::inspect::Server server{saver, {.key = key}};
};

/// A response of events that is read one by one.
class Followed {
public:
    Followed(std::uint16_t port, std::string_view target) : connection_(port) {
        connection_.request("GET", target, {}, headers);
        status = connection_.head().status;
    }
    json::value next() {
        std::string text = connection_.chunk();
        while (!text.starts_with("data: ")) text = connection_.chunk();
        return json::parse(text.substr(6));
    }
    int status = 0;

private:
    client::Connection connection_;
};

TEST_CASE("a thread's head is sent again when a run, or an answer alone, has changed it") {
    Store store;
    Followed head(store.server.port(), "/api/threads/asks/head");
    REQUIRE(head.status == 200);
    const json::value first = head.next();
    sg::answer(*store.saver, {.thread_id = "asks"}, sg::Value("yes"));
    const json::value answered = head.next();
    CHECK(answered.at("checkpoint_id") == first.at("checkpoint_id"));
    CHECK(answered.at("mark") != first.at("mark"));
    store.app.invoke(sg::RESUME, {.thread_id = "asks"});
    json::value after = head.next();
    const std::string newest = store.saver->list({.thread_id = "asks"}).front().id.toString();
    while (after.at("checkpoint_id").as_string() != newest) after = head.next();
}

TEST_CASE("a client that follows a thread that does not exist yet is sent its first checkpoint") {
    Store store;
    Followed head(store.server.port(), "/api/threads/new/head");
    CHECK(head.next().at("checkpoint_id").is_null());
    store.app.invoke(Update{sg::set(&Order::topic, std::string("milk"))}, {.thread_id = "new"});
    CHECK(!head.next().at("checkpoint_id").is_null());
}

TEST_CASE("lists of threads and of questions are sent again when they are others, each as its address asks") {
    Store store;
    Followed threads(store.server.port(), "/api/threads?status=interrupted");
    Followed questions(store.server.port(), "/api/questions?limit=10");
    CHECK(threads.next().at("threads").as_array().size() == 1);
    CHECK(questions.next().at("questions").as_array().size() == 1);
    store.app.invoke(Update{sg::set(&Order::topic, std::string("milk"))}, {.thread_id = "two"});
    while (threads.next().at("threads").as_array().size() != 2) {
    }
    while (questions.next().at("questions").as_array().size() != 2) {
    }
}

TEST_CASE("what cannot be followed is answered once, and what is refused is refused") {
    Store store;
    const client::Response about = client::get(store.server.port(), "/api/about", headers);
    CHECK(about.headers.at("content-type").find("application/json") == 0);
    CHECK(client::get(store.server.port(), "/api/threads?limit=0", headers).status == 400);
    CHECK(client::get(store.server.port(), "/api/threads/a/head", "Accept: text/event-stream\r\n").status == 401);
}

TEST_CASE("an inspector ends while pages follow it") {
    Store store;
    Followed head(store.server.port(), "/api/threads/asks/head");
    head.next();
    store.server.stop();
    store.server.wait();
    CHECK_THROWS(head.next());
}

}  // namespace
