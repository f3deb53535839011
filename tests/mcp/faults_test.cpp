// Servers that die, lie, write without end, or never answer.
#include <doctest/doctest.h>

#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <unistd.h>

#include <stategraph/async.hpp>
#include <stategraph/error.hpp>
#include <stategraph/mcp/client.hpp>

#include "tests/mcp/servers.hpp"
#include "tests/support/helper_process.hpp"

namespace {

namespace sg = stategraph;
namespace mcp = stategraph::mcp;
using namespace std::chrono_literals;
using Members = std::map<std::string, sg::Value>;

using mcp_servers::failureOf;

sg::Value said(const std::string& text) { return sg::Value(Members{{"text", sg::Value(text)}}); }

TEST_CASE("a program that does not exist is an error that names it") {
    mcp::ProcessOptions options;
    options.command = "/nowhere/server";
    const mcp::Client client(mcp::process(options));
    const mcp::McpError error = failureOf([&] { client.listTools(); });
    CHECK(error.failure() == mcp::Failure::connection);
    CHECK(std::string(error.what())
              .starts_with("MCP server 'server': the program '/nowhere/server' cannot be started: "));
    options.command = mcp_servers::program();
    options.folder = "/nowhere";
    const mcp::Client other(mcp::process(options));
    CHECK(std::string(failureOf([&] { other.listTools(); }).what()).find("in the folder '/nowhere'") !=
          std::string::npos);
}

TEST_CASE("a server that is a child process gets none of this process's descriptors but the three that it needs") {
    const TemporaryFolder folder;
    const int mine = ::dup(1);  // which a child would inherit
    mcp::ProcessOptions options;
    options.command = "/bin/sh";
    options.arguments = {
        "-c", "test -e /proc/self/fd/" + std::to_string(mine) + "; echo $? > " + (folder / "answer").string()};
    options.end_wait = 5min;
    const mcp::Client client(mcp::process(options), {.connect_timeout = 5min, .timeout = 5min});
    (void)failureOf([&] { client.listTools(); });
    ::close(mine);
    CHECK(mcp_servers::linesOf(folder / "answer") == std::vector<std::string>{"1"});
}

TEST_CASE(
    "when the server dies, every call that waits fails with its name, and the next call starts the server again") {
    const TemporaryFolder folder;
    const mcp::Client client = mcp_servers::client({}, {}, folder / "notes");
    const auto executor = std::make_shared<sg::Executor>(sg::ExecutorOptions{.threads_max = 1});
    CHECK(client.callTool("echo", said("a")).text() == "a");
    std::vector<sg::Spawning<mcp::CallResult>> waiting;
    for (int i = 0; i < 3; ++i) waiting.push_back(sg::spawn(executor, client.asyncCallTool("slow", {})));
    helpers::awaitLines(folder / "notes", 5);
    const mcp::McpError killer = failureOf([&] { client.callTool("die", {}); });
    CHECK(std::string(killer.what()) ==
          "MCP server 'scripted': the tool 'die' has no answer: its process exited with code 3; the end of what it "
          "wrote to stderr: a fault in the server");
    for (auto& each : waiting) {
        const mcp::McpError error = failureOf([&] { each.get(); });
        CHECK(error.failure() == mcp::Failure::connection);
        CHECK(std::string(error.what()).find("the tool 'slow' has no answer: its process exited with code 3") !=
              std::string::npos);
    }
    CHECK(client.callTool("echo", said("b")).text() == "b");
    CHECK(client.starts() == 2);
}

TEST_CASE("a server that answers between its deaths is started again each time") {
    mcp::ClientOptions options;
    options.max_restarts = 1;
    const mcp::Client client = mcp_servers::client({}, options);
    for (int i = 0; i < 4; ++i) {
        CHECK(client.callTool("echo", said("a")).text() == "a");
        failureOf([&] { client.callTool("die", {}); });
    }
    CHECK(client.starts() == 4);
}

TEST_CASE("a server that only dies is started again at most as often as the option says") {
    for (const std::size_t restarts : {0U, 2U}) {
        mcp::ClientOptions options;
        options.max_restarts = restarts;
        const mcp::Client client = mcp_servers::client("dies", options);
        for (std::size_t i = 0; i <= restarts; ++i) {
            const std::string text = failureOf([&] { client.listTools(); }).what();
            CHECK(text.find("there is no database") != std::string::npos);
            CHECK(text.find("exited with code 4") != std::string::npos);
        }
        const std::string text = failureOf([&] { client.listTools(); }).what();
        CHECK(text.find("was started " + std::to_string(restarts + 1) + " times") != std::string::npos);
        CHECK(text.find("exited with code 4") != std::string::npos);
        CHECK(client.starts() == restarts + 1);
    }
}

TEST_CASE("a server that never answers fails by the time of the connection") {
    mcp::ClientOptions options;
    options.connect_timeout = 50ms;
    options.max_restarts = 0;
    const mcp::Client client = mcp_servers::client("silent", options);
    const mcp::McpError error = failureOf([&] { client.listTools(); });
    CHECK(error.failure() == mcp::Failure::connection);
    CHECK(std::string(error.what()).find("it did not answer `initialize` within 50 ms") != std::string::npos);
}

TEST_CASE("the time of a call ends it also while the server is being connected to") {
    const mcp::Client client = mcp_servers::client("silent");
    mcp::CallOptions options;
    options.timeout = 20ms;
    const mcp::McpError error = failureOf([&] { client.listTools(options); });
    CHECK(error.failure() == mcp::Failure::timeout);
    CHECK(std::string(error.what()) == "MCP server 'scripted': the list of tools did not answer within 20 ms");
}

TEST_CASE("a call whose time is over is cancelled at the server, and other calls continue") {
    const TemporaryFolder folder;
    const mcp::Client client = mcp_servers::client({}, {}, folder / "notes");
    client.listTools();
    mcp::CallOptions options;
    options.timeout = 20ms;
    const mcp::McpError error = failureOf([&] { client.callTool("slow", {}, options); });
    CHECK(error.failure() == mcp::Failure::timeout);
    CHECK(std::string(error.what()).find("the tool 'slow' did not answer within 20 ms") != std::string::npos);
    helpers::awaitLines(folder / "notes", 4);
    CHECK(mcp_servers::linesOf(folder / "notes") ==
          std::vector<std::string>{"started", "initialized", "slow 3", "cancelled 3"});
    CHECK(client.callTool("echo", said("on")).text() == "on");
}

TEST_CASE("a stopped call ends with CancelledError, and is cancelled at the server") {
    const TemporaryFolder folder;
    const mcp::Client client = mcp_servers::client({}, {}, folder / "notes");
    const auto executor = std::make_shared<sg::Executor>(sg::ExecutorOptions{.threads_max = 1});
    std::stop_source stop;
    mcp::CallOptions options;
    options.stop = stop.get_token();
    auto called = sg::spawn(executor, client.asyncCallTool("slow", {}, options));
    helpers::awaitLines(folder / "notes", 3);
    stop.request_stop();
    CHECK_THROWS_WITH_AS(called.get(), "MCP server 'scripted': the tool 'slow' was stopped before it answered",
                         sg::CancelledError);
    helpers::awaitLines(folder / "notes", 4);
    CHECK(mcp_servers::linesOf(folder / "notes").back() == "cancelled 1");
    CHECK_THROWS_AS(client.callTool("slow", {}, options), sg::CancelledError);
}

TEST_CASE("a call whose coroutine is destroyed while it waits is cancelled at the server") {
    const TemporaryFolder folder;
    const mcp::Client client = mcp_servers::client({}, {}, folder / "notes");
    client.listTools();
    {
        sg::Task<mcp::CallResult> task = client.asyncCallTool("slow", {});
        const auto home = sg::detail::homeOf(*sg::Executor::common());
        task.handle().promise().startWith(
            task.handle(), [](void*) {}, nullptr, home);
        helpers::awaitLines(folder / "notes", 3);
    }
    helpers::awaitLines(folder / "notes", 4);
    CHECK(mcp_servers::linesOf(folder / "notes").back() == "cancelled 3");
    CHECK(client.callTool("echo", said("on")).text() == "on");
}

TEST_CASE("answers to unknown requests, and second answers, are ignored") {
    const mcp::Client client = mcp_servers::client();
    for (int i = 0; i < 3; ++i) CHECK(client.callTool("twice", {}).text() == "first");
    CHECK(client.callTool("echo", said("on")).text() == "on");
    CHECK(client.starts() == 1);
}

TEST_CASE("lines that are no messages are skipped, and a server that writes nothing else is ended") {
    const mcp::Client client = mcp_servers::client();
    for (int i = 0; i < 10; ++i) CHECK(client.callTool("garbage", {}).text() == "clean");
    const mcp::Client noisy = mcp_servers::client("noise");
    const mcp::McpError error = failureOf([&] { noisy.listTools(); });
    CHECK(error.failure() == mcp::Failure::connection);
    CHECK(std::string(error.what()).find("it sent 100 lines that are no messages of JSON-RPC 2.0; the last one: xxx") !=
          std::string::npos);
}

TEST_CASE("an answer that cannot be read ends its call at once, and says what is wrong with it") {
    mcp::ClientOptions options;
    options.timeout = 24h;
    const mcp::Client client = mcp_servers::client({}, options);
    const auto errorOf = [&](const char* tool) {
        const mcp::McpError error = failureOf([&] { client.callTool(tool, {}); });
        CHECK((error.failure() == mcp::Failure::connection));
        return std::string(error.what());
    };
    const std::string error = errorOf("mangled");
    CHECK(error.find("the tool 'mangled' has no answer: its answer cannot be read: it is not JSON at byte ") !=
          std::string::npos);
    CHECK(error.find("caf?") != std::string::npos);
    CHECK(errorOf("mangled_twice").find("it is not JSON at byte ") != std::string::npos);
    CHECK(errorOf("old_protocol").find(R"(it lacks "jsonrpc":"2.0")") != std::string::npos);
    CHECK(client.callTool("echo", said("on")).text() == "on");
    CHECK(client.starts() == 1);
}

TEST_CASE("an error without the id of its request ends the only call that waits") {
    mcp::ClientOptions options;
    options.timeout = 24h;
    const mcp::Client client = mcp_servers::client({}, options);
    const mcp::McpError error = failureOf([&] { client.callTool("unknown_id", {}); });
    CHECK((error.failure() == mcp::Failure::refused));
    CHECK(error.code() == -32700);
    CHECK(client.callTool("echo", said("on")).text() == "on");
}

TEST_CASE("the id of an answer may be a text or a real number, and half a character is U+FFFD") {
    const mcp::Client client = mcp_servers::client();
    CHECK(client.callTool("text_id", {}).text() == "as text");
    CHECK(client.callTool("real_id", {}).text() == "as a real number");
    CHECK(client.callTool("half", {}).text() == "cut \xef\xbf\xbd");
}

TEST_CASE("a message that is longer than the limit ends the connection, and one within it passes") {
    mcp::ClientOptions options;
    options.max_message_bytes = 200'000;
    const mcp::Client client = mcp_servers::client({}, options);
    const mcp::McpError error = failureOf([&] { client.callTool("big", {}); });
    CHECK(error.failure() == mcp::Failure::connection);
    CHECK(std::string(error.what())
              .find("it sent a message of more than 200000 bytes, which is "
                    "ClientOptions::max_message_bytes") != std::string::npos);
    const mcp::Client other = mcp_servers::client();
    CHECK(other.callTool("big", {}).text().size() == 300'000);
    const mcp::Client flooded = mcp_servers::client("flood", options);
    CHECK(std::string(failureOf([&] { flooded.listTools(); }).what()).find("more than 200000 bytes") !=
          std::string::npos);
}

TEST_CASE("lists of tools have limits of pages and of tools") {
    mcp::ClientOptions options;
    options.max_pages = 5;
    options.max_tools = 20;
    const mcp::Client endless = mcp_servers::client("pages", options);
    mcp::McpError error = failureOf([&] { endless.listTools(); });
    CHECK(error.failure() == mcp::Failure::limit);
    CHECK(std::string(error.what()).find("more than 5 pages") != std::string::npos);
    const mcp::Client many = mcp_servers::client("many", options);
    error = failureOf([&] { many.listTools(); });
    CHECK(error.failure() == mcp::Failure::limit);
    CHECK(std::string(error.what()).find("more than 20 tools") != std::string::npos);
}

TEST_CASE("more calls than the limit are refused, and those that wait are not disturbed") {
    const TemporaryFolder folder;
    mcp::ClientOptions options;
    options.max_waiting = 2;
    const mcp::Client client = mcp_servers::client({}, options, folder / "notes");
    const auto executor = std::make_shared<sg::Executor>(sg::ExecutorOptions{.threads_max = 1});
    auto first = sg::spawn(executor, client.asyncCallTool("slow", {}));
    auto second = sg::spawn(executor, client.asyncCallTool("slow", {}));
    helpers::awaitLines(folder / "notes", 4);
    const mcp::McpError error = failureOf([&] { client.callTool("echo", said("a")); });
    CHECK(error.failure() == mcp::Failure::limit);
    CHECK(std::string(error.what()).find("raise max_waiting") != std::string::npos);
    CHECK_FALSE(first.isDone());
    client.close();
    failureOf([&] { first.get(); });
    failureOf([&] { second.get(); });
}

TEST_CASE("a server that reads nothing blocks no caller, and what waits to be sent has a limit") {
    const TemporaryFolder folder;
    mcp::ClientOptions options;
    options.max_unsent_bytes = 300'000;
    const mcp::Client client = mcp_servers::client("deaf", options, folder / "notes");
    client.listTools();
    const auto executor = std::make_shared<sg::Executor>(sg::ExecutorOptions{.threads_max = 1});
    auto first = sg::spawn(executor, client.asyncCallTool("echo", said("a")));
    helpers::awaitLines(folder / "notes", 3);
    std::vector<sg::Spawning<mcp::CallResult>> calls;
    const std::string text(50'000, 'x');
    mcp::CallOptions brief;
    brief.timeout = 50ms;
    int refused = 0;
    for (int i = 0; i < 20; ++i) {
        const mcp::McpError error = failureOf([&] { client.callTool("echo", said(text), brief); });
        refused += error.failure() == mcp::Failure::limit ? 1 : 0;
    }
    CHECK(refused >= 5);
    client.close();
    failureOf([&] { first.get(); });
}

TEST_CASE("versions that the client reads are accepted, and others are an error that names them") {
    for (const char* version : {"2025-06-18", "2025-03-26", "2024-11-05"}) {
        const mcp::Client client = mcp_servers::client(std::string("version:") + version);
        CHECK(client.listTools().size() == 16);
        CHECK(client.serverInfo()->protocol_version == version);
    }
    const mcp::Client client = mcp_servers::client("version:2031-01-01");
    CHECK(std::string(failureOf([&] { client.listTools(); }).what()).find("it speaks version '2031-01-01'") !=
          std::string::npos);
    const mcp::Client refusing = mcp_servers::client("old_error");
    CHECK(std::string(failureOf([&] { refusing.listTools(); }).what())
              .find("it refused `initialize`: this server is too old") != std::string::npos);
}

TEST_CASE("what the process writes to stderr is passed on") {
    std::string heard;
    mcp::ProcessOptions options = mcp_servers::scripted("dies");
    options.on_stderr = [&](std::string_view piece) { heard += piece; };
    {
        const mcp::Client client(mcp::process(options));
        failureOf([&] { client.listTools(); });
    }
    CHECK(heard == "there is no database\n");
}

}  // namespace
