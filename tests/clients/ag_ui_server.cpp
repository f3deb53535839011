// stategraph-ag-ui-server --port N: serves an agent and a graph to clients of AG-UI until it is asked to end.
#include <cstdint>
#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

#include <stategraph/serve/agent_endpoint.hpp>
#include <stategraph/serve/server.hpp>

#include "tests/serve/ag_ui_served.hpp"

int main(int count, char** given) {
    try {
        if (count != 3 || std::string(given[1]) != "--port") throw std::runtime_error("give --port N");
        namespace serve = stategraph::serve;
        serve::Server server({.port = static_cast<std::uint16_t>(std::stoi(given[2])), .handle_signals = true});
        const serve::EndpointOptions options{.protocols = {serve::agUiEvents()}};
        server.add("garden", serve::endpoint(ag_ui::gardener(std::make_shared<tools::Ledger>()), options));
        server.add("talk", serve::endpoint(ag_ui::talking(), options));
        std::cout << "http://127.0.0.1:" << server.port() << std::endl;
        server.wait();
    } catch (const std::exception& error) {
        std::cerr << "stategraph-ag-ui-server: " << error.what() << "\n";
        return 1;
    }
    return 0;
}
