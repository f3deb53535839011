// The second protocol over HTTP: commands about threads, and their events.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include <stategraph/langgraph/api.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/memory_store.hpp>

#include "langgraph/body.hpp"
#include "langgraph/identifiers.hpp"
#include "langgraph/message_blocks.hpp"
#include "langgraph/thread_feed.hpp"
#include "langgraph/tool_events.hpp"
#include "tests/langgraph/served_app.hpp"
#include "tests/serve/client.hpp"
#include "tests/support/gate.hpp"

namespace {

namespace json = boost::json;
namespace sg = stategraph;
using langgraph_tests::App;
using langgraph_tests::makeApp;
using langgraph_tests::Served;

constexpr const char* for_ada = "x-user: ada\r\n";
constexpr const char* for_bob = "x-user: bob\r\n";

sg::serve::ServerOptions ownedByUsers() {
    sg::serve::ServerOptions options;
    options.owned = true;
    options.authorize = [](const sg::serve::RequestView& asked) -> sg::serve::Admission {
        return sg::serve::Identity{.name = std::string(asked.header("x-user"))};
    };
    return options;
}

/// The events of a thread as a client reads them.
class Events {
public:
    Events(const Served& served, const std::string& thread, std::string_view body, std::string_view headers = {})
        : connection_(served.server.port()) {
        connection_.request("POST", "/threads/" + thread + "/stream/events", body, headers);
        status = connection_.head().status;
    }
    /// The next event, as {"event_id", "seq", "method", "params"}; null: the stream has ended.
    json::value next() {
        for (;;) {
            const std::size_t end = text_.find("\n\n");
            if (end == std::string::npos) {
                const std::string more = connection_.chunk();
                if (more.empty()) return nullptr;
                text_ += more;
                continue;
            }
            const std::string event = text_.substr(0, end);
            text_.erase(0, end + 2);
            if (event.starts_with(":")) {
                ++heartbeats;
                if (stops_at_heartbeat) return nullptr;
                continue;
            }
            const std::size_t data = event.find("\ndata: ") + 7;
            return json::parse(event.substr(data, event.find('\n', data) - data));
        }
    }
    /// The words of the channel `lifecycle` up to the end of a run.
    std::string untilEnd() {
        std::string words;
        for (;;) {
            const json::value event = next();
            if (event.is_null()) return words + "(no more)";
            last = event.at("seq").as_int64();
            if (event.at("method") != "lifecycle") continue;
            const std::string word = Served::textOf(event.at("params").at("data"), "event");
            words += word + " ";
            if (word == "completed" || word == "interrupted" || word == "failed") return words;
        }
    }

    int status = 0;
    int heartbeats = 0;
    bool stops_at_heartbeat = false;
    std::int64_t last = 0;

private:
    client::Connection connection_;
    std::string text_;
};

json::object command(const Served& served, const std::string& thread, const char* text, std::string_view headers = {}) {
    const client::Response reply = served.ask("POST", "/threads/" + thread + "/commands", text, headers);
    REQUIRE(reply.status == 200);
    return json::parse(reply.body).as_object();
}

constexpr const char* run_start =
    R"({"id": 1, "method": "run.start", "params": {"assistant_id": "app", "input": {"name": "x"}}})";
constexpr const char* lifecycle = R"({"channels": ["lifecycle"]})";

}  // namespace

TEST_CASE("a client that waits for a thread under an id gets nothing of another user's thread of that id") {
    const Served served(makeApp(std::make_shared<sg::MemorySaver>()), ownedByUsers());
    const std::string thread = sg::langgraph::newId();
    Events stranger(served, thread, lifecycle, for_bob);
    CHECK(stranger.status == 200);
    Events own(served, thread, lifecycle, for_ada);
    CHECK(command(served, thread, run_start, for_ada).at("type") == "success");
    CHECK(own.untilEnd() == "running completed ");
    stranger.stops_at_heartbeat = true;
    CHECK(stranger.next().is_null());
    CHECK(stranger.heartbeats == 1);
    // The thread does not exist for others.
    for (const char* const text :
         {run_start, R"({"id": 2, "method": "state.get"})", R"({"id": 3, "method": "agent.getTree"})"})
        CHECK(served.ask("POST", "/threads/" + thread + "/commands", text, for_bob).status == 404);
    CHECK(Events(served, thread, lifecycle, for_bob).status == 404);
}

TEST_CASE("runs of the first protocol are reported to who follows the thread, but for those that never began") {
    const auto gate = std::make_shared<gates::Gate>();
    const Served served(makeApp(std::make_shared<sg::MemorySaver>(), gate));
    const std::string thread = served.newThread();
    Events events(served, thread, R"({"channels": ["lifecycle", "values"]})");
    const std::string runs = "/threads/" + thread + "/runs";
    CHECK(served.ask("POST", runs, R"({"assistant_id": "app", "input": {"name": "x"}})").status == 200);
    const json::value waiting = json::parse(
        served.ask("POST", runs, R"({"assistant_id": "app", "input": {"name": "y"}, "multitask_strategy": "enqueue"})")
            .body);
    CHECK(served.ask("POST", runs + "/" + Served::textOf(waiting, "run_id") + "/cancel?wait=1").status == 204);
    gate->open();
    CHECK(events.untilEnd() == "running completed ");
}

TEST_CASE("events after a number are sent, and those of another process have greater numbers") {
    const App app = makeApp(std::make_shared<sg::MemorySaver>());
    const auto store = std::make_shared<sg::MemoryStore>();
    const std::string thread = sg::langgraph::newId();
    std::int64_t last = 0;
    {
        const Served served(app, {}, store);
        CHECK(command(served, thread, run_start).at("meta").at("applied_through_seq") == 1);
        Events events(served, thread, R"({"channels": ["lifecycle", "values"]})");
        CHECK(events.untilEnd() == "running completed ");
        last = events.last;
        Events later(served, thread, R"({"channels": ["lifecycle"], "since": )" + std::to_string(last - 1) + "}");
        CHECK(later.untilEnd() == "completed ");
    }
    const Served next(app, {}, store);
    Events events(next, thread, R"({"channels": ["lifecycle"], "since": )" + std::to_string(last) + "}");
    CHECK(command(next, thread, run_start).at("type") == "success");
    const json::value first = events.next();
    CHECK(first.at("seq").as_int64() > last);
    CHECK(Served::textOf(first.at("params").at("data"), "event") == "running");
}

TEST_CASE("the events of a thread end when it is deleted") {
    const Served served(makeApp(std::make_shared<sg::MemorySaver>()));
    const std::string thread = served.newThread();
    Events events(served, thread, lifecycle);
    CHECK(served.ask("DELETE", "/threads/" + thread).status == 204);
    CHECK(events.next().is_null());
}

TEST_CASE("a filter takes channels, namespaces with their tasks or without, and a depth") {
    const auto wants = [](const char* filter, std::string_view name) {
        return sg::langgraph::EventFilter(sg::langgraph::Body::parse(filter)).wants(name);
    };
    CHECK(wants(R"({"channels": ["values"]})", "values|a:1|b:2"));
    CHECK_FALSE(wants(R"({"channels": ["values"]})", "valuesx"));
    CHECK_FALSE(wants(R"({"channels": ["later"]})", "values"));
    CHECK(wants(R"({"channels": ["values"], "namespaces": [["a"]]})", "values|a:1|b:2"));
    CHECK(wants(R"({"channels": ["values"], "namespaces": [["a:1"]]})", "values|a:1"));
    CHECK_FALSE(wants(R"({"channels": ["values"], "namespaces": [["a:2"], ["b"]]})", "values|a:1"));
    CHECK_FALSE(wants(R"({"channels": ["values"], "namespaces": [["a"]]})", "values"));
    CHECK(wants(R"({"channels": ["values"], "namespaces": [[]], "depth": 1})", "values|a:1"));
    CHECK_FALSE(wants(R"({"channels": ["values"], "namespaces": [[]], "depth": 1})", "values|a:1|b:2"));
}

TEST_CASE("pieces of a message become blocks that do not overlap") {
    sg::langgraph::MessageBlocks blocks;
    std::string told;
    const auto tell = [&](json::object data) {
        data.erase("run_id");
        told += json::serialize(data) + "\n";
    };
    for (const char* const piece : {
             R"({"id": "m", "content": [{"type": "reasoning", "reasoning": "hm"}]})",
             R"({"id": "m", "content": "a"})",
             R"({"id": "m", "content": "b"})",
             R"({"id": "m", "content": "", "tool_call_chunks": [{"id": "c", "name": "find", "args": ""}]})",
             R"({"id": "m", "content": "", "tool_call_chunks": [{"id": "c", "name": "", "args": "{\"q\":1}"}]})",
             R"({"id": "m", "content": "", "tool_call_chunks": [{"id": "d", "name": "find", "args": "{"}]})",
         })
        blocks.piece("task", json::parse(piece), tell);
    blocks.finish("task", tell);
    blocks.finish("task", tell);
    CHECK(told == R"({"event":"message-start","id":"m","role":"ai"}
{"event":"content-block-start","index":0,"content":{"type":"reasoning","reasoning":""}}
{"event":"content-block-delta","index":0,"delta":{"type":"reasoning-delta","reasoning":"hm"}}
{"event":"content-block-finish","index":0,"content":{"type":"reasoning","reasoning":"hm"}}
{"event":"content-block-start","index":1,"content":{"type":"text","text":""}}
{"event":"content-block-delta","index":1,"delta":{"type":"text-delta","text":"a"}}
{"event":"content-block-delta","index":1,"delta":{"type":"text-delta","text":"b"}}
{"event":"content-block-finish","index":1,"content":{"type":"text","text":"ab"}}
{"event":"content-block-start","index":2,"content":{"type":"tool_call_chunk","id":"c","name":"find","args":""}}
{"event":"content-block-delta","index":2,"delta":{"type":"tool-call-delta","args":"{\"q\":1}"}}
{"event":"content-block-finish","index":2,"content":{"type":"tool_call","id":"c","name":"find","args":{"q":1}}}
{"event":"content-block-start","index":3,"content":{"type":"tool_call_chunk","id":"d","name":"find","args":""}}
{"event":"content-block-delta","index":3,"delta":{"type":"tool-call-delta","args":"{"}}
{"event":"content-block-finish","index":3,"content":{"type":"invalid_tool_call","id":"d","name":"find","args":"{","error":"the arguments are no JSON object"}}
{"event":"message-finish","reason":"stop"}
)");
}

TEST_CASE("a task that a Send gave a call is the call of a tool, from its beginning to its result") {
    sg::langgraph::ToolEvents tools;
    const sg::StreamEvent event{.mode = sg::StreamMode::tasks, .node = "tool", .step = 2, .send = 0};
    const auto take = [&](const char* task) {
        const auto found = tools.take(event, json::parse(task).as_object());
        return found ? json::serialize(toolJson(*found)) : std::string("none");
    };
    CHECK(take(R"({"id": "t", "input": {"id": "c", "name": "find", "arguments": "{\"q\":1}"}})") ==
          R"({"toolCallId":"c","name":"find","event":"on_tool_start","input":{"q":1}})");
    const auto progress = tools.progress(event, json::value("half"));
    REQUIRE(progress);
    CHECK(progress->kind == sg::langgraph::ToolEvent::Kind::progress);
    CHECK(take(R"({"id": "t", "error": null, "result":
                {"messages": [{"type": "tool", "tool_call_id": "c", "content": "owls", "status": "error"}]}})") ==
          R"({"toolCallId":"c","name":"find","event":"on_tool_error","error":"owls"})");
    CHECK(take(R"({"id": "t", "error": null, "result": {}})") == "none");
    CHECK(take(R"({"id": "u", "input": {"name": "no call"}})") == "none");
}
