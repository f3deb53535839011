#include <algorithm>
#include <barrier>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/interrupt.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/serve/agent_endpoint.hpp>
#include <stategraph/serve/server.hpp>
#include <stategraph/serve/workflow_endpoint.hpp>
#include <stategraph/stategraph.hpp>
#include <stategraph/unfinished.hpp>
#include <stategraph/workflow/workflow.hpp>

#include "tests/agent/tools.hpp"
#include "tests/serve/client.hpp"
#include "tests/serve/served_state.hpp"
#include "tests/support/savers.hpp"
#include "tests/support/seed.hpp"

// Threads that belong to their users.
using namespace tools;
namespace serve = stategraph::serve;
namespace wf = stategraph::workflow;

namespace {

using served::State;
using Saver = std::shared_ptr<sg::BaseCheckpointSaver>;

/// Says who asked, then asks a question.
sg::CompiledGraph<State> asking(const Saver& saver) {
    sg::StateGraph<State> graph;
    graph.addNode("ask", [](const State&, sg::Runtime& runtime) -> sg::Update<State> {
        const auto answer = sg::interrupt<std::string>(runtime, "more", "more?");
        return {sg::add(&State::said, runtime.context<serve::Identity>().name + " says " + answer)};
    });
    graph.addEdge(sg::START, "ask").addEdge("ask", sg::END);
    return graph.compile(stored(saver));
}

/// An agent that repeats what its user said, after a call that needs approval.
agent::Agent repeating(const Saver& saver) {
    const auto answer = [](const model::Request& request) {
        const model::Message& last = request.messages.back();
        if (last.role != model::Role::user) return model::assistant("done");
        model::Message heard = model::assistant({call("c", "it")});
        heard.content.emplace_back(model::Text{"I heard " + last.text()});
        return heard;
    };
    return agent::Agent({.model = model::scripted(answer),
                         .tools = {work(std::make_shared<Ledger>(), "work", {.approval = true})},
                         .compile = stored(saver)});
}

wf::Workflow<std::string, std::string> waiting(const Saver& saver) {
    const auto ask = wf::step("ask", [](const std::string& text, wf::Suspending<std::string, std::string>& context) {
        return text + context.suspend("more than " + text + "?");
    });
    return wf::workflow<std::string>("orders").then(ask).commit(stored(saver));
}

std::vector<serve::Protocol> allProtocols() {
    return {serve::ownEvents(), serve::stepEvents({.tools = {{"work", "work"}}}), serve::uiMessages()};
}

serve::ServerOptions owned() {
    serve::ServerOptions options;
    options.owned = true;
    options.authorize = [](const serve::RequestView& asked) -> serve::Admission {
        const std::string user(asked.header("X-User"));
        if (user.empty()) return {};
        return serve::Identity{.name = user, .about = sg::Value(user.size())};
    };
    return options;
}

std::string as(const std::string& user) { return "X-User: " + user + "\r\n"; }

/// What a client gets for a thread that does not exist.
std::string nothing(const std::string& thread) { return "{\"error\":\"there is no thread '" + thread + "'\"}\n"; }

std::string chatOf(const std::string& thread, const std::string& id, const std::string& text) {
    return R"({"id":")" + thread + R"(","messages":[{"id":")" + id +
           R"(","role":"user","parts":[{"type":"text","text":")" + text + R"("}]}]})";
}

/// Three endpoints on one saver.
struct Served {
    explicit Served(const Saver& saver) : server(owned()) {
        server.add("g", serve::endpoint(asking(saver), {.protocols = allProtocols()}));
        server.add("a", serve::endpoint(repeating(saver), {.protocols = allProtocols()}));
        server.add("w", serve::endpoint(waiting(saver).flow(), {.protocols = allProtocols()}));
    }
    serve::Server server;
};

/// Everything that is stored, as bytes, by the threads' names.
std::map<std::string, std::string> logsOf(sg::BaseCheckpointSaver& saver) {
    std::map<std::string, std::string> logs;
    for (const sg::ListedCheckpoint& each : saver.list({.with_writes = true})) {
        std::string& log = logs[each.thread_id];
        log += each.checkpoint_ns + "|" + each.id.toString() + "|" + std::string(std::string_view(each.bytes));
        for (const sg::StoredWrite& write : each.writes) log += "|" + write.path + write.bytes;
    }
    return logs;
}

struct Request {
    std::string method;
    std::string target;
    std::string body = {};
    bool begins = false;
};

std::string startOf(const std::string& endpoint, const std::string& text) {
    if (endpoint == "a") return R"({"text":")" + text + R"("})";
    return endpoint == "g" ? R"({"input":{"said":[")" + text + R"("]}})" : R"({"input":")" + text + R"("})";
}

/// Any request about a thread.
Request anyRequest(std::mt19937& random, const std::string& endpoint, const std::string& thread,
                   const std::string& text) {
    const auto upTo = [&](unsigned end) { return static_cast<std::size_t>(random() % end); };
    const std::string at = "/" + endpoint + "/" + thread + "/";
    const std::vector<std::string> protocols = {"", "?protocol=events", "?protocol=steps", "?protocol=ui"};
    const std::string protocol = protocols[upTo(4)];
    const std::string more = protocol.empty() ? "?" : protocol + "&";
    switch (upTo(16)) {
        case 0:
        case 1:
        case 2:
            return {"POST", at + "start" + protocol, startOf(endpoint, text), true};
        case 3:
            return {"POST", at + "start" + more + "again=1", startOf(endpoint, text), true};
        case 4:
            return {"POST", at + "start" + more + "only_new=1", startOf(endpoint, text), true};
        case 5:
        case 6:
            return {"POST", at + "resume" + protocol,
                    endpoint == "w" ? R"({"data":")" + text + R"("})" : R"({"resume":")" + text + R"("})"};
        case 7:
            return {"POST", at + "resume" + protocol, "{}"};
        case 8:
            return {"POST", at + "decide" + protocol, R"({"call_id":"c","approved":true})"};
        case 9:
            return {"POST", at + "cancel"};
        case 10:
            return {"GET", at + "state"};
        case 11:
            return {"GET", at + "history?limit=3"};
        case 12:
            return {"GET", at + "events" + protocol};
        case 13:
            return {"GET", "/" + endpoint + "/chat/" + thread + "/stream"};
        case 14:
            return {"POST", "/" + endpoint + "/chat", chatOf(thread, "m" + std::to_string(upTo(3)), text), true};
        default:
            return {"POST", "/" + endpoint + "/chat",
                    R"({"id":")" + thread + R"(","messages":[{"id":"x","role":"assistant","parts":[)" +
                        R"({"type":"dynamic-tool","toolName":"work","toolCallId":"c","state":"approval-responded",)" +
                        R"("input":{},"approval":{"id":"c","approved":true}}]}]})"};
    }
}

client::Response sent(std::uint16_t port, const Request& request, const std::string& user) {
    client::Connection connection(port);
    connection.request(request.method, request.target, request.body, as(user));
    return connection.read();
}

/// `STATEGRAPH_OWNED_OPERATIONS` for more, `STATEGRAPH_TEST_SEED` for the same ones again.
unsigned numberIn(const char* name, unsigned otherwise) {
    const char* const given = std::getenv(name);
    return given != nullptr ? static_cast<unsigned>(std::stoul(given)) : otherwise;
}

}  // namespace

TEST_CASE("users neither see nor touch each other's threads, whatever they ask for") {
    const unsigned seed = tests::seed();
    const unsigned operations = numberIn("STATEGRAPH_OWNED_OPERATIONS", 200);
    MESSAGE("STATEGRAPH_TEST_SEED=" << seed << " STATEGRAPH_OWNED_OPERATIONS=" << operations);
    std::mt19937 random(seed);
    const std::vector<std::string> users = {"ada", "bob", "cy"};
    const std::vector<std::string> endpoints = {"g", "a", "w"};
    savers::onEach([&](savers::Store& store) {
        const Saver saver = store.open();
        auto served = std::make_unique<Served>(saver);
        std::map<std::string, std::string> owners;  // by endpoint and thread
        const unsigned half = operations / 2;
        for (unsigned i = 0; i < operations; ++i) {
            if (i == half) {  // as after a restart
                served.reset();
                served = std::make_unique<Served>(saver);
            }
            const std::string& user = users[random() % users.size()];
            const std::string& endpoint = endpoints[random() % endpoints.size()];
            // Names of their own for the graph and the agent, which have one space of names on the saver.
            const std::string thread = endpoint + std::to_string(random() % 12);
            const Request request = anyRequest(random, endpoint, thread, "secret-of-" + user);
            CAPTURE(i);
            CAPTURE(user);
            CAPTURE(request.target);
            CAPTURE(request.body);
            const auto before = logsOf(*saver);
            const client::Response got = sent(served->server.port(), request, user);
            CAPTURE(got.body);
            const auto after = logsOf(*saver);
            for (const std::string& other : users) {
                if (other != user) CHECK(got.body.find("secret-of-" + other) == std::string::npos);
            }
            const auto owner = owners.find(thread);
            const bool is_own = owner != owners.end() && owner->second == user;
            if (!is_own && (owner != owners.end() || !request.begins)) {
                CHECK(got.status == 404);
                CHECK(got.body == nothing(thread));
                CHECK(before == after);
            } else if (owner == owners.end() && before != after) {
                owners[thread] = user;
            }
            for (const auto& [name, log] : before) {
                const auto now = after.find(name);
                REQUIRE(now != after.end());
                if (now->second == log) continue;
                CHECK(is_own);
                CHECK(name.ends_with(thread));  // "orders/w1" is the workflow's
            }
        }
        CHECK(owners.size() > 3);
    });
}

TEST_CASE("of users who begin one thread at the same time one has it, and the others get 404") {
    savers::onEach([](savers::Store& store) {
        const Saver saver = store.open();
        const Served first(saver);
        const Served second(saver);  // as in another process
        for (const std::string endpoint : {"g", "a", "w"}) {
            CAPTURE(endpoint);
            for (int round = 0; round < 5; ++round) {
                const std::string thread = endpoint + std::to_string(round);
                std::vector<client::Response> got(4);
                std::barrier ready(4);
                std::vector<std::thread> clients;
                for (unsigned i = 0; i < 4; ++i) {
                    clients.emplace_back([&, i] {
                        const std::uint16_t port = (i % 2 == 0 ? first : second).server.port();
                        ready.arrive_and_wait();
                        got[i] = sent(port,
                                      {"POST", "/" + endpoint + "/" + thread + "/start",
                                       startOf(endpoint, "secret-of-" + std::to_string(i))},
                                      "user" + std::to_string(i));
                    });
                }
                for (std::thread& each : clients) each.join();
                int owners = 0;
                for (unsigned i = 0; i < 4; ++i) {
                    CAPTURE(got[i].body);
                    const auto state = sent(first.server.port(), {"GET", "/" + endpoint + "/" + thread + "/state"},
                                            "user" + std::to_string(i));
                    owners += state.status == 200 ? 1 : 0;
                    // Where storing takes long, the response of a run that is refused has begun before.
                    if (state.status != 200 && client::tellsFailure(got[i])) {
                        for (unsigned other = 0; other < 4; ++other) {
                            if (other != i)
                                CHECK(got[i].body.find("secret-of-" + std::to_string(other)) == std::string::npos);
                        }
                        continue;
                    }
                    CHECK(got[i].status == state.status);
                    if (got[i].status != 200) CHECK(got[i].body == nothing(thread));
                }
                CHECK(owners == 1);
            }
        }
    });
}

TEST_CASE("nodes, tools, steps, models and the preparation of a call see who asks, and lists can filter by it") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    std::vector<std::string> seen;
    const auto note = [&](const std::string& where, sg::Runtime& runtime) {
        const auto& who = runtime.context<serve::Identity>();
        seen.push_back(where + " " + who.name + " " + std::to_string(who.about.as<int>()));
    };
    class Listening final : public model::Model {
    public:
        explicit Listening(std::function<void(sg::Runtime&)> note) : note_(std::move(note)) {}
        sg::Task<model::Reply> ask(model::Request request, const model::Asking& asking) const override {
            note_(*asking.runtime);
            const bool is_first = request.messages.back().role == model::Role::user;
            model::Reply reply;
            reply.message = is_first ? model::assistant({call("c", "it", "look")}) : model::assistant("done");
            co_return reply;
        }

    private:
        std::function<void(sg::Runtime&)> note_;
    };
    agent::Tool look = agent::tool<Job>("look", {}, [&](const Job&, agent::ToolContext& context) {
        note("tool", context.runtime());
        return std::string("seen");
    });
    const agent::Agent helper(
        {.model = std::make_shared<Listening>([&](sg::Runtime& r) { note("model", r); }),
         .tools = {std::move(look)},
         .middleware = {agent::beforeModel([&](agent::ModelCall& call) { note("prepare", call.runtime); })},
         .compile = stored(saver)});
    const auto flow = wf::workflow<int>("w")
                          .then(wf::step("s",
                                         [&](const int& n, wf::Context& context) {
                                             note("step", context.runtime());
                                             return n;
                                         }))
                          .commit(stored(saver));
    serve::Server server(owned());
    struct Settings {
        int size = 3;
    };
    serve::EndpointOptions with_context;
    with_context.config.context = Settings{};
    sg::StateGraph<State> graph;
    graph.addNode("n", [&](const State&, sg::Runtime& runtime) -> sg::Update<State> {
        note("node", runtime);
        CHECK(runtime.context<Settings>().size == 3);
        (void)sg::interrupt<std::string>(runtime, "more", "more?");
        return {};
    });
    graph.addEdge(sg::START, "n").addEdge("n", sg::END);
    server.add("g", serve::endpoint(graph.compile(stored(saver)), with_context));
    server.add("a", serve::endpoint(helper));
    server.add("w", serve::endpoint(flow.flow()));
    CHECK(sent(server.port(), {"POST", "/g/t1/start", startOf("g", "x")}, "ada").status == 200);
    CHECK(sent(server.port(), {"POST", "/a/t2/start", startOf("a", "x")}, "bob").status == 200);
    CHECK(sent(server.port(), {"POST", "/w/t3/start", R"({"input":1})"}, "ada").status == 200);
    CHECK(seen == std::vector<std::string>{"node ada 3", "prepare bob 3", "model bob 3", "tool bob 3", "prepare bob 3",
                                           "model bob 3", "step ada 3"});
    const auto open = saver->unfinishedThreads({.metadata = {{serve::owner_key, sg::Value("ada")}}});
    REQUIRE(open.size() == 1);
    CHECK(open.front().thread_id == "t1");
    CHECK(flow.flow().list({.metadata = {{serve::owner_key, sg::Value("ada")}}}).size() == 1);
    CHECK(flow.flow().list({.metadata = {{serve::owner_key, sg::Value("bob")}}}).empty());
}

TEST_CASE("a thread of a program is nobody's, unless the program says whose, and stays its user's when it goes on") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    sg::StateGraph<State> saying;
    saying.addNode("n", [](const State&) -> sg::Update<State> { return {sg::add(&State::said, std::string("n"))}; });
    saying.addEdge(sg::START, "n").addEdge("n", sg::END);
    const auto graph = saying.compile(stored(saver));
    serve::Server server(owned());
    server.add("g", serve::endpoint(graph));
    const sg::Update<State> input{sg::add(&State::said, std::string("x"))};
    graph.invoke(input, {.thread_id = "nobodys"});
    graph.invoke(input, {.thread_id = "adas", .metadata = {{serve::owner_key, sg::Value("ada")}}});
    for (int i = 0; i < 3; ++i) graph.invoke(input, {.thread_id = "adas"});
    for (const std::string user : {"ada", "bob"}) {
        CHECK(sent(server.port(), {"GET", "/g/nobodys/state"}, user).body == nothing("nobodys"));
        CHECK(sent(server.port(), {"POST", "/g/nobodys/start?again=1", startOf("g", "y")}, user).status == 404);
        CHECK(sent(server.port(), {"GET", "/g/adas/state"}, user).status == (user == "ada" ? 200 : 404));
    }
    CHECK(client::get(server.port(), "/g/adas/state").status == 401);
    CHECK(client::get(server.port(), "/g/none/state").status == 401);
    CHECK(client::get(server.port(), "/g/schema").status == 200);
}

TEST_CASE("a server whose threads have owners refuses what cannot keep them") {
    serve::ServerOptions options;
    options.owned = true;
    CHECK_THROWS_WITH_AS(serve::Server{options}, doctest::Contains("owned needs authorize"), sg::InvalidArgumentError);
    serve::Server server(owned());
    sg::StateGraph<State> graph;
    graph.addNode("n", [](const State&) -> sg::Update<State> { return {}; });
    graph.addEdge(sg::START, "n").addEdge("n", sg::END);
    CHECK_THROWS_WITH_AS(server.add("g", serve::endpoint(graph.compile())), doctest::Contains("has no checkpointer"),
                         sg::InvalidArgumentError);
}
