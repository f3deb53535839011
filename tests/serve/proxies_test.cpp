#include <doctest/doctest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <regex>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>

#include <stategraph/memory_saver.hpp>
#include <stategraph/serve/server.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/serve/client.hpp"
#include "tests/serve/served_state.hpp"
#include "tests/support/gate.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/until.hpp"

// The server behind the proxies of docs/serving.md, with the configurations of that page.

namespace sg = stategraph;
namespace serve = stategraph::serve;
using patience::until;

namespace {

using served::State;

/// A program of the system, whose output is read line by line. The destructor ends it.
class Program {
public:
    explicit Program(std::vector<std::string> words, const std::filesystem::path& errors = "/dev/null") {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
        std::vector<char*> arguments;
        for (std::string& word : words) arguments.push_back(word.data());
        arguments.push_back(nullptr);
        process_ = ::fork();
        if (process_ == 0) {
            ::dup2(ends[1], STDOUT_FILENO);
            const int error = ::open(errors.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
            ::dup2(error, STDERR_FILENO);
            ::execvp(arguments[0], arguments.data());
            ::_exit(127);
        }
        ::close(ends[1]);
        out_ = ::fdopen(ends[0], "r");
    }
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    ~Program() {
        end();
        std::fclose(out_);
    }
    void end() {
        if (process_ <= 0) return;
        ::kill(process_, SIGTERM);
        (void)wait();
    }
    int wait() {
        int status = 0;
        ::waitpid(process_, &status, 0);
        process_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    bool hasEnded() { return process_ <= 0 || (::waitpid(process_, nullptr, WNOHANG) == process_ && (process_ = -1)); }
    /// The next line without its end; empty at the end of the output.
    std::string line() {
        std::string text;
        for (int c = std::fgetc(out_); c != EOF && c != '\n'; c = std::fgetc(out_)) text += static_cast<char>(c);
        return text;
    }
    std::string rest() {
        std::string text;
        for (int c = std::fgetc(out_); c != EOF; c = std::fgetc(out_)) text += static_cast<char>(c);
        return text;
    }

private:
    pid_t process_ = -1;
    std::FILE* out_ = nullptr;
};

bool isInstalled(const std::string& program) {
    return std::system(("PATH=$PATH:/usr/sbin command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

/// The code block of docs/serving.md in a language, of which the page has one.
std::string blockOf(const std::string& language) {
    std::ifstream in(std::filesystem::path(STATEGRAPH_TESTS_DIR).parent_path() / "docs/serving.md");
    std::string block;
    bool is_in = false;
    for (std::string line; std::getline(in, line);) {
        if (line == "```" + language) {
            REQUIRE(block.empty());
            is_in = true;
        } else if (line == "```") {
            is_in = false;
        } else if (is_in) {
            block += line + "\n";
        }
    }
    REQUIRE(!block.empty());
    return block;
}

void replace(std::string& text, const std::string& what, const std::string& with) {
    REQUIRE(text.find(what) != std::string::npos);
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
        text.replace(at, what.size(), with);
}

std::uint16_t freePort() {
    boost::asio::io_context context;
    return boost::asio::ip::tcp::acceptor(context, {boost::asio::ip::address_v4::loopback(), 0})
        .local_endpoint()
        .port();
}

/// Two steps, between which the test opens a gate; and a graph that waits until it is stopped.
struct Served {
    Served() : server(options()) {
        sg::StateGraph<State> steps;
        steps.addNode("first",
                      [](const State&) -> sg::Update<State> { return {sg::add(&State::said, std::string("1"))}; });
        steps.addNode("second", [this](const State&) -> sg::Update<State> {
            if (!gate.wait()) throw std::runtime_error("nobody opened the gate");
            return {sg::add(&State::said, std::string("2"))};
        });
        steps.addEdge(sg::START, "first").addEdge("first", "second").addEdge("second", sg::END);
        server.add("steps", serve::endpoint(steps.compile({.checkpointer = std::make_shared<sg::MemorySaver>()})));
        sg::StateGraph<State> endless;
        endless.addNode("begin", [](const State&) -> sg::Update<State> { return {}; });
        endless.addNode("wait", [](const State&, sg::Runtime& runtime) -> sg::Update<State> {
            runtime.waitFor(std::chrono::hours(1));
            return {};
        });
        endless.addEdge(sg::START, "begin").addEdge("begin", "wait").addEdge("wait", sg::END);
        server.add("endless", serve::endpoint(endless.compile({.checkpointer = std::make_shared<sg::MemorySaver>()}),
                                              {.disconnect_cancels = true}));
    }
    serve::ServerOptions options() {
        serve::ServerOptions made;
        made.hosts = {"localhost", "127.0.0.1"};
        made.heartbeat = std::chrono::minutes(5);  // an empty line ends what is read
        made.per_client.proxies = {"127.0.0.1"};
        made.authorize = [this](const serve::RequestView& request) {
            const std::lock_guard lock(mutex);
            remote = request.remote();
            return 0;
        };
        return made;
    }
    std::string seen() {
        const std::lock_guard lock(mutex);
        return remote;
    }

    std::mutex mutex;
    std::string remote;
    gates::Gate gate;
    serve::Server server;
};

/// A certificate, a proxy with its configuration, and how to ask it.
struct Behind {
    Behind(const std::string& proxy, Served& served) {
        const std::string certificate = folder / "certificate.pem", key = folder / "key.pem";
        Program openssl({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                         "-nodes", "-days", "1", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                         "-keyout", key, "-out", certificate});
        REQUIRE(openssl.wait() == 0);
        // Another program may take the port before the proxy has it.
        while (!begins(proxy, served, certificate, key)) std::filesystem::remove(folder / "errors");
    }
    /// Returns false if the port was taken.
    bool begins(const std::string& proxy, Served& served, const std::string& certificate, const std::string& key) {
        port = freePort();
        std::string text = blockOf(proxy == "nginx" ? "nginx" : "caddyfile");
        replace(text, "/etc/ssl/example.org.pem", certificate);
        replace(text, "/etc/ssl/example.org.key", key);
        replace(text, "127.0.0.1:8080", "127.0.0.1:" + std::to_string(served.server.port()));
        const std::string file = folder / "configuration";
        ::setenv("XDG_DATA_HOME", folder.path().c_str(), 1);
        ::setenv("XDG_CONFIG_HOME", folder.path().c_str(), 1);
        if (proxy == "nginx") {
            replace(text, "listen 443 ", "listen 127.0.0.1:" + std::to_string(port) + " ");
            replace(text, "server_name example.org", "server_name localhost");
            std::string all = ::getuid() == 0 ? "user root;\n" : "";
            all += "daemon off;\nmaster_process off;\nerror_log stderr;\npid " + std::string(folder / "pid") +
                   ";\nevents {}\nhttp {\naccess_log off;\n";
            for (const char* const each : {"client_body", "proxy", "fastcgi", "uwsgi", "scgi"})
                all += std::string(each) + "_temp_path " + std::string(folder / each) + ";\n";
            std::ofstream(file) << all << text << "}\n";
            program.emplace(
                std::vector<std::string>{"/usr/sbin/nginx", "-p", folder.path(), "-c", file, "-e", "stderr"},
                folder / "errors");
        } else {
            replace(text, "example.org {", "https://localhost:" + std::to_string(port) + " {");
            std::ofstream(file) << "{\n\tadmin off\n\tauto_https disable_redirects\n}\n" << text;
            program.emplace(std::vector<std::string>{"caddy", "run", "--config", file, "--adapter", "caddyfile"},
                            folder / "errors");
        }
        bool has_ended = false;
        until([&] { return (has_ended = program->hasEnded()) || curl({"-o", "/dev/null"}, "/health")->wait() == 0; });
        if (!has_ended) return true;
        std::ifstream in(folder / "errors");
        const std::string errors(std::istreambuf_iterator<char>(in), {});
        REQUIRE_MESSAGE(errors.find("ddress already in use") != std::string::npos, errors);
        return false;
    }
    /// A client at another address than the proxy's.
    std::unique_ptr<Program> curl(std::vector<std::string> words, const std::string& target) const {
        std::vector<std::string> all{"curl",        "-sS",      "-N",       "--http2",
                                     "--noproxy",   "*",        "--cacert", folder / "certificate.pem",
                                     "--interface", "127.0.0.2"};
        all.insert(all.end(), words.begin(), words.end());
        all.push_back("https://localhost:" + std::to_string(port) + target);
        return std::make_unique<Program>(std::move(all), folder / "errors");
    }

    TemporaryFolder folder;
    std::uint16_t port = 0;
    std::optional<Program> program;
};

void tryBehind(const std::string& proxy) {
    for (const std::string& needed : {proxy, std::string("curl"), std::string("openssl")}) {
        if (isInstalled(needed)) continue;
        MESSAGE("left out, because ", needed, " is not installed");
        return;
    }
    Served served;
    Behind behind(proxy, served);
    // HTTP/2, and the client's address whatever the client says of it.
    const auto health = behind.curl({"-o", "/dev/null", "-w", "%{http_version} %{http_code}", "-H",
                                     "X-Forwarded-For: 198.51.100.1", "-H", "Forwarded: for=198.51.100.2"},
                                    "/health");
    CHECK(health->rest() == "2 200");
    CHECK(served.seen() == "127.0.0.2");
    for (const char* const target : {"/metrics", "/ready"}) {
        CHECK(behind.curl({"-o", "/dev/null", "-w", "%{http_code}"}, target)->rest() == "404");
    }
    CHECK(
        behind.curl({"-o", "/dev/null", "-w", "%{http_code}", "--json", std::string(1'200'000, ' ')}, "/steps/x/start")
            ->rest() != "200");
    // The first event arrives before the second is made, as lines and as server-sent events.
    const std::vector<std::string> post{"--json", R"({"input":{"said":["a"]}})"};
    auto run = behind.curl(post, "/steps/t/start");
    std::string line = run->line();
    while (!line.empty() && line.find("\"node\":\"first\"") == std::string::npos) line = run->line();
    CHECK(line.find("\"node\":\"first\"") != std::string::npos);
    CHECK(served.server.runs() == 1);
    auto follower = behind.curl({"-H", "Accept: text/event-stream"}, "/steps/t/events?from=0");
    for (line = follower->line(); !line.empty() && !line.starts_with("data: ");) line = follower->line();
    CHECK(line.find("\"node\":\"first\"") != std::string::npos);
    CHECK(served.server.runs() == 1);
    served.gate.open();
    CHECK(run->rest().find("\"status\":\"done\"") != std::string::npos);
    CHECK(follower->rest().find("\"node\":\"second\"") != std::string::npos);
    // A client that leaves ends its stream, and here with it its run.
    auto leaves = behind.curl(post, "/endless/t/start");
    CHECK(!leaves->line().empty());
    CHECK(served.server.runs() == 1);
    leaves->end();
    CHECK(patience::eventually([&] { return served.server.runs() == 0; }));
    // A server that drains is not there for strangers any more, and its streams end whole.
    const auto hasStreams = [&](const char* number) {
        return client::get(served.server.port(), "/metrics").body.find(std::string("stategraph_streams ") + number) !=
               std::string::npos;
    };
    until([&] { return hasStreams("0\n"); });
    auto last = behind.curl({"-H", "Accept: text/event-stream"}, "/steps/t/events?follow=1");
    until([&] { return hasStreams("1\n"); });
    served.server.drain(std::chrono::minutes(5));
    CHECK(last->rest().find("retry: 1000") != std::string::npos);
    CHECK(last->wait() == 0);
}

}  // namespace

TEST_CASE("behind nginx, as docs/serving.md has it, events arrive one by one, and a client's leaving is seen") {
    tryBehind("nginx");
}

TEST_CASE("behind Caddy, as docs/serving.md has it, events arrive one by one, and a client's leaving is seen") {
    tryBehind("caddy");
}
