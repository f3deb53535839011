#include "serving.hpp"

#include <fstream>
#include <iterator>
#include <stdexcept>

#include <stategraph/serve/agent_endpoint.hpp>

namespace advisor {

namespace serve = stategraph::serve;

void addAdvisor(serve::Server& server, const std::string& name, const AdvisorOptions& options) {
    serve::EndpointOptions served;
    served.protocols = {serve::stepEvents({.tools = {{"webSearch", "search"}}}), serve::ownEvents()};
    server.add(name, serve::endpoint(makeAdvisor(options), std::move(served)));
}

void addTutor(serve::Server& server, const std::string& name, const AdvisorOptions& options) {
    serve::EndpointOptions served;
    served.protocols = {serve::uiMessages()};
    server.add(name, serve::endpoint(makeTutor(options), std::move(served)));
}

void addPage(serve::Server& server, const std::string& folder) {
    const auto add = [&](const std::string& path, const std::string& type, const std::string& file) {
        std::ifstream in(folder + "/" + file, std::ios::binary);
        if (!in) throw std::runtime_error("the page's file cannot be read: " + folder + "/" + file);
        server.page(path, type, std::string(std::istreambuf_iterator<char>(in), {}));
    };
    add("/", "text/html; charset=utf-8", "index.html");
    add("/style.css", "text/css; charset=utf-8", "style.css");
    for (const char* module : {"app.js", "display.js", "lines.js", "partial_json.js"}) {
        add(std::string("/") + module, "text/javascript; charset=utf-8", module);
    }
}

}  // namespace advisor
