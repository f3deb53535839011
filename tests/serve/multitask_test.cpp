#include <doctest/doctest.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/json.hpp>
#include <stategraph/serve/agent_endpoint.hpp>
#include <stategraph/serve/server.hpp>

#include "tests/agent/tools.hpp"
#include "tests/serve/client.hpp"
#include "tests/support/gate.hpp"
#include "tests/support/until.hpp"

// What becomes of a message for a thread on which a run is under way: multitask_strategy.
using namespace tools;
using patience::eventually;
namespace serve = stategraph::serve;
namespace json = boost::json;

namespace {

using Texts = std::vector<std::string>;

/// A state without a conversation.
struct Talkless {
    std::string note = {};
    static constexpr auto channels() { return sg::channels(sg::channel("note", &Talkless::note)); }
};

/// An agent behind a server that answers "echo of TEXT", after a call of a tool that waits at a gate for "work", and
/// itself waits there for "slow".
class Desk {
public:
    explicit Desk(serve::ServerOptions options = {}) : server_(std::move(options)) {
        const auto tool = agent::tool<Job>("work", {}, [this](const Job& job) {
            ++begun;
            gate.wait();
            return "did " + job.what;
        });
        const auto answer = [this](const model::Request& request) {
            const model::Message& last = request.messages.back();
            const std::string text = last.result ? last.result->text() : last.text();
            if (text == "work") return model::assistant({call("c", text)});
            if (text == "slow") {
                ++begun;
                gate.wait();
            }
            return model::assistant("echo of " + text);
        };
        helper_ = std::make_unique<agent::Agent>(
            agent::Options{.model = model::scripted(answer), .tools = {tool}, .compile = stored(saver)});
        server_.add("g", serve::endpoint(helper_->graph()));
        sg::StateGraph<Talkless> plain;
        plain.addNode("stay", [](const Talkless&) { return sg::Update<Talkless>(); });
        plain.addEdge(sg::START, "stay").addEdge("stay", sg::END);
        server_.add("plain", serve::endpoint(plain.compile(stored(saver))));
        server_.add("a", serve::endpoint(*helper_, {.protocols = {serve::uiMessages(), serve::ownEvents()}}));
    }
    ~Desk() { gate.open(); }

    static std::string chat(const std::string& id, const std::string& text, const std::string& strategy = {}) {
        const json::value part{{"type", "text"}, {"text", text}};
        json::object body{{"id", "t"},
                          {"messages", json::array{{{"id", id}, {"role", "user"}, {"parts", json::array{part}}}}},
                          {"trigger", "submit-message"}};
        if (!strategy.empty()) body["multitask_strategy"] = strategy;
        return json::serialize(body);
    }
    client::Response post(const std::string& body, std::string_view headers = {}) const {
        return client::post(server_.port(), "/a/chat", body, headers);
    }
    /// Begins a run and returns when its tool, or its model, waits at the gate.
    void begin(client::Connection& connection, const std::string& text, std::string_view headers = {}) const {
        connection.request("POST", "/a/chat", chat("m1", text), headers);
        REQUIRE(eventually([&] { return begun == 1; }));
        CHECK(connection.head().status == 200);
    }
    static std::string rest(client::Connection& connection) {
        std::string all;
        for (std::string piece = connection.chunk(); !piece.empty(); piece = connection.chunk()) all += piece;
        return all;
    }
    /// The texts that a response has written, which come in pieces.
    static std::string written(const std::string& body) {
        client::Response response;
        response.body = body;
        std::string text;
        for (const json::object& line : response.objects()) {
            if (line.contains("delta")) text += line.at("delta").as_string();
        }
        return text;
    }
    Texts told() const {
        Texts all;
        for (const model::Message& each : helper_->graph().getState({.thread_id = "t"}).values.messages)
            all.push_back(each.result ? "tool" : (each.role == model::Role::user ? "user:" : "model:") + each.text());
        return all;
    }
    std::uint16_t port() const { return server_.port(); }
    std::size_t runs() const { return server_.runs(); }

    gates::Gate gate;
    std::atomic<int> begun = 0;
    std::shared_ptr<sg::BaseCheckpointSaver> saver = std::make_shared<sg::MemorySaver>();

private:
    std::unique_ptr<agent::Agent> helper_;
    serve::Server server_;
};

}  // namespace

TEST_CASE("a second message is refused unless its request says that it steers the run or waits for its end") {
    struct Row {
        std::string strategy;
        Texts told;
    };
    for (const Row& row :
         {Row{"steer", {"user:work", "model:", "tool", "user:wait", "model:echo of wait"}},
          Row{"enqueue",
              {"user:work", "model:", "tool", "model:echo of did work", "user:wait", "model:echo of wait"}}}) {
        CAPTURE(row.strategy);
        Desk desk;
        client::Connection first(desk.port());
        desk.begin(first, "work");
        CHECK(desk.post(Desk::chat("m2", "wait")).status == 409);
        CHECK(desk.post(Desk::chat("m2", "wait", "reject")).status == 409);
        CHECK(desk.post(Desk::chat("m2", "wait", "perhaps")).status == 400);
        // A request that is sent again is the same message.
        for (int i = 0; i < 2; ++i) {
            const auto sent = desk.post(Desk::chat("m2", "wait", row.strategy));
            CHECK(sent.status == 202);
            CHECK(sent.body == "{\"sent\":\"" + row.strategy + "\"}\n");
        }
        desk.gate.open();
        const std::string rest = Desk::rest(first);
        CHECK(rest.find("\"event\":\"message-taken\"") != std::string::npos);
        CHECK(rest.find("\"as\":\"" + row.strategy + "\"") != std::string::npos);
        CHECK(rest.find("\"id\":\"user-m2\"") != std::string::npos);
        CHECK(Desk::written(rest).ends_with("echo of wait"));
        CHECK(desk.told() == row.told);
        CHECK(desk.begun == 1);
    }
}

TEST_CASE("a message that interrupts stops the run, and is answered in its own response") {
    Desk desk;
    client::Connection first(desk.port());
    desk.begin(first, "work");
    client::Response response;
    const bool is_answered = eventually([&] {
        response = desk.post(Desk::chat("m2", "stop it", "interrupt"));
        return response.status != 409;
    });
    REQUIRE(is_answered);
    CHECK(response.status == 200);
    CHECK(Desk::written(response.body) == "echo of stop it");
    CHECK(Desk::rest(first).find("\"abort\"") != std::string::npos);
    // A request to a model has the result of the call in its place.
    CHECK(desk.told() == Texts{"user:work", "model:", "user:stop it", "tool", "model:echo of stop it"});
}

TEST_CASE("a message that comes while the last answer is written is answered after it") {
    Desk desk;
    client::Connection first(desk.port());
    desk.begin(first, "slow");
    CHECK(desk.post(Desk::chat("m2", "next", "steer")).status == 202);
    CHECK(client::post(desk.port(), "/a/t/start?multitask_strategy=enqueue", R"({"text":"last"})").status == 202);
    desk.gate.open();
    CHECK(Desk::written(Desk::rest(first)).ends_with("echo of last"));
    CHECK(desk.told() == Texts{"user:slow", "model:echo of slow", "user:next", "user:last", "model:echo of last"});
}

TEST_CASE("with no run under way each strategy begins one, and what cannot be sent to a run is refused") {
    Desk desk;
    for (const char* const strategy : {"reject", "enqueue", "steer", "interrupt"}) {
        CAPTURE(strategy);
        client::Response response;
        // The run before is under way for a moment after its response.
        REQUIRE(eventually([&] { return desk.runs() == 0; }));
        response = desk.post(Desk::chat(strategy, strategy, strategy));
        CHECK(response.status == 200);
        CHECK(Desk::written(response.body) == std::string("echo of ") + strategy);
    }
    client::Connection first(desk.port());
    desk.begin(first, "work");
    json::object again = json::parse(Desk::chat("steer", "other words", "steer")).as_object();
    again["messageId"] = "steer";
    CHECK(desk.post(json::serialize(again)).status == 400);
}

TEST_CASE("the thread that keeps what was sent is no client's, and another user's run takes no messages") {
    serve::ServerOptions options;
    options.owned = true;
    options.authorize = [](const serve::RequestView& asked) -> serve::Admission {
        return serve::Identity{.name = std::string(asked.header("User"))};
    };
    Desk desk(std::move(options));
    client::Connection first(desk.port());
    desk.begin(first, "work", "User: ada\r\n");
    CHECK(desk.post(Desk::chat("m2", "mine", "steer"), "User: bob\r\n").status == 404);
    CHECK(desk.post(Desk::chat("m2", "stop", "interrupt"), "User: bob\r\n").status == 404);
    CHECK(desk.post(Desk::chat("m2", "wait", "steer"), "User: ada\r\n").status == 202);
    CHECK(client::get(desk.port(), "/a/inbox%20t/state", "User: ada\r\n").status == 404);
    CHECK(client::post(desk.port(), "/a/inbox%20t/start", R"({"text":"x"})", "User: ada\r\n").status == 404);
    desk.gate.open();
    CHECK(Desk::written(Desk::rest(first)) == "echo of wait");
    CHECK(desk.told().size() == 5);
    const Desk open;
    CHECK(client::get(open.port(), "/a/inbox%20t/state").status == 404);
    CHECK(client::post(open.port(), "/a/inbox%20t/start", R"({"text":"x"})").status == 404);
}

TEST_CASE("the thread that keeps what was sent is no client's at another endpoint of the same saver either") {
    Desk desk;
    client::Connection first(desk.port());
    desk.begin(first, "work");
    CHECK(desk.post(Desk::chat("m2", "wait", "steer")).status == 202);
    CHECK(client::get(desk.port(), "/g/t/state").status == 200);
    for (const std::string name : {"/g", "/plain"}) {  // the second has no channel "messages"
        CAPTURE(name);
        CHECK(client::get(desk.port(), name + "/inbox%20t/state").status == 404);
        CHECK(client::post(desk.port(), name + "/inbox%20t/start", R"({"input":{}})").status == 404);
    }
    desk.gate.open();
    CHECK(Desk::written(Desk::rest(first)) == "echo of wait");
}
