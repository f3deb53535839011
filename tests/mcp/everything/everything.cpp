// The client and the protocol's own example server (npm: @modelcontextprotocol/server-everything), as a program that
// run.sh in this folder runs: everything NODE SERVER [URL], over both transports.
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include <stategraph/agent/agent.hpp>
#include <stategraph/async.hpp>
#include <stategraph/mcp/client.hpp>
#if STATEGRAPH_HAS_MCP_HTTP
#include <stategraph/mcp/http.hpp>
#endif
#include <stategraph/memory_saver.hpp>
#include <stategraph/model/scripted_model.hpp>

namespace sg = stategraph;
namespace agent = stategraph::agent;
namespace mcp = stategraph::mcp;
namespace model = stategraph::model;
using namespace std::chrono_literals;

namespace {

int failures = 0;

void expect(bool is_right, const std::string& what) {
    std::cout << (is_right ? "right: " : "WRONG: ") << what << std::endl;
    failures += is_right ? 0 : 1;
}

sg::Value numbers(double a, double b) { return sg::Value(std::map<std::string, double>{{"a", a}, {"b", b}}); }

void callTools(const mcp::Client& client) {
    const auto tools = client.listTools();
    expect(tools.size() >= 10, std::to_string(tools.size()) + " tools");
    const auto info = client.serverInfo();
    expect(info && info->protocol_version == "2025-06-18", "version " + (info ? info->protocol_version : "none"));
    const auto sum = client.callTool("get-sum", numbers(20, 22));
    expect(sum.text() == "The sum of 20 and 22 is 42.", sum.text());
    const auto image = client.callTool("get-tiny-image", {});
    expect(image.content.size() == 3 && image.content[1].media_type == "image/png" && !image.content[1].data.empty(),
           "an image: " + image.text());
    const auto weather = client.callTool("get-structured-content", sg::parseJson(R"({"location":"Chicago"})"));
    expect(weather.structured.as<std::map<std::string, sg::Value>>().contains("temperature"),
           "structured content: " + weather.structured.toJson());
    const auto links = client.callTool("get-resource-links", {});
    expect(links.content.size() == 4 && links.content[1].type == "resource_link", "links: " + links.text());
    const auto embedded = client.callTool("get-resource-reference", {});
    expect(embedded.content.size() == 3 && embedded.content[1].type == "resource" &&
               embedded.content[1].uri.starts_with("demo://"),
           "a resource: " + embedded.content.at(1).uri);
    const auto wrong = client.callTool("get-sum", {});
    expect(wrong.is_error, "wrong arguments: " + wrong.text().substr(0, 80));

    std::vector<double> reports;
    mcp::CallOptions options;
    options.on_progress = [&](const mcp::Progress& progress) { reports.push_back(progress.progress); };
    client.callTool("trigger-long-running-operation", sg::parseJson(R"({"duration":1,"steps":4})"), options);
    expect(reports == std::vector<double>{1, 2, 3, 4}, std::to_string(reports.size()) + " reports of progress");
    mcp::CallOptions brief;
    brief.timeout = 100ms;
    try {
        client.callTool("trigger-long-running-operation", sg::parseJson(R"({"duration":600,"steps":2})"), brief);
        expect(false, "a call of ten minutes ended");
    } catch (const mcp::McpError& error) {
        expect(error.failure() == mcp::Failure::timeout, error.what());
    }
    std::vector<sg::Spawning<mcp::CallResult>> calls;
    for (int i = 0; i < 100; ++i)
        calls.push_back(sg::spawn(sg::Executor::common(), client.asyncCallTool("get-sum", numbers(i, 1))));
    int right = 0;
    for (int i = 0; i < 100; ++i) {
        const std::string text = calls[static_cast<std::size_t>(i)].get().text();
        right += text == "The sum of " + std::to_string(i) + " and 1 is " + std::to_string(i + 1) + "." ? 1 : 0;
    }
    expect(right == 100, "a hundred calls at once");
}

void runAgent(const mcp::Client& client) {
    const agent::Agent agent({
        .model = model::scripted({model::assistant({{{}, "c1", "ev_get-sum", R"({"a":1,"b":2})"},
                                                    {{}, "c2", "ev_echo", R"({"message":"hello"})"},
                                                    {{}, "c3", "ev_echo", R"({"text":"hello"})"}}),
                                  model::assistant("done")}),
        .tools = client.tools({.prefix = "ev_"}),
        .compile = {.checkpointer = std::make_shared<sg::MemorySaver>()},
    });
    const auto result = agent.say("go", {.thread_id = "t"});
    std::string results;
    for (const model::Message& message : result.values.messages) {
        if (message.result) results += message.result->text() + " | ";
    }
    expect(results.starts_with("The sum of 1 and 2 is 3. | Echo: hello | Error: "), "an agent: " + results);
}

}  // namespace

int main(int count, char** arguments) {
    if (count < 3) {
        std::cerr << "everything NODE SERVER [URL]\n";
        return 2;
    }
    // On a busy machine a process may begin late.
    const mcp::Client client(mcp::process({.command = arguments[1], .arguments = {arguments[2]}}),
                             {.name = "everything", .connect_timeout = 2min, .timeout = 2min});
    callTools(client);
    runAgent(client);
    expect(client.starts() == 1, "one process");
#if STATEGRAPH_HAS_MCP_HTTP
    if (count > 3) {
        const mcp::Client web(mcp::http({.url = arguments[3]}),
                              {.name = "everything over HTTP", .connect_timeout = 2min, .timeout = 2min});
        callTools(web);
        runAgent(web);
        expect(web.starts() == 1, "one session");
    }
#endif
    std::cout << (failures == 0 ? "all right\n" : std::to_string(failures) + " failures\n");
    return failures == 0 ? 0 : 1;
}
