// The client over a child process: lists, calls, results, messages of the server, and the process's life.
#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <string>
#include <thread>
#include <vector>

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

sg::Value numbers(double a, double b) { return sg::Value(std::map<std::string, double>{{"a", a}, {"b", b}}); }

TEST_CASE("a client lists the tools of all pages as the server describes them") {
    const mcp::Client client = mcp_servers::client();
    CHECK(client.starts() == 0);
    CHECK_FALSE(client.serverInfo());
    const std::vector<mcp::ToolInfo> tools = client.listTools();
    REQUIRE(tools.size() == 16);
    CHECK(tools[0].name == "add");
    CHECK(tools[0].description == "Adds two numbers");
    CHECK(tools[0].read_only == true);
    CHECK_FALSE(tools[0].destructive);
    CHECK(tools[1].destructive == true);
    CHECK(sg::parseJson(tools[0].input_schema).as<Members>().at("type") == sg::Value("object"));
    CHECK(tools[0].output_schema.empty());
    const auto info = client.serverInfo();
    REQUIRE(info);
    CHECK(info->name == "scripted");
    CHECK(info->version == "1.2");
    CHECK(info->protocol_version == "2025-06-18");
    CHECK(info->instructions == "Be brief.");
    CHECK(client.starts() == 1);
}

TEST_CASE("a call returns text, structured content and other parts, and a tool's error is a result") {
    const mcp::Client client = mcp_servers::client();
    const mcp::CallResult sum = client.callTool("add", numbers(2, 3.5));
    CHECK(sum.text() == "the sum is 5.5E0");
    CHECK(sum.structured.as<std::map<std::string, double>>().at("sum") == 5.5);
    CHECK(sum.output() == sum.structured);
    CHECK_FALSE(sum.is_error);

    const mcp::CallResult picture = client.callTool("picture", {});
    REQUIRE(picture.content.size() == 5);
    CHECK(picture.content[1].type == "image");
    CHECK(picture.content[1].media_type == "image/png");
    CHECK(picture.content[1].data == "aGVsbG8=");
    CHECK(picture.content[2].uri == "file:///a");
    CHECK(picture.content[3].type == "resource_link");
    CHECK(picture.text() ==
          "a picture:\n[image image/png, 8 bytes of base64, not shown]\nin a\n[resource_link b file:///b]\n[hologram]");
    CHECK(picture.structured.isNull());
    CHECK(picture.output() == sg::Value(picture.text()));

    const mcp::CallResult failed = client.callTool("fail", {});
    CHECK(failed.is_error);
    CHECK(failed.text() == "the disk is full");
}

TEST_CASE("texts with line ends, quotes and other alphabets arrive unchanged in both directions") {
    const mcp::Client client = mcp_servers::client();
    for (const std::string text : {"two\nlines\r\n", "\"quoted\" \\", "Grüße, 東京 🚀", "", "\x01\x7f"}) {
        CHECK(client.callTool("echo", sg::Value(Members{{"text", sg::Value(text)}})).text() == text);
    }
}

TEST_CASE("an error of the server names the server and the tool, and has its code") {
    const mcp::Client client = mcp_servers::client();
    try {
        client.callTool("unheard", {});
        FAIL("no error");
    } catch (const mcp::McpError& error) {
        CHECK(error.failure() == mcp::Failure::refused);
        CHECK(error.code() == -32602);
        CHECK(std::string(error.what()) ==
              "MCP server 'scripted': the tool 'unheard' was refused: there is no tool unheard (code -32602)");
    }
    CHECK_THROWS_WITH_AS(client.callTool("empty", {}),
                         "MCP server 'scripted': the tool 'empty' gave a result that cannot be read: the answer has no "
                         "content",
                         mcp::McpError);
    CHECK_THROWS_WITH_AS(client.callTool("echo", sg::Value("text")),
                         "the arguments of the tool 'echo' must be a map, and are \"text\"", sg::InvalidArgumentError);
    CHECK(client.starts() == 1);
}

TEST_CASE("a ping of the server is answered, and other requests are refused with -32601") {
    const mcp::Client client = mcp_servers::client();
    CHECK(client.callTool("ask", {}).text() == "\"p\": result; 7: -32601; ");
}

TEST_CASE("progress is reported in order, and reports for other calls are ignored") {
    const mcp::Client client = mcp_servers::client();
    std::vector<mcp::Progress> reports;
    mcp::CallOptions options;
    options.on_progress = [&](const mcp::Progress& progress) { reports.push_back(progress); };
    CHECK(client.callTool("report", {}, options).text() == "reported");
    REQUIRE(reports.size() == 3);
    CHECK(reports[0].progress == 1);
    CHECK(reports[2].progress == 3);
    CHECK(reports[2].total == 3);
    CHECK(reports[2].message == "part");

    reports.clear();
    CHECK(client.callTool("many_reports", {}, options).text() == "reported");
    REQUIRE_FALSE(reports.empty());
    CHECK(reports.back().progress == 500);
    CHECK(std::is_sorted(reports.begin(), reports.end(),
                         [](const auto& a, const auto& b) { return a.progress < b.progress; }));
}

TEST_CASE("what on_progress throws ends the call, which the server learns") {
    const TemporaryFolder folder;
    const mcp::Client client = mcp_servers::client({}, {}, folder / "notes");
    mcp::CallOptions options;
    options.on_progress = [&](const mcp::Progress&) { throw std::runtime_error("enough"); };
    CHECK_THROWS_WITH(client.callTool("report", {}, options), "enough");
    CHECK(client.callTool("echo", sg::Value(Members{{"text", sg::Value("on")}})).text() == "on");
}

TEST_CASE("a changed list of tools is counted") {
    const mcp::Client client = mcp_servers::client();
    CHECK(client.listChanges() == 0);
    client.callTool("change", {});
    client.callTool("change", {});
    CHECK(client.listChanges() == 2);
}

TEST_CASE("the process gets the variables that are named, and no others") {
    ::setenv("MCP_TEST_SECRET", "do not tell", 1);
    ::setenv("MCP_TEST_SHARED", "to all", 1);
    mcp::ProcessOptions options = mcp_servers::scripted();
    options.inherited = {"MCP_TEST_SHARED", "MCP_TEST_UNSET", "PATH"};
    options.environment = {{"MCP_TEST_OWN", "a=b"}, {"PATH", "/nowhere"}};
    const mcp::Client client(mcp::process(options));
    const std::string text = client.callTool("environment", {}).text();
    CHECK(text.find("MCP_TEST_SECRET") == std::string::npos);
    CHECK(text.find("MCP_TEST_SHARED=to all\n") != std::string::npos);
    CHECK(text.find("MCP_TEST_OWN=a=b\n") != std::string::npos);
    CHECK(text.find("PATH=/nowhere\n") != std::string::npos);
    CHECK(text.find("MCP_TEST_UNSET") == std::string::npos);
    ::unsetenv("MCP_TEST_SECRET");
    ::unsetenv("MCP_TEST_SHARED");
}

TEST_CASE("a hundred awaited calls share two threads, and each gets its own answer") {
    const mcp::Client client = mcp_servers::client();
    const auto executor = std::make_shared<sg::Executor>(sg::ExecutorOptions{.threads_max = 2});
    std::vector<sg::Spawning<mcp::CallResult>> calls;
    for (int i = 0; i < 100; ++i) calls.push_back(sg::spawn(executor, client.asyncCallTool("add", numbers(i, 1000))));
    for (int i = 0; i < 100; ++i)
        CHECK(calls[static_cast<std::size_t>(i)].get().structured ==
              sg::Value(std::map<std::string, int>{{"sum", i + 1000}}));
    CHECK(client.starts() == 1);
}

TEST_CASE("blocking calls from several threads share one process, also when they are the first") {
    const mcp::Client client = mcp_servers::client();
    std::vector<std::thread> threads;
    std::atomic<int> right{0};
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&, i] {
            for (int k = 0; k < 25; ++k)
                right += client.callTool("add", numbers(i, k)).text().starts_with("the sum is") ? 1 : 0;
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(right == 100);
    CHECK(client.starts() == 1);
}

TEST_CASE("the process ends with the last copy of the client, by itself") {
    const TemporaryFolder folder;
    {
        const mcp::Client client = mcp_servers::client({}, {}, folder / "notes");
        const mcp::Client copy = client;
        client.listTools();
    }
    CHECK(mcp_servers::linesOf(folder / "notes") == std::vector<std::string>{"started", "initialized", "ended"});
}

TEST_CASE("a process that ignores the end of its input and SIGTERM is killed") {
    const TemporaryFolder folder;
    mcp::ProcessOptions options = mcp_servers::scripted("stubborn", folder / "notes");
    options.end_wait = 1ms;
    {
        const mcp::Client client(mcp::process(options));
        client.listTools();
    }  // would wait for ever
    CHECK(mcp_servers::linesOf(folder / "notes").front() == "started");
}

TEST_CASE("a closed client fails calls that wait, and later ones") {
    const TemporaryFolder folder;
    const mcp::Client client = mcp_servers::client({}, {}, folder / "notes");
    const auto executor = std::make_shared<sg::Executor>(sg::ExecutorOptions{.threads_max = 1});
    auto waiting = sg::spawn(executor, client.asyncCallTool("slow", {}));
    helpers::awaitLines(folder / "notes", 3);
    client.close();
    CHECK_THROWS_WITH_AS(waiting.get(), "MCP server 'scripted': the tool 'slow' has no answer: the client was closed",
                         mcp::McpError);
    CHECK_THROWS_WITH_AS(client.listTools(),
                         "MCP server 'scripted': the list of tools cannot be called: the client was closed",
                         mcp::McpError);
    client.close();
}

TEST_CASE("a client whose server is never called starts no process") {
    mcp::ProcessOptions options;
    options.command = "/nowhere/there is no program";
    const mcp::Client client(mcp::process(options));
    CHECK(client.starts() == 0);
}

TEST_CASE("impossible options are refused") {
    CHECK_THROWS_AS(mcp::process({}), sg::InvalidArgumentError);
    mcp::ProcessOptions options = mcp_servers::scripted();
    options.environment = {{"A=B", ""}};
    CHECK_THROWS_AS(mcp::process(options), sg::InvalidArgumentError);
    options = mcp_servers::scripted();
    options.arguments.emplace_back("a\0b", 3);
    CHECK_THROWS_AS(mcp::process(options), sg::InvalidArgumentError);
    options = mcp_servers::scripted();
    options.end_wait = -1ms;
    CHECK_THROWS_AS(mcp::process(options), sg::InvalidArgumentError);
    mcp::ClientOptions limits;
    limits.max_waiting = 0;
    CHECK_THROWS_AS(mcp_servers::client({}, limits), sg::InvalidArgumentError);
    limits = {};
    limits.timeout = 0ms;
    CHECK_THROWS_AS(mcp_servers::client({}, limits), sg::InvalidArgumentError);
}

}  // namespace
