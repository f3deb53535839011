// SECONDS: 30
// This file is longer than others because the failing allocations, the server and its operations are one program.

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <sys/socket.h>

#include <stategraph/agent/agent.hpp>
#include <stategraph/async.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/model/scripted_model.hpp>
#include <stategraph/serve/agent_endpoint.hpp>
#include <stategraph/serve/server.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/serve/served_state.hpp"
#include "tests/support/quiet_client.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/until.hpp"

// The nth allocation of a server fails, for every n, in each operation of the server; and its sockets fail. Every
// client must receive an answer or the end of its connection, no run and no connection may remain, the next
// request must be able to do what the failed one was about, and the server must end when asked to.
//
// One allocation fails at a time. If an operation of Asio needs it, Asio 1.81 posts the destruction of the coroutine
// from a destructor; if that allocation fails too, the process ends (std::terminate), and no caller of Asio can prevent
// it. So two allocations in a row never fail here.
namespace {

thread_local bool is_clients = false;  // set on threads of the test, whose allocations do not fail
std::atomic<bool> armed = false;
std::atomic<long> countdown = 0;
std::atomic<bool> was_hit = false;
std::atomic<int> accepts_to_fail = 0;
std::atomic<int> accept_error = 0;

void* take(std::size_t size) {
    if (armed.load(std::memory_order_relaxed) && !is_clients && countdown.fetch_sub(1) == 1) {
        was_hit = true;
        throw std::bad_alloc();
    }
    if (void* place = std::malloc(size > 0 ? size : 1)) return place;
    throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return take(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    try {
        return take(size);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}
void operator delete(void* place) noexcept { std::free(place); }
void operator delete(void* place, std::size_t) noexcept { std::free(place); }
void operator delete(void* place, const std::nothrow_t&) noexcept { std::free(place); }
// AddressSanitizer has its own versions of the forms that, in the standard library, call the two above.
void* operator new[](std::size_t size) { return take(size); }
void operator delete[](void* place) noexcept { std::free(place); }
void operator delete[](void* place, std::size_t) noexcept { std::free(place); }

extern "C" int accept(int listener, sockaddr* from, socklen_t* size) {
    using Accept = int (*)(int, sockaddr*, socklen_t*);
    static const auto real = reinterpret_cast<Accept>(dlsym(RTLD_NEXT, "accept"));
    if (accepts_to_fail > 0) {
        --accepts_to_fail;
        errno = accept_error;
        return -1;
    }
    return real(listener, from, size);
}

namespace sg = stategraph;
namespace agent = stategraph::agent;
namespace model = stategraph::model;
namespace serve = stategraph::serve;
using namespace std::chrono_literals;

namespace {

using served::State;

constexpr const char* go = R"({"input":{"said":["go"]}})";
std::atomic<bool> is_held = false;  // while true, the model's answers wait

struct Client : QuietClient {
    explicit Client(const serve::Server& server) : QuietClient(server.port()) {}
};

using patience::eventually;

/// Repeats its input; "wait" sleeps until the run is stopped, and "ask" asks a question.
sg::CompiledGraph<State> graph() {
    sg::StateGraph<State> graph;
    graph.addNode("first", [](const State& state, sg::Runtime& runtime) -> sg::Task<sg::Update<State>> {
        const bool waits = state.said.front() == "wait";
        co_await sg::sleepFor(runtime, waits ? std::chrono::microseconds(10min) : 100us);
        co_return sg::Update<State>{sg::add(&State::said, std::string("first"))};
    });
    graph.addNode("second", [](const State& state, sg::Runtime& runtime) -> sg::Update<State> {
        if (state.said.front() != "ask") return {sg::add(&State::said, std::string("second"))};
        return {sg::add(&State::said, "heard " + sg::interrupt<std::string>(runtime, "more", "more?"))};
    });
    graph.addEdge(sg::START, "first").addEdge("first", "second").addEdge("second", sg::END);
    return graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
}

agent::Agent talker() {
    sg::CompileOptions stored;
    stored.checkpointer = std::make_shared<sg::MemorySaver>();
    const auto says = [](const model::Request&) {
        // sleeps: between two looks
        for (int left = 300'000; left > 0 && is_held; --left) std::this_thread::sleep_for(1ms);
        return model::assistant("some words are said here");
    };
    return agent::Agent({.model = model::scripted(says), .compile = stored});
}

struct Served {
    serve::Server server;
    char thread[32] = {};

    Served() : server({.threads = 2, .request_timeout = 2min, .heartbeat = 100ms}) {
        server.add("g", serve::endpoint(graph()));
        serve::EndpointOptions how;
        how.protocols = {serve::ownEvents(), serve::uiMessages()};
        server.add("a", serve::endpoint(talker(), how));
        server.handle("own", [](const serve::HandlerRequest&) -> serve::HandlerAnswer {
            const auto next = [left = std::make_shared<int>(3)]() -> std::optional<std::string> {
                if (*left == 0) return {};
                return "an event that is too long for the buffer inside a string, number " + std::to_string((*left)--);
            };
            return {.events = serve::HandlerEvents{next, 1ms}};
        });
    }
    /// The path of the thread that this round uses.
    struct Path {
        char text[64];
        operator const char*() const { return text; }
    };
    Path path(const char* endpoint, const char* what) const {
        Path made;
        std::snprintf(made.text, sizeof made.text, "/%s/%s/%s", endpoint, thread, what);
        return made;
    }
    bool isIdle() const { return server.runs() == 0 && server.connections() == 0; }
    bool becomesIdle() const {
        return eventually([&] { return isIdle(); });
    }
    /// Runs a second graph every few rounds only, since that takes as long as the operation under test.
    bool servesOthers(long round) const {
        Client client(server);
        client.request("GET", "/health");
        if (!client.read() || !client.has(" 200 ")) return false;
        if (round % 8 != 0) return true;
        Client other(server);
        char target[64];
        std::snprintf(target, sizeof target, "/g/%sother/start", thread);
        other.request("POST", target, go);
        return other.read() && other.has("\"done\"");
    }
    void chat(Client& client) const {
        char body[256];
        std::snprintf(body, sizeof body,
                      R"({"id":"%s","messages":[{"role":"user","parts":[{"type":"text","text":"go"}]}]})", thread);
        client.request("POST", "/a/chat", body);
    }
    void comeBack(Client& client) const {
        char target[64];
        std::snprintf(target, sizeof target, "/a/chat/%s/stream", thread);
        client.request("GET", target);
    }
};

long round_number = 0;

void arm() {
    was_hit = false;
    countdown = round_number;
    armed = true;
}

constexpr const char* left = "a client was left without an end";

// The operations of a server. Each returns null if all is right, else a description of the fault.

const char* looks(Served& served) {
    arm();
    Client client(served.server);
    client.request("GET", "/health");
    return client.read() ? nullptr : left;
}
const char* runs(Served& served) {
    arm();
    Client client(served.server);
    client.request("POST", served.path("g", "start"), go);
    return client.read() ? nullptr : left;
}
const char* runsAsSse(Served& served) {
    arm();
    Client client(served.server);
    client.request("POST", served.path("g", "start"), go, "Accept: text/event-stream\r\n");
    return client.read() ? nullptr : left;
}
const char* listens(Served& served) {
    arm();
    Client client(served.server);
    client.request("GET", "/own/events");
    if (!client.read()) return left;
    return client.has(" 200 ") && client.has("number 1") && !client.has("number 3") ? "an event was lost" : nullptr;
}
const char* chats(Served& served) {
    arm();
    Client client(served.server);
    served.chat(client);
    return client.read() ? nullptr : left;
}
const char* comesBack(Served& served) {
    is_held = true;
    arm();
    Client client(served.server);
    served.chat(client);
    const bool is_streamed = client.readSome();
    Client back(served.server);
    served.comeBack(back);
    if (is_streamed) back.readSome();
    is_held = false;
    if (!back.read()) return "a page that came back was left without an end";
    if (back.has("longer than")) return "a page that came back was given a wrong reason";
    return client.read() ? nullptr : left;
}
const char* resumes(Served& served) {
    {
        Client client(served.server);
        client.request("POST", served.path("g", "start"), R"({"input":{"said":["ask"]}})");
        if (!client.read() || !served.becomesIdle()) return "a run did not come to its question";
    }
    constexpr const char* answer = R"({"answers":[{"key":"more","value":"it"}]})";
    const auto hasHeard = [&] {
        Client look(served.server);
        look.request("GET", served.path("g", "state"));
        return look.read() && look.has("heard it");
    };
    arm();
    Client client(served.server);
    client.request("POST", served.path("g", "resume"), answer);
    const bool is_ended = client.read() && eventually([&] { return served.server.runs() == 0; });
    armed = false;
    if (!is_ended) return left;
    for (const char* body : {"{}", answer}) {  // both are tried, since the first may or may not have been stored
        if (hasHeard()) return nullptr;
        Client again(served.server);
        again.request("POST", served.path("g", "resume"), body);
        if (!again.read() || !eventually([&] { return served.server.runs() == 0; })) return left;
    }
    return hasHeard() ? nullptr : "a question could not be answered any more";
}
const char* cancels(Served& served) {
    Client client(served.server);
    client.request("POST", served.path("g", "start"), R"({"input":{"said":["wait"]}})");
    if (!eventually([&] { return served.server.runs() == 1; })) return "a run did not begin";
    arm();
    {
        Client other(served.server);
        other.request("POST", served.path("g", "cancel"));
        if (!other.read()) return "the client that cancels was left without an end";
        if (other.has(" 200 ")) return client.read() ? nullptr : left;
    }
    armed = false;
    Client other(served.server);
    other.request("POST", served.path("g", "cancel"));
    return other.read() && other.has(" 200 ") && client.read() ? nullptr : "a run could not be cancelled any more";
}

void disarm() { armed = false; }

/// Runs one operation of a server with a failure at each of its allocations in turn. Returns false if something was
/// wrong.
bool failEach(const char* name, const char* (*play)(Served&)) {
    Served served;
    const auto begin = std::chrono::steady_clock::now();
    for (round_number = 1 + sanitized::turn();; round_number += sanitized::one_of) {
        std::snprintf(served.thread, sizeof served.thread, "t%ld", round_number);
        const char* wrong = play(served);
        if (wrong == nullptr && !served.becomesIdle()) wrong = "a run or a connection stayed";
        disarm();
        if (wrong == nullptr && !served.servesOthers(round_number)) wrong = "the server does not serve others any more";
        if (wrong != nullptr) {
            std::printf("%s, allocation %ld: %s\n", name, round_number, wrong);
            return false;
        }
        if (!was_hit) break;
    }
    std::printf("%s: up to %ld allocations failed in turn, %lld ms\n", name, round_number - 1,
                static_cast<long long>((std::chrono::steady_clock::now() - begin) / 1ms));
    return true;
}

/// Does the same for the ways to end a server while a run executes. In some rounds a client keeps a connection without
/// a request, for which a drain waits a little.
bool failEachEnd(const char* name, void (*end)(serve::Server&)) {
    for (round_number = 1 + sanitized::turn();; round_number += sanitized::one_of) {
        const char* wrong = nullptr;
        is_held = true;
        {
            Served served;
            std::snprintf(served.thread, sizeof served.thread, "t%ld", round_number);
            Client client(served.server);
            served.chat(client);
            std::optional<Client> waits;
            if (round_number % 16 == 1) waits.emplace(served.server);
            const std::size_t clients = waits ? 2 : 1;
            if (!eventually([&] { return served.server.connections() == clients && served.server.runs() == 1; }))
                wrong = "a run did not begin";
            arm();
            end(served.server);
            is_held = false;
            served.server.wait();
            if (!client.read()) wrong = left;
            if (waits && !waits->read()) wrong = "a client without a request was left without an end";
        }
        disarm();
        if (wrong != nullptr) {
            std::printf("%s, allocation %ld: %s\n", name, round_number, wrong);
            return false;
        }
        if (!was_hit) break;
    }
    std::printf("%s: up to %ld allocations failed in turn\n", name, round_number - 1);
    return true;
}

bool expect(bool holds, const char* what) {
    if (!holds) std::printf("sockets: %s\n", what);
    return holds;
}

bool socketsFail() {
    Served served;
    std::snprintf(served.thread, sizeof served.thread, "s");
    for (const int error : {EMFILE, ENFILE, ENOBUFS, ENOMEM, ECONNABORTED}) {
        accept_error = error;
        accepts_to_fail = 3;
        Client client(served.server);
        client.request("GET", "/health");
        if (!expect(client.read() && client.has(" 200 "), "a client was not accepted after accept had failed"))
            return false;
        if (!expect(accepts_to_fail == 0, "accept did not fail")) return false;
    }
    for (const char* part : {"", "POST /g/x/sta",
                             "POST /g/x/start HTTP/1.0\r\nHost: localhost\r\nContent-Type: "
                             "application/json\r\nContent-Length: 9\r\n\r\n{"}) {
        Client reset(served.server);
        reset.send(part);
        reset.reset();
        Client halves(served.server);
        halves.send(part);
        halves.endSending();
        if (!expect(halves.read(), "a client that ended in its request was left without an end")) return false;
    }
    is_held = true;
    for (int i = 0; i < 3; ++i) {
        std::snprintf(served.thread, sizeof served.thread, "s%d", i);
        Client client(served.server);
        served.chat(client);
        if (i > 0) client.readSome();
        const auto begun = static_cast<std::size_t>(i) + 1;  // otherwise the reset takes the request with it
        if (!expect(eventually([&] { return served.server.runs() == begun; }), "a run did not begin")) return false;
        Client back(served.server);
        served.comeBack(back);
        if (i > 0) back.readSome();
        client.reset();
        back.reset();
    }
    if (!expect(eventually([&] { return served.server.connections() == 0; }), "a reset connection stayed"))
        return false;
    if (!expect(served.server.runs() == 3, "a run ended with its connection")) return false;
    is_held = false;
    Client halves(served.server);
    halves.request("POST", served.path("g", "start"), go);
    halves.endSending();
    if (!expect(halves.read(), "a client that ended its half was left without an end")) return false;
    return expect(served.becomesIdle() && served.servesOthers(0), "the server does not serve others any more");
}

}  // namespace

int main() {
    is_clients = true;
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    std::thread([] {  // ends the test if something waits for ever
        is_clients = true;
        std::this_thread::sleep_for(1780s);  // sleeps: the limit of the whole test
        std::printf("the server waits for ever (allocation %ld)\n", round_number);
        std::_Exit(1);
    })
        .detach();
    const bool holds = failEach("a look", looks) && failEach("a run", runs) && failEach("a run as SSE", runsAsSse) &&
                       failEach("events of a handler", listens) && failEach("a chat", chats) &&
                       failEach("a page that comes back", comesBack) && failEach("an answer", resumes) &&
                       failEach("a cancellation", cancels) &&
                       failEachEnd("a drain", [](serve::Server& server) { server.drain(3s); }) &&
                       failEachEnd("a stop", [](serve::Server& server) { server.stop(); }) && socketsFail();
    return holds ? 0 : 1;
}
