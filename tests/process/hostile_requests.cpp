// SECONDS: 40
// A server and an inspector that may write, in one process, get requests that are anything at all: with the key,
// against endpoints of an agent and a graph, in new and in known threads. Both go on, and what the process holds in
// memory does not grow with the number of requests. STATEGRAPH_HOSTILE=1000000 sends more, by hand. Threads are deleted
// again, because requests for long histories are slow, and the disk would fill.
// NOT WITH: sanitize
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <malloc.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include <stategraph/inspect/server.hpp>
#include <stategraph/model/scripted_model.hpp>
#include <stategraph/serve/agent_endpoint.hpp>
#include <stategraph/serve/server.hpp>
#include <stategraph/sqlite_saver.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/support/seed.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sg = stategraph;
namespace agent = stategraph::agent;
namespace model = stategraph::model;
namespace serve = stategraph::serve;
namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

const std::string key = "0123456789abcdef";

struct State {
    std::vector<std::string> log = {};
    std::string topic = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("log", &State::log, sg::append), sg::channel("topic", &State::topic));
    }
};

std::string request(const std::string& head, const std::string& body = {}) {
    return head + " HTTP/1.1\r\nHost: localhost\r\nX-Stategraph-Key: " + key +
           "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

// T stands for a thread.
const std::vector<std::string> to_server = {
    request("POST /helper/T/start", R"({"text":"go"})"),
    request("POST /helper/chat",
            R"({"id":"T","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"hi"}]}]})"),
    request("GET /helper/T/history?limit=3"),
    request("GET /helper/T/events?protocol=steps&follow=0"),
    request("GET /helper/T/state"),
    request("POST /graph/T/start", R"({"input":{"topic":"more","log":["x"]}})"),
    request("POST /graph/T/resume", R"({"answers":{"ask":"yes"}})"),
    request("POST /graph/T/cancel", "{}"),
    request("GET /graph/T/state"),
};
const std::vector<std::string> to_inspector = {
    request("GET /api/threads?limit=5"),
    request("GET /api/threads/T/timeline"),
    request("GET /api/threads/T/head"),
    request("GET /api/stats?largest=2"),
    request("POST /api/threads/T/answer", R"({"key":"ask","value":"yes"})"),
    request("POST /api/threads/T/run", R"({"graph":"graph","input":{"topic":"x"}})"),
    request("POST /api/threads/T/edit", R"({"values":{"topic":"edited"}})"),
};

class Sender {
public:
    explicit Sender(unsigned seed) : random_(seed) {}

    // Sends one request, half of them changed, and reads until the connection ends or the answer is there.
    void send(std::uint16_t port, const std::vector<std::string>& from) {
        std::string text = from[at(from.size())];
        // Most threads come again; others are new.
        const std::string thread = (at(4) == 0 ? "new" + std::to_string(random_()) : "t" + std::to_string(at(2000)));
        for (auto found = text.find('T', 4); found != std::string::npos; found = text.find('T', found + 1)) {
            if (text[found - 1] == '/' || text[found - 1] == '"') text.replace(found, 1, thread);
        }
        if (at(2) == 0) change(text, from);
        boost::system::error_code ended;
        asio::io_context context;
        tcp::socket socket(context);
        socket.connect({asio::ip::address_v4::loopback(), port}, ended);
        if (ended) throw std::runtime_error("nobody listens on port " + std::to_string(port));
        asio::write(socket, asio::buffer(text), ended);
        socket.shutdown(tcp::socket::shutdown_send, ended);
        std::array<char, 4096> part{};
        while (!ended && socket.read_some(asio::buffer(part), ended) > 0) ++parts_;
    }
    std::size_t parts() const noexcept { return parts_; }

private:
    std::size_t at(std::size_t size) { return size == 0 ? 0 : random_() % size; }
    void change(std::string& text, const std::vector<std::string>& from) {
        for (std::size_t left = 1 + at(3); left > 0; --left) {
            const std::size_t place = at(text.size());
            switch (at(4)) {
                case 0:
                    text.insert(place, 1, static_cast<char>(random_()));
                    break;
                case 1:
                    text.erase(place, at(8));
                    break;
                case 2:
                    text.insert(place, text.substr(at(text.size()), at(60)));
                    break;
                default:
                    text.insert(place, from[at(from.size())].substr(0, at(80)));
            }
        }
    }

    std::mt19937 random_;
    std::size_t parts_ = 0;
};

// What the process holds, after what it has freed was given back.
long residentKb() {
    ::malloc_trim(0);
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmRSS:")) return std::stol(line.substr(6));
    }
    return -1;
}

sg::CompiledGraph<State> graphOn(const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    sg::StateGraph<State> graph;
    graph.addNode("ask", [](const State& state, sg::Runtime& runtime) -> sg::Update<State> {
        if (state.log.size() > 50) return {sg::clear(&State::log)};  // so that no state grows
        return {sg::add(&State::log, sg::interrupt<std::string>(runtime, "ask"))};
    });
    graph.addEdge(sg::START, "ask");
    return graph.compile({.checkpointer = saver});
}

void deleteThreads(sg::BaseCheckpointSaver& saver) {
    for (;;) {
        const auto some = saver.newestThreads({.limit = 1000});
        if (!some || some->empty()) return;
        for (const sg::IndexedThread& each : *some) saver.deleteThread(each.place.thread_id);
    }
}

}  // namespace

int main() {
    const char* const given = std::getenv("STATEGRAPH_HOSTILE");
    const std::size_t wanted = given != nullptr ? std::stoul(given) : 6000;
    const unsigned seed = tests::seed();
    std::cout << "seed " << seed << std::endl;
    const auto folder = TemporaryFolder::make();
    const auto saver = std::make_shared<sg::SqliteSaver>((folder / "threads.db").string());
    const auto app = graphOn(saver);
    const agent::Agent helper({.model = model::scripted([](const model::Request&) { return model::assistant("ok"); }),
                               .compile = {.checkpointer = saver}});
    {
        serve::ServerOptions options;
        options.request_timeout = std::chrono::seconds(5);
        serve::Server server(options);
        serve::EndpointOptions how;
        how.protocols = {serve::stepEvents(), serve::uiMessages()};
        server.add("helper", serve::endpoint(helper, how));
        server.add("graph", serve::endpoint(app, {}));
        sg::inspect::Server inspector(saver, {.write = true, .key = key});
        inspector.add("graph", app);

        std::array<std::size_t, 2> parts{};
        long warm = 0;
        const std::size_t rounds = 10;
        const std::size_t kept_for = 5'000;  // requests
        for (std::size_t round = 1; round <= rounds; ++round) {
            std::vector<std::jthread> senders;
            for (unsigned i = 0; i < 2; ++i)
                senders.emplace_back([&, i] {
                    Sender sender(seed + 2 * static_cast<unsigned>(round) + i);
                    for (std::size_t n = 1; n <= wanted / rounds / 2; ++n) {
                        sender.send(i == 0 ? server.port() : inspector.port(), i == 0 ? to_server : to_inspector);
                        if (i == 0 && n % kept_for == 0) deleteThreads(*saver);
                    }
                    parts[i] += sender.parts();
                });
            senders.clear();
            const long now = residentKb();
            std::cout << round * wanted / rounds << " requests: " << now / 1024 << " MB" << std::endl;
            if (round == 4) warm = now;
            if (round > 4 && now > warm + 24 * 1024) {
                std::cout << "the process holds " << (now - warm) / 1024 << " MB more than after "
                          << 4 * wanted / rounds << " requests\n";
                return 1;
            }
        }
        if (parts[0] == 0 || parts[1] == 0) {
            std::cout << "nobody answered\n";
            return 1;
        }
    }
    std::filesystem::remove_all(folder);
    return 0;
}
