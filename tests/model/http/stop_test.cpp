#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <stategraph/asio.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/model/openai.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/scripted_server.hpp"

// A request that ends midway, for any reason, closes its socket.
namespace {

namespace sg = stategraph;
namespace md = stategraph::model;
namespace asio = boost::asio;
using namespace std::chrono_literals;
using Peer = ScriptedServer::Peer;

const std::string head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
const std::string piece = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n";
const std::string stop =
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// The place where a server leaves its clients waiting.
enum class Stuck { before_head, after_head, after_piece, after_refusal };
constexpr Stuck all_stuck[] = {Stuck::before_head, Stuck::after_head, Stuck::after_piece, Stuck::after_refusal};

/// Sends this much, and counts the clients that then close the connection within five minutes.
struct StuckServer {
    explicit StuckServer(Stuck where)
        : server([this, where](Peer& peer) {
              peer.request();
              if (where == Stuck::after_head) peer.send(head);
              if (where == Stuck::after_piece) peer.send(head + piece);
              if (where == Stuck::after_refusal)
                  peer.send("HTTP/1.1 503 Busy\r\nConnection: close\r\nRetry-After: 500\r\nContent-Length: 0\r\n\r\n");
              ++arrived;
              if (peer.waitForEnd(5min)) ++ended;
          }) {}
    bool waitFor(const std::atomic<int>& count, int wanted) const {
        // sleeps: between two looks
        for (int i = 0; i < 300'000 && count < wanted; ++i) std::this_thread::sleep_for(1ms);
        return count == wanted;
    }
    std::atomic<int> arrived = 0;
    std::atomic<int> ended = 0;
    ScriptedServer server;
};

std::shared_ptr<const md::Model> modelOf(const ScriptedServer& server) {
    return md::openai({.base_url = server.url(),
                       .model = "m",
                       .http = {.connect_limit = 5min, .idle_limit = 15min, .max_retry_wait = 15min}});
}

struct State {
    std::string answer = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&State::answer>()); }
};
using App = sg::CompiledGraph<State>;

App appOf(std::shared_ptr<const md::Model> model, std::atomic<int>& nodes_ended, bool tells_runtime = true) {
    sg::StateGraph<State> graph;
    graph.addNode(
        "model",
        [model, &nodes_ended, tells_runtime](const State&, sg::Runtime& runtime) -> sg::Task<sg::Update<State>> {
            struct Counts {
                std::atomic<int>& count;
                ~Counts() { ++count; }
            } counts{nodes_ended};
            md::Asking asking;
            std::string told;
            asking.tell = [&told](const md::Delta& delta) { told += delta.text; };
            if (tells_runtime) asking.runtime = &runtime;
            const std::vector<md::Message> messages = {md::user("hi")};
            md::Request request;
            request.messages = messages;
            md::Reply reply = co_await model->ask(std::move(request), asking);
            CHECK(told == reply.message.text());
            sg::Update<State> update = sg::set<&State::answer>(reply.message.text());
            co_return update;
        });
    graph.addEdge(sg::START, "model").addEdge("model", sg::END);
    return graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
}

}  // namespace

TEST_CASE("a model behind HTTP answers in a node with every driver, also after a refusal that passes") {
    const ScriptedServer server([](Peer& peer) {
        if (peer.request().empty()) return;
        peer.send(peer.number % 3 == 0
                      ? "HTTP/1.1 503 X\r\nConnection: close\r\nretry-after-ms: 1\r\nContent-Length: 0\r\n\r\n"
                      : head + piece + piece + stop);
    });
    std::atomic<int> ended = 0;
    const App app = appOf(modelOf(server), ended);
    int runs = 0;
    for (const drivers::Driver& driver : drivers::crossed()) {
        CAPTURE(driver.name);
        const auto outcome = driver.run(app, sg::Update<State>{}, {.thread_id = "t" + std::to_string(runs++)});
        REQUIRE(outcome.what() == "");
        CHECK((outcome.status == sg::Status::done));
        CHECK(outcome.values.answer == "aa");
    }
    CHECK(ended == runs);
}

TEST_CASE("a stop token ends a request wherever it waits, with CancelledError, and its socket is closed") {
    for (const Stuck where : all_stuck) {
        CAPTURE(static_cast<int>(where));
        StuckServer stuck(where);
        const auto model = modelOf(stuck.server);
        std::stop_source source;
        std::jthread stops([&] {
            stuck.waitFor(stuck.arrived, 1);
            std::this_thread::sleep_for(20ms);  // sleeps: usually enough; what is checked holds in any case
            source.request_stop();
        });
        md::Asking asking;
        asking.stop = source.get_token();
        const auto begin = std::chrono::steady_clock::now();
        CHECK_THROWS_AS(sg::syncWait(model->ask({}, asking)), sg::CancelledError);
        CHECK(std::chrono::steady_clock::now() - begin < 5min);
        CHECK(stuck.waitFor(stuck.ended, 1));
        CHECK_THROWS_AS(sg::syncWait(model->ask({}, asking)), sg::CancelledError);
        CHECK(stuck.server.connections() == 1);
    }
}

TEST_CASE("a run that is stopped ends the request of its node, with every driver") {
    for (const Stuck where : all_stuck) {
        StuckServer stuck(where);
        std::atomic<int> nodes = 0;
        const App app = appOf(modelOf(stuck.server), nodes);
        int runs = 0;
        for (const drivers::Driver& driver : drivers::all()) {
            CAPTURE(driver.name);
            const auto control = std::make_shared<sg::RunControl>();
            ++runs;
            std::jthread stops([&] {
                stuck.waitFor(stuck.arrived, runs);
                control->requestStop();
            });
            const auto outcome =
                driver.run(app, sg::Update<State>{}, {.thread_id = std::to_string(runs), .control = control});
            CHECK((outcome.failed() || outcome.status == sg::Status::cancelled));
            CHECK(stuck.waitFor(stuck.ended, runs));
            CHECK(stuck.waitFor(nodes, runs));
        }
    }
}

TEST_CASE("a run that is abandoned midway closes the socket of its request") {
    for (const bool tells_runtime : {true, false}) {
        for (const Stuck where : all_stuck) {
            CAPTURE(static_cast<int>(where));
            CAPTURE(tells_runtime);
            StuckServer stuck(where);
            std::atomic<int> nodes = 0;
            const App app = appOf(modelOf(stuck.server), nodes, tells_runtime);
            int runs = 0;
            for (const drivers::Driver& driver : drivers::crossed()) {
                // When a range of events is abandoned, it waits for its nodes.
                if (!driver.canAbandon() || driver.name.find("range") != std::string::npos) continue;
                CAPTURE(driver.name);
                ++runs;
                const drivers::Leave leave{.when = [&] { return stuck.arrived >= runs; }};
                CHECK(!driver.abandon(app, sg::Update<State>{}, {.thread_id = driver.name}, leave));
                CHECK(stuck.waitFor(stuck.ended, runs));
                CHECK(stuck.waitFor(nodes, runs));
            }
            CHECK(runs > 0);
        }
    }
}

TEST_CASE("a task that is destroyed on its own execution context, or with it, closes its socket") {
    for (const Stuck where : all_stuck) {
        StuckServer stuck(where);
        const auto model = modelOf(stuck.server);
        const md::Asking asking;
        {
            asio::io_context context(1);
            asio::co_spawn(context, sg::awaitOn(context.get_executor(), model->ask({}, asking)), asio::detached);
            while (stuck.arrived < 1) context.run_for(1ms);
            context.run_for(20ms);
        }
        CHECK(stuck.waitFor(stuck.ended, 1));
    }
}

TEST_CASE("many requests at the same time, some of them stopped, share a model") {
    const ScriptedServer server([](Peer& peer) {
        peer.request();
        peer.send(head + piece);
        if (peer.number % 2 == 0) std::this_thread::sleep_for(5ms);  // sleeps: a slow peer
        peer.send(piece + stop);
    });
    const auto model = modelOf(server);
    std::atomic<int> right = 0;
    std::atomic<int> stopped = 0;
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 8; ++i) {
            threads.emplace_back([&, i] {
                for (int n = 0; n < 5; ++n) {
                    std::stop_source source;
                    md::Asking asking;
                    asking.stop = source.get_token();
                    if (i % 4 == 0) asking.tell = [&](const md::Delta&) { source.request_stop(); };
                    try {
                        right += sg::syncWait(model->ask({}, asking)).message.text() == "aa";
                    } catch (const sg::CancelledError&) {
                        ++stopped;
                    }
                }
            });
        }
    }
    CHECK(right + stopped == 40);
    CHECK(right >= 30);
}
