#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include <stategraph/json.hpp>
#include <stategraph/serve/agent_endpoint.hpp>
#include <stategraph/serve/server.hpp>

#include "tests/agent/tools.hpp"
#include "tests/serve/client.hpp"
#include "tests/support/until.hpp"

using namespace tools;
namespace serve = stategraph::serve;
namespace json = boost::json;
using namespace std::chrono_literals;

// Not in an unnamed namespace: coroutines of these classes have external names.
namespace reconnecting {

/// Permits a model to say a number of pieces, and shows how many it has said.
class Gate {
public:
    void pass() {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, 5min, [this] { return said_ < allowed_; });
        ++said_;
        changed_.notify_all();
    }
    void let(int allowed) {
        std::unique_lock lock(mutex_);
        allowed_ = allowed;
        changed_.notify_all();
    }
    bool letAndWait(int allowed) {
        let(allowed);
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, 5min, [&] { return said_ >= allowed; });
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int allowed_ = 0, said_ = 0;
};

/// Thinks, begins a text, calls two tools, and says an ending; each piece passes the gate.
class Slow final : public model::Model {
public:
    static constexpr int pieces = 9;
    explicit Slow(std::shared_ptr<Gate> gate, std::string tool = "work")
        : gate_(std::move(gate)), tool_(std::move(tool)) {}

    sg::Task<model::Reply> ask(model::Request request, const model::Asking& asking) const override {
        using Kind = model::Delta::Kind;
        const auto tell = [&](model::Delta delta) {
            gate_->pass();
            if (asking.tell) asking.tell(delta);
        };
        model::Reply reply;
        const bool is_first = request.messages.back().role == model::Role::user;
        if (is_first) {
            tell({Kind::reasoning, "hm"});
            tell({Kind::text, "I \"begin\""});
            tell({Kind::text, " slowly\n"});
            reply.message = model::assistant({call("c1", "dig", tool_), call("c2", "sow", tool_)});
            reply.message.content.emplace_back(model::Reasoning{"hm", ""});
            reply.message.content.emplace_back(model::Text{"I \"begin\" slowly\n"});
            for (std::size_t i = 0; i < 2; ++i) {
                tell({Kind::call, {}, i, reply.message.calls[i].name, reply.message.calls[i].provider_id});
                tell({Kind::arguments, reply.message.calls[i].arguments, i});
            }
        } else {
            tell({Kind::text, "All is"});
            tell({Kind::text, " done."});
            reply.message = model::assistant("All is done.");
        }
        reply.message.finish_reason = is_first ? model::FinishReason::tool_calls : model::FinishReason::stop;
        co_return reply;
    }

private:
    std::shared_ptr<Gate> gate_;
    std::string tool_;
};

}  // namespace reconnecting

namespace {

using reconnecting::Gate;
using reconnecting::Slow;

std::string text(const json::object& object, std::string_view member) {
    const json::value* const found = object.if_contains(member);
    return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

/// What a page builds from a stream: the text of each part by its id, and each call's input and outcome.
struct Page {
    std::map<std::string, std::string> texts, inputs, states;
    std::vector<std::string> faults;

    explicit Page(const client::Response& response) {
        const auto parts = response.objects();
        std::set<std::string> open;
        for (const json::object& part : parts) take(part, open);
        if (!open.empty()) faults.push_back("left open: " + *open.begin());
        if (parts.empty() || text(parts.front(), "type") != "start") faults.push_back("no start");
        if (parts.empty() || text(parts.back(), "type") != "finish") faults.push_back("no finish");
        if (!response.body.ends_with("data: [DONE]\n\n")) faults.push_back("not done");
    }
    friend bool operator==(const Page& a, const Page& b) {
        return a.texts == b.texts && a.inputs == b.inputs && a.states == b.states;
    }

private:
    void once(const std::string& call, const std::string& state) {
        if (states[call].find(state) != std::string::npos) faults.push_back(state + " twice");
        states[call] += state + " ";
    }
    void take(const json::object& part, std::set<std::string>& open) {
        const std::string type = text(part, "type"), id = text(part, "id"), called = text(part, "toolCallId");
        if (type.ends_with("-start") && !id.empty() && !open.insert(id).second) faults.push_back("begun twice: " + id);
        if (type.ends_with("-end") && open.erase(id) == 0) faults.push_back("ended, not begun: " + id);
        if (type == "text-delta" || type == "reasoning-delta") {
            if (open.count(id) == 0) faults.push_back("a piece of what is not open: " + id);
            texts[id] += text(part, "delta");
        }
        if (type == "tool-input-delta") inputs[called] += text(part, "inputTextDelta");
        if (type.starts_with("tool-") && type != "tool-input-delta" && !called.empty()) once(called, type);
    }
};

struct Slowly {
    std::shared_ptr<Ledger> ledger = std::make_shared<Ledger>();
    std::shared_ptr<Gate> gate = std::make_shared<Gate>();
    serve::Server server;
    explicit Slowly(serve::ServerOptions options = {}, bool asks = false) : server(std::move(options)) {
        serve::EndpointOptions how;
        how.protocols = {serve::uiMessages()};
        agent::ToolOptions gated;
        gated.approval = asks;
        server.add("slow", serve::endpoint(agent::Agent({.model = std::make_shared<Slow>(gate),
                                                         .tools = {work(ledger, "work", gated)},
                                                         .compile = stored()}),
                                           how));
    }
    ~Slowly() { gate->let(1000); }
    std::uint16_t port() const { return server.port(); }
};

constexpr const char* first_chat =
    R"({"id":"t","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"go"}]}]})";

/// Reads what follows a response's head.
void rest(client::Connection& connection, client::Response& response) {
    for (std::string piece = connection.chunk(); !piece.empty(); piece = connection.chunk()) response.body += piece;
}

using patience::eventually;

}  // namespace

TEST_CASE("a page that comes back at any moment of a chat gets each part of its message once") {
    Slowly slow;
    client::Connection first(slow.port());
    first.request("POST", "/slow/chat", first_chat);
    std::vector<std::unique_ptr<client::Connection>> readers;
    for (int said = 0; said <= Slow::pieces; ++said) {
        if (said < Slow::pieces) REQUIRE(slow.gate->letAndWait(said));
        // Not after the last piece: the run may have ended by then.
        if (said == Slow::pieces) break;
        REQUIRE(eventually([&] { return slow.server.runs() == 1; }));
        readers.push_back(std::make_unique<client::Connection>(slow.port()));
        readers.back()->request("GET", "/slow/chat/t/stream");
    }
    std::vector<client::Response> heads;
    for (const auto& reader : readers) {
        heads.push_back(reader->head());
        CHECK(heads.back().status == 200);
        CHECK(heads.back().headers.at("x-vercel-ai-ui-message-stream") == "v1");
    }
    slow.gate->let(1000);
    const client::Response whole = first.read();
    const Page expected(whole);
    CHECK(expected.faults.empty());
    CHECK(expected.texts.size() == 3);
    for (std::size_t i = 0; i < readers.size(); ++i) {
        CAPTURE(i);
        client::Response& response = heads[i];
        rest(*readers[i], response);
        const Page page(response);
        CAPTURE(response.body);
        for (const std::string& fault : page.faults) CHECK_MESSAGE(false, fault);
        CHECK(page.texts == expected.texts);
        CHECK(page.inputs == expected.inputs);
        CHECK(page == expected);
    }
    CHECK(eventually([&] { return client::get(slow.port(), "/slow/chat/t/stream").status == 204; }));
}

TEST_CASE(
    "a chat whose page hung up is there for the page that comes back, on the same connection as often as it asks") {
    Slowly slow;
    {
        client::Connection first(slow.port());
        first.request("POST", "/slow/chat", first_chat);
        REQUIRE(slow.gate->letAndWait(5));
    }
    client::Connection back(slow.port());
    // Pipelined: the second request waits for the end of the first response.
    back.request("GET", "/slow/chat/t/stream");
    back.request("GET", "/slow/chat/t/stream");
    client::Response response = back.head();
    CHECK(response.status == 200);
    slow.gate->let(1000);
    rest(back, response);
    const Page page(response);
    CHECK(page.faults.empty());
    REQUIRE(page.texts.size() == 3);
    CHECK(back.read().status == 204);
    CHECK(slow.ledger->count("dig") == 1);
}

TEST_CASE("a page comes back while two others decide, and sees what was decided once") {
    Slowly slow({}, true);
    slow.gate->let(7);
    const auto asked = client::post(slow.port(), "/slow/chat", first_chat).objects();
    std::vector<std::string> calls;
    for (const json::object& part : asked) {
        if (text(part, "type") == "tool-approval-request") calls.push_back(text(part, "toolCallId"));
    }
    REQUIRE(calls.size() == 2);
    json::array parts;
    for (const std::string& id : calls) {
        parts.push_back({{"type", "dynamic-tool"},
                         {"toolCallId", id},
                         {"state", "approval-responded"},
                         {"approval", {{"id", "x"}, {"approved", true}}}});
    }
    const json::value message{{"id", "a"}, {"role", "assistant"}, {"parts", parts}};
    const std::string chat = json::serialize(json::value{{"id", "t"}, {"messages", json::array{message}}});
    std::atomic<int> taken = 0, refused = 0;
    const auto decide = [&] { ++(client::post(slow.port(), "/slow/chat", chat).status == 200 ? taken : refused); };
    std::thread one(decide), two(decide);
    client::Response back;
    CHECK(eventually([&] {
        client::Connection connection(slow.port());
        connection.request("GET", "/slow/chat/t/stream");
        back = connection.head();
        if (back.status != 200) return false;
        slow.gate->let(1000);
        rest(connection, back);
        return true;
    }));
    one.join();
    two.join();
    CHECK(taken == 1);
    CHECK(refused == 1);
    CHECK(slow.ledger->count("dig") == 1);
    const Page page(back);
    for (const std::string& fault : page.faults) CHECK_MESSAGE(false, fault);
    const auto isEnd = [](const auto& each) { return each.second == "All is done."; };
    CHECK(std::any_of(page.texts.begin(), page.texts.end(), isEnd));
    for (const std::string& id : calls) CHECK(page.states.at(id).find("tool-output-available") != std::string::npos);
}

TEST_CASE("a response that is longer than the server keeps continues, and nobody can reconnect to it") {
    serve::ServerOptions options;
    options.replay_bytes_max = 800;  // more than the first pieces need, and less than all of them
    Slowly slow(options);
    client::Connection first(slow.port());
    first.request("POST", "/slow/chat", first_chat);
    REQUIRE(slow.gate->letAndWait(1));
    client::Connection early(slow.port());
    early.request("GET", "/slow/chat/t/stream");
    client::Response cut = early.head();
    CHECK(cut.status == 200);
    REQUIRE(slow.gate->letAndWait(8));
    CHECK(eventually([&] { return client::get(slow.port(), "/slow/chat/t/stream").status == 503; }));
    rest(early, cut);
    CHECK(cut.body.find("longer than the server keeps") != std::string::npos);
    slow.gate->let(1000);
    CHECK(Page(first.read()).faults.empty());
}

TEST_CASE("pages that come back and never read, or hang up, leave the run and the server alone") {
    Slowly slow;
    client::Connection first(slow.port());
    first.request("POST", "/slow/chat", first_chat);
    REQUIRE(slow.gate->letAndWait(2));
    std::vector<std::unique_ptr<client::Connection>> silent;
    for (int i = 0; i < 20; ++i) {
        silent.push_back(std::make_unique<client::Connection>(slow.port()));
        silent.back()->request("GET", "/slow/chat/t/stream");
        if (i % 2 == 0) continue;
        if (i % 4 == 1) silent.back()->socket().shutdown(client::tcp::socket::shutdown_send);
        if (i % 4 == 3) silent.pop_back();
    }
    slow.gate->let(1000);
    CHECK(Page(first.read()).faults.empty());
    CHECK(eventually([&] { return slow.server.runs() == 0; }));
    slow.server.drain(200ms);
    slow.server.wait();
}
