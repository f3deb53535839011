// The code of docs/mcp.md that is not that of examples/mcp_tools.cpp. A run without a server shows what an error says.
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/async.hpp>
#include <stategraph/mcp/client.hpp>
#include <stategraph/mcp/http.hpp>

namespace sg = stategraph;
namespace agent = stategraph::agent;
namespace mcp = stategraph::mcp;
using namespace std::chrono_literals;

namespace {

mcp::Client connect(const std::string& token) {
    // [begin process]
    mcp::Client client(mcp::process({.command = "npx",
                                     .arguments = {"-y", "@modelcontextprotocol/server-filesystem", "/srv/files"},
                                     .environment = {{"API_TOKEN", token}},
                                     .on_stderr = [](std::string_view piece) { std::cerr << piece; }}),
                       {.name = "files", .timeout = 30s});
    // [end process]
    return client;
}

mcp::Client connectOverHttp(const std::string& token) {
    // [begin http]
    mcp::Client client(mcp::http({.url = "https://example.com/mcp", .headers = {{"Authorization", "Bearer " + token}}}),
                       {.name = "example"});
    // [end http]
    return client;
}

std::vector<agent::Tool> choose(const mcp::Client& client) {
    // [begin choose]
    std::vector<agent::Tool> tools = client.tools({.prefix = "files_",
                                                   .only = {"read_file", "write_file"},
                                                   .approval = true,  // for tools without a hint
                                                   .timeout = 10s});
    // [end choose]
    return tools;
}

// [begin call]
sg::Task<std::string> read(mcp::Client client) {
    mcp::CallOptions options;
    options.timeout = 5s;
    options.on_progress = [](const mcp::Progress& done) { std::cout << done.progress << "\n"; };
    sg::Task<mcp::CallResult> called = client.asyncCallTool("read_file", sg::parseJson(R"({"path":"a"})"), options);
    const mcp::CallResult result = co_await std::move(called);
    if (result.is_error) co_return "the tool failed: " + result.text();
    co_return result.text();
}
// [end call]

}  // namespace

int main() {
    if (std::getenv("WITH_NPX") != nullptr) {
        const mcp::Client client = connect("none");
        std::cout << connectOverHttp("none").listTools().size() << " tools over HTTP\n";
        std::cout << choose(client).size() << " tools, " << sg::syncWait(read(client)) << "\n";
    }
    const mcp::Client missing(mcp::process({.command = "./no-such-server"}), {.name = "files"});
    try {
        missing.listTools();
    } catch (const mcp::McpError& error) {
        std::cout << error.what() << "\n";
    }
}
