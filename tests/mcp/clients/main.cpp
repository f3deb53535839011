// The server that the tests of clients drive, over standard input and output; with --http it prints its port, and
// serves until its standard input ends.
#include <iostream>
#include <memory>
#include <string_view>

#include <stategraph/mcp/serve.hpp>

#include "tests/mcp/serving/served.hpp"

using namespace mcp_serving;

int main(int argc, char** argv) {
    mcp::Server server({.name = "stategraph-test", .version = "1", .instructions = "For tests."});
    addTools(server);
    server.add("trip", tripGraph(std::make_shared<sg::MemorySaver>()),
               {.description = "Books a trip", .input_channels = {{"city"}}});
    // Runs until it is stopped, and prints what must not get among the messages.
    server.add(agent::tool<sg::Value>("endless", {},
                                      [](const sg::Value&, agent::ToolContext& context) -> sg::Task<std::string> {
                                          std::cout << "working" << std::endl;
                                          for (;;) {
                                              context.write(sg::Value("working"));
                                              co_await sg::sleepFor(context.runtime(), std::chrono::milliseconds(5));
                                          }
                                      }));
    if (argc < 2 || std::string_view(argv[1]) != "--http") {
        mcp::serveStdio(server);
        return 0;
    }
    sg::serve::Server http({.show_errors = true});
    mcp::serve(http, "mcp", server);
    std::cout << http.port() << std::endl;
    for (char c = 0; std::cin.get(c);) {
    }
}
